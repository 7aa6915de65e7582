/// Signed genuinely, and not readable JSON: an attacker hopes for two parsers that read it differently.
extension Forgery {
    static let payloads = [
        Forgery("payload_not_json", "payload_unreadable", "The payload is a sentence.") {
            try $0.sign("one hundred coins, please")
        },
        Forgery("unsigned_sentence", "payload_invalid", "The payload is a sentence, under another one's signature.") {
            try $0.unsigned("one hundred coins, please")
        },
        Forgery("payload_list", "payload_unreadable", "The payload is a list with the transaction in it.") {
            try $0.sign("[\($0.payload)]")
        },
        Forgery("two_payloads", "payload_unreadable", "The payload is two objects, one after the other.") {
            try $0.sign($0.payload + $0.payload)
        },
        Forgery("truncated_payload", "payload_unreadable", "The payload lacks its last byte.") {
            try $0.sign(String($0.payload.dropLast()))
        },
        Forgery("payload_not_utf8", "payload_unreadable", "The product's name has a byte that UTF-8 does not have.") {
            let payload = $0.payload { $0["productId"] = "\"?\"" }
            // The mark becomes a byte that no UTF-8 text has.
            return try $0.sign(payload.utf8.map { $0 == UInt8(ascii: "?") ? 0xFF : $0 })
        },
        Forgery(
            "duplicate_bundle_id", "field_invalid",
            "There are two bundle ids: another app's, and behind it the right one."
        ) { material in
            let right = JSONText.quoted(material.transaction.bundleId)
            return try material.sign(
                material.payload {
                    $0["bundleId"] = "\"com.example.other\""
                    $0.append(name: "\"bundleId\"", right)
                })
        },
        Forgery(
            "duplicate_bundle_id_escaped", "field_invalid",
            "There are two bundle ids; the name of the second is written with an escape."
        ) { material in
            let right = JSONText.quoted(material.transaction.bundleId)
            return try material.sign(
                material.payload {
                    $0["bundleId"] = "\"com.example.other\""
                    $0.append(name: "\"\\u0062undleId\"", right)
                })
        },
        Forgery("nul_in_product", "field_invalid", "The product's name has an escaped NUL, where C stops reading.") {
            try $0.sign($0.payload { $0["productId"] = "\"gems.100\\u0000.free\"" })
        },
        Forgery("half_surrogate", "field_invalid", "The product's name has half of a surrogate pair.") {
            try $0.sign($0.payload { $0["productId"] = "\"gems\\ud800\"" })
        },
        Forgery("deep_nesting", "field_invalid", "The product is a hundred lists, one in the other.") {
            let lists = String(repeating: "[", count: 100) + String(repeating: "]", count: 100)
            return try $0.sign($0.payload { $0["productId"] = lists })
        },
        Forgery("signed_date_missing", "payload_unreadable", "Nothing says when it was signed.") {
            try $0.sign($0.payload { $0["signedDate"] = nil })
        },
        Forgery(
            "unsigned_without_date", "signed_date_missing",
            "Nothing says when it was signed, and the signature is another one's."
        ) { try $0.unsigned($0.payload { $0["signedDate"] = nil }) },
        Forgery("signed_date_of_text", "payload_unreadable", "The date of signing is a string.") {
            try $0.sign($0.payload { $0["signedDate"] = "\"now\"" })
        },
        Forgery(
            "signed_in_far_future", "certificate_expired", "Signed in 2099, when no certificate of it is valid."
        ) { try $0.sign($0.payload { $0["signedDate"] = "4102358400000" }) },
        Forgery(
            "signed_before_certificates", "certificate_expired", "Signed in 2014, before its certificates were valid."
        ) { try $0.sign($0.payload { $0["signedDate"] = "1400000000000" }) },
    ]
}

extension ForgeryMaterial {
    /// A payload under the store's header and the signature of the genuine one.
    fileprivate func unsigned(_ payload: String) throws -> String {
        let parts = try sign(payload).split(separator: ".")
        return "\(parts[0]).\(parts[1]).\(Base64URL.encode(try genuineParts().signature))"
    }
}
