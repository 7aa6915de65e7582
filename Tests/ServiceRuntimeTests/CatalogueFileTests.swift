import Foundation
import PurchaseModel
import ServiceRuntime
import Testing

/// Catalogues as studios write them, good and bad.
@Suite("Catalogue files")
struct CatalogueFileTests {
    private func load(_ text: String) throws -> Catalogue {
        let file = FileManager.default.temporaryDirectory.appending(path: "catalogue-\(UUID().uuidString).yaml")
        try Data(text.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        return try CatalogueFile.load(path: file.path).catalogue
    }

    private func mistake(_ text: String) -> String {
        do {
            _ = try load(text)
            return "no mistake"
        } catch {
            return "\(error)"
        }
    }

    @Test("everything that a product can have is read")
    func whole() throws {
        let catalogue = try load(
            """
            apps:
              com.example.game:
                - { id: gems.100, type: consumable, grants: { gem: 100, dust: 5 }, prices: { USD: 990, JPY: 160000 } }
                - id: season
                  type: non_renewing
                  duration: P90D
                  entitlements: [season, chat]
            """)
        let gems = try #require(catalogue.product(app: "com.example.game", id: "gems.100"))
        #expect(gems.type == .consumable)
        #expect(gems.items.map(\.item) == ["dust", "gem"])
        #expect(gems.items.map(\.amount) == [5, 100])
        #expect(gems.prices == ["USD": 990, "JPY": 160_000])
        #expect(gems.duration == nil)
        let season = try #require(catalogue.product(app: "com.example.game", id: "season"))
        #expect(season.duration?.description == "P90D")
        #expect(season.entitlements == ["season", "chat"])
    }

    @Test("every mistake is told, each with its line")
    func lines() {
        let told = mistake(
            """
            apps:
              com.example.game:
                - { id: a, type: consumable, grants: { gem: 0 } }
                - { id: b, type: subscription }
                - { id: a, type: consumable }
                - { id: c, type: non_renewing }
                - { id: d, type: consumable, grant: { gem: 1 } }
            """)
        #expect(told.contains("line 3: a of com.example.game, gem: an amount"))
        #expect(told.contains("line 4: the type of b of com.example.game is \"subscription\""))
        #expect(told.contains("line 5: a of com.example.game stands on line 3 already"))
        #expect(told.contains("line 6: c of com.example.game lacks `duration`"))
        #expect(told.contains("line 7: `grant` is not one of id, type, grants"))
    }

    @Test(
        "what cannot be meant is refused",
        arguments: [
            ("apps: [", "it is not YAML"), ("products: {}", "`apps` is missing"), ("", "`apps` is missing"),
            ("apps: { a: { id: x } }", "an app has a list of products"), ("apps: { a: [x] }", "is a mapping with `id`"),
            ("apps: { a: [{ type: consumable }] }", "lacks `id`"), ("apps: { a: [{ id: x }] }", "lacks `type`"),
            ("apps: { a: [{ id: x, type: consumable, grants: { gem: 1.5 } }] }", "a whole number"),
            ("apps: { a: [{ id: x, type: consumable, grants: [gem] }] }", "not a mapping of names to numbers"),
            ("apps: { a: [{ id: x, type: consumable, duration: P1M }] }", "only non_renewing has one"),
            ("apps: { a: [{ id: x, type: non_renewing, duration: 30 days }] }", "not P and a number"),
            ("apps: { a: [{ id: x, type: consumable, prices: { usd: 990 } }] }", "not a currency"),
            ("apps: { a: [{ id: x, type: consumable, entitlements: [v, v] }] }", "named twice"),
            ("apps: {}\nproducts: {}", "`products` is not a field of a catalogue"),
        ])
    func refused(_ text: String, _ expected: String) {
        let told = mistake(text)
        #expect(told.contains(expected), "\(told)")
    }

    @Test("of very many mistakes the first are told, and how many more there are")
    func bounded() {
        let products = (0..<50).map { "    - { id: p\($0), type: wrong }" }.joined(separator: "\n")
        let told = mistake("apps:\n  a:\n\(products)\n")
        #expect(told.contains("line 3:"))
        #expect(told.contains("and 30 more"))
    }
}
