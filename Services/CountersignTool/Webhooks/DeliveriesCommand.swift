import ArgumentParser
import Foundation
import Persistence

extension WebhookCommand {
    /// `countersign webhooks deliveries`.
    struct Deliveries: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "deliveries", abstract: "Lists deliveries and their states, the newest events first.",
            discussion: "An endpoint's answers: `countersign webhooks attempts EVENT ENDPOINT`.")

        @Option(help: "The id of one event: evt_….") var event: String?
        @Option(help: "The name of an endpoint.") var endpoint: String?
        @Option(help: "A bundle id.") var app: String?
        @Option(help: "pending, delivered or abandoned; all of them without it.") var state: String?
        @Option(help: "The most to list.") var limit = 20
        @Flag(help: "Prints JSON.") var json = false

        private static let states = ["pending", "delivered", "abandoned"]

        func validate() throws {
            guard (1...10_000).contains(limit) else { throw ValidationError("--limit is from 1 to 10000") }
            guard state == nil || Self.states.contains(state ?? "") else {
                throw ValidationError("--state is \(Self.states.joined(separator: ", "))")
            }
        }

        func run() async throws {
            try await failingPlainly {
                var selection = DeliveryReading.Selection()
                (selection.event, selection.endpoint) = (event, endpoint)
                (selection.app, selection.state) = (app, state)
                let (asked, limit) = (selection, limit)
                let (found, hasMore) = try await ToolSettings.load().withDatabase { pool in
                    try await Self.read(DeliveryReading(pool: pool), asked, limit: limit)
                }
                let report = DeliveriesReport(deliveries: found.map(DeliveriesReport.Delivery.init), hasMore: hasMore)
                print(json ? try ToolOutput.json(report) : report.text)
            }
        }

        /// Page by page, however few of what is looked at is meant.
        @inline(never)
        private static func read(
            _ reading: DeliveryReading, _ selection: DeliveryReading.Selection, limit: Int
        ) async throws -> ([DeliveryReading.Delivery], hasMore: Bool) {
            var found: [DeliveryReading.Delivery] = []
            var position: DeliveryReading.Position?
            repeat {
                let page = try await reading.page(selection, before: position, limit: limit - found.count)
                found += page.deliveries
                position = page.next
            } while position != nil && found.count < limit
            return (found, position != nil)
        }
    }

    /// `countersign webhooks attempts`.
    struct Attempts: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "attempts",
            abstract: "Shows every attempt to deliver an event to an endpoint, and the endpoint's answers.",
            discussion:
                "Attempts are kept for COUNTERSIGN_RETENTION_ATTEMPTS days (a setting of fulfillment), by default 30.")

        @Argument(help: "The event's id: evt_….") var event: String
        @Argument(help: "The endpoint's name.") var endpoint: String
        @Flag(help: "Prints JSON.") var json = false

        func run() async throws {
            try await failingPlainly {
                let (event, endpoint) = (event, endpoint)
                let attempts = try await ToolSettings.load().withDatabase { pool in
                    try await DeliveryReading(pool: pool).attempts(event: event, endpoint: endpoint, app: nil)
                }
                guard let attempts else { throw ToolFailure("\(event) is not to be delivered to \(endpoint)") }
                let report = AttemptsReport(
                    event: event, endpoint: endpoint, attempts: attempts.map(AttemptsReport.Attempt.init))
                print(json ? try ToolOutput.json(report) : report.text)
            }
        }
    }
}
