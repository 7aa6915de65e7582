import Foundation

/// A signed payload for people: its JSON, with every JWS in it replaced by what that says.
enum DecodedNotification {
    /// The fields that hold a JWS (apple-facts C7).
    static let signedFields = ["signedTransactionInfo", "signedRenewalInfo", "signedAppTransactionInfo"]

    /// The payload of a JWS that we made, so that its signature is not looked at; nil when it is none.
    static func payload(of jws: String) -> OrderedJSON? {
        let parts = jws.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 3 ? Base64URL.decode(parts[1]).flatMap { OrderedJSON([UInt8]($0)) } : nil
    }

    /// The payload of a notification, with what is signed in it decoded in its place.
    static func document(of jws: String) -> OrderedJSON? {
        payload(of: jws).map(opened)
    }

    /// Signs what ``document(of:)`` opened, the inner ones first.
    static func sign(_ document: OrderedJSON, by signer: PayloadSigner) throws -> String {
        try signer.sign(try closed(document, by: signer).text)
    }

    private static func opened(_ value: OrderedJSON) -> OrderedJSON {
        guard case .object(let fields) = value else { return value }
        return .object(
            fields.map { field in
                var field = field
                if signedFields.contains(field.name), let jws = field.value.string, let inner = payload(of: jws) {
                    field.value = inner
                } else {
                    field.value = opened(field.value)
                }
                return field
            })
    }

    private static func closed(_ value: OrderedJSON, by signer: PayloadSigner) throws -> OrderedJSON {
        guard case .object(let fields) = value else { return value }
        return .object(
            try fields.map { field in
                var field = field
                if signedFields.contains(field.name), case .object = field.value {
                    field.value = .string(try signer.sign(field.value.text))
                } else {
                    field.value = try closed(field.value, by: signer)
                }
                return field
            })
    }
}
