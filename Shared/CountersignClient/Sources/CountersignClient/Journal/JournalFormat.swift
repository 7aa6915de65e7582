/// The bytes of a journal: a header, then records, each with a marker, its length and a checksum.
///
/// | part | bytes |
/// |---|---|
/// | header | `CSPQUEUE`, version (4), checksum of the 12 before (4) |
/// | record | marker A5 5A, length of the payload (4), checksum of length and payload (4), payload (JSON) |
///
/// Numbers are little-endian, checksums CRC-32. A record's JSON may have further fields, and there may be further kinds of
/// records, without another version: what a reader does not know it keeps. Another version is one that it cannot read.
enum JournalFormat {
    /// The version that is written.
    static let version: UInt32 = 1
    static let headerLength = 16
    static let recordOverhead = 10
    /// The largest payload in bytes: a signed transaction, and room for the rest.
    static let payloadMaximum = 256 << 10
    private static let magic = Array("CSPQUEUE".utf8)
    private static let marker: [UInt8] = [0xA5, 0x5A]

    /// What a file holds.
    struct Content {
        /// The version of the header; nil where there is no readable header.
        var version: UInt32?
        /// The payloads that are whole, in order.
        var payloads: [[UInt8]] = []
        /// How many bytes are no part of a whole record.
        var damagedBytes = 0
        /// Whether the damage is all at the end, as a write that was cut off leaves it.
        var isDamagedAtEndOnly = true
    }

    static var header: [UInt8] {
        var bytes = magic
        append(version, to: &bytes)
        append(CRC32.of(bytes[...]), to: &bytes)
        return bytes
    }

    /// A record around a payload.
    static func record(_ payload: [UInt8]) -> [UInt8] {
        var bytes = marker
        bytes.reserveCapacity(recordOverhead + payload.count)
        append(UInt32(payload.count), to: &bytes)
        append(CRC32.of(bytes[2..<6], payload[...]), to: &bytes)
        bytes.append(contentsOf: payload)
        return bytes
    }

    /// Reads a file as far as it is whole; after a damaged place it goes on with the next whole record.
    static func read(_ bytes: [UInt8]) -> Content {
        var content = Content()
        guard bytes.count >= headerLength, Array(bytes[0..<8]) == magic,
            number(bytes, at: 12) == CRC32.of(bytes[0..<12])
        else {
            content.damagedBytes = bytes.count
            return content
        }
        content.version = number(bytes, at: 8)
        guard content.version == version else { return content }
        var position = headerLength
        while position < bytes.count {
            if let payload = payload(bytes, at: position) {
                if content.damagedBytes > 0 { content.isDamagedAtEndOnly = false }
                content.payloads.append(Array(bytes[payload]))
                position = payload.upperBound
            } else {
                content.damagedBytes += 1
                position += 1
            }
        }
        return content
    }

    private static func payload(_ bytes: [UInt8], at position: Int) -> Range<Int>? {
        guard position + recordOverhead <= bytes.count, bytes[position] == marker[0], bytes[position + 1] == marker[1]
        else { return nil }
        let length = Int(number(bytes, at: position + 2))
        let start = position + recordOverhead
        guard length <= payloadMaximum, start + length <= bytes.count else { return nil }
        let checksum = CRC32.of(bytes[(position + 2)..<(position + 6)], bytes[start..<(start + length)])
        return number(bytes, at: position + 6) == checksum ? start..<(start + length) : nil
    }

    private static func number(_ bytes: [UInt8], at position: Int) -> UInt32 {
        (0..<4).reduce(0) { $0 | UInt32(bytes[position + $1]) << UInt32(8 * $1) }
    }

    private static func append(_ number: UInt32, to bytes: inout [UInt8]) {
        for shift in [0, 8, 16, 24] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }
}

/// CRC-32 as in ISO 3309 (the one of zip files).
enum CRC32 {
    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 0 ? value >> 1 : value >> 1 ^ 0xEDB8_8320 }
    }

    /// The checksum of the parts, one after the other.
    static func of(_ parts: ArraySlice<UInt8>...) -> UInt32 {
        var value: UInt32 = 0xFFFF_FFFF
        for part in parts {
            for byte in part { value = table[Int((value ^ UInt32(byte)) & 0xFF)] ^ value >> 8 }
        }
        return value ^ 0xFFFF_FFFF
    }
}
