import Foundation
import Testing

@testable import AppStoreSimulator

@Suite("Notifications that go astray")
struct FaultNotificationTests {
    private static func batch(_ count: Int64) -> [NotificationRecord] {
        (1...count).map { number in
            NotificationRecord(
                notificationUUID: "n\(number)", bundleId: "b", environment: .production, notificationType: "TEST",
                createdDate: number, signedPayload: "a.b.c", attempts: [], sequence: number)
        }
    }

    private static func book(_ faults: NotificationFaults) throws -> FaultBook {
        let book = FaultBook()
        try book.replace(rules: [], notifications: faults)
        return book
    }

    @Test("without faults a batch is sent as it is")
    func none() {
        let book = FaultBook()
        #expect(book.plan(for: Self.batch(5)).map(\.sequence) == [1, 2, 3, 4, 5])
        #expect(!book.losesNotification())
        #expect(book.notificationDelay == .zero)
    }

    @Test("out of order is never the order it came in, loses nothing, and a seed repeats it")
    func outOfOrder() throws {
        for count: Int64 in [2, 3, 10] {
            for seed: Int64 in 0..<20 {
                let plans = try (0..<2).map { _ in
                    try Self.book(NotificationFaults(outOfOrder: true, seed: seed)).plan(for: Self.batch(count))
                        .map(\.sequence)
                }
                #expect(plans[0] == plans[1])
                #expect(plans[0] != Array(1...count))
                #expect(plans[0].sorted() == Array(1...count))
            }
        }
        let single = try Self.book(NotificationFaults(duplicateShare: 1, outOfOrder: true)).plan(for: Self.batch(1))
        #expect(single.map(\.sequence) == [1, 1])
    }

    @Test("a share is sent twice, the repeat right behind")
    func duplicates() throws {
        let all = try Self.book(NotificationFaults(duplicateShare: 1))
        #expect(all.plan(for: Self.batch(3)).map(\.sequence) == [1, 1, 2, 2, 3, 3])
        #expect(all.report.notificationCounts.repeated == 3)
        let plans = try (0..<2).map { _ in
            try Self.book(NotificationFaults(duplicateShare: 0.5, seed: 3)).plan(for: Self.batch(100)).map(\.sequence)
        }
        #expect(plans[0] == plans[1])
        #expect((120...180).contains(plans[0].count))
    }

    @Test("a share is lost")
    func lost() throws {
        let book = try Self.book(NotificationFaults(dropShare: 0.5, delayMs: 20, seed: 5))
        let lost = (0..<100).count { _ in book.losesNotification() }
        #expect((25...75).contains(lost))
        #expect(book.report.notificationCounts.lost == lost)
        #expect(book.notificationDelay == .milliseconds(20))
        book.clear()
        #expect(!book.losesNotification())
    }
}
