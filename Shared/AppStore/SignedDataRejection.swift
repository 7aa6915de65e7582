/// Why signed data was refused: permanent, since every check depends on the data alone.
public struct SignedDataRejection: Error, Hashable, CustomStringConvertible {
    /// Which check failed.
    public let code: RejectionCode
    /// More about it for an operator: names of fields and counts, never what the payload says.
    public let detail: String

    /// Makes a rejection; `detail` must be safe to log.
    public init(_ code: RejectionCode, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// The code and the detail, safe to log.
    public var description: String { "\(code.rawValue): \(detail)" }
}

/// The check that refused signed data, in the order in which the checks are made.
public struct RejectionCode: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    /// The code's name on the wire, in snake case.
    public let rawValue: String

    /// Takes a name; it need not be one of the names below.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The code's name.
    public var description: String { rawValue }

    /// More bytes than ``SignedDataLimits/signedDataBytesMaximum``.
    public static let payloadTooLarge = RejectionCode(rawValue: "payload_too_large")
    /// Not three non-empty parts of unpadded base64url between dots.
    public static let notAJWS = RejectionCode(rawValue: "not_a_jws")
    /// The header is not a JSON object, or a part of it is not what RFC 7515 says.
    public static let headerInvalid = RejectionCode(rawValue: "header_invalid")
    /// The header's `alg` is not exactly `ES256`.
    public static let algorithmNotES256 = RejectionCode(rawValue: "algorithm_not_es256")
    /// The header's `x5c` does not have exactly three certificates.
    public static let certificateCount = RejectionCode(rawValue: "certificate_count")
    /// A certificate is not base64 or cannot be read.
    public static let certificateInvalid = RejectionCode(rawValue: "certificate_invalid")
    /// The third certificate is not a trusted root.
    public static let rootNotTrusted = RejectionCode(rawValue: "root_not_trusted")
    /// An operator has denied one of the certificates, such as one whose key has leaked.
    public static let certificateDenied = RejectionCode(rawValue: "certificate_denied")
    /// The payload is no JSON object, or no receipt, that says when it was signed, though its signature is good: a newer version
    /// may read it.
    public static let payloadUnreadable = RejectionCode(rawValue: "payload_unreadable")
    /// The payload is not a JSON object within the limits.
    public static let payloadInvalid = RejectionCode(rawValue: "payload_invalid")
    /// The payload does not say when it was signed, so its certificates cannot be judged.
    public static let signedDateMissing = RejectionCode(rawValue: "signed_date_missing")
    /// The certificates are not a path by RFC 5280: issuer, signature, authority, path length or key usage.
    public static let chainInvalid = RejectionCode(rawValue: "chain_invalid")
    /// A certificate was not valid when the payload was signed: expired, or not valid yet.
    public static let certificateExpired = RejectionCode(rawValue: "certificate_expired")
    /// The leaf lacks 1.2.840.113635.100.6.11.1: not a certificate for signing receipts.
    public static let leafMarkerMissing = RejectionCode(rawValue: "leaf_marker_missing")
    /// The intermediate lacks 1.2.840.113635.100.6.2.1: not Apple's authority for developer relations.
    public static let intermediateMarkerMissing = RejectionCode(rawValue: "intermediate_marker_missing")
    /// The signature is not 64 bytes, or not the leaf's signature of this header and payload.
    public static let signatureInvalid = RejectionCode(rawValue: "signature_invalid")
    /// Genuine, but not a transaction: it has no `transactionId`.
    public static let notATransaction = RejectionCode(rawValue: "not_a_transaction")
    /// Genuine, but no renewal info: it says nothing of a renewal, or it is a transaction.
    public static let notRenewalInfo = RejectionCode(rawValue: "not_renewal_info")
    /// Genuine, but no app transaction: it has no `receiptType`.
    public static let notAnAppTransaction = RejectionCode(rawValue: "not_an_app_transaction")
    /// Genuine, but no server notification: it has no `notificationType`.
    public static let notANotification = RejectionCode(rawValue: "not_a_notification")
    /// A notification with none, or several, of `data`, `summary`, `externalPurchaseToken` and `appData`.
    public static let notificationContent = RejectionCode(rawValue: "notification_content")
    /// A genuine payload without a field that every one of its kind has.
    public static let fieldMissing = RejectionCode(rawValue: "field_missing")
    /// A genuine transaction that does not say whose it is: Apple leaves the bundle id out of one in a million.
    public static let bundleIdMissing = RejectionCode(rawValue: "bundle_id_missing")
    /// A genuine payload with a field that cannot be read and must not be guessed.
    public static let fieldInvalid = RejectionCode(rawValue: "field_invalid")
    /// A genuine payload of another app.
    public static let bundleMismatch = RejectionCode(rawValue: "bundle_mismatch")
    /// Made by StoreKit Testing in Xcode.
    public static let environmentXcode = RejectionCode(rawValue: "environment_xcode")
    /// Made by StoreKit's local testing.
    public static let environmentLocalTesting = RejectionCode(rawValue: "environment_local_testing")
    /// An environment that this version does not know.
    public static let environmentUnknown = RejectionCode(rawValue: "environment_unknown")

    // Receipts only; they share the codes above wherever those fit.

    /// Not base64 or DER of a PKCS #7 SignedData with content, certificates and one signer.
    public static let notAReceipt = RejectionCode(rawValue: "not_a_receipt")
    /// A receipt of StoreKit Testing in Xcode: BER of indefinite length, or the receipt type `Xcode`.
    public static let receiptXcode = RejectionCode(rawValue: "receipt_xcode")
    /// The receipt is signed by other means than RSA (PKCS #1 v1.5) with SHA-1 or SHA-256.
    public static let algorithmNotSupported = RejectionCode(rawValue: "algorithm_not_supported")
    /// The receipt is signed over SHA-1, and says that it was made when Apple did so no more.
    public static let sha1Ended = RejectionCode(rawValue: "sha1_ended")
    /// The certificate that the receipt names as its signer's is not in the receipt.
    public static let signerMissing = RejectionCode(rawValue: "signer_missing")
    /// In production, `appAppleId` is missing or another app's.
    public static let appAppleIdMismatch = RejectionCode(rawValue: "app_apple_id_mismatch")
    /// The renewal info of another subscription than the transaction beside it.
    public static let renewalInfoMismatch = RejectionCode(rawValue: "renewal_info_mismatch")
    /// A notification carries what another app sold.
    public static let nestedBundleMismatch = RejectionCode(rawValue: "nested_bundle_mismatch")
    /// A notification carries what is of another environment, or of none.
    public static let nestedEnvironmentMismatch = RejectionCode(rawValue: "nested_environment_mismatch")
    /// A notification carries an app transaction with another `appAppleId`.
    public static let nestedAppAppleIdMismatch = RejectionCode(rawValue: "nested_app_apple_id_mismatch")
    /// A TEST notification carries something signed.
    public static let nestedInTest = RejectionCode(rawValue: "nested_in_test")
}
