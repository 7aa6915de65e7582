import Crypto

/// What Apple asks of an image file (Upload Image): PNG, without transparency, of one of two sizes.
///
/// Reads the PNG's head (W3C PNG, 5.2 signature, 11.2.2 IHDR, 11.3.2.1 tRNS), not its pixels.
struct RetentionImageFile {
    enum Limit {
        /// Bytes of an upload; Apple names no limit, and a 3840 × 2160 PNG of noise has 25 million.
        static let bytes = 32 * 1_048_576
        /// Chunks that are looked at before the pixels begin.
        static let chunks = 100
    }

    let width: Int
    let height: Int
    /// SHA-256, hexadecimal.
    let digest: String

    /// - Throws: ``APIError/invalidImage`` for anything that Apple would not show.
    init(_ bytes: [UInt8], size: RetentionImage.Size) throws {
        guard bytes.starts(with: Self.signature), bytes.count >= 33, Self.name(of: bytes, at: 8) == "IHDR" else {
            throw APIError.invalidImage
        }
        width = Self.number(in: bytes, at: 16)
        height = Self.number(in: bytes, at: 20)
        let fits =
            switch size {
            case .full: width == 3_840 && (160...2_160).contains(height)
            case .bulletPoint: width == 1_024 && height == 1_024
            }
        // Colour types 4 and 6 have an alpha channel.
        guard fits, ![4, 6].contains(bytes[25]), !Self.hasTransparentColour(bytes) else { throw APIError.invalidImage }
        digest = SHA256.hash(data: bytes).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    /// Whether a tRNS chunk stands before the pixels.
    private static func hasTransparentColour(_ bytes: [UInt8]) -> Bool {
        var position = 8
        for _ in 0..<Limit.chunks {
            guard position + 8 <= bytes.count else { return false }
            let name = name(of: bytes, at: position)
            if name == "tRNS" { return true }
            if name == "IDAT" { return false }
            // Length, name, data, check sum.
            position += 12 + number(in: bytes, at: position)
        }
        return false
    }

    private static func name(of bytes: [UInt8], at position: Int) -> String {
        String(decoding: bytes[position + 4..<position + 8], as: UTF8.self)
    }

    private static func number(in bytes: [UInt8], at position: Int) -> Int {
        bytes[position..<position + 4].reduce(0) { $0 << 8 | Int($1) }
    }
}
