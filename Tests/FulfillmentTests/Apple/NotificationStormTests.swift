import ChanceTesting
import Foundation
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import ServiceRuntime
import Testing

@testable import Fulfillment

/// How many notifications are played.
private let wantedNotifications =
    ProcessInfo.processInfo.environment["COUNTERSIGN_STORM"].flatMap { Int($0) } ?? 1_000

/// Apple's notifications in any order, three times each, between what players post: the end is as if all came once, in order.
///
/// One history of more than a thousand notifications; `COUNTERSIGN_STORM=10000` for more. It prints what was played, how long it
/// took, and what came of it.
@Suite(
    "A storm of notifications", .enabled(if: TestDatabase.url != nil, Bench.skipComment),
    .timeLimit(.minutes(max(10, wantedNotifications / 100))))
struct NotificationStormTests {
    private static let seed: UInt64 = 16
    private static let batch = 100
    private static let streams = 4

    /// How many lineages have at least so many notifications.
    private static let lineages: Int = {
        var lineages = max(1, wantedNotifications / 8)
        while true {
            let history = History(seed: seed, prefix: "storm.a.", lineages: lineages)
            let count = history.acts.count { $0.notification != nil }
            if count >= wantedNotifications { return lineages }
            // As many more as are missing, and a few.
            lineages = lineages * (wantedNotifications + 20) / max(count, wantedNotifications / 4) + 1
        }
    }()

    private static func history(_ prefix: String) -> History {
        History(seed: seed, prefix: prefix, lineages: lineages)
    }

    /// Tells how far it is: ten thousand take minutes.
    private static func say(_ what: String, since start: ContinuousClock.Instant) {
        let seconds = ((ContinuousClock.now - start) / .seconds(1)).formatted(.number.precision(.fractionLength(1)))
        print("storm: \(what), \(seconds) s")
    }

    /// Both features that follow from grants are on: they must not matter either.
    private static func apps(_ histories: [History]) throws -> CurrentApps {
        let file = FileManager.default.temporaryDirectory.appending(path: "apps-\(UUID().uuidString).yaml")
        defer { try? FileManager.default.removeItem(at: file) }
        let entries = histories.map { "  - { bundle_id: \($0.app), finish: server, account_token: set }\n" }
        try Data(("apps:\n" + entries.joined()).utf8).write(to: file)
        return CurrentApps(try AppsFile.load(path: file.path, secrets: []))
    }

    private func prepare(_ history: History, _ bench: Bench) async throws -> Bench {
        for (token, account) in history.tokens {
            _ = try await AccountTokenStore(pool: bench.pool).register(app: history.app, token: token, account: account)
        }
        for start in stride(from: 0, to: history.acts.count, by: Self.batch) {
            _ = try await SubmissionStore(pool: bench.pool).accept(
                (start..<min(start + Self.batch, history.acts.count)).map { index in
                    let message = history.submission(of: index)
                    return SubmissionStore.NewSubmission(message: message, partitionKey: message.submissionId)
                }, lease: .seconds(3_600))
        }
        var own = bench
        own.products = history.catalogue
        own.now = { History.end }
        return own
    }

    private func settle(_ messages: [VerdictMessage], _ bench: Bench) async throws {
        for start in stride(from: 0, to: messages.count, by: Self.batch) {
            try await bench.settle(Array(messages[start..<min(start + Self.batch, messages.count)]))
        }
    }

    private func end(_ bench: Bench) async throws {
        try await EndSubscriptions(
            pool: bench.pool, subscriptions: UpdateSubscriptions(now: { History.end }),
            announce: AnnounceOutcomes { _ in }, eventLease: .seconds(30)
        ).look()
    }

    @Test func `shuffled, tripled and between posts they leave what they leave in order`() async throws {
        try await Bench.with { plain in
            let (ordered, shuffled) = (Self.history("storm.a."), Self.history("storm.b."))
            var bench = plain
            bench.apps = try Self.apps([ordered, shuffled])
            var start = ContinuousClock.now
            let first = try await prepare(ordered, bench)
            try await settle(ordered.acts.indices.flatMap { ordered.messages(of: $0) }, first)
            try await end(first)
            let told = ordered.acts.count { $0.notification != nil }
            Self.say("\(told) notifications and \(ordered.acts.count - told) posts settled in order", since: start)

            start = .now
            let second = try await prepare(shuffled, bench)
            var chance = SplitMix(seed: Self.seed)
            let messages = shuffled.acts.indices.flatMap { index in
                let repeats = shuffled.acts[index].notification == nil ? 1 : 3
                return [[VerdictMessage]](repeating: shuffled.messages(of: index), count: repeats).flatMap(\.self)
            }
            let deck = messages.shuffled(using: &chance)
            let size = (deck.count + Self.streams - 1) / Self.streams
            try await withThrowingTaskGroup(of: Void.self) { group in
                for start in stride(from: 0, to: deck.count, by: size) {
                    let hand = Array(deck[start..<min(start + size, deck.count)])
                    group.addTask { try await settle(hand, second) }
                }
                try await group.waitForAll()
            }
            try await end(second)

            Self.say("shuffled, tripled and \(Self.streams) at once: \(deck.count) verdicts settled", since: start)
            start = .now
            #expect(told >= wantedNotifications)
            let (state, other) = (
                try await HistoryState(of: ordered, bench.pool), try await HistoryState(of: shuffled, bench.pool)
            )
            let differences = state.differences(from: other)
            #expect(differences.isEmpty, "\(differences.prefix(12).joined(separator: "\n"))")
            #expect(state.orderCount == ordered.purchases.count)
            for app in [ordered.app, shuffled.app] {
                let recorded = "SELECT count(*) FROM apple_notifications WHERE app = '\(app)'"
                #expect(try await bench.number(recorded) == told)
            }
            try await bench.expectClean()
            let verdict =
                differences.isEmpty ? "the same \(state.orderCount) orders" : "\(differences.count) DIFFERENCES"
            Self.say("compared and audited: \(verdict)", since: start)
        }
    }
}
