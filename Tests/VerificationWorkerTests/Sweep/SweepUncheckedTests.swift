import AppStoreServerAPI
import Foundation
import Messages
import NIOHTTP1
import Persistence
import Postgres
import PurchaseModel
import Testing

@testable import VerificationWorker

/// What Apple says late, by half, or while nobody can check it.
@Suite("Nothing that could not be checked is passed over", .enabled(if: SweepBooks.isThere, SweepBooks.missing))
struct SweepUncheckedTests {
    private static let asking = Setup(asksAboutRevocation: true)

    private func errors(_ books: SweepBooks) async throws -> Set<String> {
        Set(
            try await books.pool.query("SELECT last_error FROM sweep_tasks WHERE last_error IS NOT NULL").rows
                .map { try $0.decode("last_error", as: String.self) })
    }

    @Test("nobody could say whether a page's certificates are revoked: it is asked for again, and nothing is lost")
    func revocationUnknown() async throws {
        try await SweepBooks.with { books in
            let store = books.stage.simulator
            let first = try await store.sell("coins.100", type: "Consumable", to: "apple", token: nil)
            try await books.stage.withAccess { access in
                try await books.post(first, by: "player")
                try await books.settle(access)
            }
            let intent = try await books.intent(of: "player", for: "coins.100")
            let paid = try await store.sell("coins.100", type: "Consumable", to: "apple", token: intent)
            try await store.control(.PUT, "revocation", "{\"responder\":\"unreachable\"}")
            try await books.stage.withAccess(Self.asking) { access in
                try await books.sweep(access)
                #expect(try await books.number("SELECT count(*) AS n FROM recoveries") == 0)
                #expect(try await errors(books) == ["revocation_unknown"])
            }
            try await store.control(.PUT, "revocation", "{\"responder\":\"up\"}")
            try await books.stage.withAccess(Self.asking) { access in
                try await books.hurry()
                try await books.sweep(access)
                #expect(try await books.state(of: paid) == "granted")
                #expect(try await errors(books) == [])
            }
        }
    }

    @Test("a page with what does not verify is asked for again for hours, and then passed over")
    func mismatches() {
        func isAsked(_ verdicts: Verdict..., mismatches: Int) -> Bool {
            var taken = SweepTaken()
            for verdict in verdicts { taken.note(verdict) }
            return taken.again(after: mismatches) != nil
        }
        let revocation = Verdict.unknown(.revocationUnknown, retryAfterSeconds: 60)
        for mismatches in [0, 11] { #expect(isAsked(ServerAnswers.mismatch, mismatches: mismatches)) }
        #expect(!isAsked(ServerAnswers.mismatch, mismatches: 12))
        #expect(isAsked(revocation, mismatches: 500), "however long")
        #expect(isAsked(.unknown(.appAppleIdMismatch, retryAfterSeconds: 60), mismatches: 500), "until it is mended")
        #expect(
            isAsked(revocation, ServerAnswers.mismatch, mismatches: 12), "the one is not passed over with the other")
        #expect(isAsked(ServerAnswers.mismatch, revocation, mismatches: 12))
        #expect(!isAsked(mismatches: 0))
    }

