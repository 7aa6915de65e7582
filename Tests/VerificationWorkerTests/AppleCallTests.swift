import AppStoreServerAPI
import Foundation
import Messages
import NIOHTTP1
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Persistence
@testable import VerificationWorker

/// Queued calls are made against the real simulator, from the real table.
@Suite(
    "Queued calls to Apple", .timeLimit(.minutes(2)),
    .enabled(
        if: TestDatabase.url != nil && Simulator.isThere,
        "SKIPPED: COUNTERSIGN_TEST_POSTGRES or COUNTERSIGN_BIN_DIR is not set"))
struct AppleCallTests {
    private static let app = SubmissionFixture.app

    /// A worker's part that makes calls, and the table that it makes them from.
    private struct Scene {
        let stage: Stage
        let pool: PostgresPool
        let access: AppStoreAccess

        func look() async throws {
            let attention = AttentionLog(logger: Stage.quiet)
            let caller = AppleCaller(
                apps: access.apps, pace: access.pace, attention: attention, patience: .seconds(5), chance: { 0 })
            try await MakeAppleCalls(
                store: AppleCallStore(pool: pool), caller: caller, apps: access.apps, logger: Stage.quiet
            ).look()
        }

        func queue(
            _ kind: AppleCallStore.Kind, _ id: String, app: String = AppleCallTests.app, token: UUID? = nil
        ) async throws {
            let call = AppleCallStore.NewCall(
                kind: kind, order: OrderKey(environment: .production, transactionId: id), transactionId: id, app: app,
                token: token)
            try await pool.withTransaction { try await AppleCallStore.queue([call], delay: .zero, on: $0) }
        }

        /// A refund request with an answer, as fulfillment leaves it.
        func ask(_ id: String, _ answer: ConsumptionAnswer) async throws {
            try await pool.withTransaction { connection in
                _ = try await AppleCallStore.ask(
                    [
                        AppleCallStore.Request(
                            order: OrderKey(environment: .production, transactionId: id), transactionId: id,
                            app: AppleCallTests.app, requestedAt: Date(), reason: "OTHER")
                    ], on: connection)
                for asked in try await AppleCallStore.asked(limit: 10, on: connection) {
                    try await AppleCallStore.decide(asked.id, .answer(answer), on: connection)
                }
            }
        }

        /// State, attempts, status, code, word and version of every call.
        func calls() async throws -> [String] {
            let result = try await pool.query(
                """
                SELECT concat_ws(' ', state, attempts, status, code, outcome, api_version) AS line FROM apple_calls ORDER BY id
                """)
            return try result.rows.map { try $0.decode("line", as: String.self) }
        }

        func makeDue() async throws {
            _ = try await pool.query("UPDATE apple_calls SET due_at = now() WHERE due_at IS NOT NULL")
        }
    }

    private func scene(_ setup: Setup = Setup(), _ body: (Scene) async throws -> Void) async throws {
        try await TestDatabase.with { pool in
            try await Stage.run { stage in
                try await stage.withAccess(setup) { try await body(Scene(stage: stage, pool: pool, access: $0)) }
            }
        }
    }

    private struct Answers: Decodable {
        struct Answer: Decodable {
            let transactionId: String
            let version: Int
            let body: Body
        }
        let consumptionAnswers: [Answer]
    }

    private struct Body: Decodable, Equatable {
        let customerConsented: Bool
        let consumptionPercentage: Int?
        let consumptionStatus: Int?
    }

