import Foundation
import SwiftASN1
import X509

/// The parts of an answer, read one by one.
extension OCSPResponse {
    private struct CertificateName {
        let algorithm: ASN1ObjectIdentifier
        let issuerName: ArraySlice<UInt8>
        let issuerKey: ArraySlice<UInt8>
        let serialNumber: ArraySlice<UInt8>
    }

    /// Reads what is signed.
    static func readContent(_ node: ASN1Node) throws -> Content {
        try DER.sequence(node, identifier: .sequence) { nodes in
            let version = try DER.optionalExplicitlyTagged(&nodes, tagNumber: 0, tagClass: .contextSpecific) {
                try Int(derEncoded: $0)
            }
            guard (version ?? 0) == 0 else { throw RevocationFailure("the answer is not of version 1") }
            let responder = try readResponder(try next(&nodes))
            let producedAt = try date(try next(&nodes))
            let singles = try elements(of: try next(&nodes), maximum: Limit.singles).map(readSingle)
            let isCritical = try DER.optionalExplicitlyTagged(&nodes, tagNumber: 1, tagClass: .contextSpecific) {
                try hasCriticalExtension($0)
            }
            return Content(
                responder: responder, producedAt: producedAt, singles: singles, isCritical: isCritical ?? false)
        }
    }

    private static func readResponder(_ node: ASN1Node) throws -> Responder {
        guard node.identifier.tagClass == .contextSpecific, case .constructed(let nodes) = node.content else {
            throw RevocationFailure("the answer names no responder")
        }
        var iterator = nodes.makeIterator()
        guard let inner = iterator.next(), iterator.next() == nil else {
            throw RevocationFailure("the answer names no responder")
        }
        switch node.identifier.tagNumber {
        case 1: return .name(try DistinguishedName(derEncoded: inner))
        case 2: return .keyHash(try ASN1OctetString(derEncoded: inner).bytes)
        default: throw RevocationFailure("the answer names no responder")
        }
    }

    private static func readSingle(_ node: ASN1Node) throws -> Single {
        try DER.sequence(node, identifier: .sequence) { nodes in
            let name = try readName(try next(&nodes))
            let standing = try readStanding(try next(&nodes))
            let thisUpdate = try date(try next(&nodes))
            let nextUpdate = try DER.optionalExplicitlyTagged(&nodes, tagNumber: 0, tagClass: .contextSpecific) {
                try date($0)
            }
            let isCritical = try DER.optionalExplicitlyTagged(&nodes, tagNumber: 1, tagClass: .contextSpecific) {
                try hasCriticalExtension($0)
            }
            return Single(
                hashAlgorithm: name.algorithm, issuerNameHash: name.issuerName, issuerKeyHash: name.issuerKey,
                serialNumber: name.serialNumber, standing: standing, thisUpdate: thisUpdate, nextUpdate: nextUpdate,
                isCritical: isCritical ?? false)
        }
    }

    private static func readName(_ node: ASN1Node) throws -> CertificateName {
        try DER.sequence(node, identifier: .sequence) { nodes in
            let algorithm = try DER.sequence(try next(&nodes), identifier: .sequence) { nodes in
                let algorithm = try ASN1ObjectIdentifier(derEncoded: &nodes)
                // NULL or nothing: hashes have no parameters.
                _ = nodes.next()
                return algorithm
            }
            let issuerName = try ASN1OctetString(derEncoded: &nodes).bytes
            let issuerKey = try ASN1OctetString(derEncoded: &nodes).bytes
            return CertificateName(
                algorithm: algorithm, issuerName: issuerName, issuerKey: issuerKey,
                serialNumber: try integerContent(of: try next(&nodes)))
        }
    }

    private static func readStanding(_ node: ASN1Node) throws -> Standing {
        guard node.identifier.tagClass == .contextSpecific else {
            throw RevocationFailure("the answer says nothing of the certificate")
        }
        switch node.identifier.tagNumber {
        case 0: return .good
        case 1:
            return try DER.sequence(node, identifier: node.identifier) { nodes in
                let date = try date(try next(&nodes))
                // The reason changes nothing: what was revoked once is not trusted, whether it can be read or not.
                return .revoked(at: date, reason: nodes.next().flatMap(reason))
            }
        case 2: return .unknown
        default: throw RevocationFailure("the answer says nothing of the certificate")
        }
    }

    private static func reason(_ node: ASN1Node) -> Int? {
        guard case .constructed(let nodes) = node.content else { return nil }
        var iterator = nodes.makeIterator()
        return iterator.next().flatMap { try? Int(derEncoded: $0, withIdentifier: .enumerated) }
    }

    /// Whether one of the extensions is critical; none that may come is understood here.
    private static func hasCriticalExtension(_ node: ASN1Node) throws -> Bool {
        try elements(of: node, maximum: Limit.extensions).contains { node in
            try DER.sequence(node, identifier: .sequence) { nodes in
                _ = try ASN1ObjectIdentifier(derEncoded: &nodes)
                let isCritical = try DER.decodeDefault(&nodes, defaultValue: false) as Bool
                _ = try ASN1OctetString(derEncoded: &nodes)
                return isCritical
            }
        }
    }

    /// The content of an INTEGER as it is, with the zero byte that keeps a high bit from being a sign.
    static func integerContent(of node: ASN1Node) throws -> ArraySlice<UInt8> {
        guard node.identifier == .integer, case .primitive(let content) = node.content, !content.isEmpty else {
            throw RevocationFailure("a number is missing")
        }
        return content
    }

    private static func date(_ node: ASN1Node) throws -> Date {
        Date(try GeneralizedTime(derEncoded: node))
    }

    /// The next of the values, which must be there.
    static func next(_ nodes: inout ASN1NodeCollection.Iterator) throws -> ASN1Node {
        guard let node = nodes.next() else { throw RevocationFailure("the answer is not whole") }
        return node
    }

    /// The values of a sequence, of which there may be only so many.
    static func elements(of node: ASN1Node, maximum: Int) throws -> [ASN1Node] {
        try DER.sequence(node, identifier: .sequence) { nodes in
            var elements: [ASN1Node] = []
            while let element = nodes.next() {
                guard elements.count < maximum else { throw RevocationFailure("the answer has too many parts") }
                elements.append(element)
            }
            return elements
        }
    }
}
