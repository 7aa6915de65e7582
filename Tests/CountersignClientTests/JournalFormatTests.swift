import StoreTesting
import Testing

@testable import CountersignClient

@Suite("The journal's bytes")
struct JournalFormatTests {
    static let payloads = (0..<5).map { number in Array("{\"kind\":\"finished\",\"transaction\":\"\(number)\"}".utf8) }
    static let bytes = JournalFormat.header + payloads.flatMap { JournalFormat.record($0) }

    @Test("what was written is read")
    func whole() {
        let content = JournalFormat.read(Self.bytes)
        #expect(content.version == 1)
        #expect(content.payloads == Self.payloads)
        #expect(content.damagedBytes == 0)
    }

    @Test("CRC-32 is that of everybody else")
    func checksum() {
        #expect(CRC32.of(Array("123456789".utf8)[...]) == 0xCBF4_3926)
        #expect(CRC32.of(Array("1234".utf8)[...], Array("56789".utf8)[...]) == 0xCBF4_3926)
    }

    @Test("a file that is cut off anywhere holds every record that is whole, and no other")
    func torn() {
        var ends = [JournalFormat.headerLength]
        for payload in Self.payloads {
            ends.append(ends[ends.count - 1] + JournalFormat.recordOverhead + payload.count)
        }
        for length in JournalFormat.headerLength...Self.bytes.count {
            let content = JournalFormat.read(Array(Self.bytes.prefix(length)))
            let whole = ends.count { $0 <= length } - 1
            #expect(content.payloads == Array(Self.payloads.prefix(whole)), "cut off at \(length)")
            #expect(content.damagedBytes == length - ends[whole])
            #expect(content.isDamagedAtEndOnly)
        }
    }

    @Test("a byte that changed anywhere costs the record that it is in, and no other")
    func damaged() {
        for position in JournalFormat.headerLength..<Self.bytes.count {
            var bytes = Self.bytes
            bytes[position] ^= 0x5A
            let content = JournalFormat.read(bytes)
            #expect(content.payloads.count == Self.payloads.count - 1, "changed at \(position)")
            #expect(content.payloads.allSatisfy(Self.payloads.contains))
            #expect(content.damagedBytes > 0)
        }
    }

    @Test("a header that is cut off or damaged makes no version")
    func header() {
        for length in 0..<JournalFormat.headerLength {
            #expect(JournalFormat.read(Array(Self.bytes.prefix(length))).version == nil)
        }
        for position in 0..<JournalFormat.headerLength {
            var bytes = Self.bytes
            bytes[position] ^= 1
            #expect(JournalFormat.read(bytes).version == nil)
        }
    }

    @Test("a length beyond the file or the limit is damage, and no reason to end")
    func absurdLength() {
        for length in [UInt32.max, UInt32(JournalFormat.payloadMaximum) + 1, 1_000] {
            var bytes = Self.bytes + [0xA5, 0x5A]
            for shift in [0, 8, 16, 24] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: length >> shift)) }
            bytes += [0, 0, 0, 0, 1, 2, 3]
            let content = JournalFormat.read(bytes)
            #expect(content.payloads == Self.payloads)
            #expect(content.damagedBytes == 13)
        }
    }
}
