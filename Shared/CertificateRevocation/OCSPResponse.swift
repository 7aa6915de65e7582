import Foundation
import SwiftASN1
import X509

/// A responder's answer (RFC 6960, section 4.2.1) as it was read; nobody has judged it yet.
struct OCSPResponse {
    enum Limit {
        /// Certificates that one answer speaks of.
        static let singles = 256
        /// Certificates that come with an answer; one is the rule.
        static let certificates = 8
        /// Extensions of one place.
        static let extensions = 32
    }

    enum Standing {
        case good
        /// Why: a number of RFC 5280, section 5.3.1.
        case revoked(at: Date, reason: Int?)
        case unknown
    }

    /// How the responder names itself.
    enum Responder {
        case name(DistinguishedName)
        /// SHA-1 of its public key.
        case keyHash(ArraySlice<UInt8>)
    }

    /// What is said of one certificate.
    struct Single {
        let hashAlgorithm: ASN1ObjectIdentifier
        let issuerNameHash: ArraySlice<UInt8>
        let issuerKeyHash: ArraySlice<UInt8>
        /// The content of the INTEGER.
        let serialNumber: ArraySlice<UInt8>
        let standing: Standing
        let thisUpdate: Date
        let nextUpdate: Date?
        /// Whether it has an extension that must not be passed over.
        let isCritical: Bool
    }

    /// `ResponseData`: what is signed.
    struct Content {
        let responder: Responder
        let producedAt: Date
        let singles: [Single]
        /// Whether it has an extension that must not be passed over.
        let isCritical: Bool
    }

    let content: Content
    /// The content byte for byte.
    let signedBytes: ArraySlice<UInt8>
    let signatureAlgorithm: Certificate.SignatureAlgorithm
    let signature: ArraySlice<UInt8>
    /// The certificates that came with it, DER each, at most ``Limit/certificates``.
    let certificates: [ArraySlice<UInt8>]

    private static let basicResponse: ASN1ObjectIdentifier = [1, 3, 6, 1, 5, 5, 7, 48, 1, 1]

    /// Reads an answer.
    ///
    /// - Throws: ``RevocationFailure`` when the responder says that it has no answer, or signs in a way that is not
    ///   understood; `ASN1Error` when it is no answer.
    init(derEncoded bytes: [UInt8]) throws {
        let basic = try Self.basicBytes(of: try DER.parse(bytes))
        self = try DER.sequence(try DER.parse(basic), identifier: .sequence) { nodes in
            guard let content = nodes.next(), let algorithm = nodes.next() else {
                throw RevocationFailure("the answer is not whole")
            }
            let signature = try ASN1BitString(derEncoded: &nodes)
            let certificates = try DER.optionalExplicitlyTagged(&nodes, tagNumber: 0, tagClass: .contextSpecific) {
                try Self.elements(of: $0, maximum: Limit.certificates).map(\.encodedBytes)
            }
            return OCSPResponse(
                content: try Self.readContent(content), signedBytes: content.encodedBytes,
                signatureAlgorithm: try SignatureAlgorithms.read(algorithm), signature: signature.bytes,
                certificates: certificates ?? [])
        }
    }

    private init(
        content: Content, signedBytes: ArraySlice<UInt8>, signatureAlgorithm: Certificate.SignatureAlgorithm,
        signature: ArraySlice<UInt8>, certificates: [ArraySlice<UInt8>]
    ) {
        self.content = content
        self.signedBytes = signedBytes
        self.signatureAlgorithm = signatureAlgorithm
        self.signature = signature
        self.certificates = certificates
    }

    /// The basic response inside of a successful answer.
    @inline(never)  // wrong code
    private static func basicBytes(of node: ASN1Node) throws -> ArraySlice<UInt8> {
        try DER.sequence(node, identifier: .sequence) { nodes in
            let status = try Int(derEncoded: try next(&nodes), withIdentifier: .enumerated)
            guard status == 0 else { throw RevocationFailure(reason(ofStatus: status)) }
            let bytes = try DER.optionalExplicitlyTagged(&nodes, tagNumber: 0, tagClass: .contextSpecific) { node in
                try DER.sequence(node, identifier: .sequence) { nodes in
                    let type = try ASN1ObjectIdentifier(derEncoded: &nodes)
                    guard type == basicResponse else { throw RevocationFailure("the answer is not of the basic type") }
                    return try ASN1OctetString(derEncoded: &nodes).bytes
                }
            }
            guard let bytes else { throw RevocationFailure("the answer is empty") }
            return bytes
        }
    }

    private static func reason(ofStatus status: Int) -> String {
        switch status {
        case 1: "the responder says that the request is malformed"
        case 2: "the responder has an internal error"
        case 3: "the responder says to try later"
        case 5: "the responder wants signed requests"
        case 6: "the responder is not authorised to answer"
        default: "the responder answers with status \(status)"
        }
    }
}
