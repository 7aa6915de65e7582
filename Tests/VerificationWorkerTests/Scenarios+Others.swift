import AppStoreServerAPI
import AsyncHTTPClient
import CertificateRevocation
import Foundation
import Messages
import NIOHTTP1
import PurchaseModel
import SimulatorTesting
import Testing

@testable import VerificationWorker

extension Stage {
    /// What becomes of a genuine signed transaction while the responder of certificates behaves like this.
    fileprivate func certified(_ change: String) async throws -> Finding {
        let sold = try await simulator.sellOne()
        try await simulator.control(.PUT, "revocation", change)
        return try await finding(
            SubmissionFixture.make(.signedTransaction, sold.signedTransaction), Setup(asksAboutRevocation: true))
    }

    /// What becomes of a genuine signed transaction in twenty years, when its leaf and its intermediate have expired.
    ///
    /// Whoever asked would get no answer.
    fileprivate func certifiedLongAgo() async throws -> Finding {
        let sold = try await simulator.sellOne()
        try await simulator.control(.PUT, "revocation", "{\"responder\":\"unreachable\"}")
        let submission = SubmissionFixture.make(.signedTransaction, sold.signedTransaction)
        return try await withAccess { access in
            let checker = RevocationChecker(
                http: .shared, settings: .init(responder: simulator.responder, timeout: .seconds(5)),
                now: { Date() + 20 * 366 * 86_400 })
            let judge = JudgeSubmissions(
                judge: access.judge.offline, proofs: ProofReader(pool: nil, logger: Self.quiet),
                revocation: RevocationQuestions(verifier: access.judge.offline.signedData, checker: checker),
                isPaused: { false })
            guard case .some(.some(let finding)) = await judge.findings(for: [submission]).first else {
                throw Simulator.Trouble(description: "a signed transaction was not settled offline")
            }
            #expect(checker.certificatesRemembered == 2)
            return finding
        }
    }

    /// What becomes of a genuine signed transaction when its certificates name no responder.
    ///
    /// Those of the simulator's chain name one, and its root names none: what is asked about is a chain of roots.
    fileprivate func certifiedWithoutResponder() async throws -> Finding {
        let sold = try await simulator.sellOne()
        let root = try await simulator.process.bytes(.GET, "root").base64EncodedString()
        let fields = "{\"alg\":\"ES256\",\"x5c\":[\"\(root)\",\"\(root)\",\"\(root)\"]}"
        let header = Data(fields.utf8).base64EncodedString()
            .replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
        return try await withAccess { access in
            let questions = RevocationQuestions(
                verifier: access.judge.offline.signedData, checker: RevocationChecker(http: .shared))
            if let objection = await questions.objection(to: "\(header).e30.AA") { return Finding(objection) }
            return try await Self.finding(
                SubmissionFixture.make(.signedTransaction, sold.signedTransaction), access: access)
        }
    }

    /// A genuine sandbox purchase.
    fileprivate func sandboxed(_ expected: StoreEnvironment? = nil) async throws -> SubmissionMessage {
        let sold = try await simulator.sellOne(environment: .sandbox)
        return SubmissionFixture.make(.signedTransaction, sold.signedTransaction, expected: expected)
    }

    /// A genuine sandbox receipt.
    fileprivate func sandboxReceipt() async throws -> SubmissionMessage {
        let account = "sandbox-\(UUID().uuidString)"
        try await simulator.sell(to: account, environment: .sandbox)
        return receipt(try await simulator.receipt(of: account, environment: .sandbox))
    }
}

