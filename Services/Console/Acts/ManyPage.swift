import Crypto
import Foundation
import NIOHTTP1

/// An act for many rows in two steps: what would become of each, and what became of it.
///
/// Each row is a request of its own with a key of its own, made of the form's: a form that is sent twice, or goes on after an
/// interruption, acts once on each row.
enum ManyPage {
    enum Limit {
        /// Rows of one form.
        static let rows = 50
        /// Rows that intake is asked about at the same time.
        static let atOnce = 5
        /// After so long the rest is left for the next click: no browser waits for ever.
        static let time = Duration.seconds(10)
    }

    /// What became of a row.
    enum Outcome: Sendable, Equatable {
        case done, pending
        case refused(String)
        /// Nothing is known of it: it is asked again under the same key.
        case left
    }

    static func make(_ many: ManyAct, _ page: PageRequest) async throws -> Page {
        let texts = page.texts
        let subjects = chosen(page.fields)
        let back = page.fields["back"].flatMap { Redirect.isOurs($0) ? $0 : nil } ?? page.base
        let links = Block.links(heading: nil, [Cell(texts("acts.back"), href: back)])
        let title = texts("\(many.rawValue).title")
        guard !subjects.isEmpty else {
            return Page(
                title: title, place: .undelivered, blocks: [.notice(.waiting, texts("many.none")), links], status: 422)
        }
        let key = page.fields["key"]
        let outcomes = try await run(many, subjects, key: key, page)
        var blocks = summary(many, subjects, outcomes, key: key, page)
        blocks.append(.table(table(many, subjects, outcomes, isSure: key != nil, page)))
        return Page(title: title, place: .undelivered, blocks: blocks + [links])
    }

    /// The rows that were chosen, or all of the form.
    static func chosen(_ fields: [String: String]) -> [ManyAct.Subject] {
        let texts =
            fields["all"] == nil
            ? (0..<Limit.rows).compactMap { fields["row_\($0)"] }
            : (fields["rows"] ?? "").split(separator: ",").map(String.init)
        var seen: Set<ManyAct.Subject> = []
        return texts.prefix(Limit.rows).compactMap(ManyAct.Subject.init).filter { seen.insert($0).inserted }
    }

    /// The key of one row.
    static func key(_ key: String, of subject: ManyAct.Subject) -> String {
        SHA256.hash(data: Array("\(key) \(subject.text)".utf8)).prefix(16)
            .map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    // MARK: Acting

    private static func run(
        _ many: ManyAct, _ subjects: [ManyAct.Subject], key: String?, _ page: PageRequest
    ) async throws -> [Outcome] {
        let end = ContinuousClock.now + Limit.time
        var outcomes: [Outcome] = []
        while outcomes.count < subjects.count, ContinuousClock.now < end {
            let some = subjects[outcomes.count...].prefix(Limit.atOnce)
            outcomes += try await together(many, Array(some), key: key, page)
        }
        return outcomes + Array(repeating: .left, count: subjects.count - outcomes.count)
    }

    private static func together(
        _ many: ManyAct, _ subjects: [ManyAct.Subject], key: String?, _ page: PageRequest
    ) async throws -> [Outcome] {
        try await withThrowingTaskGroup(of: (Int, Outcome).self) { group in
            for (place, subject) in subjects.enumerated() {
                group.addTask { (place, try await one(many, subject, key: key, page)) }
            }
            var outcomes = [Outcome](repeating: .left, count: subjects.count)
            for try await (place, outcome) in group { outcomes[place] = outcome }
            return outcomes
        }
    }

    private static func one(
        _ many: ManyAct, _ subject: ManyAct.Subject, key: String?, _ page: PageRequest
    ) async throws -> Outcome {
        var row = page
        row.fields.merge(many.fields(subject)) { _, own in own }
        let (path, body) = try many.act.call(row, dryRun: key == nil)
        do {
            let answer = try await page.intake.send(
                .POST, path, body: body, idempotencyKey: key.map { self.key($0, of: subject) }, for: page.person)
            return outcome(of: answer, many, page.texts)
        } catch let trouble as ConsoleTrouble where trouble.kind == .intakeAway {
            return .left
        }
    }

    private static func outcome(of answer: IntakeClient.Answer, _ many: ManyAct, _ texts: Texts) -> Outcome {
        guard answer.isSuccess else {
            if answer.status == 429 || answer.status >= 500 { return .left }
            return .refused(answer.problem(texts).joined(separator: " "))
        }
        // Submissions that cannot be judged again are answered, and left alone.
        if many == .retry, answer.body["submissions"].list.isEmpty, !answer.body["left_alone"].list.isEmpty {
            return .refused(texts("column.left_alone"))
        }
        return answer.body["pending"].isTrue ? .pending : .done
    }

    // MARK: What is shown

    private static func summary(
        _ many: ManyAct, _ subjects: [ManyAct.Subject], _ outcomes: [Outcome], key: String?, _ page: PageRequest
    ) -> [Block] {
        let texts = page.texts
        let left = zip(subjects, outcomes).filter { $0.1 == .left }.map(\.0)
        guard let key else {
            let possible = zip(subjects, outcomes).filter { $0.1 == .done || $0.1 == .pending || $0.1 == .left }.map(
                \.0)
            guard !possible.isEmpty else { return [.notice(.bad, texts("acts.refused"))] }
            return [
                .notice(.waiting, texts("many.would", String(possible.count))),
                .form(form(many, possible, key: UUID().uuidString.lowercased(), texts("\(many.rawValue).do"), page)),
            ]
        }
        let done = outcomes.filter { $0 == .done || $0 == .pending }.count
        let tone: Tone = done == subjects.count ? .good : .waiting
        var blocks: [Block] = [.notice(tone, texts("many.done", String(done), String(subjects.count)))]
        if !left.isEmpty {
            let seconds = String(Limit.time.components.seconds)
            blocks.append(.notice(.waiting, texts("many.left", String(left.count), seconds)))
            blocks.append(.form(form(many, left, key: key, texts("many.go_on"), page)))
        }
        return blocks
    }

    /// The same fields, hidden, with the rows and the key.
    private static func form(
        _ many: ManyAct, _ subjects: [ManyAct.Subject], key: String, _ submit: String, _ page: PageRequest
    ) -> Form {
        var fields = (many.act.fields + ["reason", "back"]).compactMap { name in
            page.fields[name].map { Form.Field.hidden(name, $0) }
        }
        fields += [
            .hidden("all", "true"), .hidden("rows", subjects.map(\.text).joined(separator: ",")), .hidden("key", key),
        ]
        return Form(
            action: "\(page.base)/acts/\(many.rawValue)", fields: fields, submit: submit, csrf: page.visit.csrfToken)
    }

    private static func table(
        _ many: ManyAct, _ subjects: [ManyAct.Subject], _ outcomes: [Outcome], isSure: Bool, _ page: PageRequest
    ) -> Table {
        let texts = page.texts
        return Table(
            texts("many.rows"), ["subject", "answer"].map { texts("column.\($0)") },
            zip(subjects, outcomes).map { subject, outcome in
                [many.cell(subject, page), cell(outcome, isSure: isSure, texts)]
            }, empty: "")
    }

    private static func cell(_ outcome: Outcome, isSure: Bool, _ texts: Texts) -> Cell {
        switch outcome {
        case .done where !isSure, .pending where !isSure: .state(texts("many.ok"), .plain)
        case .done: .state(texts("many.ended"), .good)
        case .pending: .state(texts("many.pending"), .waiting)
        case .refused(let why): Cell(texts("many.refused", why))
        case .left: .state(texts("many.waits"), .waiting)
        }
    }
}
