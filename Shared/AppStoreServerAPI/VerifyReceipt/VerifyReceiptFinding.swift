extension VerifyReceiptAnswer {
    /// Why a receipt is refused or not settled: a word in snake case.
    public struct Reason: OpenText {
        /// The word.
        public let rawValue: String

        /// Takes a word.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// 21002: no receipt, as far as Apple sees; or a passing issue of Apple's.
        public static let receiptMalformed = Self(rawValue: "receipt_malformed")
        /// 21003: not signed by Apple, or altered.
        public static let receiptNotAuthenticated = Self(rawValue: "receipt_not_authenticated")
        /// 21010: the account was not found, or was deleted.
        public static let receiptAccountUnknown = Self(rawValue: "receipt_account_unknown")
        /// 21004: the app's shared secret is wrong.
        public static let sharedSecretMismatch = Self(rawValue: "shared_secret_mismatch")
        /// 21003 of the sandbox to a request without a shared secret.
        public static let sharedSecretMissing = Self(rawValue: "shared_secret_missing")
        /// 21005, 21009, 21100 to 21199: Apple has trouble.
        public static let appStoreUnavailable = Self(rawValue: "app_store_unavailable")
        /// 21100 to 21199, of which Apple says that asking again does not help.
        public static let receiptNotReadableByApple = Self(rawValue: "receipt_not_readable_by_apple")
        /// 21007 and 21008 in turn, or a host that answers for the other environment.
        public static let receiptEnvironmentContradictory = Self(rawValue: "receipt_environment_contradictory")
        /// 21000, 21001 and numbers that nobody knows.
        public static let receiptStatusUnknown = Self(rawValue: "receipt_status_unknown")
    }

    /// What an answer means for a submission.
    public enum Finding: Sendable, Hashable {
        /// Genuine: the answer's purchases count.
        case valid
        /// For good.
        case rejected(Reason)
        /// Nothing was learnt: ask again later. `needsAttention`: somebody must look, or it stays so.
        case unknown(Reason, needsAttention: Bool)
    }

    enum Limit {
        /// How often a receipt is asked about that Apple calls malformed: it says so in passing trouble, too (21002).
        static let malformedAttempts = 3
    }

    /// What the answer means (ADP, status and is-retryable).
    ///
    /// That a receipt is genuine does not make it this app's: the caller compares ``Receipt/bundleId``, and looks at
    /// ``mayHide(_:)`` before it says that a transaction is not in the receipt.
    ///
    /// - Parameter attempt: how often Apple has been asked about this receipt, this time included: 1 the first time.
    public func finding(attempt: Int) -> Finding {
        switch status {
        case .valid, .validButExpired:
            isOfItsHost ? .valid : .unknown(.receiptEnvironmentContradictory, needsAttention: true)
        case .malformed:
            attempt > Limit.malformedAttempts
                ? .rejected(.receiptMalformed) : .unknown(.receiptMalformed, needsAttention: false)
        case .notAuthenticated where environment == .sandbox && !hasSentSharedSecret:
            // The sandbox has said so of good receipts (developer forum 683183).
            .unknown(.sharedSecretMissing, needsAttention: true)
        case .notAuthenticated: .rejected(.receiptNotAuthenticated)
        case .sharedSecretMismatch: .unknown(.sharedSecretMismatch, needsAttention: true)
        case .unavailable, .dataAccessError: .unknown(.appStoreUnavailable, needsAttention: false)
        case .belongsToSandbox, .belongsToProduction:
            .unknown(.receiptEnvironmentContradictory, needsAttention: false)
        case .accountUnknown: .rejected(.receiptAccountUnknown)
        case _ where VerifyReceiptStatus.dataAccessErrors.contains(status.rawValue):
            isRetryable ?? true
                ? .unknown(.appStoreUnavailable, needsAttention: false) : .rejected(.receiptNotReadableByApple)
        default: .unknown(.receiptStatusUnknown, needsAttention: true)
        }
    }

    /// Whether the receipt is of the environment whose host answered, as far as it says: money depends on it.
    private var isOfItsHost: Bool {
        if let stated = receipt?.environment, stated.rawValue != environment.rawValue { return false }
        switch receipt?.type {
        case "Production", "ProductionVPP": return environment == .production
        case "ProductionSandbox", "ProductionVPPSandbox": return environment == .sandbox
        default: return true
        }
    }
}
