import Foundation
import VectorTesting

/// The receipts among the vectors, as `index.json` describes them.
enum ReceiptVectors {
    /// One receipt in base64.
    struct Vector: Decodable, Sendable, CustomStringConvertible {
        let file: String
        let digest: [String]
        let expected: Expected

        var description: String { file }
        var base64: [UInt8] { get throws { try Vectors.bytes(file) } }
        var der: [UInt8] {
            get throws { [UInt8](Data(base64Encoded: Data(try base64), options: .ignoreUnknownCharacters) ?? Data()) }
        }
    }

    /// What a receipt says; dates as they stand in it.
    struct Expected: Decodable, Sendable {
        let bundleId: String
        let receiptType: String
        let appVersion: String
        let originalAppVersion: String?
        let creationDate: String
        let inAppCount: Int
        let inApp: [InApp]
        let fieldTypes: [Int64]

        enum CodingKeys: String, CodingKey {
            case bundleId = "bundle_id"
            case receiptType = "receipt_type"
            case appVersion = "app_version"
            case originalAppVersion = "original_app_version"
            case creationDate = "creation_date"
            case inAppCount = "in_app_count"
            case inApp = "in_app"
            case fieldTypes = "field_types"
        }
    }

    /// One purchase; a date that it has not is empty.
    struct InApp: Decodable, Sendable {
        let quantity: Int64
        let productId: String
        let transactionId: String
        let originalTransactionId: String?
        let purchaseDate: String
        let originalPurchaseDate: String?
        let expiresDate: String?
        let cancellationDate: String?
        let itemType: Int64?
        let productItemId: Int64?
        let webOrderLineItemId: Int64?
        let isTrial: Int64?
        let isIntro: Int64?

        enum CodingKeys: String, CodingKey {
            case quantity
            case productId = "product_id"
            case transactionId = "transaction_id"
            case originalTransactionId = "original_transaction_id"
            case purchaseDate = "purchase_date"
            case originalPurchaseDate = "original_purchase_date"
            case expiresDate = "expires_date"
            case cancellationDate = "cancellation_date"
            case itemType = "item_type"
            case productItemId = "x1710"
            case webOrderLineItemId = "web_order_line_item_id"
            case isTrial = "is_trial"
            case isIntro = "is_intro"
        }
    }

    static let all: [Vector] = {
        struct Entry: Decodable {
            let vector: Vector?

            init(from decoder: any Decoder) throws {
                struct File: Decodable { let file: String }
                let file = try File(from: decoder).file
                vector = file.hasPrefix("receipts-") ? try Vector(from: decoder) : nil
            }
        }
        struct Index: Decodable { let vectors: [Entry] }
        guard Vectors.areAvailable,
            let json = try? Data(contentsOf: Vectors.folder.appendingPathComponent("index.json")),
            let index = try? JSONDecoder().decode(Index.self, from: json)
        else { return [] }
        return index.vectors.compactMap(\.vector)
    }()

    static let genuine = all.filter { $0.file.hasPrefix("receipts-apple/") }
    static let xcode = all.filter { $0.file.hasPrefix("receipts-xcode/") }

    /// Foundation's reading of a date, which is another than the verifier's.
    static func date(_ text: String?) throws -> Date? {
        guard let text, !text.isEmpty else { return nil }
        return try Date(text, strategy: .iso8601)
    }
}
