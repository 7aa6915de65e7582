import Crypto
import Foundation
import ProcessTesting

/// `openssl dgst`, which knows nothing of us.
enum OpenSSL {
    static let isThere = Program.find("openssl") != nil

    /// Whether a DER signature over SHA-256 is the key's.
    static func verifies(_ signature: Data, of bytes: Data, by key: P256.Signing.PublicKey) async throws -> Bool {
        let folder = FileManager.default.temporaryDirectory.appending(path: "openssl-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = ["key", "signature", "bytes"].map { folder.appending(path: $0) }
        for (file, content) in zip(files, [Data(key.pemRepresentation.utf8), signature, bytes]) {
            try content.write(to: file)
        }
        let arguments = ["dgst", "-sha256", "-verify", files[0].path, "-signature", files[1].path, files[2].path]
        return try await Program.openssl(arguments).isGood
    }
}
