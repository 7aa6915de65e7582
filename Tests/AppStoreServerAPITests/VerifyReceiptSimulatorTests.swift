import AppStoreServerAPI
import AsyncHTTPClient
import Foundation
import NIOHTTP1
import Testing

/// The client against the simulator's `verifyReceipt`, with receipts of real sales.
@Suite("verifyReceipt: against the simulator", .serialized, .enabled(if: Simulator.isThere, Simulator.missing))
struct VerifyReceiptSimulatorTests {
    private func client(_ store: Simulator, limits: AppStoreServerClient.Limits = .init()) -> VerifyReceiptClient {
        VerifyReceiptClient(
            http: .shared, hosts: .init(production: store.hosts.production, sandbox: store.hosts.sandbox),
            limits: limits)
    }

    private func receipt(
        _ store: Simulator, environment: AppStoreEnvironment = .production
    ) async throws -> String {
        struct Held: Decodable { let receipt: String }
        let path = "receipts?bundleId=\(Simulator.bundleId)&account=alice&environment=\(environment.rawValue)"
        return try await store.control(.GET, path, as: Held.self).receipt
    }

    private func sell(
        _ store: Simulator, _ product: String, type: String = "Consumable",
        environment: AppStoreEnvironment = .production
    ) async throws -> String {
        let sold = try await store.sell(product, type: type, environment: environment, more: #","account":"alice""#)
        return try #require(sold.first).transactionId
    }

    private func demand(_ store: Simulator, _ json: String) async throws {
        try await store.control(.PUT, "verify-receipt", json)
    }

    @Test("receipts of both environments find their host from either")
    func routing() async throws {
        try await Simulator.run { store in
            for environment in AppStoreEnvironment.allCases {
                let id = try await sell(store, "coins", environment: environment)
                let receipt = try await self.receipt(store, environment: environment)
                for first in AppStoreEnvironment.allCases {
                    let answer = try await client(store).verify(receipt, sharedSecret: nil, first: first)
                    #expect(answer.environment == environment && answer.finding(attempt: 1) == .valid)
                    #expect(answer.receipt?.bundleId == Simulator.bundleId)
                    #expect(answer.receipt?.environment?.rawValue == environment.rawValue)
                    #expect(answer.receipt?.creationDate != nil && answer.unreadablePurchases == 0)
                    #expect(answer.purchases.map(\.transactionId) == [id])
                    #expect(answer.purchases.first?.productId == "coins" && answer.purchases.first?.isInReceipt == true)
                }
            }
            // Both hosts send away: no third question, and nothing learnt.
            try await demand(store, #"{"environment":"Production","status":21007}"#)
            try await demand(store, #"{"environment":"Sandbox","status":21008}"#)
            let lost = try await client(store).verify(try await self.receipt(store), sharedSecret: nil)
            #expect(lost.environment == .sandbox && lost.status == .belongsToProduction)
            #expect(lost.finding(attempt: 1) == .unknown(.receiptEnvironmentContradictory, needsAttention: false))
        }
    }

    @Test("a subscription: the secret, renewals since, a refund, and what comes next")
    func subscription() async throws {
        try await Simulator.run { store in
            try await store.control(.PUT, "apps/\(Simulator.bundleId)", #"{"sharedSecret":"s3cret"}"#)
            try await store.control(
                .PUT, "apps/\(Simulator.bundleId)/products/gold.month",
                #"{"type":"Auto-Renewable Subscription","period":"P1M","price":4990,"level":1}"#)
            let coins = try await sell(store, "coins")
            let first = try await sell(store, "gold.month", type: "Auto-Renewable Subscription")
            let receipt = try await self.receipt(store)
            for secret in [nil, "a guess"] {
                let answer = try await client(store).verify(receipt, sharedSecret: secret)
                #expect(answer.finding(attempt: 1) == .unknown(.sharedSecretMismatch, needsAttention: true))
            }
            try await store.control(.POST, "clock/advance", #"{"by":"P3M"}"#)
            try await store.control(.POST, "subscriptions/\(first)/auto-renew", #"{"on":false}"#)
            try await store.control(.POST, "transactions/\(first)/refund", "{}")

            let answer = try await client(store).verify(receipt, sharedSecret: "s3cret")
            #expect(answer.finding(attempt: 1) == .valid && answer.unreadablePurchases == 0)
            let inReceipt = answer.purchases.filter(\.isInReceipt).map(\.transactionId)
            #expect(Set(inReceipt) == [coins, first])
            let renewals = answer.purchases.filter { !$0.isInReceipt }
            #expect(renewals.count == 3)
            for renewal in renewals {
                #expect(renewal.originalTransactionId == first && renewal.productId == "gold.month")
                #expect(renewal.expiresDate.map { $0 > renewal.purchaseDate } == true)
            }
            let ids = Set(answer.purchases.map(\.transactionId))
            #expect(ids.count == answer.purchases.count)
            #expect(answer.pendingRenewals.map(\.originalTransactionId) == [first])
            #expect(answer.pendingRenewals.first?.autoRenewProductId == "gold.month")
            #expect(answer.pendingRenewals.first?.willAutoRenew == false)
            // The receipt is older than the refund: only what Apple added knows of it.
            let refunded = answer.purchases.filter { $0.cancellationDate != nil }
            #expect(refunded.map(\.transactionId) == [first] && refunded.first?.isInReceipt == true)
            #expect(refunded.first?.cancellationReason == "0")
        }
    }

    @Test("what only Apple's troubles make, on either host")
    func demanded() async throws {
        let later = VerifyReceiptAnswer.Finding.unknown(.appStoreUnavailable, needsAttention: false)
        let odd = VerifyReceiptAnswer.Finding.unknown(.receiptStatusUnknown, needsAttention: true)
        let cases: [(String, VerifyReceiptAnswer.Finding)] = [
            (#""status":21000"#, odd), (#""status":21001"#, odd), (#""status":21005"#, later),
            (#""status":21009"#, later), (#""status":21100"#, later), (#""status":21150,"isRetryable":true"#, later),
            (#""status":21199,"isRetryable":false"#, .rejected(.receiptNotReadableByApple)),
            (#""status":21003"#, .rejected(.receiptNotAuthenticated)),
            (#""status":21010,"isRetryable":true"#, .rejected(.receiptAccountUnknown)),
            (#""status":21006"#, .valid), (#""status":0"#, .valid),
        ]
        try await Simulator.run { store in
            _ = try await sell(store, "coins")
            let receipt = try await self.receipt(store)
            for (json, finding) in cases {
                try await demand(store, "{\(json)}")
                let answer = try await client(store).verify(receipt, sharedSecret: nil)
                #expect(answer.finding(attempt: 1) == finding, "\(json)")
                #expect((answer.receipt != nil) == (finding == .valid) && answer.environment == .production)
                #expect(answer.purchases.isEmpty == (finding != .valid))
            }
            try await demand(store, #"{"status":21003}"#)
            let sandbox = try await client(store).ask(receipt, sharedSecret: nil, in: .sandbox)
            #expect(sandbox.finding(attempt: 1) == .unknown(.sharedSecretMissing, needsAttention: true))
        }
    }

    @Test("what is no receipt, another authority's receipt, a deleted account")
    func refused() async throws {
        try await Simulator.run { store in
            try await Simulator.run { other in
                _ = try await sell(other, "coins")
                let foreign = try await self.receipt(other)
                let answer = try await client(store).verify(foreign, sharedSecret: nil)
                #expect(answer.finding(attempt: 1) == .rejected(.receiptNotAuthenticated))
            }
            for text in ["", "AAAA", "no base64 \" \\ \u{1} 🙂"] {
                let answer = try await client(store).verify(text, sharedSecret: nil)
                #expect(answer.finding(attempt: 1) == .unknown(.receiptMalformed, needsAttention: false))
                #expect(answer.finding(attempt: 4) == .rejected(.receiptMalformed))
            }
            _ = try await sell(store, "coins")
            let receipt = try await self.receipt(store)
            try await store.control(.PUT, "accounts/alice", #"{"isDeleted":true}"#)
            let gone = try await client(store).verify(receipt, sharedSecret: nil)
            #expect(gone.finding(attempt: 1) == .rejected(.receiptAccountUnknown) && gone.isRetryable == false)
        }
    }

    private static let faults = [
        (#"{"kind":"status","status":404,"body":"htmlPage"}"#, AppStoreServerError.Category.unreadable),
        (#"{"kind":"status","status":404,"errorCode":4040010}"#, .unreadable),
        (#"{"kind":"status","status":401}"#, .unreadable), (#"{"kind":"status","status":500}"#, .server),
        (#"{"kind":"status","status":503,"body":"htmlPage"}"#, .server),
        (#"{"kind":"status","status":429,"body":"empty"}"#, .rateLimited), (#"{"kind":"reset"}"#, .transport),
        (#"{"kind":"reset","afterHandling":true}"#, .transport), (#"{"kind":"truncatedBody"}"#, .transport),
        (#"{"kind":"hang"}"#, .transport), (#"{"kind":"slowLoris","bytesPerSecond":1}"#, .transport),
        (#"{"kind":"garbageJSON"}"#, .unreadable), (#"{"kind":"emptyBody"}"#, .unreadable),
    ]

    @Test("each misbehaviour of the line has its category")
    func faults() async throws {
        try await Simulator.run { store in
            _ = try await sell(store, "coins")
            let receipt = try await self.receipt(store)
            let hurried = client(store, limits: .init(timeout: .seconds(2)))
            for (fault, category) in Self.faults {
                try await store.misbehave(fault)
                let error = await refusal { try await hurried.verify(receipt, sharedSecret: nil) }
                #expect(error?.category == category && error?.isRetryable == true, "\(fault)")
                #expect(error.map { !"\($0)".contains(receipt.prefix(40)) } == true, "\(fault)")
                try await store.behave()
                let finding = try await hurried.verify(receipt, sharedSecret: nil).finding(attempt: 1)
                #expect(finding == .valid, "\(fault)")
            }
        }
    }

    @Test("deadlines, cancellation, and too much")
    func bounds() async throws {
        try await Simulator.run { store in
            _ = try await sell(store, "coins")
            let receipt = try await self.receipt(store)
            let small = client(store, limits: .init(answerBytes: 100))
            let error = await refusal { try await small.verify(receipt, sharedSecret: nil) }
            #expect(error?.category == .unreadable && error?.status == 200)
            try await store.misbehave(#"{"kind":"hang"}"#)
            let hurried = client(store).with(deadline: .now + .milliseconds(200)).with(deadline: .now + .seconds(60))
            let late = await refusal { try await hurried.verify(receipt, sharedSecret: nil) }
            #expect(late?.category == .transport && late?.status == nil && late?.isRetryable == true)
            let patient = client(store)
            let call = Task { try await patient.verify(receipt, sharedSecret: nil) }
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
        }
    }
}