    @Test("of a customer's page what nobody here can read is held for a newer version, and hides nothing of him")
    func unreadEntries() async throws {
        try await SweepBooks.with { books in
            let store = books.stage.simulator
            try await store.addSubscription()
            let first = try await store.sell("coins.100", type: "Consumable", to: "apple", token: nil)
            let odd = try await store.sell("coins.100", type: "Consumable", to: "apple", token: nil)
            let gold = try await store.sell("gold", type: "Auto-Renewable Subscription", to: "apple", token: nil)
            for (sold, field) in [(odd, #""appAccountToken":"player-7""#), (gold, #""purchaseDate":"soon""#)] {
                try await store.control(
                    .POST, "transactions/\(sold.transactionId)/sign", "{\"keep\":true,\"fields\":{\(field)}}")
            }
            let token = try await books.token(of: "player")
            let paid = try await store.sell("coins.100", type: "Consumable", to: "apple", token: token)
            try await books.stage.withAccess { access in
                func ask() async throws {
                    _ = try await SweepTaskStore(pool: books.pool).request(
                        .account(Account(stored: "player")), app: SubmissionFixture.app, environment: .production,
                        actor: "anna", reason: "wrote to support")
                    try await books.sweep(access)
                }
                try await books.post(first, by: "player")
                try await books.settle(access)
                try await ask()
                #expect(try await errors(books) == [])
                #expect(try await books.state(of: paid) == "granted")
                // The subscription stands in the history and in the statuses.
                let waiting = ["account_token_unreadable", "field_invalid", "field_invalid"]
                #expect(try await books.waiting() == waiting)
                // Signed anew later, it is the same.
                try await store.advance("1m")
                try await ask()
                #expect(try await books.waiting() == waiting)
            }
        }
    }

    @Test("an entry without a signed text spoils no page: the others are taken in, and it is asked for again for hours")
    func entriesWithoutText() async throws {
        try await SweepBooks.with { books in
            let store = books.stage.simulator
            let first = try await store.sell("coins.100", type: "Consumable", to: "apple", token: nil)
            let token = try await books.token(of: "player")
            let paid = try await store.sell("coins.100", type: "Consumable", to: "apple", token: token)
            try await books.stage.withAccess { access in
                try await books.post(first, by: "player")
                try await books.settle(access)
                let sweeper = books.sweeper(access)
                _ = try await sweeper.tasks.request(
                    .account(Account(stored: "player")), app: SubmissionFixture.app, environment: .production,
                    actor: "anna", reason: "wrote to support")
                let claimed = try await sweeper.tasks.claim(limit: 10, lease: .seconds(60))
                var task = try #require(claimed.first { $0.kind == .history })
                let app = try #require(access.apps[SubmissionFixture.app])
                let json = """
                    {"revision":"r","hasMore":false,"signedTransactions":[null,"\(paid.signedTransaction)"]}
                    """
                let page = try JSONDecoder().decode(HistoryResponse.self, from: Data(json.utf8))
                func step(_ task: SweepTask) async throws -> SweepStep {
                    try await sweeper.customers.step(page, after: SweepTaskStore.Progress(), task, app)
                }
                let again = try await step(task)
                guard case .putOff(_, "answer_mismatch", false, true) = again else {
                    throw Simulator.Trouble(description: "\(again)")
                }
                try await books.settle(access)
                #expect(try await books.state(of: paid) == "granted")
                task.mismatches = SweepTaken.mismatchesMaximum
                let over = try await step(task)
                guard case .end = over else { throw Simulator.Trouble(description: "\(over)") }
            }
        }
    }

    @Test("each page has its own tries: the one before takes none of them, nor does an outage")
    func tries() async throws {
        try await SweepBooks.with { books in
            let store = books.stage.simulator
            try await store.keepNotifications()
            try await store.sell(count: 25)
            try await store.advance("1m")
            // To this worker all of it is a stranger's.
            try await books.stage.withAccess(Setup(trustsOthers: true)) { access in
                func look() async throws -> [Int64] {
                    try await books.hurry()
                    try await books.sweep(access) { $0.intervals = [.notifications: .seconds(900)] }
                    let row = try #require(
                        try await books.pool.query(
                            """
                            SELECT calls, mismatches::int8 AS mismatches, failures::int8 AS failures FROM sweep_tasks
                            WHERE kind = 'notifications' AND environment = 'production'
                            """
                        ).rows.first)
                    return try ["calls", "mismatches", "failures"].map { try row.decode($0, as: Int64.self) }
                }
                #expect(try await look() == [0, 1, 1])
                _ = try await books.pool.query("UPDATE sweep_tasks SET mismatches = 0, failures = 50")
                #expect(try await look() == [0, 1, 51], "what failed for another reason counts for nothing")
                try await store.misbehave(#"{"kind":"status","status":429,"retryAfterMs":1}"#)
                #expect(try await look() == [0, 1, 52])
                try await store.behave()
                _ = try await books.pool.query("UPDATE sweep_tasks SET mismatches = 12")
                #expect(try await look() == [1, 1, 1], "the first page is passed over, and the second asked for again")
                _ = try await books.pool.query("UPDATE sweep_tasks SET mismatches = 12")
                #expect(try await look() == [2, 0, 0])
            }
        }
    }

    @Test(
        "what Apple signed and nobody here can read of a notification is held for a newer version, once, and is no mismatch"
    )
    func unreadNotifications() async throws {
        try await SweepBooks.with { books in
            let store = books.stage.simulator
            try await store.keepNotifications()
            for (index, override) in [
                #"{"data":null,"newKind":{"bundleId":"\#(SubmissionFixture.app)","signedTransactionInfo":"x"}}"#,
                #"{"data.bundleId":null,"data.signedTransactionInfo":null}"#,
                #"{"data.environment":"Moon"}"#, #"{"signedDate":null}"#,
            ].enumerated() {
                try await store.control(
                    .POST, "trigger",
                    """
                    {"notificationType":"ONE_TIME_CHARGE","account":"apple-\(index)",
                    "bundleId":"\(SubmissionFixture.app)","override":\(override)}
                    """)
            }
            let token = try await books.token(of: "player")
            let paid = try await store.sell("coins.100", type: "Consumable", to: "apple", token: token)
            // What is to be sent has been sent when this answers.
            try await store.advance("1m")
            try await books.stage.withAccess { access in
                func sweep() async throws {
                    try await books.sweep(access) { $0.intervals = [.notifications: .seconds(900)] }
                }
                try await sweep()
                #expect(try await errors(books) == [])
                #expect(try await books.state(of: paid) == "granted")
                let waiting = [
                    "environment_unknown", "field_missing", "notification_content", "payload_unreadable",
                ]
                #expect(try await books.waiting() == waiting)
                // Another round takes nothing in again.
                _ = try await books.pool.query("UPDATE sweep_tasks SET covered_until = NULL")
                try await books.hurry()
                try await sweep()
                #expect(try await books.waiting() == waiting)
                #expect(try await books.number("SELECT count(*) AS n FROM recoveries") == 5)
            }
        }
    }

    @Test("a renewal without a transaction is applied to the subscription, whichever of the two comes first")
    func renewalAlone() async throws {
        struct Play: Decodable { let notifications: [ToldNotification] }
        for renewalFirst in [false, true] {
            try await SweepBooks.with { books in
                let store = books.stage.simulator
                try await store.addSubscription()
                let gold = try await store.sell("gold", type: "Auto-Renewable Subscription", to: "apple", token: nil)
                let told = try await store.control(
                    .POST, "trigger",
                    """
                    {"notificationType":"DID_CHANGE_RENEWAL_STATUS","subtype":"AUTO_RENEW_DISABLED","account":"apple",
                    "bundleId":"\(SubmissionFixture.app)","override":{"data.signedTransactionInfo":null}}
                    """, as: Play.self
                ).notifications
                let disabled = try #require(told.last { $0.notificationType == "DID_CHANGE_RENEWAL_STATUS" })
                #expect(disabled.payload.data?.signedTransactionInfo == nil)
                #expect(disabled.payload.data?.signedRenewalInfo?.originalTransactionId == gold.originalTransactionId)
                try await books.stage.withAccess { access in
                    for isRenewal in [renewalFirst, !renewalFirst] {
                        if isRenewal {
                            try await take(disabled, books)
                        } else {
                            try await books.post(gold, by: "player")
                        }
                        try await books.settle(access)
                    }
                }
                #expect(try await books.number("SELECT count(*) AS n FROM submissions WHERE state = 'fulfilled'") == 2)
                #expect(
                    try await books.number(
                        """
                        SELECT count(*) AS n FROM subscriptions
                        WHERE account = 'player' AND standing ->> 'will_renew' = 'false'
                        """) == 1, "renewal first: \(renewalFirst)")
                try await ConsistencyCheck(pool: books.pool).expectClean()
            }
        }
    }

    /// Takes in what Apple posts, as intake does.
    private func take(_ told: ToldNotification, _ books: SweepBooks) async throws {
        let (app, proof) = (SubmissionFixture.app, told.signedPayload)
        let id = SubmissionIdentifier.make(app: app, account: "", kind: .serverNotification, proof: proof)
        let message = SubmissionMessage(
            submissionId: id, app: app, account: "", kind: .serverNotification, proof: proof, attempt: 0,
            correlationId: "req_\(id)")
        _ = try await SubmissionStore(pool: books.pool).accept(
            [SubmissionStore.NewSubmission(message: message, partitionKey: id)], lease: .zero)
    }
}
