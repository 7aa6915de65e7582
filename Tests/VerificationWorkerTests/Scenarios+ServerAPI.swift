import AppStoreServerAPI
import Foundation
import Messages
import NIOHTTP1
import Pacing
import PurchaseModel
import Testing

@testable import VerificationWorker

/// An id that Apple gives to nobody.
private let strange = "2000000099999999"

func asked(
    _ id: String, attempt: Int = 0, expected: StoreEnvironment? = nil,
    notFound: SubmissionMessage.NotFoundAnswers? = nil
) -> SubmissionMessage {
    SubmissionFixture.make(.transactionId, id, attempt: attempt, expected: expected, notFound: notFound)
}

extension Stage {
    /// What becomes of a genuine id while the hosts misbehave.
    fileprivate func troubled(
        _ fault: String, attempt: Int = 0, notFound: SubmissionMessage.NotFoundAnswers? = nil,
        _ setup: Setup = Setup()
    ) async throws -> Finding {
        let sold = try await simulator.sellOne()
        try await simulator.misbehave(fault)
        return try await finding(asked(sold.transactionId, attempt: attempt, notFound: notFound), setup)
    }

    /// The same, for an HTTP status with a code of Apple's.
    fileprivate func answered(
        _ status: Int, code: Int? = nil, attempt: Int = 0, notFound: SubmissionMessage.NotFoundAnswers? = nil,
        more: String = ""
    ) async throws -> Finding {
        let code = code.map { ",\"errorCode\":\($0)" } ?? ""
        return try await troubled(
            "{\"kind\":\"status\",\"status\":\(status)\(code)\(more)}", attempt: attempt, notFound: notFound)
    }

    /// What an answer of Apple's is worth.
    fileprivate func finding(answeredWith jws: String, to id: String?) async throws -> Finding {
        try await withAccess { access in
            let app = try #require(access.apps[SubmissionFixture.app])
            switch await access.answers.transaction(jws, of: app, in: .production, named: id) {
            case .success(let transaction): return Finding(.genuine([transaction]))
            case .failure(let refusal): return Finding(refusal.verdict)
            }
        }
    }

    /// What becomes of several, of which all but the last are compared here.
    fileprivate func each(
        _ reason: String, _ scenes: [() async throws -> Finding]
    ) async throws -> Finding {
        var last: Finding?
        for scene in scenes {
            try await simulator.behave()
            let finding = try await scene()
            #expect(finding.reason == reason)
            last = finding
        }
        return try #require(last)
    }
}

/// The rows of `Server API`.
let serverAPIScenarios: [String: Scenario] = foundIds.merging(missingIds) { first, _ in first }
    .merging(refusedCalls) { first, _ in first }.merging(troubledCalls) { first, _ in first }

private let foundIds: [String: Scenario] = [
    "Server API: a signed transaction of that id": { stage in
        let sold = try await stage.simulator.sellOne()
        let finding = try await stage.finding(asked(sold.transactionId))
        #expect(finding.transactions.map(\.transactionId) == [sold.transactionId])
        #expect(finding.claims.ids == nil)
        #expect(finding.claims.areUnproven, "whoever knows a number has not bought anything")
        let trusting = try await stage.finding(asked(sold.transactionId), Setup(possession: "number"))
        #expect(trusting.claims.ids == nil && !trusting.claims.areUnproven)
        return finding
    },
    "Server API: one that names no app: it is the app's whose key asked": { stage in
        let jws = try await stage.simulator.attack("missing_bundle_id")
        return try await stage.finding(answeredWith: jws, to: nil)
    },
    "Server API: another id of the purchase, which names the one asked about as its original": { stage in
        let first = try await stage.simulator.subscribe(to: "another-id-\(UUID().uuidString)")
        try await stage.simulator.control(.POST, "clock/advance", "{\"by\":\"P40D\"}")
        let latest = try #require(try await stage.finding(asked(first.transactionId)).transactions.last)
        #expect(latest.transactionId != first.transactionId)
        let jws = try await stage.withAccess { access in
            let client = try #require(access.apps.client(of: SubmissionFixture.app))
            return try await client.transactionInfo(latest.transactionId, in: .production).signedTransactionInfo
        }
        let stranger = try await stage.finding(answeredWith: jws, to: strange)
        #expect(stranger.reason == "answer_mismatch", "what names it nowhere is about something else")
        return try await stage.finding(answeredWith: jws, to: first.transactionId)
    },
    "Server API: 404 4040010 in production, found in the sandbox": { stage in
        let sold = try await stage.simulator.sellOne(environment: .sandbox)
        let finding = try await stage.finding(asked(sold.transactionId))
        #expect(finding.transactions.map(\.environment) == [.sandbox])
        return finding
    },
    "Server API: 401 of production for an app that was never released": { stage in
        let sold = try await stage.simulator.sellOne(environment: .sandbox)
        try await stage.simulator.misbehave("{\"kind\":\"status\",\"status\":401}", in: .production)
        return try await stage.finding(asked(sold.transactionId), Setup(isReleased: false))
    },
]

