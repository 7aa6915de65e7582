/// Why nothing of a line was posted.
struct ImportFlaw: Error, Equatable {
    /// For programs, in snake case.
    let code: String
    /// A sentence for a person; it never has what stands in the line, which may be a proof or a name.
    let detail: String

    static let lineTooLong = ImportFlaw(
        code: "line_too_long", detail: "the line has more than \(LineReader.bytesMaximum) bytes")
    static let notUTF8 = ImportFlaw(code: "not_utf8", detail: "the line is not UTF-8")
    static let csvMalformed = ImportFlaw(
        code: "csv_malformed", detail: "a quote stands within a field, or a quoted field does not end")
    static let jsonMalformed = ImportFlaw(code: "json_malformed", detail: "the line is no JSON object")
    static let noProof = ImportFlaw(
        code: "no_proof", detail: "it has no signed_transaction, receipt, transaction_id or order_id")
    static let tokenOfAnother = ImportFlaw(
        code: "token_of_another_account", detail: "the app_account_token is registered for another account")
    static let tokenWithoutAccount = ImportFlaw(
        code: "token_without_account", detail: "it has an app_account_token and no account")

    static func fieldCount(_ found: Int, _ expected: Int) -> ImportFlaw {
        ImportFlaw(code: "csv_malformed", detail: "it has \(found) fields, and the first line names \(expected)")
    }

    static func twice(_ field: ImportField) -> ImportFlaw {
        ImportFlaw(code: "\(field.rawValue)_twice", detail: "two members are \(field.rawValue)")
    }

    static func invalid(_ field: ImportField, _ expected: String) -> ImportFlaw {
        ImportFlaw(code: "\(field.rawValue)_invalid", detail: "\(field.rawValue) is not \(expected)")
    }
}

/// What a line can say.
enum ImportField: String, CaseIterable {
    case account
    case transactionId = "transaction_id"
    case signedTransaction = "signed_transaction"
    case receipt
    case orderId = "order_id"
    case appAccountToken = "app_account_token"
    case environment
    case productId = "product_id"
    case quantity, items, granted

    /// Those by which Apple's data is found.
    static let proofs: [ImportField] = [.signedTransaction, .receipt, .transactionId, .orderId]
}
