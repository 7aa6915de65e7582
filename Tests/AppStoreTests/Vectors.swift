import Foundation
import Testing

/// Genuine and hostile artefacts from public repositories, kept outside the project because some are other people's.
///
/// `COUNTERSIGN_VECTORS` names their folder; without it they are looked for beside the project. Where they are missing,
/// every test that needs them says that it was skipped.
enum Vectors {
    /// One artefact, as `index.json` describes it.
    struct Vector: Decodable, Sendable, CustomTestStringConvertible {
        let file: String
        let kind: String
        let genuineAppleChain: Bool
        let expected: Expected

        enum CodingKeys: String, CodingKey {
            case file, kind, expected
            case genuineAppleChain = "genuine_apple_chain"
        }

        var testDescription: String { file }
        var name: String { URL(fileURLWithPath: file).lastPathComponent }
        var jws: [UInt8] { get throws { try Vectors.bytes(file) } }
    }

    /// What an artefact says; dates in milliseconds.
    struct Expected: Decodable, Sendable {
        let bundleId: String?
        let productId: String?
        let transactionId: String?
        let originalTransactionId: String?
        let type: String?
        let environment: String?
        let signedDate: Double?
        let purchaseDate: Double?
        let expiresDate: Double?
        let revocationDate: Double?
        let revocationReason: Int64?
        let offerType: Int64?
        let price: Int64?
        let currency: String?
        let storefront: String?
        let notificationType: String?
        let subtype: String?
        let notificationUUID: String?
        let autoRenewProductId: String?
        let autoRenewStatus: Int64?
    }

    static let skipped: Comment = """
        SKIPPED: the vectors are missing; set COUNTERSIGN_VECTORS to their folder (it holds index.json)
        """

    static let folder: URL = {
        if let path = ProcessInfo.processInfo.environment["COUNTERSIGN_VECTORS"] {
            return URL(fileURLWithPath: path)
        }
        let root = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        return root.appendingPathComponent("../shared/vectors").standardizedFileURL
    }()

    static let areAvailable = FileManager.default.fileExists(atPath: folder.appendingPathComponent("index.json").path)

    static let all: [Vector] = {
        struct Index: Decodable { let vectors: [SignedDataVector] }
        guard areAvailable, let json = try? Data(contentsOf: folder.appendingPathComponent("index.json")),
            let index = try? JSONDecoder().decode(Index.self, from: json)
        else { return [] }
        return index.vectors.compactMap(\.vector)
    }()

    static let genuine = all.filter { $0.file.hasPrefix("jws-apple/") && $0.genuineAppleChain }
    static let genuineTransactions = genuine.filter { $0.kind == "transaction" }

    static func bytes(_ file: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: folder.appendingPathComponent(file)))
    }

    /// The index lists receipts too, which are described in other words.
    private struct SignedDataVector: Decodable {
        let vector: Vector?

        init(from decoder: any Decoder) throws {
            struct File: Decodable { let file: String }
            let file = try File(from: decoder).file
            vector = file.hasPrefix("jws-") ? try Vector(from: decoder) : nil
        }
    }
}
