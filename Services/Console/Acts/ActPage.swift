import AsyncHTTPClient
import Foundation
import Hummingbird
import HummingbirdCore
import NIOHTTP1

/// The form of an act.
enum ActForm {
    /// - Parameters:
    ///   - hidden: what the page knows already: which purchase, which account.
    ///   - values: what the fields begin with.
    static func make(
        _ act: Act, _ page: PageRequest, hidden: [String: String], values: [String: String] = [:]
    ) -> Form {
        let texts = page.texts
        var fields = hidden.filter { act.subjects.contains($0.key) }.sorted { $0.key < $1.key }
            .map { Form.Field.hidden($0.key, $0.value) }
        fields.append(.hidden("back", page.request.uri.string))
        for name in act.subjects where values[name] != nil && hidden[name] == nil {
            fields.append(Form.Field(name: name, label: texts("column.\(name)"), value: values[name] ?? ""))
        }
        for name in act.fields {
            let choices = act.choices(of: name)
            guard choices.isEmpty else {
                fields.append(
                    .choice(
                        name, texts("column.\(name)"),
                        choices.map { .init(value: $0, text: texts.word(name, $0), isChosen: $0 == choices.first) }))
                continue
            }
            fields.append(
                Form.Field(
                    name: name, label: texts("column.\(name)"), value: values[name] ?? "",
                    help: texts("\(act.rawValue).\(name)_help"), isRequired: true))
        }
        fields.append(
            Form.Field(
                name: "reason", label: texts("column.why"), help: texts("acts.reason_help"), isRequired: true))
        return Form(
            heading: texts("\(act.rawValue).title"), action: "\(page.base)/acts/\(act.rawValue)", fields: fields,
            submit: act.hasDryRun ? texts("acts.look") : texts("\(act.rawValue).do"),
            isDangerous: act == .forget, csrf: page.visit.csrfToken)
    }
}

/// An act in two steps: what would be done, and that it was done.
///
/// The second is sent with a key of its own, so it acts once
/// however often the form is sent.
enum ActPage {
    static func make(_ act: Act, _ page: PageRequest) async throws -> Page {
        let texts = page.texts
        let isSure = page.fields["key"] != nil || !act.hasDryRun
        let (path, body) = try act.call(page, dryRun: !isSure)
        let key = page.fields["key"] ?? UUID().uuidString.lowercased()
        let answer = try await page.intake.send(
            .POST, path, body: body, idempotencyKey: isSure ? key : nil, for: page.person)
        if act == .askApple, answer.isSuccess, let id = answer.body["id"].text {
            return Page(title: "", blocks: [], goTo: "\(page.base)/questions/\(IntakeClient.part(id))")
        }
        var blocks: [Block] = []
        if !answer.isSuccess {
            blocks = [.notice(.bad, texts("acts.refused"))] + answer.problem(texts).map { .notice(.plain, $0) }
        } else if isSure, ["refused", "lapsed"].contains(answer.body["state"].text) {
            blocks = [.notice(.bad, texts("acts.not_done"))]
        } else if isSure {
            blocks = [.notice(.good, texts(answer.body["pending"].isTrue ? "acts.pending" : "acts.done"))]
        } else {
            blocks = [.notice(.waiting, texts("acts.would"))]
        }
        if answer.isSuccess { blocks.append(.facts(heading: nil, facts(answer.body, texts))) }
        if answer.isSuccess, !isSure { blocks.append(.form(confirmation(act, page, key))) }
        let back = page.fields["back"] ?? page.base
        blocks.append(.links(heading: nil, [Cell(texts("acts.back"), href: Redirect.isOurs(back) ? back : page.base)]))
        return Page(
            title: texts("\(act.rawValue).title"), blocks: blocks, status: answer.isSuccess ? 200 : answer.status)
    }

    /// The same fields, hidden, and the key.
    private static func confirmation(_ act: Act, _ page: PageRequest, _ key: String) -> Form {
        let names = act.subjects + act.fields + ["reason", "back"]
        var fields = names.compactMap { name in page.fields[name].map { Form.Field.hidden(name, $0) } }
        fields.append(.hidden("key", key))
        return Form(
            action: "\(page.base)/acts/\(act.rawValue)", fields: fields, submit: page.texts("\(act.rawValue).do"),
            csrf: page.visit.csrfToken)
    }

    /// What intake answered, member by member.
    private static func facts(_ body: JSON, _ texts: Texts) -> [Fact] {
        guard case .object(let members) = body else { return [] }
        return members.sorted { $0.key < $1.key }.flatMap { name, value in
            facts(name, value, texts)
        }
    }

    private static func facts(_ name: String, _ value: JSON, _ texts: Texts) -> [Fact] {
        if name == "dry_run" { return [] }
        if let text = value.text { return [Fact(texts.word("column", name), cell(name, text, texts))] }
        let lines = value.list.prefix(20).map { row -> Cell in
            guard case .object(let members) = row else { return Cell(row.text) }
            let parts = members.sorted { $0.key < $1.key }.compactMap { name, value in
                value.text.map { "\(texts.word("column", name)): \($0)" }
            }
            return Cell(parts.joined(separator: ", "))
        }
        return lines.isEmpty ? [] : [Fact(texts.word("column", name), values: lines)]
    }

    private static func cell(_ name: String, _ text: String, _ texts: Texts) -> Cell {
        switch name {
        case "apple_reason": Cell(texts.word(name, text))
        case "state", "previous_state": Cell(texts.word("state", text))
        case "reason": Cell(texts.word("reason", text))
        case _ where name.hasSuffix("_at"): Cell.time(.string(text))
        default: Cell(texts.word("yes_no", text))
        }
    }
}
