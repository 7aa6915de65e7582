import Foundation

/// UUIDs as text: Foundation's functions print and scan them as C does, which takes as long as a small message.
enum JSONUUID {
    private static let length = 36
    private static let digits: StaticString = "0123456789ABCDEF"
    /// The bytes behind which a hyphen stands.
    private static let hyphens: UInt16 = 1 << 3 | 1 << 5 | 1 << 7 | 1 << 9

    /// What a text of 32 digits and four hyphens means; nil for any other.
    static func uuid(_ text: UnsafeBufferPointer<UInt8>) -> UUID? {
        guard text.count == length else { return nil }
        var uuid = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)).uuid
        let isRight = withUnsafeMutableBytes(of: &uuid) { bytes in
            var place = 0
            for index in 0..<16 {
                guard let high = JSONEscapes.hexDigit(text[place]), let low = JSONEscapes.hexDigit(text[place + 1])
                else { return false }
                bytes[index] = UInt8(high << 4 | low)
                place += 2
                if hyphens >> index & 1 == 1 {
                    guard text[place] == UInt8(ascii: "-") else { return false }
                    place += 1
                }
            }
            return true
        }
        return isRight ? UUID(uuid: uuid) : nil
    }

    /// Appends a UUID in capital letters, as Foundation writes it.
    static func append(_ uuid: UUID, to bytes: inout JSONMemory<UInt8>) {
        withUnsafeBytes(of: uuid.uuid) { uuid in
            for index in 0..<16 {
                bytes.append(digits.utf8Start[Int(uuid[index] >> 4)])
                bytes.append(digits.utf8Start[Int(uuid[index] & 15)])
                if hyphens >> index & 1 == 1 { bytes.append(UInt8(ascii: "-")) }
            }
        }
    }
}
