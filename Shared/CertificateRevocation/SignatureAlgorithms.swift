import SwiftASN1
import X509

/// The ways in which answers may be signed: RSA (PKCS #1 v1.5) or ECDSA over SHA-2; SHA-1 is refused.
enum SignatureAlgorithms {
    private static let rsa: [ASN1ObjectIdentifier: Certificate.SignatureAlgorithm] = [
        [1, 2, 840, 113549, 1, 1, 11]: .sha256WithRSAEncryption,
        [1, 2, 840, 113549, 1, 1, 12]: .sha384WithRSAEncryption,
        [1, 2, 840, 113549, 1, 1, 13]: .sha512WithRSAEncryption,
    ]
    private static let ecdsa: [ASN1ObjectIdentifier: Certificate.SignatureAlgorithm] = [
        [1, 2, 840, 10045, 4, 3, 2]: .ecdsaWithSHA256,
        [1, 2, 840, 10045, 4, 3, 3]: .ecdsaWithSHA384,
        [1, 2, 840, 10045, 4, 3, 4]: .ecdsaWithSHA512,
    ]

    /// Reads an `AlgorithmIdentifier`.
    // Never inlined: see OCSPResponse.
    @inline(never)
    static func read(_ node: ASN1Node) throws -> Certificate.SignatureAlgorithm {
        let (identifier, parameters) = try DER.sequence(node, identifier: .sequence) { nodes in
            (try ASN1ObjectIdentifier(derEncoded: &nodes), nodes.next()?.identifier)
        }
        // RFC 4055, section 5: RSA's parameters are NULL, or absent. RFC 5758, section 3.2: ECDSA's are absent.
        if let algorithm = rsa[identifier], parameters == nil || parameters == .null { return algorithm }
        if let algorithm = ecdsa[identifier], parameters == nil { return algorithm }
        throw RevocationFailure("the answer is signed in a way that is not supported")
    }

    /// Whether a certificate is signed in one of these ways.
    static func areUsed(by certificate: Certificate) -> Bool {
        rsa.values.contains(certificate.signatureAlgorithm) || ecdsa.values.contains(certificate.signatureAlgorithm)
    }
}
