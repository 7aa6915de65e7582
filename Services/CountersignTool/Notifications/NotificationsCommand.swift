import ArgumentParser
import Foundation
import Persistence
import Postgres
import PurchaseModel

/// `countersign apple notifications`: what Apple has told, and what is to be judged once more.
struct NotificationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notifications", abstract: "Lists Apple's server notifications, and processes them again.",
        subcommands: [List.self, Replay.self])

    /// Which notifications.
    struct Choice: ParsableArguments {
        @Argument(help: "Apple's notificationUUIDs; any without them.") var ids: [String] = []
        @Option(help: "A bundle id.") var app: String?
        @Option(help: "production or sandbox; both without it.") var environment: StoreEnvironment?
        @Option(help: "A type, such as REFUND.") var type: String?
        @Option(help: "A subtype, such as BILLING_RETRY.") var subtype: String?
        @Option(help: "Received at this time or later: 2026-11-21, or 2026-11-21T10:00:00Z.") var since: String?
        @Option(help: "Received before this time.") var until: String?
        @Option(help: "The maximum number, the oldest first.") var limit = 10_000

        func validate() throws {
            guard (1...1_000_000).contains(limit) else { throw ValidationError("--limit is from 1 to 1000000") }
            _ = try selection()
        }

        /// What the options say.
        func selection() throws -> AppleNotificationStore.Selection {
            var selection = AppleNotificationStore.Selection()
            selection.uuids = try ids.map { id in
                guard let uuid = UUID(uuidString: id) else { throw ValidationError("\(id) is no UUID") }
                return uuid.uuidString.lowercased()
            }
            (selection.app, selection.environment) = (app, environment)
            (selection.type, selection.subtype) = (type, subtype)
            selection.since = try since.map { try Self.instant($0, "--since") }
            selection.until = try until.map { try Self.instant($0, "--until") }
            return selection
        }

        private static func instant(_ text: String, _ option: String) throws -> Date {
            let day = Date.ISO8601FormatStyle().year().month().day()
            if let date = try? Date(text, strategy: day), date.formatted(day) == text { return date }
            if let date = try? Date(text, strategy: .iso8601) { return date }
            throw ValidationError("\(option) is a day, 2026-11-21, or an instant, 2026-11-21T10:00:00Z")
        }
    }

    /// `countersign apple notifications list`.
    struct List: DatabaseLook {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Lists notifications that Apple signed, the oldest first.")

        @OptionGroup var choice: Choice
        @OptionGroup var printing: PrintingOptions

        func look(_ pool: PostgresPool) async throws -> [AppleNotificationStore.Chosen] {
            try await AppleNotificationStore(pool: pool).select(try choice.selection(), limit: choice.limit)
        }

        func text(_ found: [AppleNotificationStore.Chosen]) -> String {
            NotificationLines.text(found, limit: choice.limit)
        }
    }

    /// `countersign apple notifications replay`.
    struct Replay: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "replay",
            abstract: "Processes notifications again, and records who asked for it and why.",
            discussion: """
                Use it after an upgrade or a change of settings, for example for a type that the old version did not \
                know, or for refused sandbox notifications. Without --yes it only lists them. Nothing is granted \
                twice, and refund requests are answered once.
                """)

        @OptionGroup var choice: Choice
        @OptionGroup var act: ConfirmedOptions

        @OptionGroup var printing: PrintingOptions

        /// What was found, and done, for programs.
        struct Report: Encodable, Sendable {
            let notifications: [AppleNotificationStore.Chosen]
            /// Those whose signed text is gone.
            let withoutText: Int
            /// Nil where nobody said --yes.
            let replayed: Int?
            /// Of the UUIDs that were named.
            let unknown: [String]
        }

        func run() async throws {
            try await failingPlainly {
                let (selection, limit) = (try choice.selection(), choice.limit)
                let (yes, reason, actor) = (act.yes, act.reason ?? "", act.who)
                let (found, redriven) = try await ToolSettings.load().withDatabase { pool in
                    let found = try await AppleNotificationStore(pool: pool).select(selection, limit: limit)
                    let ids = yes ? found.filter(\.isWhole).map(\.submissionId) : []
                    let redriven = try await SubmissionStore(pool: pool).redrive(
                        .notifications(ids), reason: reason, actor: actor, limit: limit)
                    return (found, redriven.count)
                }
                let gone = found.count { !$0.isWhole }
                var lines = [NotificationLines.text(found, limit: limit)]
                if gone > 0 {
                    lines.append(
                        "\(gone) have no signed text any more: its retention is over, or an account was forgotten")
                }
                lines.append(yes ? "\(redriven) are judged again now" : "nothing was done: --yes does it")
                let missed = Set(selection.uuids).subtracting(found.map(\.uuid)).sorted()
                let report = Report(
                    notifications: found, withoutText: gone, replayed: yes ? redriven : nil, unknown: missed)
                try printing.answer(report, lines.joined(separator: "\n"))
                guard missed.isEmpty else { throw ToolFailure("unknown: \(missed.joined(separator: " "))") }
            }
        }
    }
}

/// Notifications in lines.
enum NotificationLines {
    static func text(_ found: [AppleNotificationStore.Chosen], limit: Int) -> String {
        guard !found.isEmpty else { return "no notification fits" }
        var lines = found.map { notification in
            let type = [notification.type, notification.subtype].compactMap(\.self).joined(separator: " ")
            return "\(notification.recordedAt.formatted(.iso8601)) \(notification.uuid) \(notification.app) "
                + "\(notification.environment.rawValue) \(type): \(notification.state?.rawValue ?? "removed")"
        }
        lines.append(found.count == limit ? "the first \(found.count), by --limit" : "\(found.count) notifications")
        return lines.joined(separator: "\n")
    }
}
