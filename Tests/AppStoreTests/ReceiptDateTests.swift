import Foundation
import Testing

@testable import AppStore

@Suite("Dates of receipts")
struct ReceiptDateTests {
    private func seconds(_ text: String) -> Double? {
        ReceiptDate.date(Array(text.utf8)[...])?.timeIntervalSince1970
    }

    @Test("RFC 3339 is read")
    func good() {
        #expect(seconds("1970-01-01T00:00:00Z") == 0)
        #expect(seconds("2013-08-01T07:00:00Z") == 1_375_340_400)
        #expect(seconds("2000-02-29T23:59:59Z") == 951_868_799)
        #expect(seconds("1969-12-31T23:59:59Z") == -1)
        #expect(seconds("2020-07-22T18:33:15+01:00") == 1_595_439_195)
        #expect(seconds("2020-07-22T16:33:15-01:00") == 1_595_439_195)
        #expect(seconds("2020-07-22T17:33:15.25Z") == 1_595_439_195.25)
        #expect(seconds("2020-07-22T17:33:15.123456789Z") == 1_595_439_195.123)
    }

    @Test("every day of four centuries follows the one before")
    func everyDay() throws {
        var expected = try #require(seconds("1900-01-01T00:00:00Z"))
        for year in 1_900..<2_300 {
            for month in 1...12 {
                for day in 1...31 {
                    let text = String(format: "%04d-%02d-%02dT00:00:00Z", year, month, day)
                    guard let found = seconds(text) else { continue }
                    #expect(found == expected, "\(text)")
                    expected += 86_400
                }
            }
        }
        #expect(seconds("2300-01-01T00:00:00Z") == expected)
    }

    @Test(
        "anything else is refused",
        arguments: [
            "", "2020-07-22", "2020-07-22T17:39:08", "2020-07-22 17:39:08Z", "2020-13-22T17:39:08Z",
            "2021-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2020-07-32T17:39:08Z", "2020-07-00T17:39:08Z",
            "2020-07-22T24:00:00Z", "2020-07-22T17:60:08Z", "2020-07-22T17:39:60Z", "2020-07-22T17:39:08ZZ",
            "2020-07-22T17:39:08.Z", "2020-07-22T17:39:08+0100", "2020-07-22T17:39:08+1:00", "0000-01-01T00:00:00Z",
            "+020-07-22T17:39:08Z", "2020-07-22T17:39:08z", "2020-07-22T17:39:08.12345678901234567Z",
            "2020-07-22T17:39:08+24:00",
        ])
    func bad(_ text: String) {
        #expect(seconds(text) == nil)
    }
}
