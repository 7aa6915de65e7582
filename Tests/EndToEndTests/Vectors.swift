import Foundation

/// The real artefacts that Apple signed, with what `index.json` says of each.
enum Vectors {
    static let folder: URL = {
        let named = ProcessInfo.processInfo.environment["COUNTERSIGN_VECTORS"].map { URL(filePath: $0) }
        return named ?? Stack.root.appending(path: "../shared/vectors").standardizedFileURL
    }()

    static var areAvailable: Bool {
        FileManager.default.fileExists(atPath: folder.appending(path: "index.json").path)
    }

    /// What the index says of a file.
    struct Entry: Decodable, Sendable {
        let file: String
        let kind: String
        let expected: Expected?

        struct Expected: Decodable, Sendable {
            let bundleId: String?
            let productId: String?
            let transactionId: String?
            let originalTransactionId: String?
            let environment: String?
            let purchaseDate: Double?
            let expiresDate: Double?
            let revocationDate: Double?
            let signedDate: Double?
        }
    }

    static func entries(in part: String) throws -> [Entry] {
        struct Index: Decodable { let vectors: [Lenient] }
        struct Lenient: Decodable {
            let entry: Entry?
            init(from decoder: any Decoder) throws { entry = try? Entry(from: decoder) }
        }
        let data = try Data(contentsOf: folder.appending(path: "index.json"))
        let all = try JSONDecoder().decode(Index.self, from: data).vectors
        return all.compactMap(\.entry).filter { $0.file.hasPrefix(part + "/") }.sorted { $0.file < $1.file }
    }

    static func text(_ file: String) throws -> String {
        let text = String(decoding: try Data(contentsOf: folder.appending(path: file)), as: UTF8.self)
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
