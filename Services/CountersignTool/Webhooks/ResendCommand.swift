import ArgumentParser
import Foundation
import Persistence
import PurchaseModel

extension WebhookSelection.State: ExpressibleByArgument {}

extension WebhookCommand {
    /// `countersign webhooks resend`.
    struct Resend: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "resend", abstract: "Sends webhooks again, and records who asked for it and why.",
            discussion: """
                Without --yes it only counts. With --yes the webhooks are sent again with the same webhook-id, so the \
                backend recognises those that it has seen. By default it selects deliveries that were given up; \
                --state changes this. All options must match. The notification service sends them within seconds; for \
                a disabled endpoint they wait.
                """)

        @Option(help: "The id of one event: evt_….") var event: String?
        @Option(help: "The name of an endpoint.") var endpoint: String?
        @Option(help: "A type of events, * at the end for all that begin so.") var type: String?
        @Option(help: "A bundle id.") var app: String?
        @Option(help: "production or sandbox; both without it.") var environment: StoreEnvironment?
        @Option(help: "Whose events: an account.") var account: Account?
        @Option(help: "abandoned, delivered (once more), pending (now, and not later), or all of them.")
        var state = WebhookSelection.State.abandoned
        @Option(help: "Events of this time or later: 2026-11-21, or 2026-11-21T10:00:00Z.") var since: String?
        @Option(help: "Events of before this time.") var until: String?
        @Option(help: "The most to send again, the oldest first.") var limit = 10_000
        @OptionGroup var act: ConfirmedOptions
        @OptionGroup var printing: PrintingOptions

        func validate() throws {
            guard (1...1_000_000).contains(limit) else { throw ValidationError("--limit is from 1 to 1000000") }
            _ = try selection()
        }

        func run() async throws {
            try await failingPlainly {
                let (selection, walk) = (try selection(), WebhookResendStore.Walk(limit: limit))
                let asker = act.yes ? asker : nil
                let outcome = try await ToolSettings.load().withDatabase { pool in
                    let store = WebhookResendStore(pool: pool)
                    return try await Self.walk(store, selection, walk, asker)
                }
                let report = ResendReport(outcome, limit: limit, isAsked: asker != nil)
                try printing.answer(report, report.text)
            }
        }

        /// A function of its own, since the optimizer crashes on throwing async calls in a choice in a closure.
        @inline(never)
        private static func walk(
            _ store: WebhookResendStore, _ selection: WebhookSelection, _ walk: WebhookResendStore.Walk,
            _ asker: WebhookResendStore.Asker?
        ) async throws -> WebhookResendStore.Outcome {
            guard let asker else { return try await store.count(selection, walk) }
            return try await store.resend(selection, walk, asker: asker)
        }

        private var asker: WebhookResendStore.Asker {
            WebhookResendStore.Asker(actor: act.who, reason: act.reason ?? "")
        }

        private func selection() throws -> WebhookSelection {
            var selection = WebhookSelection()
            (selection.event, selection.endpoint, selection.app) = (event, endpoint, app)
            (selection.environment, selection.account, selection.state) = (environment, account, state)
            if let type {
                guard WebhookSelection.isPattern(type) else {
                    throw ValidationError("--type is a type of events, with * at its end at most: 'iap.refund.*'")
                }
                selection.type = type
            }
            selection.since = try since.map { try Self.time($0, "--since") }
            selection.until = try until.map { try Self.time($0, "--until") }
            return selection
        }

        private static func time(_ text: String, _ option: String) throws -> Date {
            guard let date = WebhookSelection.time(text) else {
                throw ValidationError("\(option) is a day or a time: 2026-11-21, 2026-11-21T10:00:00Z")
            }
            return date
        }
    }
}

/// What a command found, or asked for.
struct ResendReport: Encodable, Sendable {
    /// Deliveries to one endpoint in one state.
    struct Group: Encodable, Sendable {
        let endpoint: String
        let state: String
        let deliveries: Int
    }

    /// Of all endpoints and states.
    let deliveries: Int
    let groups: [Group]
    /// Whether there are more than the limit.
    let hasMore: Bool
    /// Whether they are sent again.
    let isAsked: Bool
    let auditId: Int64?

    enum CodingKeys: String, CodingKey {
        case deliveries, groups, auditId
        case hasMore = "more"
        case isAsked = "asked"
    }

    private let limit: Int

    init(_ outcome: WebhookResendStore.Outcome, limit: Int, isAsked: Bool) {
        deliveries = outcome.count
        groups = outcome.counts.sorted { $0.key < $1.key }.flatMap { endpoint, states in
            states.sorted { $0.key < $1.key }.map { Group(endpoint: endpoint, state: $0.key, deliveries: $0.value) }
        }
        hasMore = outcome.next != nil
        self.isAsked = isAsked
        auditId = outcome.auditId
        self.limit = limit
    }

    /// As a person reads it.
    var text: String {
        guard deliveries > 0 else { return "there is no such delivery" }
        var lines = groups.map { "\($0.endpoint): \($0.deliveries) \($0.state)" }
        lines.append(isAsked ? "\(deliveries) are sent again within seconds" : "\(deliveries) would be sent again")
        if hasMore { lines.append("there may be more: --limit is \(limit)") }
        lines.append(auditId.map { "written as audit \($0)" } ?? "nothing is changed: --yes sends them")
        return lines.joined(separator: "\n")
    }
}
