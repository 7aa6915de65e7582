extension Reason {
    /// What Countersign decides about a purchase.
    static let purchases: [Reason] = [
        Reason(
            .belongsToAnotherAccount,
            "The transaction is another account's, or Apple's signed data names another account.",
            because: "it is another account's"),
        Reason(
            .sandboxRefused,
            "The app's settings refuse sandbox purchases. App Review and TestFlight buy in the sandbox.",
            because: "the app's configuration refuses sandbox purchases",
            rejected: """
                App Review and TestFlight buy in the sandbox: `sandbox: accept` or `test` in the apps file takes \
                them, then `countersign submissions retry --rejected-reason sandbox_refused`
                """),
        Reason(
            .appUnknown, "No app of this bundle id is in the apps file.",
            because: "no app of its bundle id is configured",
            waiting: "list the app in the apps file of the verification workers, and restart them"),
        Reason(
            .environmentMissing,
            "Apple signed it before its data named an environment (2021), so nothing says whether money was paid.",
            because: "Apple's data does not say whether money was paid",
            parked: """
                signed before 2022: give the app an app_store_server_api, restart the workers, and Apple is asked \
                for the environment after `countersign submissions retry`; or, where it was paid for, `countersign orders assign`
                """),
        Reason(
            .signedWithExpiredCertificate,
            """
            The certificates that signed it have expired. It is held until newer data confirms it: let the \
            app fetch it again (AppStore.sync) and post it.
            """,
            because: "the certificate that signed it has expired since, and Apple's data does not show it otherwise",
            parked: """
                signed under certificates that have expired: have the app get it anew (AppStore.sync) and post that; \
                or give the app an app_store_server_api, restart the workers, and Apple is asked after `countersign \
                submissions retry`; or, where it was paid for, `countersign orders assign`
                """),
        Reason(
            .productUnknown,
            "The catalogue does not know the product yet. It is granted when the catalogue has it.",
            because: "the catalogue does not know the product",
            parked: "name the product in the catalogue, and it is granted by itself"),
        Reason(
            .productTypeMismatch, "The catalogue says another type of product than Apple does.",
            because: "the catalogue says another type of product than Apple",
            parked: "give the product Apple's type in the catalogue, and it is granted by itself"),
        Reason(
            .accountTokenUnknown,
            """
            No account has registered the appAccountToken that Apple signed. It is granted when the token is \
            registered.
            """,
            because: "its appAccountToken is no account's that we know",
            parked: """
                the appAccountToken is nobody's: have the backend register it (PUT /v1/account-tokens/{uuid}), and \
                it is granted by itself; or `countersign orders assign`
                """),
        Reason(
            .amountTooLarge,
            "Its grant is larger than the largest amount.",
            because: "the grant is greater than an amount can be",
            parked: "mend the product's amounts in the catalogue, and it is granted by itself"),
        Reason(
            .revokedByApple, "Apple took it back: a refund, or the end of Family Sharing.",
            because: "Apple took it back"),
        Reason(
            .restoreLimitReached,
            "It has moved as often as the product's restore rule allows in this period.",
            because: "it changed hands as often as its restore policy lets it in this time"),
        Reason(
            .orderNotFound,
            "Apple does not know an order with this id for this app.",
            because: "Apple knows no order of this id, or none of this app",
            rejected: """
                the order id was mistyped, or is another app's: have support read it from Apple's e-mail again; the \
                same post asks Apple again
                """),
        Reason(
            .unclaimed,
            """
            It is genuine, but no account has claimed it: Apple reported it, or it was in another account's \
            receipt. The account that posts it gets it.
            """,
            because: "Apple's data names no account, and none had claimed it",
            parked: """
                whoever posts it as his own gets it; for a player who wrote to support: `countersign orders assign \
                ENVIRONMENT TRANSACTION --account …`
                """),
        Reason(
            .claimUnnamed,
            "The receipt holds several purchases, and the app named none: send `transaction_id` beside it.",
            because: "the receipt holds several purchases and the app named none",
            parked: "have the app send the transaction_id of its account's purchase beside the receipt"),
        Reason(
            .transactionNotInReceipt,
            "The named transaction is not in the receipt: have the app refresh the receipt first.",
            because: "the named transaction is not in the receipt",
            rejected: """
                have the app refresh its receipt (SKReceiptRefreshRequest) before it posts it with a transaction_id; \
                the same post is judged again
                """),
        Reason(
            .receiptWithoutPurchases, "The receipt holds no purchase: have the app refresh it first.",
            because: "the receipt holds no purchase",
            rejected: "have the app refresh its receipt (SKReceiptRefreshRequest) before it posts it"),
        Reason(
            .transactionNotFound,
            "Apple does not know a transaction with this id, and was asked several times.",
            because: "Apple knows no transaction of this id",
            rejected: """
                Apple knows none of these ids in their apps: check that the app posts transaction ids of its own \
                bundle id, and whose key its app_store_server_api is; the same post asks Apple again, and so does \
                `countersign submissions retry --rejected-reason transaction_not_found`
                """),
        Reason(
            .rateLimited, "Apple's limits leave no room to ask now. It is asked again.",
            because: "Apple's limits left no room to ask"),
        Reason(
            .appStoreUnavailable, "Apple's servers do not answer, or answer with errors. They are asked again.",
            because: "Apple's servers did not answer"),
        Reason(
            .appStoreUnauthorized,
            "Apple refuses the app's key. The operator must check it.",
            because: "Apple refused our key",
            waiting: """
                Apple refuses the key (`countersign apple check` says why): check issuer_id, key_id and \
                private_key_file of the app's app_store_server_api, that the key is not revoked in App Store \
                Connect, and `released` of an app that is not in the store yet
                """),
        Reason(
            .appStoreNotConfigured,
            "The app's settings lack a key or a shared secret, so Apple cannot be asked.",
            because: "the app's settings lack what it takes to ask Apple",
            waiting:
                "Apple cannot be asked: give the app an app_store_server_api in the apps file, and restart the workers"),
        Reason(
            .noVerdict,
            "No verdict has come yet: the pipeline is held up before it, or Apple is away and the lookups wait.",
            because: "no verdict has come",
            waiting: """
                no verdict ever came: see /readyz of the verification workers (Apple may be away, and lookups wait), \
                the consumer's lag in their metrics, and whether they run at all
                """),
        Reason(
            .purchaseAmbiguous,
            "Apple's signed data contradicts the known purchase. A person must decide.",
            because: "Apple's data contradicts what is known: it could be two purchases",
            parked: """
                Apple's data says two things of it: see `countersign inspect`; where it was paid for, `countersign \
                orders assign` grants it
                """),
        Reason(
            .transactionIncomplete,
            "Apple's signed data lacks a required field.",
            because: "Apple's data lacks what a purchase of its type must have",
            parked:
                "Apple's data lacks what its type must have: `countersign apple sweep --transaction …` asks Apple for it anew"
        ),
        Reason(
            .vocabularyUnknown,
            "Apple's signed data has a value that this version does not know. A version that knows it decides.",
            because: "Apple's data has a word that this version does not know, or that a policy decides about",
            parked: """
                Apple's data has a word that this version does not know: `countersign doctor` names it; give the \
                product `assigned` or `bundled` in the catalogue, or update Countersign
                """),
        Reason(
            .possessionUnproven,
            """
            Only an id was posted, and anyone may know an id. Post the signed transaction, or a receipt that \
            contains it, or let the backend post it.
            """,
            because: "a number alone does not show who bought it",
            parked: """
                a number alone shows nobody's purchase: have the app post the signed transaction, or a receipt that \
                contains it, or post from the studio's server; or buy with an intent's token
                """),
        Reason(
            .accountForgotten,
            "Its account was forgotten before it had an outcome.",
            because: "its account was forgotten before anything was learnt of it"),
    ]
}
