import Foundation
import Messages
import Persistence
import PersistenceTesting
import PurchaseModel
import Testing

@testable import Fulfillment

/// A device that shows what Apple's server said was refunded: old data, or the first word of a reversal.
@Suite("Doubted refunds", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct DoubtedRefundTests {
    private static let day: Double = 86_400
    private static let key = [
        "app_store_server_api:", "  { issuer_id: 57246542-96fe-1a63-e053-0824d011072a, key_id: 2X9R4HXF34,",
        "    private_key_file: /nowhere/key.p8 }",
    ]

    /// Fulfillment of refundable products, for an app about which Apple can be asked, or cannot.
    private static func with(key isThere: Bool, _ body: (Bench) async throws -> Void) async throws {
        try await Bench.withRefunds { bench in
            var bench = bench
            bench.apps = isThere ? try Bench.apps(key[0], key[1], key[2]) : CurrentApps(nil)
            try await body(bench)
            try await bench.expectClean()
        }
    }

    private static func month(_ id: String = "m1", at seconds: Double) -> Transaction {
        Bench.bought(id, product: "vip.monthly", at: seconds)
    }

    /// `kind cause times` of what Apple is asked.
    private func questions(_ bench: Bench) async throws -> [String] {
        try await bench.texts("SELECT concat_ws(' ', kind, cause, customer) AS value FROM sweep_tasks ORDER BY 1")
    }

    private func expectRefunded(_ bench: Bench, _ id: String = "m1") async throws {
        #expect(try await bench.standing(of: id) == "revoked revoked_by_apple anna")
        #expect(try await bench.balance() == 0)
        #expect(try await bench.entitlements(of: id) == ["vip anna refund"])
    }

    @Test("a month that a device shows without the refund stays refunded", arguments: [5, day, 400 * day])
    func stays(seconds: Double) async throws {
        try await Self.with(key: true) { bench in
            try await bench.post(Self.month(at: 1))
            try await bench.notify(Bench.refunded("m1", product: "vip.monthly", at: 10))
            try await expectRefunded(bench)
            #expect(try await questions(bench).isEmpty)
            try await bench.post(Self.month(at: 10 + seconds))
            try await expectRefunded(bench)
            #expect(try await questions(bench) == ["history doubt t:m1"])
        }
    }

    @Test func `Apple is asked once for each statement that says something new`() async throws {
        try await Self.with(key: true) { bench in
            try await bench.post(Self.month(at: 1))
            try await bench.notify(Bench.refunded("m1", product: "vip.monthly", at: 10))
            // Signed before the refund was told: nothing to ask.
            try await bench.post(Self.month(at: 9))
            #expect(try await questions(bench).isEmpty)
            try await bench.post(Self.month(at: 15))
            let asked = "SELECT asked_at::text AS value FROM sweep_tasks"
            let first = try await bench.texts(asked)
            try await bench.post(Self.month(at: 15))
            try await bench.post(Self.month(at: 12))
            #expect(try await bench.texts(asked) == first && first.count == 1)
            try await bench.post(Self.month(at: 16))
            #expect(try await bench.texts(asked) != first)
            #expect(try await questions(bench).count == 1)
        }
    }

    @Test func `Apple's answer decides: it is given back, or stays refunded`() async throws {
        try await Self.with(key: true) { bench in
            for id in ["m1", "m2"] {
                try await bench.post(Self.month(id, at: 1))
                try await bench.notify(Bench.refunded(id, product: "vip.monthly", at: 10))
                try await bench.post(Self.month(id, at: 15))
            }
            try await bench.notify(Self.month("m1", at: 20))
            try await bench.notify(Bench.refunded("m2", product: "vip.monthly", at: 20))
            #expect(try await bench.standing(of: "m1") == "granted - anna")
            #expect(try await bench.standing(of: "m2") == "revoked revoked_by_apple anna")
            #expect(try await bench.balance() == 10)
            #expect(try await bench.lines(of: "m1") == ["grant 1 10 gem", "revocation 1 -10 gem", "reversal 1 10 gem"])
        }
    }

    @Test func `a refund before any purchase, then a device's copy: nothing is granted, and Apple is asked`()
        async throws
    {
        try await Self.with(key: true) { bench in
            try await bench.notify(Bench.refunded("m1", product: "vip.monthly", at: 10))
            try await bench.post(Self.month(at: 15))
            #expect(try await bench.standing(of: "m1") == "revoked revoked_by_apple anna")
            #expect(try await questions(bench) == ["history doubt t:m1"])
            #expect(try await bench.lines(of: "m1").isEmpty)
        }
    }

    @Test func `where Apple cannot be asked, a device counts a day after the refund, and not before`() async throws {
        try await Self.with(key: false) { bench in
            try await bench.post(Self.month(at: 1))
            try await bench.notify(Bench.refunded("m1", product: "vip.monthly", at: 10))
            try await bench.post(Self.month(at: 15))
            try await bench.post(Self.month(at: 10 + Self.day))
            try await expectRefunded(bench)
            try await bench.post(Self.month(at: 11 + Self.day))
            #expect(try await bench.standing(of: "m1") == "granted - anna")
            #expect(try await bench.balance() == 10)
            // Told anew by Apple's server since.
            try await bench.notify(Bench.refunded("m1", product: "vip.monthly", at: 12 + 2 * Self.day))
            try await expectRefunded(bench)
            #expect(try await questions(bench).isEmpty)
        }
    }

    @Test("in any order, and in one batch or several, the end is the same", arguments: [true, false], 1...3)
    func anyOrder(key: Bool, batches: Int) async throws {
        try await Self.with(key: key) { bench in
            for index in 0..<6 {
                let id = "m\(index)"
                let places = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]][index]
                var verdicts: [VerdictMessage] = []
                for place in places {
                    let submission = UUID().uuidString
                    verdicts.append(
                        place == 1
                            ? try await bench.notice([Bench.refunded(id, product: "vip.monthly", at: 10)])
                            : try await bench.verdict(
                                submission, .genuine([Self.month(id, at: place == 0 ? 1 : 15)]), account: "anna"))
                }
                let size = (verdicts.count + batches - 1) / batches
                for start in stride(from: 0, to: verdicts.count, by: size) {
                    try await bench.settle(Array(verdicts[start..<min(start + size, verdicts.count)]))
                }
                #expect(try await bench.standing(of: id) == "revoked revoked_by_apple anna")
            }
            #expect(try await bench.balance() == 0)
        }
    }
}
