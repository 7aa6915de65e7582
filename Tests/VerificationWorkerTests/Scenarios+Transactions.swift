import Foundation
import Messages
import PurchaseModel
import Testing

@testable import VerificationWorker

/// What is refused of a signed transaction before it is read; of a notification it is refused by the same code.
let signatureChecks: [String: String] = [
    "not three parts of base64url": "not_a_jws",
    "a header that is none": "header_invalid",
    "another algorithm than ES256": "algorithm_not_es256",
    "not exactly three certificates": "certificate_count",
    "a certificate that cannot be read": "certificate_invalid",
    "another root than the pinned one": "root_not_trusted",
    "a payload that is not JSON": "payload_invalid",
    "no date of signing": "signed_date_missing",
    "signed well, and not to be read": "payload_unreadable",
    "certificates that are no path (RFC 5280)": "chain_invalid",
    "a certificate that was not valid when it signed": "certificate_expired",
    "a leaf without Apple's marker": "leaf_marker_missing",
    "an intermediate without Apple's marker": "intermediate_marker_missing",
    "a wrong signature": "signature_invalid",
]

/// What else is refused of signed transactions that the forgers of the simulator made.
private let forged: [String: String] = [
    "something else that Apple signed": "not_a_transaction",
    "a required field is missing": "field_missing",
    "a field that matters is not what it must be": "field_invalid",
    "another app's": "bundle_mismatch",
    "made by Xcode": "environment_xcode",
    "made for local testing": "environment_local_testing",
    "an environment that nobody knows": "environment_unknown",
]

private func posted(
    _ jws: String, notFound: SubmissionMessage.NotFoundAnswers? = nil
) -> SubmissionMessage {
    SubmissionFixture.make(.signedTransaction, jws, notFound: notFound)
}

extension Stage {
    /// A transaction of before 2022: bought in production, and its payload names no environment.
    fileprivate func undated() async throws -> String { try await simulator.attack("missing_environment") }
}

/// Signed transactions that name no environment.
private let unnamedEnvironments: [String: Scenario] = [
    "signed transaction: it names no environment (signed before 2022), and the app has no key": { stage in
        let finding = try await stage.finding(posted(try await stage.undated()), Setup(hasKey: false))
        #expect(finding.transactions.count == 1)
        #expect(finding.transactions.allSatisfy { $0.environment == nil })
        return finding
    },
    "signed transaction: it names no environment, and Apple knows it": { stage in
        let jws = try await stage.undated()
        let finding = try await stage.finding(posted(jws))
        #expect(finding.transactions.map(\.environment) == [.production])
        #expect(finding.claims.ids == nil && !finding.claims.areUnproven, "it was posted with a proof")
        let signed = try #require(finding.proofSignedDate)
        #expect(finding.transactions.allSatisfy { $0.signedDate > signed }, "Apple signed its answer anew")
        let unasked = try await stage.finding(posted(jws), Setup(hasKey: false))
        #expect(unasked.transactions.map(\.transactionId) == finding.transactions.map(\.transactionId))
        #expect(unasked.transactions.map(\.signedDate) == [signed])
        return finding
    },
    "signed transaction: it names no environment, unknown to Apple, not yet believed": { stage in
        let jws = try await stage.undated()
        try await stage.simulator.misbehave("{\"kind\":\"status\",\"status\":404,\"errorCode\":4040010}")
        return try await stage.finding(posted(jws))
    },
    "signed transaction: it names no environment, unknown to Apple, believed": { stage in
        let jws = try await stage.undated()
        for (status, code) in [(404, 4_040_010), (404, 4_040_001), (400, 4_000_006)] {
            try await stage.simulator.misbehave(
                "{\"kind\":\"status\",\"status\":\(status),\"errorCode\":\(code)}")
            let finding = try await stage.finding(posted(jws, notFound: SubmissionFixture.believed))
            #expect(finding.name == "genuine", "\(code)")
            #expect(finding.transactions.map(\.environment) == [nil], "\(code)")
        }
        return try await stage.finding(posted(jws, notFound: SubmissionFixture.believed))
    },
    "signed transaction: it names no environment, and Apple does not answer": { stage in
        let jws = try await stage.undated()
        try await stage.simulator.misbehave("{\"kind\":\"status\",\"status\":503}")
        return try await stage.finding(posted(jws, notFound: SubmissionFixture.believed))
    },
]

