import Foundation

/// Genuine, and spelled otherwise: who looks up what was used by its text would take it for another.
extension Forgery {
    static let encodings = [
        Forgery("empty_signature", "not_a_jws", "An unsecured JWS: alg is none, and nothing follows the second dot.") {
            let header = Base64URL.encode(Array("{\"alg\":\"none\"}".utf8))
            return "\(header).\(Base64URL.encode(Array($0.payload.utf8)))."
        },
        Forgery("padded_base64", "not_a_jws", "The signature has the padding that JWS leaves out.") {
            try $0.genuine() + "=="
        },
        Forgery(
            "loose_bits", "not_a_jws",
            "The last letter of the signature has bits that belong to no byte: the same bytes, another text."
        ) { material in
            let genuine = try material.genuine()
            let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
            let value = genuine.last.flatMap(alphabet.firstIndex) ?? 0
            return genuine.dropLast() + String(alphabet[value | 1])
        },
        Forgery("standard_base64", "not_a_jws", "The signature is in the alphabet with + and /.") { material in
            // A signature without any of the four letters is rare; another is as good.
            for _ in 0..<32 {
                let (signed, signature) = try material.genuineParts()
                let text = Data(signature).base64EncodedString().replacingOccurrences(of: "=", with: "")
                if text.contains("+") || text.contains("/") { return "\(signed).\(text)" }
            }
            return try material.genuine() + "+/"
        },
        Forgery("four_parts", "not_a_jws", "A fourth part follows the signature.") { try $0.genuine() + ".e30" },
        Forgery("extra_dot", "not_a_jws", "A dot follows the signature.") { try $0.genuine() + "." },
        Forgery("leading_dot", "not_a_jws", "A dot goes before the header.") { try "." + $0.genuine() },
        Forgery("trailing_space", "not_a_jws", "A space follows the signature.") { try $0.genuine() + " " },
        Forgery("missing_header", "not_a_jws", "The header is empty.") {
            let parts = try $0.genuine().split(separator: ".")
            return ".\(parts[1]).\(parts[2])"
        },
        Forgery("missing_payload", "not_a_jws", "The payload is empty, as in a detached JWS.") {
            let parts = try $0.genuine().split(separator: ".")
            return "\(parts[0])..\(parts[2])"
        },
    ]
}

extension ForgeryMaterial {
    /// The transaction as it should be.
    fileprivate func genuine() throws -> String {
        let (signed, signature) = try genuineParts()
        return "\(signed).\(Base64URL.encode(signature))"
    }
}
