import ArgumentParser
import Foundation
import Persistence
import Postgres

/// `countersign audit-log`: what was done by hand, by whom, and why.
struct AuditLogCommand: DatabaseLook {
    static let configuration = CommandConfiguration(
        commandName: "audit-log",
        abstract: "Lists acts by hand from the audit log: what, by whom and why, the newest first.",
        discussion: "It reads the table audit_log. Every command that changes something writes to it.")

    @Option(help: "What was done, such as adjust, claim, forget or redrive.") var action: String?
    @Option(help: "Who did it.") var actor: String?
    @Option(help: "To what, as a line has it: the id of a submission, say.") var subject: String?
    @Option(help: "Acts of this time or later: 2026-11-21, or 2026-11-21T10:00:00Z.") var since: String?
    @Option(help: "The most lines.") var limit = 50
    @OptionGroup var printing: PrintingOptions

    func validate() throws {
        guard (1...10_000).contains(limit) else { throw ValidationError("--limit is from 1 to 10000") }
        _ = try selection()
    }

    func look(_ pool: PostgresPool) async throws -> [AuditLogReading.Line] {
        try await AuditLogReading(pool: pool).lines(try selection(), limit: limit)
    }

    private func selection() throws -> AuditLogReading.Selection {
        var selection = AuditLogReading.Selection()
        (selection.action, selection.actor, selection.subject) = (action, actor, subject)
        if let since {
            guard let date = WebhookSelection.time(since) else {
                throw ValidationError("--since is a day or a time: 2026-11-21, 2026-11-21T10:00:00Z")
            }
            selection.since = date
        }
        return selection
    }

    func text(_ lines: [AuditLogReading.Line]) -> String {
        guard !lines.isEmpty else { return "nothing was done by hand" }
        let rows = lines.map { line in
            [
                "\(line.id)", line.createdAt.formatted(.iso8601), line.actor, line.action,
                "\(line.subject): \(line.reason)",
            ]
        }
        let table = ToolOutput.table([["AUDIT", "WHEN", "WHO", "WHAT", "TO WHAT, AND WHY"]] + rows, rightAligned: [0])
        return lines.count < limit ? table : table + "\nthe newest \(limit), by --limit"
    }
}
