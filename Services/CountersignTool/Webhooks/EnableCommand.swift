import ArgumentParser
import Persistence

extension WebhookCommand {
    /// `countersign webhooks enable`.
    struct Enable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "enable", abstract: "Enables an endpoint again, and records who did it and why.",
            discussion: """
                Its waiting deliveries become due within seconds, the oldest event first, and \
                COUNTERSIGN_DELIVERY_CONCURRENCY limits how many go out at a time. Repair the endpoint first: \
                `countersign webhooks ping`.
                """)

        @Argument(help: "The endpoint's id or name.") var id: String
        @OptionGroup var audit: AuditOptions
        @OptionGroup var printing: PrintingOptions

        private struct Report: Encodable {
            let id: String
            let enabled: Bool
            let auditId: Int64
        }

        func run() async throws {
            try await failingPlainly { try await enable() }
        }

        @inline(never)
        private func enable() async throws {
            let (id, reason, actor) = (id, audit.reason, audit.who)
            let auditId = try await ToolSettings.load().withDatabase { pool in
                try await EndpointStore(pool: pool).enable(id, actor: actor, reason: reason)
            }
            guard let auditId else { throw ToolFailure("\(id) is not known, or is not switched off") }
            if printing.json { return print(try ToolOutput.json(Report(id: id, enabled: true, auditId: auditId))) }
            print("\(id) is on again, and what waited for it goes out within seconds")
            print("written as audit \(auditId)")
        }
    }
}
