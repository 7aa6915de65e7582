import SwiftASN1

/// A question about certificates (RFC 6960, section 4.1.1).
///
/// A signature on it is not looked at: nobody needs one.
struct OCSPRequest {
    enum Limit {
        /// Certificates that one request asks about.
        static let certificates = 16
        /// Bytes of a nonce's extension: RFC 9654 allows nonces of 128.
        static let nonceExtensionBytes = 160
    }

    /// Names a certificate by hashes of its issuer and by its serial number.
    struct CertificateID {
        /// As it was sent, DER; the answer repeats it.
        let encoded: ArraySlice<UInt8>
        let hashAlgorithm: ASN1ObjectIdentifier
        let issuerNameHash: ArraySlice<UInt8>
        let issuerKeyHash: ArraySlice<UInt8>
    }

    let certificates: [CertificateID]
    /// The nonce's whole extension in DER, which the answer repeats (RFC 6960, section 4.4.1).
    let nonceExtension: ArraySlice<UInt8>?

    private static let nonce: ASN1ObjectIdentifier = [1, 3, 6, 1, 5, 5, 7, 48, 1, 2]

    /// Reads a request.
    ///
    /// - Throws: `ASN1Error` when it is not one, or is larger than ``Limit``.
    init(derEncoded bytes: [UInt8]) throws {
        (certificates, nonceExtension) = try DER.sequence(try DER.parse(bytes), identifier: .sequence) { nodes in
            guard let request = nodes.next() else {
                throw ASN1Error.invalidASN1Object(reason: "an OCSP request without its content")
            }
            // What may follow is a signature.
            _ = nodes.next()
            return try DER.sequence(request, identifier: .sequence) { try Self.readContent(&$0) }
        }
    }

    private static func readContent(
        _ nodes: inout ASN1NodeCollection.Iterator
    ) throws -> ([CertificateID], ArraySlice<UInt8>?) {
        // The version and the requestor's name change nothing.
        _ = try DER.optionalExplicitlyTagged(&nodes, tagNumber: 0, tagClass: .contextSpecific) { $0.encodedBytes }
        _ = try DER.optionalExplicitlyTagged(&nodes, tagNumber: 1, tagClass: .contextSpecific) { $0.encodedBytes }
        guard let list = nodes.next() else {
            throw ASN1Error.invalidASN1Object(reason: "an OCSP request without a list")
        }
        let certificates = try elements(of: list, maximum: Limit.certificates).map(readRequest)
        guard !certificates.isEmpty else {
            throw ASN1Error.invalidASN1Object(reason: "an OCSP request about nothing")
        }
        let extensions = try DER.optionalExplicitlyTagged(&nodes, tagNumber: 2, tagClass: .contextSpecific) {
            try elements(of: $0, maximum: Limit.certificates)
        }
        let nonce = try extensions?.first { try identifier(of: $0) == Self.nonce }
        guard nonce.map({ $0.encodedBytes.count <= Limit.nonceExtensionBytes }) ?? true else {
            throw ASN1Error.invalidASN1Object(reason: "a nonce that is too long")
        }
        return (certificates, nonce?.encodedBytes)
    }

    private static func readRequest(_ node: ASN1Node) throws -> CertificateID {
        try DER.sequence(node, identifier: .sequence) { nodes in
            guard let identifier = nodes.next() else {
                throw ASN1Error.invalidASN1Object(reason: "an OCSP request without a certificate")
            }
            _ = try DER.optionalExplicitlyTagged(&nodes, tagNumber: 0, tagClass: .contextSpecific) { $0.encodedBytes }
            return try readCertificateID(identifier)
        }
    }

    private static func readCertificateID(_ node: ASN1Node) throws -> CertificateID {
        try DER.sequence(node, identifier: .sequence) { nodes in
            guard let algorithm = nodes.next() else {
                throw ASN1Error.invalidASN1Object(reason: "a certificate without a hash algorithm")
            }
            let name = try ASN1OctetString(derEncoded: &nodes)
            let key = try ASN1OctetString(derEncoded: &nodes)
            _ = try ArraySlice<UInt8>(derEncoded: &nodes)
            return CertificateID(
                encoded: node.encodedBytes, hashAlgorithm: try identifier(of: algorithm), issuerNameHash: name.bytes,
                issuerKeyHash: key.bytes)
        }
    }

    /// The object identifier that a sequence begins with.
    private static func identifier(of node: ASN1Node) throws -> ASN1ObjectIdentifier {
        try DER.sequence(node, identifier: .sequence) { nodes in
            let identifier = try ASN1ObjectIdentifier(derEncoded: &nodes)
            while nodes.next() != nil {}
            return identifier
        }
    }

    private static func elements(of node: ASN1Node, maximum: Int) throws -> [ASN1Node] {
        try DER.sequence(node, identifier: .sequence) { nodes in
            var elements: [ASN1Node] = []
            while let element = nodes.next() {
                guard elements.count < maximum else {
                    throw ASN1Error.invalidASN1Object(reason: "more than \(maximum) elements")
                }
                elements.append(element)
            }
            return elements
        }
    }
}
