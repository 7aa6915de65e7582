import SwiftASN1

/// A question about a certificate (RFC 6960, section 4.1.1): the first, where there are several.
///
/// A signature on it is not looked at, and a nonce is not repeated: Apple's responder does neither.
struct OCSPRequest {
    /// How the certificate is named, DER; the answer repeats it.
    let certificateID: ArraySlice<UInt8>
    let hashAlgorithm: ASN1ObjectIdentifier
    let issuerNameHash: ArraySlice<UInt8>
    let issuerKeyHash: ArraySlice<UInt8>

    /// Reads a request.
    ///
    /// - Throws: `ASN1Error` when it is not one.
    init(derEncoded bytes: [UInt8]) throws {
        // The content, its list, the first of the list, the certificate's name: each is the first sequence of the one before.
        var node = try DER.parse(bytes)
        for _ in 0..<4 { node = try Self.firstSequence(in: node) }
        certificateID = node.encodedBytes
        (hashAlgorithm, issuerNameHash, issuerKeyHash) = try DER.sequence(node, identifier: .sequence) { nodes in
            guard let algorithm = nodes.next() else { throw ASN1Error.invalidASN1Object(reason: "no hash algorithm") }
            let identifier = try DER.sequence(algorithm, identifier: .sequence) { parts in
                let identifier = try ASN1ObjectIdentifier(derEncoded: &parts)
                while parts.next() != nil {}
                return identifier
            }
            let name = try ASN1OctetString(derEncoded: &nodes)
            let key = try ASN1OctetString(derEncoded: &nodes)
            _ = try ArraySlice<UInt8>(derEncoded: &nodes)
            return (identifier, name.bytes, key.bytes)
        }
    }

    private static func firstSequence(in node: ASN1Node) throws -> ASN1Node {
        guard node.identifier == .sequence, case .constructed(let parts) = node.content,
            let first = parts.first(where: { $0.identifier == .sequence })
        else { throw ASN1Error.invalidASN1Object(reason: "no OCSP request") }
        return first
    }
}
