import Foundation
import Messages
import Persistence
import PersistenceTesting
import PurchaseModel
import Testing

@testable import Fulfillment

/// A guardian withdraws consent to a child's use of an app.
@Suite("Rescinded consents", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct ConsentTests {
    private func purchase(
        _ id: String, product: String = "pro", at seconds: Double = 0, app: String = "child"
    ) -> Transaction {
        var transaction = Bench.bought(id, product: product, at: seconds + 1)
        transaction.purchaseDate = Bench.time(seconds)
        transaction.appTransactionId = app
        return transaction
    }

    private func rescind(
        _ bench: Bench, at seconds: Double..., app: String = "child", environment: StoreEnvironment = .production,
        with transactions: [Transaction] = []
    ) async throws {
        var verdict = try await bench.notice(transactions)
        verdict.rescindedConsents = seconds.map {
            RescindedConsent(
                environment: environment, bundleId: Bench.app, appTransactionId: app, signedDate: Bench.time($0))
        }
        try await bench.settle([verdict])
    }

    @Test func `entitlements of the child are frozen; items, and what others have, stay`() async throws {
        try await Bench.withRefunds { bench in
            try await bench.post(purchase("t1"), purchase("t2", product: "gems.100"), purchase("t3", app: "parent"))
            try await rescind(bench, at: 100)
            #expect(try await bench.entitlements(of: "t1") == ["pro anna consent_rescinded"])
            #expect(try await bench.entitlements(of: "t3") == ["pro anna -"])
            #expect(try await bench.balance() == 100)
            #expect(try await bench.standing(of: "t1") == "granted - anna")
            #expect(try await bench.events(of: "t1").last == "consent.rescinded anna pro")
            #expect(try await bench.events(of: "t2").count == 1)
        }
    }

    @Test func `the same or an older consent changes nothing; a newer one reaches what came between`() async throws {
        try await Bench.withRefunds { bench in
            try await bench.post(purchase("t1"), purchase("t2", at: 150), purchase("t3", at: 250))
            try await rescind(bench, at: 100, 100, 90)
            try await rescind(bench, at: 100)
            try await rescind(bench, at: 50)
            #expect(try await bench.entitlements(of: "t2") == ["pro anna -"])
            #expect(try await bench.events(of: "t1").count == 2)
            try await rescind(bench, at: 200)
            #expect(try await bench.entitlements(of: "t2") == ["pro anna consent_rescinded"])
            #expect(try await bench.entitlements(of: "t3") == ["pro anna -"])
            #expect(
                try await bench.number("SELECT count(*) FROM events WHERE type = '\(PurchaseEvent.consentRescinded)'")
                    == 2)
        }
    }

    @Test func `what was bought before and comes after is frozen; what was bought after is not`() async throws {
        try await Bench.withRefunds { bench in
            try await rescind(bench, at: 100)
            try await bench.post(purchase("t1", at: 50), purchase("t2", at: 101))
            #expect(try await bench.entitlements(of: "t1") == ["pro anna consent_rescinded"])
            #expect(try await bench.entitlements(of: "t2") == ["pro anna -"])
            #expect(
                try await bench.events(of: "t1") == ["transaction.fulfilled anna pro", "consent.rescinded anna pro"])
        }
    }

    @Test(
        "a receipt does not say whose purchase it is; a signed transaction that does, freezes it",
        arguments: [false, true])
    func late(isConsentFirst: Bool) async throws {
        try await Bench.withRefunds { bench in
            if isConsentFirst { try await rescind(bench, at: 100) }
            try await bench.post(Bench.entry("t1", product: "pro"))
            if !isConsentFirst { try await rescind(bench, at: 100) }
            #expect(try await bench.entitlements(of: "t1") == ["pro anna -"])
            try await bench.notify(purchase("t1"))
            #expect(try await bench.entitlements(of: "t1") == ["pro anna consent_rescinded"])
            #expect(try await bench.events(of: "t1").last == "consent.rescinded anna pro")
            try await bench.expectClean()
        }
    }

    @Test func `periods of one subscription under two ids are one child's`() async throws {
        try await Bench.withRefunds { bench in
            var first = purchase("t1", product: "vip.monthly", app: "child")
            var second = purchase("t2", product: "vip.monthly", at: 10, app: "child, named anew")
            (first.originalTransactionId, second.originalTransactionId) = ("t1", "t1")
            for period in [first, second] { try await bench.post(period) }
            // What the child has under the other id alone is the child's, too; another's is not.
            try await bench.post(purchase("t3", at: 20, app: "child, named anew"), purchase("t4", app: "parent"))
            try await rescind(bench, at: 100)
            for id in ["t1", "t2"] {
                let frozen = try await bench.entitlements(of: id)
                #expect(!frozen.isEmpty && frozen.allSatisfy { $0.hasSuffix("consent_rescinded") }, "\(id): \(frozen)")
            }
            #expect(try await bench.entitlements(of: "t3") == ["pro anna consent_rescinded"])
            #expect(try await bench.entitlements(of: "t4") == ["pro anna -"])
            // And what comes later, bought before.
            try await bench.post(purchase("t5", at: 30, app: "child, named anew"))
            #expect(try await bench.entitlements(of: "t5") == ["pro anna consent_rescinded"])
            try await bench.expectClean()
        }
    }

    @Test func `a period under another id that comes after is frozen, and what its id has besides`() async throws {
        try await Bench.withRefunds { bench in
            try await bench.post(purchase("t1", product: "vip.monthly"), purchase("t4", app: "parent"))
            // Bought by the child under another id, of which nothing says that it is his.
            try await bench.post(purchase("t3", at: 20, app: "child, named anew"))
            try await rescind(bench, at: 100)
            #expect(try await bench.entitlements(of: "t3") == ["pro anna -"])
            var second = purchase("t2", product: "vip.monthly", at: 10, app: "child, named anew")
            second.originalTransactionId = "t1"
            try await bench.post(second)
            let frozen = try await bench.entitlements(of: "t2")
            #expect(!frozen.isEmpty && frozen.allSatisfy { $0.hasSuffix("consent_rescinded") }, "\(frozen)")
            #expect(try await bench.entitlements(of: "t3") == ["pro anna consent_rescinded"])
            #expect(try await bench.events(of: "t3").last == "consent.rescinded anna pro")
            #expect(try await bench.entitlements(of: "t4") == ["pro anna -"])
            // And what comes later, bought before; not what was bought after.
            try await bench.post(
                purchase("t5", at: 30, app: "child, named anew"), purchase("t6", at: 101, app: "child, named anew"))
            #expect(try await bench.entitlements(of: "t5") == ["pro anna consent_rescinded"])
            #expect(try await bench.entitlements(of: "t6") == ["pro anna -"])
            try await bench.expectClean()
        }
    }

    @Test("a lineage that turns out to be the child's is frozen", arguments: [false, true])
    func joined(isConsentFirst: Bool) async throws {
        try await Bench.withRefunds { bench in
            if isConsentFirst { try await rescind(bench, at: 100) }
            try await bench.post(
                purchase("t1", product: "vip.monthly"),
                purchase("t2", product: "vip.monthly", at: 10, app: "child, named anew"))
            if !isConsentFirst { try await rescind(bench, at: 100) }
            #expect(try await bench.entitlements(of: "t2").allSatisfy { $0.hasSuffix(" -") })
            var moved = purchase("t2", product: "vip.monthly", at: 10, app: "child, named anew")
            (moved.originalTransactionId, moved.signedDate) = ("t1", Bench.time(20))
            try await bench.notify(moved)
            let frozen = try await bench.entitlements(of: "t2")
            #expect(!frozen.isEmpty && frozen.allSatisfy { $0.hasSuffix("consent_rescinded") }, "\(frozen)")
            try await bench.expectClean()
        }
    }

    @Test(
        "what names no customer of Apple's is the child's by its token, unless somebody else bought with it",
        arguments: [false, true], [false, true])
    func token(isConsentFirst: Bool, isShared: Bool) async throws {
        try await Bench.withRefunds { bench in
            let token = UUID()
            _ = try await AccountTokenStore(pool: bench.pool).register(app: Bench.app, token: token, account: "anna")
            func bought(_ id: String, at seconds: Double, app: String?) -> Transaction {
                var transaction = purchase(id, at: seconds)
                (transaction.appTransactionId, transaction.appAccountToken) = (app, token)
                return transaction
            }
            try await bench.post(bought("t1", at: 0, app: "child"))
            if isShared { try await bench.post(bought("t2", at: 5, app: "parent")) }
            if isConsentFirst { try await rescind(bench, at: 100) }
            try await bench.post(bought("t3", at: 10, app: nil), bought("t4", at: 150, app: nil))
            if !isConsentFirst { try await rescind(bench, at: 100) }
            #expect(try await bench.entitlements(of: "t1") == ["pro anna consent_rescinded"])
            #expect(try await bench.entitlements(of: "t3") == ["pro anna \(isShared ? "-" : "consent_rescinded")"])
            #expect(try await bench.entitlements(of: "t4") == ["pro anna -"])
            if isShared { #expect(try await bench.entitlements(of: "t2") == ["pro anna -"]) }
            try await bench.expectClean()
        }
    }

    @Test func `in one message with the purchase`() async throws {
        try await Bench.withRefunds { bench in
            var verdict = try await bench.verdict("s1", .genuine([purchase("t1")]), account: "anna")
            verdict.rescindedConsents = [
                RescindedConsent(
                    environment: .production, bundleId: Bench.app, appTransactionId: "child",
                    signedDate: Bench.time(100))
            ]
            try await bench.settle([verdict])
            #expect(try await bench.entitlements(of: "t1") == ["pro anna consent_rescinded"])
        }
    }

    @Test func `another app or environment is another consent`() async throws {
        try await Bench.withRefunds { bench in
            try await bench.post(purchase("t1"))
            try await rescind(bench, at: 100, environment: .sandbox)
            try await rescind(bench, at: 100, app: "another child")
            #expect(try await bench.entitlements(of: "t1") == ["pro anna -"])
        }
    }

    @Test("a refund and its reversal do not thaw what is frozen", arguments: [false, true])
    func refund(isRefundFirst: Bool) async throws {
        try await Bench.withRefunds { bench in
            try await bench.post(purchase("t1"))
            if !isRefundFirst { try await rescind(bench, at: 100) }
            var refund = purchase("t1")
            refund.signedDate = Bench.time(200)
            refund.revocationDate = Bench.time(199)
            try await bench.notify(refund)
            if isRefundFirst { try await rescind(bench, at: 100) }
            #expect(try await bench.entitlements(of: "t1") == ["pro anna refund"])
            refund.signedDate = Bench.time(300)
            refund.revocationDate = nil
            try await bench.notify(refund)
            #expect(try await bench.entitlements(of: "t1") == ["pro anna consent_rescinded"])
            #expect(try await bench.events(of: "t1").last == "refund.reversed anna", "there is nothing to use again")
        }
    }

    @Test func `a purchase and a consent at the same moment, many times`() async throws {
        try await Bench.withRefunds { bench in
            for round in 0..<30 {
                async let bought: Void = bench.post(purchase("t\(round)", app: "child\(round)"))
                async let rescinded: Void = rescind(bench, at: 100, app: "child\(round)")
                _ = try await (bought, rescinded)
            }
            #expect(
                try await bench.number("SELECT count(*) FROM entitlements WHERE revoked_because = 'consent_rescinded'")
                    == 30)
        }
    }

    @Test func `batches that take up consents and grant do not wait for each other in a ring`() async throws {
        try await Bench.withRefunds { bench in
            var batches: [[VerdictMessage]] = []
            for side in 0..<2 {
                var notice = try await bench.notice([])
                notice.rescindedConsents = [
                    RescindedConsent(
                        environment: .production, bundleId: Bench.app, appTransactionId: "child\(side)",
                        signedDate: Bench.time(100))
                ]
                let bought = purchase("t\(side)", app: "child\(1 - side)")
                batches.append([
                    try await bench.verdict("s\(side)", .genuine([bought]), account: "player\(side)"), notice,
                ])
            }
            let (left, right) = (batches[0], batches[1])
            // Both have come as far as their entitlements, if they can.
            try await bench.meet(at: "LOCK TABLE rescinded_consents") {
                try await bench.settle(left)
            } _: {
                try await bench.settle(right)
            }
            #expect(try await bench.deadlocks() == 0)
            #expect(
                try await bench.number("SELECT count(*) FROM entitlements WHERE revoked_because = 'consent_rescinded'")
                    == 2)
            try await bench.expectClean()
        }
    }

    @Test func `who begins to share at the moment of a consent may use nothing either`() async throws {
        try await Bench.withOwners(RestoreRule(policy: .share)) { bench in
            var pass = Bench.signed("n1", product: "pro")
            pass.appTransactionId = "child"
            let bought = pass
            try await bench.post(bought, by: "anna")
            try await bench.post(Bench.signed("g1"), by: "ben")
            // ben's entitlement is written, and its transaction waits to tell him when the consent comes.
            try await bench.meet(at: "SELECT FROM account_sequences WHERE account = 'ben' FOR UPDATE") {
                try await bench.post(bought, by: "ben")
            } _: {
                try await rescind(bench, at: 100)
            }
            #expect(
                try await bench.entitlements(of: "n1") == ["pro anna consent_rescinded", "pro ben consent_rescinded"])
            try await bench.expectClean()
        }
    }
}
