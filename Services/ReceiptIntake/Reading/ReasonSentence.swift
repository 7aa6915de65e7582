import PurchaseModel

/// Reasons as half sentences for a person; a verifier's own words are told as they are.
enum ReasonSentence {
    /// What goes on after "because".
    static func because(_ reason: ReasonCode) -> String {
        switch reason {
        case .belongsToAnotherAccount: "it is another account's"
        case .sandboxRefused: "the app's configuration refuses sandbox purchases"
        case .appUnknown: "no app of its bundle id is configured"
        case .environmentMissing: "Apple's data does not say whether money was paid"
        case .signedWithExpiredCertificate:
            "the certificate that signed it has expired since, and Apple's data does not show it otherwise"
        case .productUnknown: "the catalogue does not know the product"
        case .productTypeMismatch: "the catalogue says another type of product than Apple"
        case .accountTokenUnknown: "its appAccountToken is no account's that we know"
        case .amountTooLarge: "the grant is greater than an amount can be"
        case .revokedByApple: "Apple took it back"
        case .restoreLimitReached: "it changed hands as often as its restore policy lets it in this time"
        case .orderNotFound: "Apple knows no order of this id, or none of this app"
        case .unclaimed: "Apple's data names no account, and none had claimed it"
        case .claimUnnamed: "the receipt holds several purchases and the app named none"
        case .transactionNotInReceipt: "the named transaction is not in the receipt"
        case .receiptWithoutPurchases: "the receipt holds no purchase"
        case .transactionNotFound: "Apple knows no transaction of this id"
        case .rateLimited: "Apple's limits left no room to ask"
        case .appStoreUnavailable: "Apple's servers did not answer"
        case .appStoreUnauthorized: "Apple refused our key"
        case .appStoreNotConfigured: "the app's settings lack what it takes to ask Apple"
        case .noVerdict: "no verdict has come"
        case .possessionUnproven: "a number alone does not show who bought it"
        case .purchaseAmbiguous: "Apple's data contradicts what is known: it could be two purchases"
        case .transactionIncomplete: "Apple's data lacks what a purchase of its type must have"
        case .vocabularyUnknown:
            "Apple's data has a word that this version does not know, or that a policy decides about"
        case .accountForgotten: "its account was forgotten before anything was learnt of it"
        default: "of “\(reason.rawValue.replacing("_", with: " "))”"
        }
    }
}
