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
            ("P1Y", "2024-02-29T10:00:00Z", "2025-02-28T10:00:00Z"),
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
