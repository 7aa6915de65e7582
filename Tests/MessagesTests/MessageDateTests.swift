import Foundation
import Messages
import Testing

@Suite("Dates of messages are Foundation's")
struct MessageDateTests {
    private static let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    private func agree(_ date: Date, sourceLocation: SourceLocation = #_sourceLocation) {
        let text = MessageCoding.text(date)
        #expect(text == date.addingTimeInterval(0.0005).formatted(Self.style), sourceLocation: sourceLocation)
        #expect(MessageCoding.date(text) == (try? Self.style.parse(text)), sourceLocation: sourceLocation)
    }

    @Test("ten thousand instants of whole milliseconds, from 1583 on")
    func milliseconds() {
        for _ in 0..<10_000 {
            agree(
                Date(timeIntervalSince1970: Double(Int64.random(in: -12_212_553_600_000...253_402_000_000_000)) / 1_000)
            )
        }
    }

    @Test("ten thousand instants of our time, as precise as a Date is")
    func precise() {
        for _ in 0..<10_000 { agree(Date(timeIntervalSince1970: Double.random(in: 0...4_000_000_000))) }
    }

    @Test(
        "days at which a calendar is wrong",
        arguments: [
            "2000-02-29T00:00:00.000Z", "1900-02-28T23:59:59.999Z", "1900-03-01T00:00:00.000Z",
            "2024-12-31T23:59:59.999Z", "2100-02-28T23:59:59.999Z", "2001-01-01T00:00:00.000Z",
            "2000-12-31T23:59:59.999Z", "1970-01-01T00:00:00.000Z", "9999-12-30T00:00:00.000Z",
        ])
    func edges(text: String) throws {
        let date = try Self.style.parse(text)
        #expect(MessageCoding.date(text) == date)
        #expect(MessageCoding.text(date) == text)
    }

    @Test(
        "a text in another form means what Foundation says, or nothing",
        arguments: [
            "", "2026", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.5Z", "2026-01-01T01:00:00.000+01:00",
            "2026-13-01T00:00:00.000Z", "2026-02-30T00:00:00.000Z", "2026-01-01T24:00:00.000Z",
            "2026-01-01T00:60:00.000Z", "2026-01-01T00:00:60.000Z", "2026-01-01t00:00:00.000z",
            "2026-01-01 00:00:00.000Z",
            "2026-01-01T00:00:00,000Z", "０026-01-01T00:00:00.000Z", "2026-01-0aT00:00:00.000Z",
        ])
    func others(text: String) {
        let whole = Date.ISO8601FormatStyle(includingFractionalSeconds: false)
        #expect(MessageCoding.date(text) == (try? Self.style.parse(text)) ?? (try? whole.parse(text)))
    }

    @Test(
        "a time that somebody names is read by RFC 3339",
        arguments: [
            ("2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z"),
            ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000Z"),
            ("2026-01-01t00:00:00.5z", "2026-01-01T00:00:00.500Z"),
            ("2026-01-01T00:00:00.250000000+00:00", "2026-01-01T00:00:00.250Z"),
            ("2026-01-01T00:30:00+01:00", "2025-12-31T23:30:00.000Z"),
            ("2024-02-29T23:59:59-05:30", "2024-03-01T05:29:59.000Z"),
            ("2000-02-29T00:00:00Z", "2000-02-29T00:00:00.000Z"),
        ])
    func strict(text: String, meant: String) throws {
        #expect(MessageCoding.strictDate(text) == (try Self.style.parse(meant)))
    }

    @Test(
        "what RFC 3339 does not have, or no calendar, is no time that somebody names",
        arguments: [
            "", "yesterday", "2026", "2026-01-01", "300000-01-01T00:00:00Z", "+2026-01-01T00:00:00Z",
            "0000-01-01T00:00:00Z", "2026-02-31T00:00:00Z", "2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z",
            "2026-13-45T00:00:00Z",
            "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:60Z", "2026-01-01T00:00:00Zfoo", "2026-01-01T00:00:00Z ", " 2026-01-01T00:00:00Z",
            "2026-01-01T00:00:00", "2026-01-01 00:00:00Z", "2026-01-01T00:00Z", "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00+0100", "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00+01:60", "2026-1-1T00:00:00Z",
            "０026-01-01T00:00:00Z", "2026-01-01T00:00:00.000ZZ", "2026-01-01T00:00:00Z\n",
        ])
    func noTime(text: String) {
        #expect(MessageCoding.strictDate(text) == nil)
    }
}