/// The rows of `OCSP`.
let revocationScenarios: [String: Scenario] = [
    "OCSP: good": { try await $0.certified("{}") },
    "OCSP: the leaf is revoked": { try await $0.certified("{\"leaf\":\"revoked\"}") },
    "OCSP: the intermediate is revoked": { try await $0.certified("{\"intermediate\":\"revoked\"}") },
    "OCSP: a certificate that has expired since it signed": { try await $0.certifiedLongAgo() },
    "OCSP: a certificate that names no responder": { try await $0.certifiedWithoutResponder() },
    "OCSP: the responder knows nothing of it": { try await $0.certified("{\"leaf\":\"unknown\"}") },
    "OCSP: the responder answers with an error, or asks to try later": { stage in
        #expect(try await stage.certified("{\"responder\":\"tryLater\"}").reason == "revocation_unknown")
        return try await stage.certified("{\"responder\":\"error\"}")
    },
    "OCSP: the responder does not answer": { try await $0.certified("{\"responder\":\"unreachable\"}") },
    "OCSP: a certificate of a notification, or of what is in it, is revoked": { stage in
        let told = try await stage.simulator.notification("DID_RENEW")
        let setup = Setup(asksAboutRevocation: true)
        #expect(try await stage.finding(notified(told.signedPayload), setup).name == "genuine")
        try await stage.simulator.control(.PUT, "revocation", "{\"leaf\":\"revoked\"}")
        let finding = try await stage.finding(notified(told.signedPayload), setup)
        #expect(finding.renewals == [])
        #expect(finding.notification?.type == "DID_RENEW")
        return finding
    },
    "OCSP: the certificate of an answer of the Server API is revoked": { stage in
        let sold = try await stage.simulator.sellOne()
        try await stage.simulator.control(.PUT, "revocation", "{\"leaf\":\"revoked\"}")
        let orderId = try await stage.simulator.orderId(of: sold.transactionId)
        let order = try await stage.finding(ordered(orderId), Setup(asksAboutRevocation: true))
        #expect(order.reason == "certificate_revoked")
        return try await stage.finding(asked(sold.transactionId), Setup(asksAboutRevocation: true))
    },
]

/// The rows of `firewall` and `settings`.
let otherScenarios: [String: Scenario] = firewallScenarios.merging(settingScenarios) { first, _ in first }

private let firewallScenarios: [String: Scenario] = [
    "firewall: sandbox, accepted": { stage in
        let finding = try await stage.finding(try await stage.sandboxed())
        #expect(finding.transactions.map(\.testPurchase) == [nil])
        return finding
    },
    "firewall: sandbox, accepted as a test": { stage in
        let finding = try await stage.finding(try await stage.sandboxed(), Setup(sandbox: "test"))
        #expect(finding.transactions.map(\.testPurchase) == [.sandbox])
        return finding
    },
    "firewall: sandbox, bought by a build for production (App Review)": { stage in
        for policy in ["accept", "test"] {
            let finding = try await stage.finding(try await stage.sandboxed(.production), Setup(sandbox: policy))
            #expect(finding.transactions.map(\.testPurchase) == [.appReview])
        }
        return try await stage.finding(try await stage.sandboxed(.production))
    },
    "firewall: sandbox, refused: signed transaction": { stage in
        try await stage.finding(try await stage.sandboxed(.production), Setup(sandbox: "refuse"))
    },
    "firewall: sandbox, refused: receipt": { stage in
        try await stage.finding(try await stage.sandboxReceipt(), Setup(sandbox: "refuse"))
    },
    "firewall: sandbox, refused: verifyReceipt": { stage in
        try await stage.finding(
            try await stage.sandboxReceipt(), Setup(sandbox: "refuse", receipts: "verify_receipt"))
    },
    "firewall: sandbox, refused: server notification": { stage in
        try await stage.finding("DID_RENEW", in: .sandbox, Setup(sandbox: "refuse"))
    },
    "firewall: sandbox, refused: Server API": { stage in
        let sold = try await stage.simulator.sellOne(environment: .sandbox)
        return try await stage.finding(asked(sold.transactionId), Setup(sandbox: "refuse"))
    },
]

private let settingScenarios: [String: Scenario] = [
    "settings: the app is not known here (a deployment under way)": { stage in
        try await stage.finding(asked("2000000000000001"), Setup(knowsApp: false))
    },
    "settings: the kind of proof is not known here": { stage in
        try await stage.finding(SubmissionFixture.make(ProofKind(rawValue: "of tomorrow"), "x"))
    },
    "settings: no key for the Server API": { stage in
        let order = try await stage.finding(ordered("MV7KQ2XH0P"), Setup(hasKey: false))
        #expect(order.reason == "app_store_not_configured")
        return try await stage.finding(asked("2000000000000001"), Setup(hasKey: false))
    },
    "settings: a large proof, and the database does not answer or is not configured": { stage in
        try await stage.finding(SubmissionFixture.make(.receipt, "", isClaimCheck: true))
    },
]
