import Foundation
import Messages
import Persistence
import PersistenceTesting
import PurchaseModel
import Testing

@testable import Fulfillment

/// Items of a period go to the account of its own token; entitlements and the subscription to the lineage's owner.
@Suite("Items by token", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct ItemsByTokenTests {
    /// What was told of an order's grant: `account items entitlements`.
    private func grants(of id: String, _ bench: Bench) async throws -> [String] {
        try await bench.answers(
            """
            SELECT concat_ws(' ', account, body::jsonb #>> '{data,entries,0,amount}', body::jsonb #>> '{data,entitlements}')
            FROM events WHERE type = 'iap.transaction.fulfilled' AND transaction_id = '\(id)' ORDER BY 1
            """)
    }

    @Test(arguments: [[1, 2], [2, 1]], [true, false])
    func `each period's items are its own token's account's, in any order`(
        order: [Int], isOneBatch: Bool
    ) async throws {
        try await Bench.withOwners { bench in
            let tokens = [try await bench.token(of: "anna"), try await bench.token(of: "ben")]
            var batch: [VerdictMessage] = []
            for number in order {
                batch.append(
                    try await bench.notification("n\(number)", [Bench.season(number, token: tokens[number - 1])]))
            }
            for part in isOneBatch ? [batch] : batch.map({ [$0] }) { try await bench.settle(part) }
            #expect(try await bench.gems(of: "anna") == 10)
            #expect(try await bench.gems(of: "ben") == 10)
            #expect(try await bench.owner(of: "v1") == "ben token")
            #expect(try await bench.inForce() == ["ben vip v1", "ben vip v2"])
            try await bench.expectClean()
        }
    }

    @Test func `a period freed by another's statement with its token says whose the lineage is`() async throws {
        try await Bench.withOwners { bench in
            let (anna, late) = (try await bench.token(of: "anna"), UUID())
            try await bench.notify("n1", Bench.season(1, token: anna))
            for number in [2, 4] { try await bench.notify("n\(number)", Bench.season(number, token: late)) }
            #expect(try await bench.standing(of: "v4") == "parked account_token_unknown -")
            _ = try await AccountTokenStore(pool: bench.pool).register(app: Bench.app, token: late, account: "ben")
            // Before anybody has looked for orders that wait for the token.
            var again = Bench.season(2, token: late)
            again.signedDate += 60
            try await bench.notify("n2 again", again)
            try await bench.notify("n3", Bench.season(3, token: anna))
            _ = try await bench.grantParked()
            #expect(try await bench.owner(of: "v1") == "ben token")
            #expect(try await bench.gems(of: "anna") == 20)
            #expect(try await bench.gems(of: "ben") == 20)
            #expect(try await bench.inForce() == ["ben vip v1", "ben vip v2", "ben vip v3", "ben vip v4"])
            try await bench.expectClean()
        }
    }

    @Test func `a refunded period that another's statement frees says whose the lineage is, too`() async throws {
        try await Bench.withOwners { bench in
            let (ben, late) = (try await bench.token(of: "ben"), UUID())
            try await bench.notify("n1", Bench.season(1, token: late))
            var refunded = Bench.season(4, token: late, signed: 5)
            refunded.revocationDate = refunded.signedDate
            try await bench.notify("n4", refunded)
            _ = try await AccountTokenStore(pool: bench.pool).register(app: Bench.app, token: late, account: "anna")
            try await bench.notify("n2", Bench.season(2, token: late))
            _ = try await bench.grantParked()
            try await bench.notify("n3", Bench.season(3, token: ben))
            #expect(try await bench.owner(of: "v1") == "anna token")
            #expect(try await bench.inForce() == ["anna vip v1", "anna vip v2", "anna vip v3"])
            try await bench.expectClean()
        }
    }

    @Test func `the former token's account is told of its items, and the owner of the entitlement`() async throws {
        try await Bench.withOwners { bench in
            let (anna, ben) = (try await bench.token(of: "anna"), try await bench.token(of: "ben"))
            try await bench.post("s2", Bench.season(2, token: ben), by: "ben")
            try await bench.post("s1", Bench.season(1, token: anna), by: "anna")
            #expect(try await grants(of: "v1", bench) == ["anna 10 []", #"ben ["vip"]"#])
            #expect(try await grants(of: "v2", bench) == [#"ben 10 ["vip"]"#])
            #expect(try await bench.outcome("s1")?.state == .fulfilled)
            #expect(try await bench.outcome("s2")?.state == .fulfilled)
            try await bench.expectClean()
        }
    }

    @Test(arguments: [true, false])
    func `a token that is registered late brings its account the items, whoever owns the lineage`(
        isPosted: Bool
    ) async throws {
        try await Bench.withOwners { bench in
            let (late, ben) = (UUID(), try await bench.token(of: "ben"))
            try await bench.notify("n2", Bench.season(2, token: ben))
            if isPosted {
                try await bench.post("s1", Bench.season(1, token: late), by: "anna")
            } else {
                try await bench.notify("s1", Bench.season(1, token: late))
            }
            #expect(try await bench.standing(of: "v1") == "parked account_token_unknown -")
            _ = try await AccountTokenStore(pool: bench.pool).register(app: Bench.app, token: late, account: "anna")
            #expect(try await bench.grantParked() == 1)
            #expect(try await bench.standing(of: "v1") == "granted - ben")
            #expect(try await bench.gems(of: "anna") == 10)
            #expect(try await bench.gems(of: "ben") == 10)
            #expect(try await bench.outcome("s1")?.state == .fulfilled)
            #expect(try await bench.grantParked() == 0)
            try await bench.expectClean()
        }
    }

    @Test func `a refund takes from who got the items, a reversal gives them back`() async throws {
        try await Bench.withOwners { bench in
            let (anna, ben) = (try await bench.token(of: "anna"), try await bench.token(of: "ben"))
            try await bench.notify("n2", Bench.season(2, token: ben))
            try await bench.notify("n1", Bench.season(1, token: anna))
            var refund = Bench.season(1, token: anna, signed: 40)
            refund.revocationDate = Bench.day(39)
            try await bench.notify("n3", refund)
            #expect(try await bench.gems(of: "anna") == 0)
            #expect(try await bench.gems(of: "ben") == 10)
            var reversal = try await bench.notification("n4", [Bench.season(1, token: anna, signed: 41)])
            reversal.notification = VerdictMessage.NotificationKind(type: "REFUND_REVERSED", subtype: nil, uuid: "n4")
            try await bench.settle([reversal])
            #expect(try await bench.gems(of: "anna") == 10)
            try await bench.expectClean()
        }
    }

    @Test func `of a period without a token the owner gets the items`() async throws {
        try await Bench.withOwners { bench in
            let token = try await bench.token(of: "ben")
            try await bench.post("s1", Bench.season(1), by: "anna")
            try await bench.notify("n2", Bench.season(2, token: token))
            var renewal = Bench.season(3)
            renewal.transactionReason = "RENEWAL"
            try await bench.notify("n3", renewal)
            #expect(try await bench.gems(of: "anna") == 10)
            #expect(try await bench.gems(of: "ben") == 20)
            try await bench.expectClean()
        }
    }

    @Test func `after a transfer the new owner gets the items of what is bought then, and not of before`() async throws
    {
        try await Bench.withOwners(RestoreRule(policy: .transfer)) { bench in
            let token = try await bench.token(of: "anna")
            try await bench.post("s2", Bench.season(2, token: token), by: "anna")
            try await bench.post("s3", Bench.season(2, token: token), by: "ben")
            #expect(try await bench.owner(of: "v1") == "ben transfer")
            try await bench.notify("n1", Bench.season(1, token: token))
            try await bench.notify("n3", Bench.season(3, token: token))
            #expect(try await bench.gems(of: "anna") == 20)
            #expect(try await bench.gems(of: "ben") == 10)
            #expect(try await bench.inForce() == ["ben vip v1", "ben vip v2", "ben vip v3"])
            try await bench.expectClean()
        }
    }

    @Test func `who shares a lineage, and whose token a period has, gets both`() async throws {
        try await Bench.withOwners(RestoreRule(policy: .share, accountsMaximum: 3)) { bench in
            let (anna, ben) = (try await bench.token(of: "anna"), try await bench.token(of: "ben"))
            try await bench.post("s2", Bench.season(2, token: ben), by: "ben")
            try await bench.post("s3", Bench.season(2, token: ben), by: "anna")
            try await bench.notify("n1", Bench.season(1, token: anna))
            #expect(try await bench.gems(of: "anna") == 10)
            #expect(try await bench.gems(of: "ben") == 10)
            #expect(
                try await bench.inForce() == ["anna vip v1", "anna vip v2", "ben vip v1", "ben vip v2"])
            try await bench.expectClean()
        }
    }
}
