import AppStoreServerAPI
import Foundation
import Messages
import PurchaseModel
import Testing

@testable import VerificationWorker

/// The order id from an e-mail, as intake sends it.
func ordered(
    _ id: String, expected: StoreEnvironment? = nil, notFound: SubmissionMessage.NotFoundAnswers? = nil
) -> SubmissionMessage {
    SubmissionFixture.make(.orderId, id, expected: expected, notFound: notFound)
}

extension Stage {
    /// Somebody's purchase, and the order id in the e-mail.
    func order(
        app: String = SubmissionFixture.app, environment: AppStoreEnvironment = .production
    ) async throws -> (id: String, sold: Simulator.Sold) {
        let sold = try await simulator.sellOne(app: app, environment: environment)
        return (try await simulator.orderId(of: sold.transactionId), sold)
    }

    /// What becomes of a good order id while the host misbehaves.
    fileprivate func disordered(_ fault: String, _ setup: Setup = Setup()) async throws -> Finding {
        let (id, _) = try await order()
        try await simulator.misbehave(fault)
        let finding = try await finding(ordered(id), setup)
        try await simulator.behave()
        return finding
    }

    fileprivate func disordered(_ status: Int, code: Int? = nil, _ setup: Setup = Setup()) async throws -> Finding {
        let code = code.map { ",\"errorCode\":\($0)" } ?? ""
        return try await disordered("{\"kind\":\"status\",\"status\":\(status)\(code)}", setup)
    }
}

/// The rows of `order id`.
let orderScenarios: [String: Scenario] = foundOrders.merging(missingOrders) { first, _ in first }
    .merging(troubledOrders) { first, _ in first }

private let foundOrders: [String: Scenario] = [
    "order id: an order of the app": { stage in
        let (id, sold) = try await stage.order()
        let finding = try await stage.finding(ordered(id))
        #expect(finding.transactions.map(\.transactionId) == [sold.transactionId])
        #expect(finding.transactions.map(\.environment) == [.production])
        #expect(finding.claims.ids == nil)
        #expect(finding.claims.areUnproven, "the id stands in an e-mail that can be forwarded")
        #expect(try await !stage.finding(ordered(id), Setup(possession: "number")).claims.areUnproven)
        return finding
    }
]

private let missingOrders: [String: Scenario] = [
    "order id: unknown to Apple, mistyped, or of another app, believed": { stage in
        try await stage.finding(ordered("MXXXXXXXXX", notFound: SubmissionFixture.believed))
    },
    "order id: unknown to Apple, mistyped, or of another app, not yet believed": { stage in
        let (id, _) = try await stage.order()
        for wrong in ["MXXXXXXXXX", String(id.dropLast()), id + "7", "M-1234", "../../x", " ", ""] {
            #expect(try await stage.finding(ordered(wrong)).reason == "order_not_found", "\(wrong)")
        }
        let (others, _) = try await stage.order(app: "com.example.other")
        return try await stage.finding(ordered(others))
    },
    "order id: 400 4000000 or 4000006, or 404 with a code for what is not there": { stage in
        for (status, code) in [(400, 4_000_006), (404, 4_040_001), (404, 4_040_005), (404, 4_040_010)] {
            #expect(try await stage.disordered(status, code: code).reason == "order_not_found", "\(code)")
        }
        return try await stage.disordered(400, code: 4_000_000)
    },
    "order id: of a sandbox purchase": { stage in
        let (id, _) = try await stage.order(environment: .sandbox)
        #expect(try await stage.finding(ordered(id)).reason == "order_not_found")
        return try await stage.finding(ordered(id, expected: .sandbox))
    },
    "order id: 401 of production for an app that was never released": { stage in
        try await stage.disordered(401, Setup(isReleased: false))
    },
]

private let troubledOrders: [String: Scenario] = [
    "order id: an answer that does not verify, or of another environment": { stage in
        let (id, _) = try await stage.order()
        #expect(try await stage.finding(ordered(id), Setup(trustsOthers: true)).reason == "answer_mismatch")
        let (test, _) = try await stage.order(environment: .sandbox)
        return try await stage.finding(ordered(test), Setup(swapsHosts: true))
    },
    "order id: 401": { try await $0.disordered(401) },
    "order id: 400, 403, 404 or 409 with another code": { stage in
        for (status, code) in [(400, 4_000_099), (403, 4_030_099), (404, 4_040_003)] {
            #expect(try await stage.disordered(status, code: code).reason == "app_store_refused", "\(code)")
        }
        return try await stage.disordered(409, code: 4_090_099)
    },
    "order id: 404 4040002, 4040004 or 4040006: retryable": { stage in
        for code in [4_040_002, 4_040_004] {
            #expect(try await stage.disordered(404, code: code).reason == "app_store_unavailable", "\(code)")
        }
        return try await stage.disordered(404, code: 4_040_006)
    },
    "order id: 429 with Retry-After": { stage in
        let finding = try await stage.disordered("{\"kind\":\"status\",\"status\":429,\"retryAfterMs\":90000}")
        #expect((80...90).contains(finding.retryAfterSeconds ?? 0))
        return finding
    },
    "order id: our budget for orders has no room": { stage in
        let setup = Setup(rates: AppStoreRates(perSecond: 1_000, share: 1, ordersPerSecond: 0.01))
        let (first, sold) = try await stage.order()
        let (second, _) = try await stage.order()
        return try await stage.withAccess(setup) { access in
            #expect(try await Stage.finding(ordered(first), access: access).name == "genuine")
            let finding = try await Stage.finding(ordered(second), access: access)
            // Whoever knows the transaction's id is not held up by those who know the order's only.
            #expect(try await Stage.finding(asked(sold.transactionId), access: access).name == "genuine")
            return finding
        }
    },
    "order id: HTTP 5xx, no whole answer, or one that is not Apple's": { stage in
        for fault in [
            "{\"kind\":\"status\",\"status\":500,\"errorCode\":5000001}", "{\"kind\":\"reset\"}",
            "{\"kind\":\"emptyBody\"}", "{\"kind\":\"garbageJSON\"}", "{\"kind\":\"truncatedBody\"}",
        ] {
            #expect(try await stage.disordered(fault).reason == "app_store_unavailable", "\(fault)")
        }
        return try await stage.disordered(500)
    },
    "order id: no answer in time": { stage in
        try await stage.disordered("{\"kind\":\"hang\"}", Setup(patience: .milliseconds(200)))
    },
]
