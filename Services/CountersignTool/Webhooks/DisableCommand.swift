import ArgumentParser
import Persistence

extension WebhookCommand {
    /// `countersign webhooks disable`.
    struct Disable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "disable", abstract: "Disables an endpoint, and records who did it and why.",
            discussion: """
                Within seconds nothing more is sent to it. Its deliveries wait, and go out when you enable it again: \
                `countersign webhooks enable`.
                """)

        @Argument(help: "The endpoint's id or name.") var id: String
        @OptionGroup var audit: AuditOptions
        @OptionGroup var folder: SettingsFolderOption
        @OptionGroup var printing: PrintingOptions

        private struct Report: Encodable {
            let id: String
            let enabled: Bool
            let auditId: Int64
        }

        func run() async throws {
            try await failingPlainly { try await disable() }
        }

        @inline(never)
        private func disable() async throws {
            // Of a name that nobody has a row would stay.
            _ = try await EndpointList(folder: folder).one(id)
            let (id, reason, actor) = (id, audit.reason, audit.who)
            let auditId = try await ToolSettings.load().withDatabase { pool in
                try await EndpointStore(pool: pool).switchOff(id, actor: actor, reason: reason)
            }
            guard let auditId else { throw ToolFailure("\(id) is switched off already") }
            if printing.json { return print(try ToolOutput.json(Report(id: id, enabled: false, auditId: auditId))) }
            print("\(id) is off, and what it would be told waits")
            print("written as audit \(auditId)")
        }
    }
}
