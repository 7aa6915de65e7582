import Crypto
import CryptoExtras
import Foundation
import SwiftASN1
import X509

/// Signs as Apple signs receipts since 2023: a SignedData of version 1 (RFC 5652, section 5) in DER, with the content
/// inside, SHA-256, RSA PKCS #1 v1.5 (RFC 3370, section 3.2), no signed attributes, and the whole chain.
struct CMSSigner: Sendable {
    /// What tells a signer's certificate from others, each part in DER.
    struct Identifier: Sendable {
        /// IssuerAndSerialNumber.
        let issuerAndSerialNumber: [UInt8]
        /// AlgorithmIdentifier of the digest.
        let digestAlgorithm: [UInt8]
    }

    /// Object identifiers of RFC 5652 and RFC 8017.
    private enum Name {
        static let signedData: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 7, 2]
        static let data: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 7, 1]
        static let sha256: ASN1ObjectIdentifier = [2, 16, 840, 1, 101, 3, 4, 2, 1]
        static let rsaEncryption: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 1, 1]
    }

    private static let contextTag = ASN1Identifier(tagWithNumber: 0, tagClass: .contextSpecific)

    let identifier: Identifier
    private let key: _RSA.Signing.PrivateKey
    /// The certificates one after the other in DER: the same in every receipt.
    private let certificates: [UInt8]
    private let signatureAlgorithm: [UInt8]

    /// - Parameters:
    ///   - key: the first certificate's.
    ///   - certificates: the signer's, then those above it; they are listed in this order, as Apple does.
    init(key: _RSA.Signing.PrivateKey, certificates: [Certificate]) throws {
        self.key = key
        var all = DER.Serializer()
        var issuerAndSerialNumber = DER.Serializer()
        for certificate in certificates { try all.serialize(certificate) }
        if let leaf = certificates.first {
            try issuerAndSerialNumber.appendConstructedNode(identifier: .sequence) { coder in
                try coder.serialize(leaf.issuer)
                try coder.serialize(leaf.serialNumber.bytes)
            }
        }
        self.certificates = all.serializedBytes
        identifier = Identifier(
            issuerAndSerialNumber: issuerAndSerialNumber.serializedBytes,
            digestAlgorithm: try Self.algorithm(Name.sha256))
        signatureAlgorithm = try Self.algorithm(Name.rsaEncryption)
    }

    /// The content with its signature: a ContentInfo in DER.
    func sign(_ content: [UInt8]) throws -> [UInt8] {
        let signature = try key.signature(for: SHA256.hash(data: content), padding: .insecurePKCS1v1_5)
        var coder = DER.Serializer()
        try coder.appendConstructedNode(identifier: .sequence) { coder in
            try coder.serialize(Name.signedData)
            try coder.appendConstructedNode(identifier: Self.contextTag) { coder in
                try coder.appendConstructedNode(identifier: .sequence) { coder in
                    try serializeSignedData(content, signature: [UInt8](signature.rawRepresentation), into: &coder)
                }
            }
        }
        return coder.serializedBytes
    }

    private func serializeSignedData(
        _ content: [UInt8], signature: [UInt8], into coder: inout DER.Serializer
    ) throws {
        try coder.serialize(1)
        coder.appendConstructedNode(identifier: .set) { $0.serializeRawBytes(identifier.digestAlgorithm) }
        try coder.appendConstructedNode(identifier: .sequence) { coder in
            try coder.serialize(Name.data)
            coder.appendConstructedNode(identifier: Self.contextTag) { coder in
                coder.appendPrimitiveNode(identifier: .octetString) { $0.append(contentsOf: content) }
            }
        }
        coder.appendConstructedNode(identifier: Self.contextTag) { $0.serializeRawBytes(certificates) }
        try coder.appendConstructedNode(identifier: .set) { coder in
            try coder.appendConstructedNode(identifier: .sequence) { coder in
                try coder.serialize(1)
                coder.serializeRawBytes(identifier.issuerAndSerialNumber)
                coder.serializeRawBytes(identifier.digestAlgorithm)
                coder.serializeRawBytes(signatureAlgorithm)
                coder.appendPrimitiveNode(identifier: .octetString) { $0.append(contentsOf: signature) }
            }
        }
    }

    /// An AlgorithmIdentifier with NULL parameters.
    private static func algorithm(_ name: ASN1ObjectIdentifier) throws -> [UInt8] {
        var coder = DER.Serializer()
        try coder.appendConstructedNode(identifier: .sequence) { coder in
            try coder.serialize(name)
            try coder.serialize(ASN1Null())
        }
        return coder.serializedBytes
    }
}
