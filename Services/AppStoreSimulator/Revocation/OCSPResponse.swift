import Foundation
import SwiftASN1

/// Writes the responder's answers (RFC 6960, section 4.2.1) in DER.
enum OCSPResponse {
    /// Answers without content.
    enum Failure: UInt8 {
        case malformedRequest = 1
        case internalError = 2
        case tryLater = 3
        case unauthorized = 6
    }

    /// What is said of one certificate.
    struct Single {
        /// Its name as it was asked for, DER.
        let certificateID: ArraySlice<UInt8>
        let status: RevocationStatus
        /// When it was revoked.
        let revocationDate: Date
    }

    private static let basicResponse: ASN1ObjectIdentifier = [1, 3, 6, 1, 5, 5, 7, 48, 1, 1]
    private static let ecdsaWithSHA384: ASN1ObjectIdentifier = [1, 2, 840, 10045, 4, 3, 3]
    /// `keyCompromise` (RFC 5280, section 5.3.1).
    private static let reason: UInt8 = 1

    static func failure(_ failure: Failure) -> [UInt8] {
        var serializer = DER.Serializer()
        serializer.appendConstructedNode(identifier: .sequence) {
            $0.appendPrimitiveNode(identifier: .enumerated) { $0.append(failure.rawValue) }
        }
        return serializer.serializedBytes
    }

    /// `ResponseData`: what is signed.
    ///
    /// - Parameters:
    ///   - keyHash: SHA-1 of the responder's public key: its name here.
    ///   - validity: `thisUpdate` and `nextUpdate`.
    static func content(_ single: Single, keyHash: [UInt8], validity: ClosedRange<Date>) throws -> [UInt8] {
        var serializer = DER.Serializer()
        try serializer.appendConstructedNode(identifier: .sequence) { data in
            try data.serialize(
                ASN1OctetString(contentBytes: keyHash[...]), explicitlyTaggedWithTagNumber: 2,
                tagClass: .contextSpecific)
            try data.serialize(try GeneralizedTime(validity.lowerBound))
            try data.appendConstructedNode(identifier: .sequence) { list in
                try write(single, validity: validity, into: &list)
            }
        }
        return serializer.serializedBytes
    }

    /// The whole answer: the content, and its ECDSA signature with SHA-384.
    static func successful(content: [UInt8], signature: [UInt8]) throws -> [UInt8] {
        var basic = DER.Serializer()
        try basic.appendConstructedNode(identifier: .sequence) { node in
            node.serializeRawBytes(content)
            try node.appendConstructedNode(identifier: .sequence) { try $0.serialize(ecdsaWithSHA384) }
            try node.serialize(ASN1BitString(bytes: signature[...]))
        }
        let encodedBasic = basic.serializedBytes
        var serializer = DER.Serializer()
        try serializer.appendConstructedNode(identifier: .sequence) { response in
            response.appendPrimitiveNode(identifier: .enumerated) { $0.append(0) }
            try response.serialize(explicitlyTaggedWithTagNumber: 0, tagClass: .contextSpecific) { tagged in
                try tagged.appendConstructedNode(identifier: .sequence) { bytes in
                    try bytes.serialize(basicResponse)
                    try bytes.serialize(ASN1OctetString(contentBytes: encodedBasic[...]))
                }
            }
        }
        return serializer.serializedBytes
    }

    private static func write(
        _ single: Single, validity: ClosedRange<Date>, into list: inout DER.Serializer
    ) throws {
        try list.appendConstructedNode(identifier: .sequence) { node in
            node.serializeRawBytes(single.certificateID)
            switch single.status {
            case .good:
                node.appendPrimitiveNode(identifier: .init(tagWithNumber: 0, tagClass: .contextSpecific)) { _ in }
            case .unknown:
                node.appendPrimitiveNode(identifier: .init(tagWithNumber: 2, tagClass: .contextSpecific)) { _ in }
            case .revoked:
                let identifier = ASN1Identifier(tagWithNumber: 1, tagClass: .contextSpecific)
                try node.appendConstructedNode(identifier: identifier) { revoked in
                    try revoked.serialize(try GeneralizedTime(single.revocationDate))
                    revoked.serialize(explicitlyTaggedWithTagNumber: 0, tagClass: .contextSpecific) {
                        $0.appendPrimitiveNode(identifier: .enumerated) { $0.append(reason) }
                    }
                }
            }
            try node.serialize(try GeneralizedTime(validity.lowerBound))
            try node.serialize(
                try GeneralizedTime(validity.upperBound), explicitlyTaggedWithTagNumber: 0, tagClass: .contextSpecific)
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