    @Test("Apple gets the body that is kept, byte for byte, once")
    func consumption() async throws {
        try await scene { scene in
            let sold = try await scene.stage.simulator.sellOne()
            try await scene.ask(
                sold.transactionId,
                ConsumptionAnswer(isDelivered: true, consumed: 12_345, preference: .decline, hasSample: true))
            try await scene.look()
            try await scene.look()
            #expect(try await scene.calls() == ["done 1 202 2"])
            let told = try await scene.stage.simulator.control(.GET, "consumption-answers", as: Answers.self)
                .consumptionAnswers
            let row = try #require(try await scene.pool.query("SELECT body FROM apple_calls").rows.first)
            let body: String = try row.decode("body")
            #expect(told.map(\.body) == [try JSONDecoder().decode(Body.self, from: Data(body.utf8))])
            #expect(
                body
                    == #"{"consumptionPercentage":12345,"customerConsented":true,"deliveryStatus":"DELIVERED","refundPreference":"DECLINE","sampleContentProvided":true}"#
            )
        }
    }

    @Test("a renewal date is extended at most once, and what Apple refuses is kept with its number")
    func extensions() async throws {
        try await scene { scene in
            let store = scene.stage.simulator
            let sold = try #require(
                try await store.sell("vip", type: "Auto-Renewable Subscription", to: "somebody").first)
            let calls = AppleCallStore(pool: scene.pool)
            func extend(_ id: String, days: Int) async throws -> AskedExtension {
                _ = try await scene.pool.query(
                    """
                    INSERT INTO subscriptions (environment, original_transaction_id, app, state, product_id, transaction_id,
                        expires_date, access_until, standing)
                    VALUES ('production', \(id), \(Self.app), 'active', 'vip', \(id), now(), now(), '{}') ON CONFLICT DO NOTHING
                    """)
                return try #require(
                    try await calls.extend(
                        id, in: .production, by: RenewalExtension(days: days, reason: .customerSatisfaction),
                        app: Self.app,
                        actor: "kim", reason: "an outage"))
            }
            let first = try await extend(sold.transactionId, days: 7)
            try await scene.look()
            let done = try #require(try await calls.extensionAsked(first.id))
            #expect(done.state == .done && done.status == 200, "\(done)")
            #expect(done.renewsAt ?? .distantPast > Date(timeIntervalSinceNow: 7 * 86_400))
            // Of a worker that died nobody knows whether it made the call: it is not made again.
            let left = try await extend(sold.transactionId, days: 7)
            _ = try await calls.claim(.extension, apps: [Self.app], limit: 1, lease: .zero)
            try await scene.look()
            let unknown = try #require(try await calls.extensionAsked(left.id))
            #expect(unknown.state == .lapsed && unknown.outcome == "outcome_unknown" && unknown.status == nil)
            let second = try await extend(sold.transactionId, days: 7)
            try await scene.look()
            #expect(try await calls.extensionAsked(second.id)?.state == .done, "one of the two a year was left")
            let third = try await extend(sold.transactionId, days: 7)
            try await scene.look()
            #expect(try await calls.extensionAsked(third.id)?.code == 4_030_005)
            let other = try await store.sellOne()
            let refused = try await extend(other.transactionId, days: 7)
            try await scene.look()
            let told = try #require(try await calls.extensionAsked(refused.id))
            #expect(told.state == .refused && told.code == 4_030_004 && told.status == 403, "\(told)")
        }
    }

    @Test("what version 2 does not take for Advanced Commerce goes by version 1")
    func advancedCommerce() async throws {
        try await scene { scene in
            let sale = """
                {"bundleId":"\(Self.app)","productId":"coins.100","type":"Consumable","account":"somebody",
                "advancedCommerceInfo":{"requestReferenceId":"\(UUID())"}}
                """
            struct Sale: Decodable { let transactions: [Simulator.Sold] }
            let sold = try #require(
                try await scene.stage.simulator.control(.POST, "sales", sale, as: Sale.self).transactions.first)
            try await scene.ask(
                sold.transactionId,
                ConsumptionAnswer(isDelivered: true, consumed: 50_000, preference: .grantProrated, hasSample: false))
            try await scene.look()
            #expect(try await scene.calls() == ["done 1 202 1"])
            let told = try await scene.stage.simulator.control(.GET, "consumption-answers", as: Answers.self)
                .consumptionAnswers
            #expect(told.map(\.version) == [1])
        }
    }

    @Test("good values that version 2 refuses (400 4000036) go by version 1, within the same minute")
    func goodValuesRefused() async throws {
        try await scene { scene in
            let sold = try await scene.stage.simulator.sellOne()
            // Of the two calls the first: version 2's.
            try await scene.stage.simulator.misbehave(
                "{\"kind\":\"status\",\"status\":400,\"errorCode\":4000036}", count: 1)
            try await scene.ask(
                sold.transactionId,
                ConsumptionAnswer(isDelivered: true, consumed: 0, preference: .grantFull, hasSample: false))
            try await scene.look()
            #expect(try await scene.calls() == ["done 1 202 1"])
            let told = try await scene.stage.simulator.control(.GET, "consumption-answers", as: Answers.self)
                .consumptionAnswers
            #expect(told.map(\.version) == [1])
            #expect(told.map(\.body.consumptionStatus) == [1], "not consumed")
        }
    }

    @Test("a granted purchase is finished, and a token set; Apple's transaction says both afterwards")
    func finishAndToken() async throws {
        try await scene { scene in
            let sold = try await scene.stage.simulator.sellOne()
            let token = UUID()
            try await scene.queue(.finish, sold.transactionId)
            try await scene.queue(.finish, sold.transactionId)
            try await scene.queue(.accountToken, sold.originalTransactionId, token: token)
            try await scene.look()
            #expect(try await scene.calls() == ["done 1 200", "done 1 200"])
            struct Told: Decodable {
                struct Transaction: Decodable { let appAccountToken: String? }
                let isFinished: Bool?
                let transaction: Transaction?
            }
            let key = try #require(scene.access.apps.client(of: Self.app))
            let info = try await key.transactionInfo(sold.transactionId, in: .production).signedTransactionInfo
            #expect(try payload(info).contains("\"appAccountToken\":\"\(token.uuidString.lowercased())\""))
            // A receipt holds unfinished consumables only.
            let receipt = try await scene.stage.simulator.receipt(of: "somebody")
            let bytes = try #require(Data(base64Encoded: receipt))
            #expect(bytes.range(of: Data(sold.transactionId.utf8)) == nil)
        }
    }

    @Test("Apple away, limiting, failing: made again later; refused for good: told once, and left")
    func trouble() async throws {
        try await scene { scene in
            let sold = try await scene.stage.simulator.sellOne()
            try await scene.queue(.finish, sold.transactionId)
            try await scene.stage.simulator.misbehave("{\"kind\":\"status\",\"status\":503}")
            try await scene.look()
            #expect(try await scene.calls() == ["ready 1 unavailable"])
            let later = "SELECT count(*)::int8 AS n FROM apple_calls WHERE due_at > now() + interval '20 seconds'"
            #expect(try #require(try await scene.pool.query(later).rows.first).decode("n", as: Int64.self) == 1)
            try await scene.stage.simulator.behave()
            try await scene.makeDue()
            try await scene.look()
            #expect(try await scene.calls() == ["done 2 200"])

            // Apple knows no such id: it may be so for days of what it sold, and then it is over.
            try await scene.queue(.finish, "2000000999999999")
            try await scene.look()
            #expect(try await scene.calls().last == "ready 1 404 4040010 notFound")
            for (days, word) in [(2, "ready 2"), (2, "refused 3")] {
                _ = try await scene.pool.query(
                    "UPDATE apple_calls SET created_at = created_at - \(days) * interval '1 day'")
                try await scene.makeDue()
                try await scene.look()
                #expect(try await scene.calls().last == "\(word) 404 4040010 notFound")
            }
            try await scene.makeDue()
        }
    }

    @Test("a worker that died leaves the call to the next; an app without a key leaves it to whoever has one")
    func leases() async throws {
        try await scene { scene in
            let sold = try await scene.stage.simulator.sellOne()
            try await scene.queue(.finish, sold.transactionId)
            try await scene.queue(.finish, "1", app: "com.example.other")
            let store = AppleCallStore(pool: scene.pool)
            // Leased by a process that is gone: nobody else takes it until the lease is over.
            let leased = try await store.claim(.finish, apps: [Self.app], limit: 10, lease: .seconds(60))
            #expect(leased.map(\.transactionId) == [sold.transactionId])
            try await scene.look()
            #expect(try await scene.calls() == ["ready 1", "ready 0"])
            try await scene.makeDue()
            try await scene.look()
            #expect(try await scene.calls() == ["done 2 200", "ready 0"])
        }
    }

    @Test("the pause doubles to a bound, and an answer is not tried past its end")
    func schedule() {
        func call(_ kind: AppleCallStore.Kind, attempts: Int, age: Double = 0, left: Double? = nil)
            -> AppleCallStore.Due
        {
            AppleCallStore.Due(
                id: 1, kind: kind, environment: .production, app: Self.app, transactionId: "1", attempts: attempts,
                ageSeconds: age, secondsLeft: left, answer: nil, token: nil)
        }
        let delays = (0..<9).map { CallSchedule.delay(call(.finish, attempts: $0), asked: 0, chance: 0) }
        #expect(delays == [30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600].map { .seconds($0) })
        #expect(CallSchedule.delay(call(.consumption, attempts: 9), asked: 0, chance: 1) == .seconds(720))
        #expect(CallSchedule.delay(call(.finish, attempts: 0), asked: 100, chance: 0) == .seconds(100))
        #expect(CallSchedule.isOver(call(.consumption, attempts: 3, age: 43_000, left: 200), after: .seconds(600)))
        #expect(!CallSchedule.isOver(call(.consumption, attempts: 3, age: 100, left: -10), after: .seconds(600)))
        #expect(!CallSchedule.isOver(call(.finish, attempts: 3, age: 86_400), after: .seconds(600)))
    }

    private func payload(_ jws: String) throws -> String {
        var part = String(try #require(jws.split(separator: ".").dropFirst().first))
            .replacing("-", with: "+").replacing("_", with: "/")
        part += String(repeating: "=", count: (4 - part.count % 4) % 4)
        return String(decoding: try #require(Data(base64Encoded: part)), as: UTF8.self)
    }
}
