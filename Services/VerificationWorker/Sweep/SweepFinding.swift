import AppStore
import Foundation
import Messages
import Persistence
import PurchaseModel

/// Something that Apple signed and that is not in the books, with the submission by which it goes the ordinary way.
struct SweepFinding: Sendable {
    let recovery: RecoveryStore.Recovery
    let submission: SubmissionStore.NewSubmission

    /// - Parameters:
    ///   - name: see `RecoveryStore.Recovery.name`.
    ///   - proof: what Apple signed; no account posts it.
    ///   - key: what keeps its lineage in one partition; nil for its id.
    init(
        app: String, environment: StoreEnvironment, name: String, kind: ProofKind, proof: String,
        transactionId: String?, key: String?
    ) {
        let id = Self.submissionId(app: app, kind: kind, proof: proof)
        recovery = RecoveryStore.Recovery(
            app: app, environment: environment, name: name, submissionId: id, transactionId: transactionId)
        submission = SubmissionStore.NewSubmission(
            message: SubmissionMessage(
                submissionId: id, app: app, account: "", kind: kind, proof: proof, attempt: 0,
                correlationId: EventIdentifier.correlation(at: Date())),
            partitionKey: key ?? id)
    }

    /// What Apple signed and this version cannot read: it stays unknown until a newer one decides.
    ///
    /// Apple signs the same anew for whoever asks: it is named by what it says, without when that was signed.
    ///
    /// - Parameter signed: the part of the proof that cannot be read; nil for all of it.
    static func unread(
        _ proof: String, naming signed: String? = nil, kind: ProofKind, app: String, environment: StoreEnvironment
    ) -> SweepFinding {
        let said = statement(of: signed ?? proof)
        return SweepFinding(
            app: app, environment: environment, name: "u:" + submissionId(app: app, kind: kind, proof: said),
            kind: kind, proof: proof, transactionId: nil, key: nil)
    }

    /// What a signed text says, without when it was signed, whatever form that has; the text itself if it cannot be read.
    private static func statement(of jws: String) -> String {
        let parts = Array(jws.utf8).split(separator: UInt8(ascii: "."))
        guard parts.count == 3, let payload = Base64Decoding.urlSafe(parts[1]),
            var members = try? JSONSerialization.jsonObject(with: Data(payload)) as? [String: Any]
        else { return jws }
        members["signedDate"] = nil
        let said = try? JSONSerialization.data(withJSONObject: members, options: .sortedKeys)
        return said.map { String(decoding: $0, as: UTF8.self) } ?? jws
    }

    /// The id of what Apple posts: the same as if Apple had posted it.
    static func submissionId(app: String, kind: ProofKind, proof: String) -> String {
        SubmissionIdentifier.make(app: app, account: "", kind: kind, proof: proof)
    }
}

extension RecordedStatements.Recorded {
    /// Whether Apple says something of a transaction that the books do not have.
    func lacks(_ transaction: Transaction) -> Bool {
        // Apple's ids are not shared by apps; whatever says otherwise is fulfillment's to judge, and was.
        guard app == transaction.bundleId else { return false }
        if revocationDate?.milliseconds != transaction.revocationDate?.milliseconds { return true }
        if transaction.revocationDate != nil, revocationPercentage != transaction.revocationPercentage { return true }
        if expiresDate?.milliseconds != transaction.expiresDate?.milliseconds { return true }
        if isUpgraded != (transaction.isUpgraded ?? false) { return true }
        // Of a forgotten account no token comes back; such an order is not nobody's.
        if isNobodys, let token = transaction.appAccountToken, token != self.token { return true }
        return reason.map(Self.endedByNewData.contains) ?? false
    }

    /// Doubts that what Apple signs today may end.
    private static let endedByNewData: Set<ReasonCode> = [
        .environmentMissing, .transactionIncomplete, .signedWithExpiredCertificate,
    ]
}

extension RenewalStatement {
    /// Whether it says something that an older one does not.
    func isNews(after known: RenewalStatement?) -> Bool {
        guard let known else { return true }
        return productId != known.productId || renewalProductId != known.renewalProductId
            || willRenew != known.willRenew || isInBillingRetry != known.isInBillingRetry
            || expirationIntent != known.expirationIntent || priceIncreaseStatus != known.priceIncreaseStatus
            || gracePeriodExpiresDate?.milliseconds != known.gracePeriodExpiresDate?.milliseconds
            || renewalDate?.milliseconds != known.renewalDate?.milliseconds
            || commitment?.willRenew != known.commitment?.willRenew
            || commitment?.productId != known.commitment?.productId
    }
}
