import Crypto
import Foundation

/// Headers that claim what they should not (apple-facts C6, step 1; RFC 7515, RFC 8725).
extension Forgery {
    static let headers = algorithms + keys + certificateLists

    private static let algorithms = [
        Forgery(
            "algorithm_none", "algorithm_not_es256",
            "alg is none. It keeps a signature, so that the algorithm is all that is wrong."
        ) { try $0.sign(algorithm: "\"none\"") },
        Forgery("algorithm_none_in_capitals", "algorithm_not_es256", "alg is nOnE.") {
            try $0.sign(algorithm: "\"nOnE\"")
        },
        Forgery("algorithm_hs256", "algorithm_not_es256", "alg is HS256.") { try $0.sign(algorithm: "\"HS256\"") },
        Forgery(
            "hmac_with_public_key", "algorithm_not_es256",
            "alg is HS256, and the MAC's key is the leaf's public key in PEM: everybody has that."
        ) { material in
            let header = Base64URL.encode(Array(try material.header(algorithm: "\"HS256\"").utf8))
            let signed = "\(header).\(Base64URL.encode(Array(material.payload.utf8)))"
            let key = SymmetricKey(data: Data(material.authority.leafKey.publicKey.pemRepresentation.utf8))
            let code = HMAC<SHA256>.authenticationCode(for: Array(signed.utf8), using: key)
            return "\(signed).\(Base64URL.encode(Array(code)))"
        },
        Forgery("algorithm_es384", "algorithm_not_es256", "alg is ES384.") { try $0.sign(algorithm: "\"ES384\"") },
        Forgery("algorithm_lower_case", "algorithm_not_es256", "alg is es256: names are case-sensitive.") {
            try $0.sign(algorithm: "\"es256\"")
        },
        Forgery("algorithm_missing", "algorithm_not_es256", "The header has no alg.") {
            try $0.sign(algorithm: nil)
        },
        Forgery("algorithm_list", "algorithm_not_es256", "alg is a list that has ES256 in it.") {
            try $0.sign(algorithm: "[\"ES256\"]")
        },
        Forgery("algorithm_twice", "header_invalid", "alg is there twice: ES256, and none.") {
            try $0.sign(more: ",\"alg\":\"none\"")
        },
        Forgery("critical_header", "header_invalid", "crit names an extension that nobody knows.") {
            try $0.sign(more: ",\"crit\":[\"exp\"],\"exp\":1")
        },
        Forgery("unencoded_payload_header", "header_invalid", "b64 is false, and crit says so (RFC 7797).") {
            try $0.sign(more: ",\"b64\":false,\"crit\":[\"b64\"]")
        },
    ]

    private static let keys = [
        Forgery(
            "attackers_jwk", "certificate_count", "No x5c; the attacker's public key is in jwk, and it fits."
        ) { material in
            let key = material.stranger.leafKey
            let header = try material.header(x5c: "", more: ",\"jwk\":\(material.jwk(of: key))")
            return try PayloadSigner(header: header, key: key).sign(material.payload)
        },
        Forgery(
            "attackers_jwk_beside_chain", "signature_invalid",
            "The genuine chain in x5c, and in jwk the attacker's public key, which fits the signature."
        ) { material in
            let key = material.stranger.leafKey
            let header = try material.header(more: ",\"jwk\":\(material.jwk(of: key)),\"kid\":\"attacker\"")
            return try PayloadSigner(header: header, key: key).sign(material.payload)
        },
        Forgery(
            "attackers_key_address", "certificate_count",
            "No x5c; jku and x5u say where the attacker's key can be fetched. Nobody may."
        ) { material in
            let more = ",\"jku\":\"http://127.0.0.1:9/keys\",\"x5u\":\"http://127.0.0.1:9/chain\",\"kid\":\"../../key\""
            return try PayloadSigner(
                header: try material.header(x5c: "", more: more), key: material.stranger.leafKey
            ).sign(material.payload)
        },
        Forgery(
            "xcode_key", "environment_xcode",
            "As StoreKit Testing in Xcode signs: one certificate of its own, and kid Apple_Xcode_Key."
        ) { material in
            let stranger = material.stranger
            let certificate = try CertificateAuthority.encoded(stranger.leaf)
            let header = try material.header(
                x5c: ForgeryMaterial.list([certificate]), more: ",\"kid\":\"Apple_Xcode_Key\",\"typ\":\"JWT\"")
            return try PayloadSigner(header: header, key: stranger.leafKey)
                .sign(material.payload { $0["environment"] = "\"Xcode\"" })
        },
    ]

    private static let certificateLists = [
        Forgery("missing_certificate", "certificate_count", "x5c lacks the intermediate.") { material in
            let encoded = try material.authority.chain.encoded
            return try material.sign(x5c: ForgeryMaterial.list([encoded[0], encoded[2]]))
        },
        Forgery("four_certificates", "certificate_count", "x5c has the root twice.") { material in
            let encoded = try material.authority.chain.encoded
            return try material.sign(x5c: ForgeryMaterial.list(encoded + [encoded[2]]))
        },
        Forgery("empty_x5c", "certificate_count", "x5c is an empty list.") { try $0.sign(x5c: "[]") },
        Forgery("missing_x5c", "certificate_count", "The header has no x5c.") { try $0.sign(x5c: "") },
        Forgery("x5c_of_text", "header_invalid", "x5c is one string instead of a list.") {
            try $0.sign(x5c: "\"MIIC\"")
        },
        Forgery("x5c_of_numbers", "header_invalid", "x5c is a list of numbers.") { try $0.sign(x5c: "[1,2,3]") },
        Forgery(
            "leaf_no_certificate", "certificate_invalid", "The first of x5c is base64 of something else."
        ) { material in
            let encoded = try material.authority.chain.encoded
            return try material.sign(x5c: ForgeryMaterial.list([Array("trust me".utf8), encoded[1], encoded[2]]))
        },
        Forgery(
            "truncated_leaf", "certificate_invalid", "The first of x5c is the genuine leaf without its last byte."
        ) { material in
            let encoded = try material.authority.chain.encoded
            return try material.sign(x5c: ForgeryMaterial.list([encoded[0].dropLast(), encoded[1], encoded[2]]))
        },
        Forgery("x5c_not_base64", "certificate_invalid", "x5c is in base64url, with a line break.") { material in
            let genuine = ForgeryMaterial.list(try material.authority.chain.encoded)
            return try material.sign(x5c: "[\"\\nMIIC-_\"" + genuine.dropFirst(genuine.distanceToSecondElement))
        },
    ]
}

extension ForgeryMaterial {
    /// A public key as a JSON web key (RFC 7517).
    fileprivate func jwk(of key: P256.Signing.PrivateKey) -> String {
        let point = [UInt8](key.publicKey.x963Representation)
        var json = JSONText()
        json.add("kty", "EC")
        json.add("crv", "P-256")
        json.add("x", Base64URL.encode(Array(point[1..<33])))
        json.add("y", Base64URL.encode(Array(point[33...])))
        return json.object
    }
}

extension String {
    /// How many characters a JSON list has before the comma behind its first element.
    fileprivate var distanceToSecondElement: Int {
        firstIndex(of: ",").map { distance(from: startIndex, to: $0) } ?? 0
    }
}
