import AppStoreServerAPI
import Messages
import NIOHTTP1
import PurchaseModel
import Testing

@testable import VerificationWorker

@Suite("Lookups of order ids", .enabled(if: Simulator.isThere, Simulator.missing))
struct OrderLookupTests {
    @Test("An order id is never settled offline, and is asked about in production only, once at a time")
    func once() async throws {
        try await Stage.run { stage in
            let (id, sold) = try await stage.order()
            try await stage.simulator.misbehave("{\"kind\":\"latency\",\"ms\":300}")
            try await stage.withAccess { access in
                let batch = JudgeLookups(
                    judge: access.judge, proofs: ProofReader(pool: nil, logger: Stage.quiet), inFlightMaximum: 100)
                for _ in 0..<2 {
                    let findings = await batch.findings(for: (0..<50).map { _ in ordered(id, expected: .sandbox) })
                    #expect(findings.count == 50)
                    #expect(findings.allSatisfy { $0.transactions.map(\.transactionId) == [sold.transactionId] })
                }
                guard case .needsLookup(stands: nil, _) = access.judge.offline.judge(ordered(id), proof: id) else {
                    Issue.record("an order id was settled offline")
                    return
                }
            }
            #expect(try await stage.simulator.requestsSeen() == 1)
        }
    }

    @Test("An id that Apple does not know is asked about anew: it is not remembered")
    func notRemembered() async throws {
        try await Stage.run { stage in
            let (id, _) = try await stage.order()
            try await stage.withAccess { access in
                try await stage.simulator.misbehave("{\"kind\":\"status\",\"status\":404,\"errorCode\":4040010}")
                let missing = await access.judge.finding(for: ordered(id), proof: id)
                #expect(missing.reason == "order_not_found")
                try await stage.simulator.behave()
                #expect(await access.judge.finding(for: ordered(id), proof: id).name == "genuine")
            }
        }
    }

    @Test("The sandbox is never asked: to its breaker, what it answers would be a broken host")
    func sandboxIsLeftAlone() async throws {
        try await Stage.run { stage in
            let (id, _) = try await stage.order(environment: .sandbox)
            try await stage.simulator.misbehave("{\"kind\":\"emptyBody\"}", in: .sandbox)
            for setup in [Setup(), Setup(isReleased: false)] {
                #expect(try await stage.finding(ordered(id, expected: .sandbox), setup).reason == "order_not_found")
            }
            #expect(try await stage.simulator.requestsSeen() == 0)
        }
    }
}

@Suite("What comes next for a subscription of a bare id", .enabled(if: Simulator.isThere, Simulator.missing))
struct RenewalLookupTests {
    @Test("Its signed renewal info goes along, of this subscription and of no other")
    func found() async throws {
        try await Stage.run { stage in
            let gold = try await stage.simulator.subscribe(to: "subscriber")
            try await stage.simulator.control(
                .PUT, "apps/\(SubmissionFixture.app)/products/silver",
                """
                {"type":"Auto-Renewable Subscription","period":"P1M","price":990,"level":1,
                "subscriptionGroupIdentifier":"20000001"}
                """)
            let silver = try await stage.simulator.sell(
                "silver", type: "Auto-Renewable Subscription", to: "subscriber")
            try await stage.simulator.control(
                .POST, "subscriptions/\(gold.originalTransactionId)/auto-renew", "{\"on\":false}")
            let finding = try await stage.finding(asked(gold.transactionId))
            #expect(finding.renewals.map(\.originalTransactionId) == [gold.originalTransactionId])
            #expect(finding.renewals.map(\.willRenew) == [false])
            #expect(finding.renewals.map(\.productId) == ["gold"])
            #expect(finding.renewals.map(\.environment) == [.production])
            #expect(finding.renewals.first?.evidence?.contains(gold.originalTransactionId) == true)
            let other = try await stage.finding(asked(try #require(silver.first).transactionId))
            #expect(other.renewals.map(\.willRenew) == [true])
        }
    }

    @Test("In the sandbox, the sandbox is asked; where it is refused, nobody is")
    func sandbox() async throws {
        try await Stage.run { stage in
            let sold = try await stage.simulator.subscribe(to: "tester", environment: .sandbox)
            let finding = try await stage.finding(asked(sold.transactionId))
            #expect(finding.renewals.map(\.environment) == [.sandbox])
            let refused = try await stage.finding(asked(sold.transactionId), Setup(sandbox: "refuse"))
            #expect(refused.reason == "sandbox_refused")
            #expect(refused.renewals == [])
        }
    }

    @Test("It is asked about once for all transactions of the subscription, and not at all for what does not renew")
    func once() async throws {
        try await Stage.run { stage in
            let sold = try await stage.simulator.subscribe(to: "subscriber")
            let coins = try await stage.simulator.sellOne()
            try await stage.simulator.control(
                .PUT, "faults",
                "{\"rules\":[{\"match\":{\"group\":\"subscriptions\"},\"fault\":{\"kind\":\"latency\",\"ms\":1}}]}")
            try await stage.withAccess { access in
                for _ in 0..<5 {
                    let finding = try await Stage.finding(asked(sold.transactionId), access: access)
                    #expect(finding.renewals.count == 1)
                }
                #expect(try await Stage.finding(asked(coins.transactionId), access: access).renewals == [])
            }
            #expect(try await stage.simulator.requestsSeen() == 1)
        }
    }
}
