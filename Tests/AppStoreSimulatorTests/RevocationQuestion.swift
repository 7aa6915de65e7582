import Crypto
import Foundation
import SwiftASN1
import Testing
import X509

@testable import AppStoreSimulator

/// A question to an OCSP responder, as a client writes it.
struct RevocationQuestion {
    var certificates: [(certificate: Certificate, issuer: Certificate)]
    var nonce: [UInt8]?

    static let sha256: ASN1ObjectIdentifier = [2, 16, 840, 1, 101, 3, 4, 2, 1]

    func encoded() throws -> [UInt8] {
        var coder = DER.Serializer()
        try coder.appendConstructedNode(identifier: .sequence) { request in
            try request.appendConstructedNode(identifier: .sequence) { content in
                try content.appendConstructedNode(identifier: .sequence) { list in
                    for entry in certificates {
                        try list.appendConstructedNode(identifier: .sequence) { single in
                            try Self.write(entry.certificate, issuedBy: entry.issuer, into: &single)
                        }
                    }
                }
                guard let nonce else { return }
                try content.serialize(explicitlyTaggedWithTagNumber: 2, tagClass: .contextSpecific) { tagged in
                    try tagged.appendConstructedNode(identifier: .sequence) { extensions in
                        try extensions.appendConstructedNode(identifier: .sequence) { single in
                            let name: ASN1ObjectIdentifier = [1, 3, 6, 1, 5, 5, 7, 48, 1, 2]
                            try single.serialize(name)
                            try single.serialize(ASN1OctetString(contentBytes: nonce[...]))
                        }
                    }
                }
            }
        }
        return coder.serializedBytes
    }

    private static func write(
        _ certificate: Certificate, issuedBy issuer: Certificate, into single: inout DER.Serializer
    ) throws {
        var name = DER.Serializer()
        try name.serialize(issuer.subject)
        let nameHash = Array(SHA256.hash(data: name.serializedBytes))
        let keyHash = Array(SHA256.hash(data: issuer.publicKey.subjectPublicKeyInfoBytes))
        try single.appendConstructedNode(identifier: .sequence) { identifier in
            try identifier.appendConstructedNode(identifier: .sequence) { try $0.serialize(sha256) }
            try identifier.serialize(ASN1OctetString(contentBytes: nameHash[...]))
            try identifier.serialize(ASN1OctetString(contentBytes: keyHash[...]))
            try identifier.serialize(certificate.serialNumber.bytes)
        }
    }
}

/// What a responder answered, as far as the tests ask.
struct RevocationAnswer {
    /// `OCSPResponseStatus`: 0 for an answer with content.
    let status: UInt8
    /// The tags of each certificate's status: 0 good, 1 revoked, 2 unknown.
    private(set) var statuses: [UInt] = []
    private(set) var thisUpdate = Date.distantPast
    private(set) var nextUpdate = Date.distantPast
    private(set) var content: ArraySlice<UInt8> = []
    private(set) var signature: [UInt8] = []

    init(_ bytes: [UInt8]) throws {
        let nodes = try Self.children(try DER.parse(bytes))
        status = try #require(Self.primitive(nodes[0]).first)
        guard nodes.count > 1 else { return }
        let parts = try Self.children(try #require(try Self.children(nodes[1]).first))
        let basic = try Self.children(try DER.parse(Array(Self.primitive(parts[1]))))
        content = basic[0].encodedBytes
        signature = Array(Self.primitive(basic[2]).dropFirst())
        // The responder's name, the time, the answers.
        let data = try Self.children(basic[0])
        for single in try Self.children(data[2]) {
            let fields = try Self.children(single)
            statuses.append(fields[1].identifier.tagNumber)
            thisUpdate = try Self.date(fields[2])
            nextUpdate = try Self.date(try #require(try Self.children(fields[3]).first))
        }
    }

    /// Whether a certificate's key signed it.
    func isSigned(by key: P384.Signing.PublicKey) throws -> Bool {
        key.isValidSignature(
            try P384.Signing.ECDSASignature(derRepresentation: signature), for: SHA384.hash(data: Array(content)))
    }

    private static func children(_ node: ASN1Node) throws -> [ASN1Node] {
        guard case .constructed(let nodes) = node.content else { return [] }
        return Array(nodes)
    }

    private static func primitive(_ node: ASN1Node) -> ArraySlice<UInt8> {
        if case .primitive(let bytes) = node.content { bytes } else { [] }
    }

    private static func date(_ node: ASN1Node) throws -> Date {
        let time = try GeneralizedTime(derEncoded: node)
        var parts = DateComponents(
            year: time.year, month: time.month, day: time.day, hour: time.hours, minute: time.minutes,
            second: time.seconds)
        parts.timeZone = .gmt
        return try #require(Calendar(identifier: .gregorian).date(from: parts))
    }
}
