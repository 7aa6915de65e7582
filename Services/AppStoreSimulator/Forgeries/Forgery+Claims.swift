/// Signed genuinely, and not a purchase of this app that was paid for (apple-facts C6, steps 7 and 8).
extension Forgery {
    static let claims = bundles + environments + fields + others

    private static let bundles = [
        Forgery("wrong_bundle", "bundle_mismatch", "A genuine transaction of another app.") { material in
            try material.signBundle(material.transaction.bundleId + ".other")
        },
        Forgery("bundle_in_capitals", "bundle_mismatch", "The app's bundle id in capitals: they are case-sensitive.") {
            let bundleId = $0.transaction.bundleId
            let capitals = bundleId.uppercased()
            return try $0.signBundle(capitals == bundleId ? bundleId.lowercased() + "x" : capitals)
        },
        Forgery("bundle_prefix", "bundle_mismatch", "The app's bundle id without its last letter.") {
            let bundleId = $0.transaction.bundleId
            return try $0.signBundle(bundleId.count > 1 ? String(bundleId.dropLast()) : bundleId + "x")
        },
        Forgery("bundle_with_space", "bundle_mismatch", "The app's bundle id and a space.") {
            try $0.signBundle($0.transaction.bundleId + " ")
        },
        Forgery(
            "lookalike_bundle", "bundle_mismatch", "The app's bundle id behind a letter that has no width."
        ) { try $0.signBundle("\u{200B}" + $0.transaction.bundleId) },
    ]

    private static let environments = [
        Forgery("xcode", "environment_xcode", "The environment is Xcode, where anybody can sign.") {
            try $0.sign($0.payload { $0["environment"] = "\"Xcode\"" })
        },
        Forgery("local_testing", "environment_local_testing", "The environment is LocalTesting.") {
            try $0.sign($0.payload { $0["environment"] = "\"LocalTesting\"" })
        },
        Forgery("unknown_environment", "environment_unknown", "The environment is production, in small letters.") {
            try $0.sign($0.payload { $0["environment"] = "\"production\"" })
        },
        Forgery("environment_of_list", "field_invalid", "The environment is a list.") {
            try $0.sign($0.payload { $0["environment"] = "[\"Production\"]" })
        },
        Forgery(
            "unsigned_xcode", "root_not_trusted",
            "Self-made, and its payload says Xcode: libraries that choose the environment from it skip the signature."
        ) { material in
            try material.shelf.signer("self_made_chain") { try PayloadSigner(chain: material.stranger.chain) }
                .sign(material.payload { $0["environment"] = "\"Xcode\"" })
        },
    ]

    private static let fields = [
        Forgery("negative_quantity", "field_invalid", "A quantity of minus one.") {
            try $0.sign($0.payload { $0["quantity"] = "-1" })
        },
        Forgery("zero_quantity", "field_invalid", "A quantity of zero.") {
            try $0.sign($0.payload { $0["quantity"] = "0" })
        },
        Forgery("fractional_quantity", "field_invalid", "A quantity of one and a half.") {
            try $0.sign($0.payload { $0["quantity"] = "1.5" })
        },
        Forgery("huge_quantity", "field_invalid", "A quantity beyond 64 bits.") {
            try $0.sign($0.payload { $0["quantity"] = "9223372036854775808" })
        },
        Forgery("quantity_of_text", "field_invalid", "The quantity is a string.") {
            try $0.sign($0.payload { $0["quantity"] = "\"10\"" })
        },
        Forgery("transaction_id_of_number", "field_invalid", "The transaction id is a number.") {
            try $0.sign($0.payload { $0["transactionId"] = "2000000000000001" })
        },
        Forgery("missing_transaction_id", "not_a_transaction", "There is no transaction id.") {
            try $0.sign($0.payload { $0["transactionId"] = nil })
        },
        Forgery("empty_transaction_id", "field_missing", "The transaction id is empty.") {
            try $0.sign($0.payload { $0["transactionId"] = "\"\"" })
        },
        Forgery("missing_product", "field_missing", "There is no product id.") {
            try $0.sign($0.payload { $0["productId"] = nil })
        },
        Forgery("revocation_date_of_text", "field_invalid", "The date of its refund is a string.") {
            try $0.sign($0.payload { $0["revocationDate"] = "\"yesterday\"" })
        },
    ]

    private static let others = [
        Forgery("renewal_info", "not_a_transaction", "A genuine renewal info posted as a transaction.") { material in
            let transaction = material.transaction
            var json = JSONText()
            json.add("originalTransactionId", transaction.originalTransactionId)
            json.add("autoRenewProductId", transaction.productId)
            json.add("productId", transaction.productId)
            json.add("autoRenewStatus", 1)
            json.add("signedDate", material.signedDate)
            json.add("environment", transaction.environment.rawValue)
            return try material.sign(json.object)
        },
        Forgery(
            "notification", "not_a_transaction", "A genuine server notification posted as a transaction."
        ) { material in
            let payload = NotificationPayload(
                notificationType: NotificationType.oneTimeCharge.rawValue, subtype: nil,
                notificationUUID: "00000000-0000-4000-8000-000000000000",
                content: .data("{\"signedTransactionInfo\":\"\(try material.sign(material.payload))\"}"),
                signedDate: material.signedDate)
            return try material.sign(payload.text)
        },
        Forgery(
            "app_transaction", "not_a_transaction",
            "Proof of the app's download, which every customer has, posted as a transaction."
        ) { material in
            let transaction = material.transaction
            var json = JSONText()
            json.add("receiptType", transaction.environment.rawValue)
            json.add("bundleId", transaction.bundleId)
            json.add("receiptCreationDate", material.signedDate)
            json.add("signedDate", material.signedDate)
            json.add("appTransactionId", transaction.appTransactionId)
            return try material.sign(json.object)
        },
    ]
}

extension ForgeryMaterial {
    fileprivate func signBundle(_ bundleId: String) throws -> String {
        try sign(payload { $0["bundleId"] = JSONText.quoted(bundleId) })
    }
}
