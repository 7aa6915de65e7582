import Crypto
import Foundation
import Testing

@testable import AppStoreSimulator

@Suite("Receipt encoding")
struct ReceiptEncodingTests {
    private static let vendor = UUID()

    private static func purchase(
        _ id: String, _ kind: ReceiptContents.InAppPurchase.Kind
    ) -> ReceiptContents.InAppPurchase {
        ReceiptContents.InAppPurchase(
            quantity: 3, productId: "com.example.\(kind)", transactionId: id, originalTransactionId: "1\(id)",
            purchaseDate: 1_700_000_000_000, originalPurchaseDate: 1_600_000_000_000, kind: kind,
            expiresDate: kind == .autoRenewableSubscription ? 1_702_592_000_000 : nil,
            cancellationDate: id == "2" ? 1_701_000_000_000 : nil, productItemId: 1_292_258_376,
            webOrderLineItemId: kind == .autoRenewableSubscription ? 2_000_000_098_137_843 : 0,
            isTrialPeriod: id == "3", isInIntroOfferPeriod: id == "4", promotionalOfferId: id == "3" ? "spring" : nil)
    }

    static func contents(
        _ environment: StoreEnvironment, platform: String = "iOS", purchases: Int = 4
    ) -> ReceiptContents {
        let kinds: [ReceiptContents.InAppPurchase.Kind] = [
            .consumable, .nonConsumable, .autoRenewableSubscription, .autoRenewableSubscription,
        ]
        return ReceiptContents(
            environment: environment, platform: platform, bundleId: "com.example.game", applicationVersion: "1.0.5",
            originalApplicationVersion: "1.0", creationDate: 1_745_980_231_000,
            originalPurchaseDate: 1_375_340_400_000, appItemId: 497_799_835, downloadId: 30_015_324_719_813,
            versionExternalIdentifier: 813_293_765, vendorIdentifier: vendor, accountId: "alice",
            inAppPurchases: (0..<purchases).map { purchase("\($0 + 1)", kinds[$0 % kinds.count]) })
    }

    @Test("what is written is read again", arguments: StoreEnvironment.allCases, ["iOS", "macOS"])
    func roundTrip(_ environment: StoreEnvironment, _ platform: String) throws {
        let contents = Self.contents(environment, platform: platform)
        var read = try #require(ReceiptContents(payload: contents.encoded()))
        read.inAppPurchases.sort { $0.transactionId < $1.transactionId }
        #expect(read == contents)
    }

    @Test("thousands of purchases, long names and odd letters are no trouble")
    func sizes() throws {
        var contents = Self.contents(.production, purchases: 2_000)
        contents.accountId = "guest:" + String(repeating: "ä", count: 200)
        contents.applicationVersion = String(repeating: "9", count: 300)
        let read = try #require(ReceiptContents(payload: contents.encoded()))
        #expect(read.inAppPurchases.count == 2_000)
        #expect(Set(read.inAppPurchases.map(\.transactionId)).count == 2_000)
        #expect(read.accountId == contents.accountId)
        #expect(read.applicationVersion == contents.applicationVersion)
    }

    @Test("a payload that was cut short or changed is not read as something else", .timeLimit(.minutes(1)))
    func damaged() {
        let payload = Self.contents(.sandbox).encoded()
        for count in 0..<payload.count { #expect(ReceiptContents(payload: Array(payload[..<count])) == nil) }
        for index in payload.indices {
            var changed = payload
            changed[index] ^= 0xFF
            // Whatever comes of it: no crash.
            _ = ReceiptContents(payload: changed)
        }
    }

    @Test("the hash ties the receipt to the device, as Apple's guide computes it")
    func hash() throws {
        let shape = try #require(ReceiptShape(payload: Self.contents(.production).encoded()))
        let opaque = try #require(shape.values[4])
        let bundleId = try #require(shape.values[2])
        let device = withUnsafeBytes(of: Self.vendor.uuid) { Array($0) }
        let expected = Array(Insecure.SHA1.hash(data: device + opaque + bundleId))
        #expect(shape.values[5] == expected)
        #expect(bundleId == [0x0C, 16] + Array("com.example.game".utf8))
    }

    @Test("dates are those of the calendar, in UTC and in Los Angeles")
    func dates() throws {
        var utc = Calendar(identifier: .gregorian)
        utc.timeZone = .gmt
        var pacific = utc
        pacific.timeZone = try #require(TimeZone(identifier: "America/Los_Angeles"))
        // Every 6 hours and 13 seconds from 2013 to 2040: each hour of a change of clocks is met many times.
        for seconds in stride(from: Int64(1_356_998_400), to: 2_208_988_800, by: 21_613) {
            let date = Date(timeIntervalSince1970: Double(seconds))
            for (time, calendar) in [
                (CalendarTime(seconds: seconds), utc), (CalendarTime(pacificSeconds: seconds), pacific),
            ] {
                let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
                let expected = [parts.year, parts.month, parts.day, parts.hour, parts.minute, parts.second]
                let found = [time.year, time.month, time.day, time.hour, time.minute, time.second].map { Int($0) }
                guard found != expected else { continue }
                Issue.record("\(seconds): \(found) is not \(expected)")
                return
            }
            #expect(CalendarTime.seconds(CalendarTime(seconds: seconds).internetText) == seconds)
        }
        #expect(CalendarTime(seconds: 1_745_980_231).internetText == "2025-04-30T02:30:31Z")
        #expect(CalendarTime.seconds("") == nil)
        #expect(CalendarTime.seconds("2025-04-30 02:30:31Z") == nil)
        #expect(CalendarTime.seconds("2025-04-3xT02:30:31Z") == nil)
    }

    @Test("the clocks of Los Angeles change at two in the morning")
    func clockChanges() {
        // 2025-03-09T10:00:00Z and 2025-11-02T09:00:00Z.
        #expect(CalendarTime(pacificSeconds: 1_741_514_399).hour == 1)
        #expect(CalendarTime(pacificSeconds: 1_741_514_400).hour == 3)
        #expect(CalendarTime(pacificSeconds: 1_762_073_999).hour == 1)
        #expect(CalendarTime(pacificSeconds: 1_762_074_000).hour == 1)
        #expect(CalendarTime(pacificSeconds: 1_762_077_600).hour == 2)
    }
}
