import Foundation
import Messages
import PurchaseModel
import ServiceRuntime

/// What is made of proofs whose certificates have expired since they signed.
///
/// Validity is judged at the date that a payload itself names, so whoever has the key of a leaf that expired years ago can
/// sign for then. What is in doubt is asked of Apple, where the app has a key; else fulfillment holds it, unless it is known
/// otherwise. Why these defaults: `Shared/Decisions/0016-what-an-expired-certificate-signed.md`.
struct ExpiredCertificates: Sendable {
    /// What is made of them.
    enum Rule: String, CaseIterable, Sendable {
        /// As good as any other.
        case accept
        /// Asked about, or held.
        case doubt
    }

    /// Apple changes a leaf two to three weeks before it expires, and a device may be without a network for as long.
    static let toleranceDefault = Duration.seconds(30 * 86_400)
    /// The most that can be configured: the ten years of an intermediate.
    static let toleranceMaximum = Duration.seconds(10 * 366 * 86_400)
    /// How many transactions of a receipt Apple is asked about, the newest first; the others stay in doubt.
    static let receiptLookupsMaximum = 20

    var signedData = Rule.doubt
    var receipts = Rule.accept
    var tolerance = Self.toleranceDefault
    /// What time it is, for proofs that have just come.
    var now: @Sendable () -> Date = { Date() }

    /// The defaults.
    init() {}

    init(_ settings: SettingReader) throws(SettingError) {
        // `doubt` or `accept` signed transactions and notifications of them
        signedData = try settings.choice("expired_certificates.signed_data", default: signedData)
        // the same of receipts
        receipts = try settings.choice("expired_certificates.receipts", default: receipts)
        // seconds from the expiry on until a proof that comes then is in doubt
        tolerance = try settings.duration(
            "expired_certificates.tolerance", default: tolerance, in: .zero...Self.toleranceMaximum)
    }

    /// Whether a proof is in doubt: by when it came, not by when it is judged, or a repetition would say something else.
    ///
    /// - Parameters:
    ///   - expiry: when the first of its certificates expires.
    ///   - rule: what is made of its kind.
    func areDoubtful(_ expiry: Date, by rule: Rule, _ submission: SubmissionMessage) -> Bool {
        guard rule == .doubt else { return false }
        return expiry + Double(tolerance.components.seconds) < submission.receivedAt ?? now()
    }
}

extension Transaction {
    /// The same, as far as it is in doubt.
    func doubted(_ isDoubtful: Bool) -> Transaction {
        guard isDoubtful else { return self }
        var transaction = self
        transaction.hasExpiredSigner = true
        return transaction
    }
}

extension Finding {
    /// Whether something of it is genuine by its signature alone, whose certificates have expired.
    var isDoubtful: Bool {
        guard case .genuine(let transactions) = verdict else { return false }
        return transactions.contains { !$0.isVouchedFor }
    }
}
