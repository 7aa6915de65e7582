import Foundation
import Messages
import Persistence
import PurchaseModel

/// What became of an import, for people and programs.
struct ImportSummary: Encodable, Sendable {
    /// A file that is imported, or was.
    struct File: Encodable, Sendable {
        let id: Int64
        let app: String
        let source: String
        let linesDone: Int64
        let startedAt: Date
        let finishedAt: Date?

        init(_ file: ImportStore.Import) {
            (id, app, source, linesDone) = (file.id, file.app, file.source, file.linesDone)
            (startedAt, finishedAt) = (file.startedAt, file.finishedAt)
        }

        var text: String {
            let end = finishedAt == nil ? "not finished, \(linesDone) lines done" : "\(linesDone) lines"
            return "import \(id)  \(app)  \(source)  begun \(MessageCoding.text(startedAt)), \(end)"
        }
    }

    /// Lines of one fate, for one reason.
    struct Group: Encodable, Sendable {
        let fate: ImportStore.Fate
        let reason: String?
        let lines: Int64
        let firstLine: Int64
    }

    let file: File
    /// Purchases that it brought: recorded as the older system granted them, granted here, taken back, held.
    let grantedElsewhere, grantedHere, takenBack, held: Int64
    let groups: [Group]

    /// - Throws: `ToolFailure` where there is no such import; `PostgresError`.
    static func read(_ id: Int64, from store: ImportStore) async throws -> ImportSummary {
        guard let file = try await store.find(id) else { throw ToolFailure("there is no import \(id)") }
        return ImportSummary(
            file, groups: try await store.groups(of: id), brought: try await store.brought(by: id))
    }

    init(_ file: ImportStore.Import, groups: [ImportStore.Group], brought: [ImportStore.Brought]) {
        self.file = File(file)
        self.groups = groups.map {
            Group(fate: $0.fate, reason: $0.reason, lines: $0.count, firstLine: $0.firstLine)
        }
        func sum(_ isMeant: (ImportStore.Brought) -> Bool) -> Int64 {
            brought.filter(isMeant).reduce(0) { $0 + $1.count }
        }
        grantedElsewhere = sum { $0.state == .granted && $0.isGrantedElsewhere }
        grantedHere = sum { $0.state == .granted && !$0.isGrantedElsewhere }
        takenBack = sum { $0.state == .revoked }
        held = sum { $0.state == .parked }
    }

    /// Lines of a fate, for whatever reason.
    func lines(_ fate: ImportStore.Fate) -> Int64 {
        groups.filter { $0.fate == fate }.reduce(0) { $0 + $1.lines }
    }

    var text: String {
        let total = groups.reduce(0) { $0 + $1.lines }
        let genuine = lines(.recorded) + lines(.known)
        var rows: [(name: String, count: Int64)] = [
            ("purchases in the file", total), ("genuine", genuine), ("  recorded now", lines(.recorded)),
            ("  known before", lines(.known)), ("same as a line before", lines(.repeated)),
            ("in doubt", lines(.inDoubt)), ("rejected", lines(.rejected)), ("refused", lines(.refused)),
            ("without an outcome", lines(.undecided)),
        ]
        rows.append(("orders it brought", grantedElsewhere + grantedHere + takenBack + held))
        rows += [
            ("  granted by the older system", grantedElsewhere), ("  granted here", grantedHere),
            ("  taken back by Apple", takenBack), ("  held", held),
        ]
        var text = [file.text]
        text += rows.map { ToolOutput.padded($0.name, 31) + ToolOutput.rightAligned("\($0.count)", 10) }
        let reasons = groups.filter { $0.reason != nil && $0.fate != .recorded && $0.fate != .known }
        if !reasons.isEmpty {
            text.append("")
            text += reasons.map { group in
                "\(ToolOutput.rightAligned("\(group.lines)", 10)) \(group.fate.words): \(group.reason ?? ""), first line "
                    + "\(group.firstLine)"
            }
        }
        if lines(.undecided) > 0 {
            text.append("what has no outcome yet is asked for again: countersign import report \(file.id)")
        }
        return text.joined(separator: "\n")
    }
}

extension ImportStore.Fate {
    var words: String { rawValue.replacing("_", with: " ") }
}

/// The lines that are not in the books, as a file.
enum ImportRefusals {
    private static let pageMaximum = 50_000

    /// Writes a CSV file: line, what became of it, reason, detail, transaction id, submission.
    ///
    /// It has neither names nor proofs.
    ///
    /// - Throws: `PostgresError`; what writing the file gives.
    static func write(_ id: Int64, from store: ImportStore, to path: String) async throws {
        var text = "line,fate,reason,detail,transaction_id,submission_id\n"
        var line: Int64 = 0
        while true {
            let page = try await store.unrecorded(of: id, after: line, limit: pageMaximum)
            for row in page {
                let fields = [
                    "\(row.line)", row.fate.rawValue, row.reason, row.detail, row.transactionId ?? "",
                    row.submissionId ?? "",
                ]
                text += fields.map(CSVText.written).joined(separator: ",") + "\n"
            }
            guard page.count == pageMaximum, let last = page.last else { break }
            line = last.line
        }
        do {
            try Data(text.utf8).write(to: URL(filePath: path), options: .atomic)
        } catch {
            throw ToolFailure("\(path) cannot be written: \(error.localizedDescription)")
        }
    }
}
