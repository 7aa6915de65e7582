package import AppStore

/// What is believed when its certificates end at a trusted root; each has a list of roots of its own.
package enum RootUse: String, Sendable, Hashable, CaseIterable {
    /// StoreKit's transactions, notifications and what the App Store Server API answers.
    case signedData = "signed_data"
    /// App receipts.
    case receipts

    /// The setting with the list.
    package var key: String {
        switch self {
        case .signedData: "trusted.roots"
        case .receipts: "receipt.roots"
        }
    }

    /// The setting as a variable of the environment.
    package var variable: String {
        switch self {
        case .signedData: "COUNTERSIGN_TRUSTED_ROOTS"
        case .receipts: "COUNTERSIGN_RECEIPT_ROOTS"
        }
    }

    /// What holds where no list is set.
    package var appleRoots: TrustedRoots {
        switch self {
        case .signedData: .appleRootG3
        case .receipts: .appleRoot
        }
    }
}
