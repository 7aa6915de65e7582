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

    @Test("a mistake hides no other one: not of its product, nor of its line's neighbours, nor of the file")
    func allOfThem() {
        let told = mistake(
            """
            app: {}
            apps:
              com.example.game:
                - { id: a, type: subscription, grants: { gem: 0 }, duration: ever, restore: move, entitlements: [x, x] }
                - id: b
                  type: consumable
                  prices:
                    USD: 990
                    euro: 990
                    Yen: -1
                  grants: { gem: 0 }
                  take_back: { gem: leave }
                - { type: consumable, grants: { gem: 1.5 } }
                - { id: a, type: consumable }
                - id: [x]
                  prices: 7
              "": []
            """)
        for expected in [
            "line 1: `app` is not a field of a catalogue", "line 4: the type of a of com.example.game",
            "line 4: a of com.example.game, gem: an amount", "line 4: the duration of a of",
            "line 4: the restore policy of a of", "line 4: an entitlement of a of",
            "line 9: \"euro\" is not a currency", "line 10: \"Yen\" is not a currency",
            "line 10: b of com.example.game, Yen: a price", "line 11: b of com.example.game, gem: an amount",
            "line 13: a product of com.example.game lacks `id`",
            "line 13: a product of com.example.game, gem: an amount",
            "line 14: a of com.example.game stands on line 4 already",
            "line 15: the `id` of a product of com.example.game is no text",
            "line 15: a product of com.example.game lacks `type`", "line 16: `prices` of a product of",
            "line 17: a bundle id is a text of 1 to 255 bytes",
        ] {
            #expect(told.contains(expected), "\(expected): \(told)")
        }
        #expect(!told.contains("line 12"), "an item with a wrong amount is granted all the same: \(told)")
        #expect(told.split(separator: "; line").count == 17, "\(told)")
    }

    @Test(
        "what YAML itself forbids is told with its line, and nothing of the file is repeated",
        arguments: [
            ("apps:\n  a:\n    - { id: x,\n        id: y, type: consumable }\n# end of it", 3),
            ("apps: {}\n# end of it\napps: {}", 1), ("apps:\n  a: }\n# end of it", 2),
            ("apps:\n\ta: []\n# end of it", 2), ("apps: {}\n---\napps: {}\n# end of it", 2),
        ])
    func yaml(_ text: String, _ line: Int) {
        let told = mistake(text)
        #expect(told.contains("yaml: line \(line): it is not YAML: "), "\(told)")
        #expect(!told.contains("end of it") && !told.contains("\n"), "\(told)")
    }

    @Test("an empty file, a file of comments, and one that is too large are refused whole")
    func bounds() {
        #expect(mistake("# nothing yet\n").contains("`apps` is missing"))
        #expect(mistake("apps: { a: [] }" + String(repeating: "\n", count: 4 << 20)).contains("larger than"))
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
