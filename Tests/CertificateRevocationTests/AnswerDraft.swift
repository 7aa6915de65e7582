import Crypto
import Foundation
import SwiftASN1
import X509

/// An OCSP answer as a test wants it: good in everything but what it changes.
struct AnswerDraft {
    enum Standing {
        case good
        case revoked(Date)
        case unknown
    }

    enum Hash {
        case sha1
        case sha256
        /// A hash that nobody here knows.
        case sha512
    }

    struct Single {
        var certificate: Certificate
        var issuer: Certificate
        var hash = Hash.sha1
        var standing = Standing.good
        var thisUpdate = Authority.now - 60
        var nextUpdate: Date? = Authority.now + 3_600
        var hasCriticalExtension = false
    }

    var singles: [Single]
    var producedAt = Authority.now - 60
    /// Who signs.
    var signer: P384.Signing.PrivateKey
    /// Who is named as the signer: by key, or by name.
    var named: Certificate
    var isNamedByName = false
    var certificates: [Certificate] = []
    var version: Int?
    var hasCriticalExtension = false
    /// The identifier of the signature's algorithm: ECDSA with SHA-384.
    var algorithm: ASN1ObjectIdentifier = [1, 2, 840, 10045, 4, 3, 3]

    private static let sampleExtension: ASN1ObjectIdentifier = [1, 3, 6, 1, 4, 1, 99999, 7]

    /// An answer about a certificate, signed by its issuer.
    init(about certificate: Certificate, issuer: Authority.Member) {
        singles = [Single(certificate: certificate, issuer: issuer.certificate)]
        signer = issuer.key
        named = issuer.certificate
    }

    var single: Single {
        get { singles[0] }
        set { singles[0] = newValue }
    }

    /// Lets somebody else sign, whose certificate comes along.
    mutating func delegate(to member: Authority.Member) {
        signer = member.key
        named = member.certificate
        certificates = [member.certificate]
    }

    /// The whole answer.
    func encoded() throws -> [UInt8] {
        let content = try encodedContent()
        let signature = [UInt8](try signer.signature(for: SHA384.hash(data: content)).derRepresentation)
        var basic = DER.Serializer()
        try basic.appendConstructedNode(identifier: .sequence) { node in
            node.serializeRawBytes(content)
            try node.appendConstructedNode(identifier: .sequence) { try $0.serialize(algorithm) }
            try node.serialize(ASN1BitString(bytes: signature[...]))
            guard !certificates.isEmpty else { return }
            try node.serialize(explicitlyTaggedWithTagNumber: 0, tagClass: .contextSpecific) { tagged in
                try tagged.appendConstructedNode(identifier: .sequence) { list in
                    for certificate in certificates { try list.serialize(certificate) }
                }
            }
        }
        return try Self.response(type: [1, 3, 6, 1, 5, 5, 7, 48, 1, 1], content: basic.serializedBytes)
    }

    /// A successful answer of a type.
    static func response(type: ASN1ObjectIdentifier, content: [UInt8]) throws -> [UInt8] {
        var serializer = DER.Serializer()
        try serializer.appendConstructedNode(identifier: .sequence) { response in
            response.appendPrimitiveNode(identifier: .enumerated) { $0.append(0) }
            try response.serialize(explicitlyTaggedWithTagNumber: 0, tagClass: .contextSpecific) { tagged in
                try tagged.appendConstructedNode(identifier: .sequence) { bytes in
                    try bytes.serialize(type)
                    try bytes.serialize(ASN1OctetString(contentBytes: content[...]))
                }
            }
        }
        return serializer.serializedBytes
    }

    /// An answer that says only why there is none.
    static func status(_ status: UInt8) -> [UInt8] { [0x30, 0x03, 0x0A, 0x01, status] }

