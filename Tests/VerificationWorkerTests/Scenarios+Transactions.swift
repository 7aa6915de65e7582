import Messages
import PurchaseModel
import Testing

@testable import VerificationWorker

/// Signed transactions that the forgers of the simulator made, one for each check.
private let forged: [String: String] = [
    "not three parts of base64url": "not_a_jws",
    "a header that is none": "header_invalid",
    "another algorithm than ES256": "algorithm_not_es256",
    "not exactly three certificates": "certificate_count",
    "a certificate that cannot be read": "certificate_invalid",
    "another root than the pinned one": "root_not_trusted",
    "a payload that is not JSON": "payload_invalid",
    "no date of signing": "signed_date_missing",
    "certificates that are no path (RFC 5280)": "chain_invalid",
    "a certificate that was not valid when it signed": "certificate_expired",
    "a leaf without Apple's marker": "leaf_marker_missing",
    "an intermediate without Apple's marker": "intermediate_marker_missing",
    "a wrong signature": "signature_invalid",
    "something else that Apple signed": "not_a_transaction",
    "a required field is missing": "field_missing",
    "a field that matters is not what it must be": "field_invalid",
    "another app's": "bundle_mismatch",
    "made by Xcode": "environment_xcode",
    "made for local testing": "environment_local_testing",
    "an environment that nobody knows": "environment_unknown",
]

private func posted(_ jws: String) -> SubmissionMessage {
    SubmissionFixture.make(.signedTransaction, jws)
}

/// The rows of `signed transaction`.
let transactionScenarios: [String: Scenario] = {
    var scenarios: [String: Scenario] = [
        "signed transaction: every check holds": { stage in
            let sold = try await stage.simulator.sellOne()
            let finding = try await stage.finding(posted(sold.signedTransaction))
            #expect(finding.transactions.map(\.transactionId) == [sold.transactionId])
            #expect(finding.transactions.map(\.environment) == [.production])
            #expect(finding.claims == nil)
            return finding
        },
        "signed transaction: it names no environment (signed before 2022)": { stage in
            let finding = try await stage.finding(posted(try await stage.simulator.attack("missing_environment")))
            #expect(finding.transactions.count == 1)
            #expect(finding.transactions.allSatisfy { $0.environment == nil })
            return finding
        },
        "signed transaction: more than 256 KiB": { stage in
            try await stage.finding(posted(try await stage.simulator.attack("huge_transaction")))
        },
        "signed transaction: an appAccountToken that is no UUID": { stage in
            try await stage.finding(posted(try await stage.simulator.attack("unreadable_token")))
        },
    ]
    for (outcome, code) in forged {
        scenarios["signed transaction: \(outcome)"] = { stage in
            try await stage.finding(posted(try await stage.simulator.forgery(refusedAs: code)))
        }
    }
    return scenarios
}()
