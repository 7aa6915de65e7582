import Crypto
import SwiftASN1
import X509

/// The question whether one certificate is revoked, and how an answer about it is told from one about another.
struct CertificateQuestion {
    /// The hashes that name an issuer in requests and answers.
    private enum NameHash {
        static let sha1: ASN1ObjectIdentifier = [1, 3, 14, 3, 2, 26]
        static let sha256: ASN1ObjectIdentifier = [2, 16, 840, 1, 101, 3, 4, 2, 1]
    }

    let certificate: Certificate
    let issuer: Certificate

    /// The issuer's name, DER, byte for byte as the certificate has it.
    private let issuerName: ArraySlice<UInt8>
    /// The issuer's public key, without tag and length.
    private let issuerKey: ArraySlice<UInt8>
    /// The content of the certificate's INTEGER.
    private let serialNumber: ArraySlice<UInt8>

    /// Reads a certificate and the one of its issuer.
    ///
    /// - Throws: when one of them is no certificate, or names show that one did not issue the other.
    init(certificate encoded: [UInt8], issuer encodedIssuer: [UInt8]) throws(RevocationFailure) {
        guard let certificate = try? Certificate(derEncoded: encoded),
            let issuer = try? Certificate(derEncoded: encodedIssuer),
            let names = try? Self.names(of: encoded)
        else { throw RevocationFailure("a certificate cannot be read") }
        guard certificate.issuer == issuer.subject else {
            throw RevocationFailure("the certificate was issued by somebody else")
        }
        self.certificate = certificate
        self.issuer = issuer
        issuerName = names.issuer
        serialNumber = names.serialNumber
        issuerKey = issuer.publicKey.subjectPublicKeyInfoBytes
    }

    /// The request (RFC 6960, section 4.1.1), DER.
    ///
    /// The issuer is named by SHA-1, the hash that every responder knows (RFC 5019, section 2.1.1; here it only finds
    /// something). There is no nonce: large responders, as Apple's, hand out answers that they made before.
    var request: [UInt8] {
        get throws {
            let nameHash = Insecure.SHA1.hash(data: issuerName)
            let keyHash = Insecure.SHA1.hash(data: issuerKey)
            var serializer = DER.Serializer()
            try serializer.appendConstructedNode(identifier: .sequence) { request in
                try request.appendConstructedNode(identifier: .sequence) { content in
                    try content.appendConstructedNode(identifier: .sequence) { list in
                        try list.appendConstructedNode(identifier: .sequence) { single in
                            try single.appendConstructedNode(identifier: .sequence) { name in
                                try name.appendConstructedNode(identifier: .sequence) { algorithm in
                                    try algorithm.serialize(NameHash.sha1)
                                    algorithm.appendPrimitiveNode(identifier: .null) { _ in }
                                }
                                try name.serialize(ASN1OctetString(contentBytes: Array(nameHash)[...]))
                                try name.serialize(ASN1OctetString(contentBytes: Array(keyHash)[...]))
                                name.appendPrimitiveNode(identifier: .integer) {
                                    $0.append(contentsOf: serialNumber)
                                }
                            }
                        }
                    }
                }
            }
            return serializer.serializedBytes
        }
    }

    /// What the answers say of this certificate; *revoked* first, nil when none is about it.
    func answer(among answers: [OCSPResponse.Single]) -> OCSPResponse.Single? {
        let own = answers.filter(isAbout)
        return own.first { if case .revoked = $0.standing { true } else { false } } ?? own.first
    }

    private func isAbout(_ answer: OCSPResponse.Single) -> Bool {
        let hashes: (name: [UInt8], key: [UInt8])
        switch answer.hashAlgorithm {
        case NameHash.sha1:
            hashes = (
                Array(Insecure.SHA1.hash(data: issuerName)), Array(Insecure.SHA1.hash(data: issuerKey))
            )
        case NameHash.sha256:
            hashes = (Array(SHA256.hash(data: issuerName)), Array(SHA256.hash(data: issuerKey)))
        default: return false
        }
        return Self.areEqual(answer.serialNumber, serialNumber)
            && Self.areEqual(answer.issuerNameHash, hashes.name[...])
            && Self.areEqual(answer.issuerKeyHash, hashes.key[...])
    }

    @inline(never)
    private static func areEqual(_ first: ArraySlice<UInt8>, _ second: ArraySlice<UInt8>) -> Bool {
        first.elementsEqual(second)
    }

    /// What the hashes are made of, byte for byte; a certificate that was read and written again may differ.
    private static func names(
        of certificate: [UInt8]
    ) throws -> (serialNumber: ArraySlice<UInt8>, issuer: ArraySlice<UInt8>) {
        try DER.sequence(try DER.parse(certificate), identifier: .sequence) { nodes in
            guard let content = nodes.next() else { throw RevocationFailure("an empty certificate") }
            while nodes.next() != nil {}
            return try DER.sequence(content, identifier: .sequence) { fields in
                _ = try DER.optionalExplicitlyTagged(&fields, tagNumber: 0, tagClass: .contextSpecific) {
                    $0.encodedBytes
                }
                guard let serialNumber = fields.next() else { throw RevocationFailure("a certificate without number") }
                _ = fields.next()
                guard let issuer = fields.next() else { throw RevocationFailure("a certificate without issuer") }
                while fields.next() != nil {}
                return (try OCSPResponse.integerContent(of: serialNumber), issuer.encodedBytes)
            }
        }
    }
}
