import Foundation
import VectorTesting

@testable import AppStoreSimulator

/// Which attributes a receipt has, and what their values are in ASN.1: what two receipts can be compared by.
struct ReceiptShape {
    /// An attribute's version, and its value's tag; nil for bytes that are no ASN.1.
    struct Kind: Equatable {
        let version: Int64
        let tag: UInt8?
    }

    /// Attributes whose values are bytes.
    private static let opaque: Set<Int64> = [4, 5, 6, 7]

    private(set) var attributes: [Int64: Kind] = [:]
    private(set) var values: [Int64: [UInt8]] = [:]
    /// The attributes of the purchases, by product type; empty strings are told from others.
    private(set) var purchases: [Int64: [[Int64: String]]] = [:]
    private(set) var types: [Int64] = []

    /// - Parameter receipt: a ContentInfo in DER.
    init?(receipt: [UInt8]) {
        typealias Tag = DERCursor.Tag
        var cursor = DERCursor(receipt)
        guard var info = cursor.enter(Tag.sequence), info.next(Tag.objectIdentifier) != nil,
            var explicit = info.enter(Tag.context), var signed = explicit.enter(Tag.sequence),
            signed.next(Tag.integer) != nil, signed.next(Tag.set) != nil,
            var encapsulated = signed.enter(Tag.sequence), encapsulated.next(Tag.objectIdentifier) != nil,
            var content = encapsulated.enter(Tag.context), let octets = content.next(Tag.octetString)
        else { return nil }
        self.init(payload: Array(receipt[octets.content]))
    }

    init?(payload: [UInt8]) {
        guard let all = Self.attributes(payload, payload.indices) else { return nil }
        for (type, version, value) in all {
            types.append(type)
            guard type == 17 else {
                attributes[type] = Kind(version: version, tag: Self.opaque.contains(type) ? nil : payload[value].first)
                values[type] = Array(payload[value])
                continue
            }
            guard let parts = Self.attributes(payload, value) else { return nil }
            var purchase: [Int64: String] = [:]
            var productType: Int64 = -1
            for (type, version, value) in parts {
                purchase[type] = "v\(version) \(payload[value.lowerBound])\(value.count == 2 ? " empty" : "")"
                if type == 1707 { productType = Int64(payload[value.upperBound - 1]) }
            }
            purchases[productType, default: []].append(purchase)
        }
    }

    private static func attributes(
        _ bytes: [UInt8], _ range: Range<Int>
    ) -> [(type: Int64, version: Int64, value: Range<Int>)]? {
        var cursor = DERCursor(bytes, in: range)
        guard var set = cursor.enter(DERCursor.Tag.set) else { return nil }
        var all: [(Int64, Int64, Range<Int>)] = []
        while !set.isAtEnd {
            guard var attribute = set.enter(DERCursor.Tag.sequence),
                let type = attribute.next().flatMap({ attribute.integer($0) }),
                let version = attribute.next().flatMap({ attribute.integer($0) }),
                let value = attribute.next(DERCursor.Tag.octetString)
            else { return nil }
            all.append((type, version, value.content))
        }
        return all
    }
}

/// Receipts that Apple signed.
enum ReceiptVectors {
    /// The files' names.
    static let genuine: [String] = {
        let files = try? FileManager.default.contentsOfDirectory(
            atPath: Vectors.folder.appendingPathComponent("receipts-apple").path)
        return (files ?? []).filter { $0.hasSuffix(".b64") }.sorted()
    }()

    static let areAvailable = !genuine.isEmpty

    static func receipt(_ name: String) throws -> [UInt8] {
        let text = Data(try Vectors.bytes("receipts-apple/\(name)"))
        return [UInt8](Data(base64Encoded: text, options: .ignoreUnknownCharacters) ?? Data())
    }
}
