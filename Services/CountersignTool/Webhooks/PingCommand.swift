import ArgumentParser
import Persistence
import Postgres
import ServiceRuntime

extension WebhookCommand {
    /// `countersign webhooks ping`.
    struct Ping: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "ping", abstract: "Sends a signed test message (countersign.ping) to an endpoint.",
            discussion: """
                The message goes to this endpoint only, whatever events it takes, and is sent once. For an endpoint of \
                the webhooks file this command sends it, without the service's check for private addresses. For an \
                endpoint of the database the notification service sends it, within seconds.
                """)

        @Argument(help: "The endpoint's id or name.") var id: String
        @Option(help: "Seconds that the endpoint has for its answer, or the notification service for sending it.")
        var timeout = 15.0
        @OptionGroup var folder: SettingsFolderOption
        @OptionGroup var printing: PrintingOptions

        func validate() throws {
            guard (0.1...60).contains(timeout) else { throw ValidationError("--timeout is from 0.1 to 60 seconds") }
        }

        func run() async throws {
            try await failingPlainly { try await ping() }
        }

        @inline(never)
        private func ping() async throws {
            if EndpointAccess.isStored(id) { try await pingStored() } else { try await pingFile() }
        }

        private func pingFile() async throws {
            let places = try await folder.places()
            let file = try WebhooksFile.load(path: places.webhooks)
            guard let endpoint = file.endpoints.first(where: { $0.id == id }) else {
                throw ToolFailure("\(id) is not in \(places.webhooks)")
            }
            let report = await WebhookPing(endpoint: endpoint, timeout: .seconds(timeout)).send()
            if printing.json { print(try ToolOutput.json(report)) }
            switch (report.status, report.error) {
            case (let status?, nil):
                guard !printing.json else { return }
                print("\(id) answered \(status) after \(report.milliseconds ?? 0) ms: events would be delivered")
            case (let status?, let advice?): throw ToolFailure("\(id) answered \(status): \(advice)")
            case (nil, let error): throw ToolFailure("\(id) gave no answer: \(error ?? "")")
            }
        }

        private func pingStored() async throws {
            let (id, end) = (id, ContinuousClock.now + .seconds(timeout))
            let ping = try await ToolSettings.load().withDatabase { pool in try await Self.ping(id, pool, until: end) }
            let report = PingReport(ping)
            if printing.json { print(try ToolOutput.json(report)) }
            switch report.state {
            case "delivered":
                if !printing.json { print("\(id) \(report.text): events would be delivered") }
            case "pending":
                throw ToolFailure(
                    "the notification service has not sent it yet; does it run? `countersign doctor`",
                    exitCode: ToolExit.underWay)
            default:
                let advice = report.status.map { ": \(WebhookPing.advice(UInt($0)))" } ?? ""
                throw ToolFailure("\(id) \(report.text)\(advice)")
            }
        }

        /// Between looks at what came of it.
        private static let lookInterval = Duration.milliseconds(200)

        @inline(never)
        private static func ping(
            _ id: String, _ pool: PostgresPool, until end: ContinuousClock.Instant
        ) async throws -> WebhookPingStore.Ping {
            _ = try await EndpointAccess.find(id, StoredEndpointStore(pool: pool))
            let store = WebhookPingStore(pool: pool)
            let asked = try await store.ask(for: id)
            while true {
                guard let newest = try await store.newest(of: id), newest.id == asked else {
                    throw ToolFailure("\(id) was removed, or somebody else has asked for another ping meanwhile")
                }
                if newest.finishedAt != nil || ContinuousClock.now >= end { return newest }
                try await Task.sleep(for: lookInterval)
            }
        }
    }
}