private let missingIds: [String: Scenario] = [
    "Server API: 404 4040010 in both, not yet believed": { stage in
        // Neither forty answers of a minute nor five of ten days are enough.
        let before: [SubmissionMessage.NotFoundAnswers?] = [
            .init(count: 1, seconds: 86_400), .init(count: 4, seconds: 864_000), .init(count: 5, seconds: 259_199),
            .init(count: 40, seconds: 60), nil,
        ]
        return try await stage.each(
            "transaction_not_found",
            before.map { before in { try await stage.finding(asked(strange, attempt: 9, notFound: before)) } })
    },
    "Server API: 404 4040010 in both, after hours of outages and rate limits": { stage in
        let sold = try await stage.simulator.sellOne()
        for (fault, reason) in [
            ("{\"kind\":\"status\",\"status\":503}", "app_store_unavailable"),
            ("{\"kind\":\"status\",\"status\":429}", "rate_limited"),
        ] {
            try await stage.simulator.misbehave(fault)
            for attempt in 0..<8 {
                #expect(try await stage.finding(asked(sold.transactionId, attempt: attempt)).reason == reason)
            }
        }
        try await stage.simulator.misbehave("{\"kind\":\"status\",\"status\":404,\"errorCode\":4040010}")
        let missing = try await stage.finding(asked(sold.transactionId, attempt: 16))
        try await stage.simulator.behave()
        #expect(try await stage.finding(asked(sold.transactionId, attempt: 17)).name == "genuine")
        return missing
    },
    "Server API: 404 4040010 in production, and the sandbox does not answer": { stage in
        try await stage.simulator.misbehave("{\"kind\":\"status\",\"status\":503}", in: .sandbox)
        return try await stage.finding(asked(strange, notFound: SubmissionFixture.believed))
    },
    "Server API: 404 4040010 in both, for two days": { stage in
        for (seconds, pause) in [(60.0, 30.0), (3_600, 900), (36_000, 9_000)] {
            let finding = try await stage.finding(asked(strange, notFound: .init(count: 9, seconds: seconds)))
            #expect(finding.retryAfterSeconds == pause)
        }
        return try await stage.finding(asked(strange, attempt: 30, notFound: .init(count: 30, seconds: 172_800)))
    },
    "Server API: 404 4040010 in both, believed": { stage in
        try await stage.finding(asked(strange, notFound: SubmissionFixture.believed))
    },
    "Server API: 404 4040001 or 4040005: the account is gone, not yet believed": { stage in
        try await stage.each(
            "transaction_not_found",
            [4_040_001, 4_040_005].map { code in { try await stage.answered(404, code: code, attempt: 9) } })
    },
    "Server API: 404 4040001 or 4040005: the account is gone, believed": { stage in
        try await stage.answered(404, code: 4_040_001, notFound: SubmissionFixture.believed)
    },
    "Server API: 400 4000006 of what is no number": { stage in
        try await stage.each(
            "transaction_id_invalid",
            [
                { try await stage.finding(asked("../../x")) },
                { try await stage.finding(asked("M2000000099999999", notFound: SubmissionFixture.believed)) },
            ])
    },
    "Server API: 400 4000006 of a number, not yet believed": { try await $0.answered(400, code: 4_000_006) },
    "Server API: an answer that does not verify, or of another app": { stage in
        let sold = try await stage.simulator.sellOne()
        return try await stage.finding(asked(sold.transactionId), Setup(trustsOthers: true))
    },
    "Server API: an answer of another environment": { stage in
        let sold = try await stage.simulator.sellOne(environment: .sandbox)
        return try await stage.finding(asked(sold.transactionId), Setup(swapsHosts: true))
    },
]