/// Signed transactions that do not say whose app's they are.
private let unnamedApps: [String: Scenario] = [
    "signed transaction: it names no app, and Apple knows it by the app's key": { stage in
        let jws = try await stage.simulator.attack("missing_bundle_id")
        let finding = try await stage.finding(posted(jws))
        #expect(finding.transactions.map(\.bundleId) == [SubmissionFixture.app])
        #expect(finding.claims.ids == nil && !finding.claims.areUnproven, "it was posted with a proof")
        let signed = try #require(finding.proofSignedDate)
        #expect(finding.transactions.allSatisfy { $0.signedDate > signed }, "Apple signed its answer anew")
        return finding
    },
    "signed transaction: it names no app, unknown to Apple, not yet believed": { stage in
        let jws = try await stage.simulator.attack("missing_bundle_id")
        try await stage.simulator.misbehave("{\"kind\":\"status\",\"status\":404,\"errorCode\":4040010}")
        for before in [SubmissionMessage.NotFoundAnswers(count: 9, seconds: 259_199), .init(count: 4, seconds: 1e6)] {
            #expect(try await stage.finding(posted(jws, notFound: before)).reason == "transaction_not_found")
        }
        return try await stage.finding(posted(jws))
    },
    "signed transaction: it names no app, unknown to Apple, believed": { stage in
        let jws = try await stage.simulator.attack("missing_bundle_id")
        try await stage.simulator.misbehave("{\"kind\":\"status\",\"status\":404,\"errorCode\":4040010}")
        return try await stage.finding(posted(jws, notFound: SubmissionFixture.believed))
    },
    "signed transaction: it names no app, and the app has no key": { stage in
        let jws = try await stage.simulator.attack("missing_bundle_id")
        return try await stage.finding(posted(jws), Setup(hasKey: false))
    },
]

/// The rows of `signed transaction`.
let transactionScenarios: [String: Scenario] = {
    var scenarios: [String: Scenario] = [
        "signed transaction: every check holds": { stage in
            let sold = try await stage.simulator.sellOne()
            let finding = try await stage.finding(posted(sold.signedTransaction))
            #expect(finding.transactions.map(\.transactionId) == [sold.transactionId])
            #expect(finding.transactions.map(\.environment) == [.production])
            #expect(finding.claims.ids == nil && !finding.claims.areUnproven)
            return finding
        },
        "signed transaction: more than 256 KiB": { stage in
            try await stage.finding(posted(try await stage.simulator.attack("huge_transaction")))
        },
        "signed transaction: with a certificate that an operator has denied": { stage in
            let sold = try await stage.simulator.sellOne()
            #expect(try await stage.finding(posted(sold.signedTransaction)).name == "genuine")
            return try await stage.finding(
                posted(sold.signedTransaction), Setup(denied: [try stage.simulator.root(of: "root")]))
        },
        "signed transaction: an appAccountToken that is no UUID": { stage in
            try await stage.finding(posted(try await stage.simulator.attack("unreadable_token")))
        },
    ]
    scenarios.merge(unnamedEnvironments) { first, _ in first }
    scenarios.merge(unnamedApps) { first, _ in first }
    for (outcome, code) in signatureChecks.merging(forged, uniquingKeysWith: { first, _ in first }) {
        scenarios["signed transaction: \(outcome)"] = { stage in
            try await stage.finding(posted(try await stage.simulator.forgery(refusedAs: code)))
        }
    }
    return scenarios
}()
