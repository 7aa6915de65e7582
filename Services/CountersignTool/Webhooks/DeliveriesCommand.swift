import ArgumentParser
import Foundation
import Persistence
import Postgres

extension WebhookCommand {
    /// `countersign webhooks deliveries`.
    struct Deliveries: DatabaseLook {
        static let configuration = CommandConfiguration(
            commandName: "deliveries", abstract: "Lists deliveries and their states, the newest events first.",
            discussion: "An endpoint's answers: `countersign webhooks attempts EVENT ENDPOINT`.")

        @Option(help: "The id of one event: evt_….") var event: String?
        @Option(help: "The name of an endpoint.") var endpoint: String?
        @Option(help: "A bundle id.") var app: String?
        @Option(help: "pending, delivered or abandoned; all of them without it.") var state: String?
        @Option(help: "The most to list.") var limit = 20
        @OptionGroup var printing: PrintingOptions

        private static let states = ["pending", "delivered", "abandoned"]

        func validate() throws {
            guard (1...10_000).contains(limit) else { throw ValidationError("--limit is from 1 to 10000") }
            guard state == nil || Self.states.contains(state ?? "") else {
                throw ValidationError("--state is \(Self.states.joined(separator: ", "))")
            }
        }

        func look(_ pool: PostgresPool) async throws -> DeliveriesReport {
            var selection = DeliveryReading.Selection()
            (selection.event, selection.endpoint) = (event, endpoint)
            (selection.app, selection.state) = (app, state)
            let (found, hasMore) = try await Self.read(DeliveryReading(pool: pool), selection, limit: limit)
            return DeliveriesReport(deliveries: found.map(DeliveriesReport.Delivery.init), hasMore: hasMore)
        }

        func text(_ report: DeliveriesReport) -> String { report.text }

        /// Page by page, however few of what is looked at is meant.
        @inline(never)
        private static func read(
            _ reading: DeliveryReading, _ selection: DeliveryReading.Selection, limit: Int
        ) async throws -> ([DeliveryReading.Delivery], hasMore: Bool) {
            var found: [DeliveryReading.Delivery] = []
            var position: DeliveryReading.Position?
            repeat {
                let page = try await reading.page(selection, after: position, limit: limit - found.count)
                found += page.deliveries
                position = page.next
            } while position != nil && found.count < limit
            return (found, position != nil)
        }
    }

    /// `countersign webhooks attempts`.
    struct Attempts: DatabaseLook {
        static let configuration = CommandConfiguration(
            commandName: "attempts",
            abstract: "Shows every attempt to deliver an event to an endpoint, and the endpoint's answers.",
            discussion:
                "Attempts are kept for COUNTERSIGN_RETENTION_ATTEMPTS days (a setting of fulfillment), by default 30.")

        @Argument(help: "The event's id: evt_….") var event: String
        @Argument(help: "The endpoint's name.") var endpoint: String
        @OptionGroup var printing: PrintingOptions

        func look(_ pool: PostgresPool) async throws -> AttemptsReport {
            let reading = DeliveryReading(pool: pool)
            guard let page = try await reading.attempts(event: event, endpoint: endpoint, app: nil) else {
                throw ToolFailure("\(event) is not to be delivered to \(endpoint)")
            }
            return AttemptsReport(
                event: event, endpoint: endpoint, attempts: page.attempts.reversed().map(AttemptsReport.Attempt.init))
        }

        func text(_ report: AttemptsReport) -> String { report.text }
    }
}
