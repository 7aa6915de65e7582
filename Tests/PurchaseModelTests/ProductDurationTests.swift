import Foundation
import PurchaseModel
import Testing

@Suite("Product durations")
struct ProductDurationTests {
    private func date(_ text: String) throws -> Date {
        try Date(text, strategy: .iso8601)
    }

    @Test(
        "days, weeks, months and years are added by the calendar",
        arguments: [
            ("P30D", "2026-01-01T10:00:00Z", "2026-01-31T10:00:00Z"),
            ("P1W", "2026-02-25T10:00:00Z", "2026-03-04T10:00:00Z"),
            ("P1M", "2026-01-31T10:00:00Z", "2026-02-28T10:00:00Z"),
            ("P1M", "2024-01-31T10:00:00Z", "2024-02-29T10:00:00Z"),
            ("P1M", "2026-03-31T23:59:59Z", "2026-04-30T23:59:59Z"),
            ("P1M", "2026-02-28T10:00:00Z", "2026-03-28T10:00:00Z"),
            ("P12M", "2024-02-29T10:00:00Z", "2025-02-28T10:00:00Z"),
            ("P13M", "2025-12-31T00:00:00Z", "2027-01-31T00:00:00Z"),
            ("P1Y", "2024-02-29T10:00:00Z", "2025-02-28T10:00:00Z"),
            ("P4Y", "2024-02-29T10:00:00Z", "2028-02-29T10:00:00Z"),
            ("P1000Y", "2026-11-21T10:00:00Z", "3026-11-21T10:00:00Z"),
            // The days on which clocks change in Europe and in America: a day has 24 hours wherever this runs.
            ("P1D", "2026-03-28T22:30:00Z", "2026-03-29T22:30:00Z"),
            ("P1D", "2026-11-01T05:30:00Z", "2026-11-02T05:30:00Z"),
            ("P1M", "2026-12-31T23:30:00+02:00", "2027-01-31T21:30:00Z"),
        ])
    func adds(_ text: String, _ start: String, _ end: String) throws {
        let duration = try #require(ProductDuration(text))
        #expect(duration.description == text)
        #expect(duration.end(after: try date(start)) == (try date(end)))
    }

    @Test(
        "anything else is no duration",
        arguments: ["", "P", "30D", "PD", "P0D", "P-1D", "P+1D", "P1.5M", "P1001D", "P1H", "PT1M", "P1M2D", "P１D"])
    func refuses(_ text: String) {
        #expect(ProductDuration(text) == nil)
    }
}