    private func encodedContent() throws -> [UInt8] {
        var serializer = DER.Serializer()
        try serializer.appendConstructedNode(identifier: .sequence) { data in
            if let version {
                try data.serialize(version, explicitlyTaggedWithTagNumber: 0, tagClass: .contextSpecific)
            }
            if isNamedByName {
                try data.serialize(named.subject, explicitlyTaggedWithTagNumber: 1, tagClass: .contextSpecific)
            } else {
                let hash = Array(Insecure.SHA1.hash(data: named.publicKey.subjectPublicKeyInfoBytes))
                try data.serialize(
                    ASN1OctetString(contentBytes: hash[...]), explicitlyTaggedWithTagNumber: 2,
                    tagClass: .contextSpecific)
            }
            try data.serialize(try GeneralizedTime(producedAt))
            try data.appendConstructedNode(identifier: .sequence) { list in
                for single in singles { try Self.write(single, into: &list) }
            }
            if hasCriticalExtension { try Self.writeCriticalExtension(into: &data) }
        }
        return serializer.serializedBytes
    }

    private static func write(_ single: Single, into list: inout DER.Serializer) throws {
        try list.appendConstructedNode(identifier: .sequence) { node in
            try writeName(of: single, into: &node)
            switch single.standing {
            case .good:
                node.appendPrimitiveNode(identifier: .init(tagWithNumber: 0, tagClass: .contextSpecific)) { _ in }
            case .unknown:
                node.appendPrimitiveNode(identifier: .init(tagWithNumber: 2, tagClass: .contextSpecific)) { _ in }
            case .revoked(let date):
                try node.appendConstructedNode(identifier: .init(tagWithNumber: 1, tagClass: .contextSpecific)) {
                    try $0.serialize(try GeneralizedTime(date))
                }
            }
            try node.serialize(try GeneralizedTime(single.thisUpdate))
            if let nextUpdate = single.nextUpdate {
                try node.serialize(
                    try GeneralizedTime(nextUpdate), explicitlyTaggedWithTagNumber: 0, tagClass: .contextSpecific)
            }
            if single.hasCriticalExtension { try writeCriticalExtension(into: &node) }
        }
    }

    private static func writeName(of single: Single, into node: inout DER.Serializer) throws {
        var name = DER.Serializer()
        try name.serialize(single.issuer.subject)
        let key = single.issuer.publicKey.subjectPublicKeyInfoBytes
        let (identifier, nameHash, keyHash): (ASN1ObjectIdentifier, [UInt8], [UInt8]) =
            switch single.hash {
            case .sha1:
                (
                    [1, 3, 14, 3, 2, 26], Array(Insecure.SHA1.hash(data: name.serializedBytes)),
                    Array(Insecure.SHA1.hash(data: key))
                )
            case .sha256:
                (
                    [2, 16, 840, 1, 101, 3, 4, 2, 1], Array(SHA256.hash(data: name.serializedBytes)),
                    Array(SHA256.hash(data: key))
                )
            case .sha512:
                (
                    [2, 16, 840, 1, 101, 3, 4, 2, 3], Array(SHA512.hash(data: name.serializedBytes)),
                    Array(SHA512.hash(data: key))
                )
            }
        try node.appendConstructedNode(identifier: .sequence) { node in
            try node.appendConstructedNode(identifier: .sequence) { try $0.serialize(identifier) }
            try node.serialize(ASN1OctetString(contentBytes: nameHash[...]))
            try node.serialize(ASN1OctetString(contentBytes: keyHash[...]))
            try node.serialize(single.certificate.serialNumber.bytes)
        }
    }

    private static func writeCriticalExtension(into node: inout DER.Serializer) throws {
        try node.serialize(explicitlyTaggedWithTagNumber: 1, tagClass: .contextSpecific) { tagged in
            try tagged.appendConstructedNode(identifier: .sequence) { list in
                try list.appendConstructedNode(identifier: .sequence) { entry in
                    try entry.serialize(sampleExtension)
                    try entry.serialize(true)
                    try entry.serialize(ASN1OctetString(contentBytes: [0x05, 0x00]))
                }
            }
        }
    }
}

extension GeneralizedTime {
    /// A date in whole seconds, UTC.
    init(_ date: Date) throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
        try self.init(
            year: parts.year ?? 0, month: parts.month ?? 0, day: parts.day ?? 0, hours: parts.hour ?? 0,
            minutes: parts.minute ?? 0, seconds: parts.second ?? 0, fractionalSeconds: 0)
    }
}
