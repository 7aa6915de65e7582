package import Foundation

/// Genuine and hostile artefacts from package repositories, kept outside the project because some are other people's.
///
/// `COUNTERSIGN_VECTORS` names their folder; without it they are looked for beside the project. Where they are missing,
/// every test that needs them says that it was skipped.
package enum Vectors {
    /// One artefact, as `index.json` describes it.
    package struct Vector: Decodable, Sendable, CustomStringConvertible {
        package let file: String
        package let kind: String
        package let genuineAppleChain: Bool
        package let expected: Expected

        private enum CodingKeys: String, CodingKey {
            case file, kind, expected
            case genuineAppleChain = "genuine_apple_chain"
        }

        package var description: String { file }
        package var name: String { URL(fileURLWithPath: file).lastPathComponent }
        package var jws: [UInt8] { get throws { try Vectors.bytes(file) } }
        /// The same as text.
        package var text: String {
            get throws { String(decoding: try jws, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines) }
        }
    }

    /// What an artefact says; dates in milliseconds.
    package struct Expected: Decodable, Sendable {
        package let bundleId: String?
        package let productId: String?
        package let transactionId: String?
        package let originalTransactionId: String?
        package let type: String?
        package let environment: String?
        package let signedDate: Double?
        package let purchaseDate: Double?
        package let expiresDate: Double?
        package let revocationDate: Double?
        package let revocationReason: Int64?
        package let offerType: Int64?
        package let price: Int64?
        package let currency: String?
        package let storefront: String?
        package let notificationType: String?
        package let subtype: String?
        package let notificationUUID: String?
        package let autoRenewProductId: String?
        package let autoRenewStatus: Int64?
    }

    /// Why tests that need them did not run.
    package static let skipped =
        "SKIPPED: the vectors are missing; set COUNTERSIGN_VECTORS to their folder (it holds index.json)"

    /// Where they are.
    package static let folder: URL = {
        if let path = ProcessInfo.processInfo.environment["COUNTERSIGN_VECTORS"] {
            return URL(fileURLWithPath: path)
        }
        let root = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        return root.appendingPathComponent("../shared/vectors").standardizedFileURL
    }()

    /// Whether they are there.
    package static let areAvailable = FileManager.default.fileExists(
        atPath: folder.appendingPathComponent("index.json").path)

    /// All that are signed as JWS.
    package static let all: [Vector] = {
        struct Index: Decodable { let vectors: [SignedDataVector] }
        guard areAvailable, let json = try? Data(contentsOf: folder.appendingPathComponent("index.json")),
            let index = try? JSONDecoder().decode(Index.self, from: json)
        else { return [] }
        return index.vectors.compactMap(\.vector)
    }()

    /// Those that Apple signed.
    package static let genuine = all.filter { $0.file.hasPrefix("jws-apple/") && $0.genuineAppleChain }
    /// The transactions that Apple signed.
    package static let genuineTransactions = genuine.filter { $0.kind == "transaction" }

    /// What a file holds.
    package static func bytes(_ file: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: folder.appendingPathComponent(file)))
    }

    /// Those of a folder, by their files.
    package static func all(in part: String) -> [Vector] {
        all.filter { $0.file.hasPrefix(part + "/") }.sorted { $0.file < $1.file }
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
