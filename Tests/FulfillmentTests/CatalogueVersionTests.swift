import Foundation
import Logging
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import ServiceRuntime
import Synchronization
import Testing

@testable import Fulfillment

/// An order says by which catalogue it was granted; a changed file is in use without a restart.
@Suite("Catalogue versions", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct CatalogueVersionTests {
    private func catalogue(_ id: String, gems: Int64 = 100, prices: [String: Int64] = [:]) -> Catalogue {
        Catalogue([
            Bench.app: [
                Catalogue.Product(
                    id: id, type: .consumable, items: [Catalogue.ItemGrant(item: "gem", amount: gems)],
                    entitlements: [], prices: prices)
            ]
        ])
    }

    @Test func `the same text has the same number, another text another, and both are kept`() async throws {
        try await TestDatabase.with { pool in
            let store = CatalogueStore(pool: pool)
            let first = try await store.version(of: "apps: {}")
            let second = try await store.version(of: "apps: { a: [] }")
            #expect(first != second)
            #expect(try await store.version(of: "apps: {}") == first)
            #expect(try await store.text(of: second) == "apps: { a: [] }")
            #expect(try await store.text(of: second + 1000) == nil)
        }
    }

    @Test func `many processes that begin at once agree on one number`() async throws {
        try await TestDatabase.with { pool in
            let store = CatalogueStore(pool: pool)
            let numbers = try await withThrowingTaskGroup(of: Int64.self) { group in
                for _ in 0..<16 { group.addTask { try await store.version(of: "apps: { b: [] }") } }
                return try await group.reduce(into: Set<Int64>()) { $0.insert($1) }
            }
            #expect(numbers.count == 1)
        }
    }

    @Test func `an order names the catalogue that granted it, a parked one none until it is granted`() async throws {
        try await Bench.with { bench in
            try await bench.settle([
                try await bench.verdict("s1", .genuine([Bench.signed("t1")])),
                try await bench.verdict("s2", .genuine([Bench.signed("t2", product: "gems.900")])),
            ])
            let first = try #require(try await bench.column("catalogue_version", of: "t1"))
            #expect(try await bench.column("catalogue_version", of: "t2") == nil)
            var later = bench
            later.products = catalogue("gems.900", gems: 900)
            #expect(try await later.grantParked() == 1)
            let second = try #require(try await bench.column("catalogue_version", of: "t2"))
            #expect(second != first)
            #expect(try await bench.column("catalogue_version", of: "t1") == first)
            try await bench.expectClean()
        }
    }

    @Test func `a price that is not expected is flagged, and granted all the same`() async throws {
        try await Bench.with { bench in
            var priced = bench
            priced.products = catalogue("gems.100", prices: ["EUR": 990])
            var dear = Bench.signed("t2")
            dear.priceMilliunits = 1_990
            var elsewhere = Bench.signed("t3")
            elsewhere.currency = "JPY"
            try await priced.settle([
                try await bench.verdict("s1", .genuine([Bench.signed("t1"), dear, elsewhere, Bench.entry("t4")]))
            ])
            #expect(try await bench.column("is_price_expected", of: "t1") == "true")
            #expect(try await bench.column("is_price_expected", of: "t2") == "false")
            #expect(try await bench.column("is_price_expected", of: "t3") == nil)
            #expect(try await bench.column("is_price_expected", of: "t4") == nil)
            #expect(try await bench.number("SELECT count(*) FROM orders WHERE state = 'granted'") == 4)
        }
    }

    @Test func `a season is good for as long as the catalogue says`() async throws {
        try await Bench.with { bench in
            var seasonal = bench
            seasonal.products = Catalogue([
                Bench.app: [
                    Catalogue.Product(
                        id: "season", type: .nonRenewing, items: [], entitlements: ["season"],
                        duration: ProductDuration("P30D"))
                ]
            ])
            var bought = Bench.signed("t1", product: "season")
            bought.productType = .nonRenewing
            try await seasonal.settle([try await bench.verdict("s1", .genuine([bought]))])
            #expect(
                try await bench.number(
                    """
                    SELECT extract(epoch FROM expires_at) - 1700000000 FROM entitlements
                    WHERE transaction_id = 't1' AND entitlement = 'season'
                    """) == 30 * 86_400)
        }
    }

    @Test func `a changed file is in use at the next look; a mistake in it changes nothing`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "catalogue-\(UUID().uuidString).yaml")
        defer { try? FileManager.default.removeItem(at: file) }
        func write(_ text: String) throws { try Data(text.utf8).write(to: file, options: .atomic) }
        try write("apps: { a: [{ id: x, type: consumable, grants: { gem: 1 } }] }")
        let current = CurrentCatalogue(try CatalogueFile.load(path: file.path)) { Int64($0.utf8.count) }
        let reload = CatalogueReload(
            path: file.path, every: .seconds(3600), current: current, logger: Logger(label: "tests"))
        let first = try await current.current()
        #expect(first.product(app: "a", id: "x")?.items.map(\.amount) == [1])
        try write("apps: { a: [{ id: x, type: nonsense }] }")
        try await reload.look()
        #expect(try await current.current() == first)
        try write("apps: { a: [{ id: x, type: consumable, grants: { gem: 200 } }] }")
        try await reload.look()
        let second = try await current.current()
        #expect(second.product(app: "a", id: "x")?.items.map(\.amount) == [200])
        #expect(second.version != first.version)
    }

    @Test func `a mistake is told once, and told again when it is made again`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "catalogue-\(UUID().uuidString).yaml")
        defer { try? FileManager.default.removeItem(at: file) }
        func write(_ text: String) throws { try Data(text.utf8).write(to: file, options: .atomic) }
        let good = "apps: { a: [{ id: x, type: consumable }] }"
        let bad = "apps: { a: [{ id: x, type: nonsense }] }"
        try write(good)
        let log = ErrorLines()
        let reload = CatalogueReload(
            path: file.path, every: .seconds(3600),
            current: CurrentCatalogue(try CatalogueFile.load(path: file.path)) { _ in 1 },
            logger: Logger(label: "tests") { _ in log })
        for text in [bad, good, bad] {
            try write(text)
            for _ in 0..<3 { try await reload.look() }
        }
        #expect(log.count == 2)
        try FileManager.default.removeItem(at: file)
        for _ in 0..<3 { try await reload.look() }
        #expect(log.count == 3)
    }

    @Test func `a catalogue that cannot be numbered yet is not used, and taken up at the next look`() async throws {
        struct Away: Error {}
        let file = FileManager.default.temporaryDirectory.appending(path: "catalogue-\(UUID().uuidString).yaml")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data("apps: { a: [] }".utf8).write(to: file)
        let isAway = Mutex(false)
        let current = CurrentCatalogue(try CatalogueFile.load(path: file.path)) { text in
            if isAway.withLock({ $0 }) { throw Away() }
            return Int64(text.utf8.count)
        }
        let reload = CatalogueReload(
            path: file.path, every: .seconds(3600), current: current, logger: Logger(label: "tests"))
        let first = try await current.current()
        try Data("apps: { b: [] }\n".utf8).write(to: file)
        isAway.withLock { $0 = true }
        await #expect(throws: Away.self) { try await reload.look() }
        #expect(try await current.current() == first)
        isAway.withLock { $0 = false }
        try await reload.look()
        #expect(try await current.current() != first)
    }

    /// Counts lines of level error.
    private struct ErrorLines: LogHandler {
        private final class Lines: Sendable {
            let count = Mutex(0)
        }

        private let lines = Lines()
        var count: Int { lines.count.withLock { $0 } }
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            if event.level >= .error { lines.count.withLock { $0 += 1 } }
        }
    }
}
