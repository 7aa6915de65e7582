import Foundation
import HTTPTypes
import HummingbirdTesting
import Messages
import Persistence
import Postgres
import PurchaseModel
import Testing

@testable import ReceiptIntake

/// Requests of every kind, with what really came back.
enum SampleRequest {
    typealias Sample = (method: String, path: String, answer: TestIntake.Answer)

    /// Asks every route but the document's, well and badly.
    static func all(_ intake: TestIntake, _ database: TestDatabase) async throws -> [Sample] {
        var samples: [Sample] = []
        samples += try await purchases(intake, database)
        samples += try await tokens(intake)
        samples += try await reading(intake)
        samples += try await IntentSamples.all(intake, database)
        samples += try await WalletSamples.all(intake, database)
        samples += try await ResendSamples.all(intake, database)
        samples += try await DeliverySamples.all(intake, database)
        samples += try await ForgetSamples.all(intake, database)
        samples += try await ConsentSamples.all(intake)
        samples += try await OfferSamples.all(intake)
        samples += try await EndpointSamples.all(intake, database)
        samples += try await EventSamples.all(intake, database)
        samples += try await SweepSamples.all(intake, database)
        samples += try await ActSamples.all(intake, database)
        samples += try await ListSamples.all(intake, database)
        return samples
    }

    private static func purchases(_ intake: TestIntake, _ database: TestDatabase) async throws -> [Sample] {
        var samples: [Sample] = []
        let player = try TestTokens.hs256(TestTokens.claims("player-1"))
        func post(_ fields: [String: String], _ token: String? = nil) async throws {
            samples.append(("POST", "/v1/purchases", try await intake.post(fields: fields, as: token ?? player)))
        }
        let outcomes = try outcomes()
        for (index, outcome) in outcomes.enumerated() {
            let proof = Proofs.jws(originalTransactionId: "1", nonce: "\(index)")
            try await post(["signed_transaction": proof])
            let id = try #require(samples.last).answer.id
            samples.append(
                ("GET", "/v1/purchases/{id}", try await intake.send(.get, "/v1/purchases/\(id)", token: player)))
            _ = try await database.pool.withTransaction {
                try await SubmissionStore.settle([SettlementMessage(submissionId: id, outcome: outcome)], on: $0)
            }
            try await post(["signed_transaction": proof])
            samples.append(
                ("GET", "/v1/purchases/{id}", try await intake.send(.get, "/v1/purchases/\(id)", token: player)))
        }
        try await post(["receipt": Proofs.receipt(bytes: 500), "transaction_id": "7", "environment": "sandbox"])
        try await post(["transaction_id": "8"])
        try await post(["transaction_id": "8", "account": "player-2"])
        try await post(["transaction_id": "8"], "csk_wrong")
        try await post(["transaction_id": "8"], TestIntake.serverKey)
        try await post(["transaction_id": "8", "signed_transaction": Proofs.fresh()])
        try await post(["receipt": "no"])
        let malformed: [(String, HTTPFields)] = [("{", [:]), ("{}", [.contentType: "text/plain"])]
        for (body, headers) in malformed {
            let answer = try await intake.send(.post, "/v1/purchases", token: player, body: body, headers: headers)
            samples.append(("POST", "/v1/purchases", answer))
        }
        for path in ["/v1/purchases/none", "/v1/purchases/none?wait=x"] {
            samples.append(("GET", "/v1/purchases/{id}", try await intake.send(.get, path, token: player)))
        }
        samples.append(("GET", "/v1/purchases/{id}", try await intake.send(.get, "/v1/purchases/none", token: nil)))
        return samples
    }

    private static func outcomes() throws -> [SubmissionOutcome] {
        var transaction = Transaction(
            environment: .sandbox, transactionId: "1", originalTransactionId: "1", bundleId: TestIntake.app,
            productId: "gems100", productType: .consumable, quantity: 1, purchaseDate: Date(), signedDate: Date())
        transaction.expiresDate = Date()
        transaction.testPurchase = .appReview
        let granted = TransactionOutcome(transaction, state: .granted, reason: nil)
        let parked = TransactionOutcome(transaction, state: .parked, reason: .productUnknown)
        transaction.environment = nil
        let orderless = TransactionOutcome(transaction, state: nil, reason: .environmentMissing)
        return [
            SubmissionOutcome(state: .fulfilled, finish: true, transactions: [granted]),
            SubmissionOutcome(state: .parked, finish: true, reason: .productUnknown, transactions: [parked]),
            SubmissionOutcome(
                state: .rejected, finish: false, reason: .environmentMissing, detail: "no", transactions: [orderless]),
        ]
    }

    private static func tokens(_ intake: TestIntake) async throws -> [Sample] {
        let player = try TestTokens.hs256(TestTokens.claims("player-1"))
        let token = UUID().uuidString
        func put(_ token: String, _ account: String, as credentials: String?) async throws -> Sample {
            let body = "{\"app\":\"\(TestIntake.app)\",\"account\":\"\(account)\"}"
            let answer = try await intake.send(.put, "/v1/account-tokens/\(token)", token: credentials, body: body)
            return ("PUT", "/v1/account-tokens/{uuid}", answer)
        }
        return [
            try await put(token, "player-1", as: TestIntake.serverKey),
            try await put(token, "player-2", as: TestIntake.serverKey),
            try await put(token, "player-1", as: player), try await put(token, "player-1", as: nil),
            try await put("none", "player-1", as: TestIntake.serverKey),
        ]
    }

    private static func reading(_ intake: TestIntake) async throws -> [Sample] {
        let player = try TestTokens.hs256(TestTokens.claims("player-1"))
        let stranger = try TestTokens.hs256(TestTokens.claims("player-3"))
        var samples: [Sample] = []
        func get(_ template: String, _ id: String, _ query: String, _ token: String?, _ headers: HTTPFields = [:])
            async throws
        {
            let path = template.replacing("{id}", with: id).replacing("{transaction_id}", with: id)
            let answer = try await intake.send(.get, path + query, token: token, headers: headers)
            samples.append(("GET", template, answer))
        }
        let app = "?app=\(TestIntake.app)"
        let account = "/v1/accounts/{id}"
        try await get(account, "player-1", app + "&expired=true", player)
        try await get(account, "player-1", app + "&at_least=99", player)
        for template in [account, account + "/transactions"] {
            for name in ["player-2", "player-3"] {
                try await get(template, name, app + "&expired=true", TestIntake.serverKey)
            }
            try await get(template, "player-1", app, TestIntake.serverKey)
            try await get(template, "player-1", app, stranger)
            try await get(template, "player-1", app, nil)
            try await get(template, "player-1", "", player)
            try await get(template, "player-1", app + "&environment=moon", player)
        }
        try await get(account + "/transactions", "player-1", app + "&limit=1", player)
        for template in ["/v1/orders/{transaction_id}", "/v1/orders/{transaction_id}/why"] {
            try await get(template, "2000050", app, TestTokens.hs256(TestTokens.claims("player-2")))
            for id in ["2000001", "2000009", "2000010", "2000050"] {
                try await get(template, id, app, TestIntake.serverKey)
                try await get(template, id, app, player)
            }
            try await get(template, "2000001", app, stranger)
            try await get(template, "2000001", app, nil)
            try await get(template, "2000001", "?app=nobody", player)
        }
        try await get("/v1/orders/{transaction_id}/why", "2000001", app, player, [.accept: "text/plain"])
        return samples
    }
}
