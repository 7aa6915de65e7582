package import Foundation

/// A spend's id as callers have it: `spd_` and 16 hexadecimal digits that tell nothing of how many spends there are.
package enum SpendId {
    private static let prefix = "spd_"
    private static let digits = 16
    /// Odd, so that every number has one that leads back; both are of 64 bits, and their product is 1.
    private static let (factor, inverse): (UInt64, UInt64) = (0x9E37_79B9_7F4A_7C15, 0xF1DE_83E1_9937_733D)

    /// The id of a spend's number.
    package static func text(_ number: Int64) -> String {
        let hexadecimal = String(UInt64(bitPattern: number) &* factor, radix: 16)
        return prefix + String(repeating: "0", count: digits - hexadecimal.utf8.count) + hexadecimal
    }

    /// The number of an id, also of one of the first version of the API, `spend_7`; nil for what is none.
    package static func number(_ text: String) -> Int64? {
        if text.hasPrefix("spend_") { return Int64(text.dropFirst(6)).flatMap { $0 > 0 ? $0 : nil } }
        guard text.hasPrefix(prefix), text.utf8.count == prefix.utf8.count + digits,
            let scrambled = UInt64(text.dropFirst(prefix.utf8.count), radix: 16)
        else { return nil }
        let number = Int64(bitPattern: scrambled &* inverse)
        return number > 0 ? number : nil
    }
}

/// An intent's id as callers have it: `int_` and the 32 hexadecimal digits of its UUID, which stays Apple's appAccountToken.
package enum IntentId {
    private static let prefix = "int_"

    /// The id of an intent's UUID.
    package static func text(_ uuid: UUID) -> String {
        prefix + uuid.uuidString.lowercased().replacing("-", with: "")
    }

    /// The UUID of an id, also where it is the UUID itself; nil for what is none.
    package static func uuid(_ text: String) -> UUID? {
        guard text.hasPrefix(prefix) else { return UUID(uuidString: text) }
        let digits = Array(text.utf8.dropFirst(prefix.utf8.count))
        guard digits.count == 32 else { return nil }
        var parts: [String] = []
        var rest = digits[...]
        for count in [8, 4, 4, 4, 12] {
            parts.append(String(decoding: rest.prefix(count), as: UTF8.self))
            rest = rest.dropFirst(count)
        }
        return UUID(uuidString: parts.joined(separator: "-"))
    }
}
