package import Foundation

/// Ids of events and requests: a prefix and a UUID of version 7, so that they sort by time.
///
/// Source: RFC 9562, section 5.7.
package enum EventIdentifier {
    /// A new id, `evt_` and 32 hexadecimal digits.
    package static func event(at date: Date) -> String {
        "evt_" + version7(at: date)
    }

    /// What no id of an event that was made at this time or later sorts before.
    package static func eventFloor(at date: Date) -> String {
        "evt_" + String(padded(milliseconds(date) << 16).dropLast(4))
    }

    /// A new correlation id, `req_` and 32 hexadecimal digits.
    package static func correlation(at date: Date) -> String {
        "req_" + version7(at: date)
    }

    private static func version7(at date: Date) -> String {
        let high = milliseconds(date) << 16 | 0x7000 | UInt64.random(in: 0...0xFFF)
        let low = 0x8000_0000_0000_0000 | UInt64.random(in: 0...0x3FFF_FFFF_FFFF_FFFF)
        return padded(high) + padded(low)
    }

    private static func milliseconds(_ date: Date) -> UInt64 {
        UInt64(max(0, date.timeIntervalSince1970 * 1000)) & 0xFFFF_FFFF_FFFF
    }

    private static func padded(_ value: UInt64) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