private let refusedCalls: [String: Scenario] = [
    "Server API: 404 4040002, 4040004 or 4040006: retryable": { stage in
        try await stage.each(
            "app_store_unavailable",
            [4_040_002, 4_040_004, 4_040_006].map { code in { try await stage.answered(404, code: code, attempt: 9) } })
    },
    "Server API: 404 4040003, or with a code that nobody knows": { stage in
        try await stage.each(
            "app_store_refused",
            [4_040_003, 4_049_999].map { code in { try await stage.answered(404, code: code, attempt: 9) } })
    },
    "Server API: 400, 403 or 409 with another code": { stage in
        try await stage.each(
            "app_store_refused",
            [400, 403, 409].map { status in { try await stage.answered(status, code: status * 10_000 + 99) } })
    },
    "Server API: 401": { try await $0.answered(401) },
    "Server API: 429 with Retry-After": { stage in
        let finding = try await stage.answered(429, more: ",\"retryAfterMs\":90000")
        #expect((80...90).contains(finding.retryAfterSeconds ?? 0))
        return finding
    },
    "Server API: 429 without a Retry-After that can be read": { stage in
        try await stage.answered(429, more: ",\"retryAfter\":\"soon\"")
    },
    "Server API: our budget has no room": { stage in
        let setup = Setup(rates: AppStoreRates(perSecond: 0.01, share: 1))
        return try await stage.withAccess(setup) { access in
            let ids = [
                try await stage.simulator.sellOne().transactionId, try await stage.simulator.sellOne().transactionId,
            ]
            #expect(try await Stage.finding(asked(ids[0]), access: access).name == "genuine")
            return try await Stage.finding(asked(ids[1]), access: access)
        }
    },
]

private let troubledCalls: [String: Scenario] = [
    "Server API: 404 without a code": { try await $0.answered(404, more: ",\"body\":\"htmlPage\"") },
    "Server API: 500 5000000": { try await $0.answered(500, code: 5_000_000) },
    "Server API: 500 5000001, or another 5xx": { stage in
        try await stage.each(
            "app_store_unavailable",
            [{ try await stage.answered(500, code: 5_000_001) }, { try await stage.answered(503) }])
    },
    "Server API: a page of HTML": { try await $0.answered(502, more: ",\"body\":\"htmlPage\"") },
    "Server API: a wrong content type": { try await $0.troubled("{\"kind\":\"wrongContentType\"}") },
    "Server API: JSON that is none": { try await $0.troubled("{\"kind\":\"garbageJSON\"}") },
    "Server API: an empty answer": { try await $0.troubled("{\"kind\":\"emptyBody\"}") },
    "Server API: a body that ends early": { try await $0.troubled("{\"kind\":\"truncatedBody\"}") },
    "Server API: the connection is reset": { try await $0.troubled("{\"kind\":\"reset\"}") },
    "Server API: no answer in time": { stage in
        try await stage.troubled("{\"kind\":\"hang\"}", Setup(patience: .milliseconds(200)))
    },
    "Server API: the host rests (breaker)": { stage in
        let sold = try await stage.simulator.sellOne()
        try await stage.simulator.misbehave("{\"kind\":\"status\",\"status\":503}")
        var breaker = CircuitBreaker.Settings(samplesMinimum: 2)
        breaker.probeDelay = .seconds(3_000)
        breaker.probeDelayMaximum = .seconds(3_600)
        return try await stage.withAccess(Setup(breaker: breaker)) { access in
            for _ in 0..<2 { _ = try await Stage.finding(asked(sold.transactionId), access: access) }
            #expect(access.pace.isOut)
            // Apple would answer again; who asks at once would keep it from getting up.
            try await stage.simulator.behave()
            let finding = try await Stage.finding(asked(sold.transactionId), access: access)
            #expect(finding.retryAfterSeconds ?? 0 > 1_000)
            return finding
        }
    },
]
