import Crypto
import Foundation

/// Secrets that the tool makes, from the system's cryptographic random source.
enum SecretText {
    enum Limit {
        /// Bytes of randomness of each.
        static let bytes = 32
    }

    /// What intake knows an API key by.
    static let keyPrefix = "csk_"
    /// What intake knows a test key by, too.
    static let testKeyPrefix = "csk_test_"

    /// A new API key of a backend; a test key sees and changes the sandbox alone.
    static func apiKey(isTest: Bool = false) -> String {
        (isTest ? testKeyPrefix : keyPrefix) + randomBytes().map(hexadecimal).joined()
    }

    /// A new secret of JWTs with HS256: 43 characters.
    static func jwtSecret() -> String {
        Data(randomBytes()).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
    }

    /// A new key that seals secrets of endpoints in the database (`SecretSeal`).
    static func webhooksKey() -> String { Data(randomBytes()).base64EncodedString() }

    /// SHA-256 of an API key, as the apps file has it.
    static func sha256(of key: String) -> String {
        SHA256.hash(data: Data(key.utf8)).map(hexadecimal).joined()
    }

    private static func randomBytes() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<Limit.bytes).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
}
