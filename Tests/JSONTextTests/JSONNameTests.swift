import ChanceTesting
import Foundation
import JSONText
import Testing

@Suite("Names of members")
struct JSONNameTests {
    /// Names that a sort by anything but their bytes puts in another order, and that share their first eight bytes.
    private static let names = [
        "", "a", "a\u{0}", "a\u{0}\u{0}", "aa", "aaaaaaa", "aaaaaaaa", "aaaaaaaa\u{0}", "aaaaaaaaa", "aaaaaaaab",
        "aaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaab", "aaaaaaaa\"", "aaaaaaaa\\", "aaaaaaaa\n", "aaaaaaaa#", "aaaaaaaa]", "A",
        "Z",
        "_", "~", "\u{7F}", "\"", "#", "!", "\n", "\u{1F}", " ", "é", "e\u{301}", "ａ", "￿", "𝄞", "👪", "\u{80}", "ÿ",
        "aaaaaaaaé", "aaaaaaaa𝄞", "aaaaaaaa￿", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    ]

    @Test("members are sorted by the bytes of their names, in whatever order they are written", arguments: 0..<20)
    func sorting(seed: UInt64) throws {
        var generator = SplitMix(seed: seed)
        let names = Self.names.shuffled(using: &generator).map { JSONContainerTests.AnyKey(stringValue: $0) }
        let bytes = try JSONCoders.ours.encode(InOrder(names: names))
        #expect(try JSONCoders.ours.encode(InOrder(names: names.sorted { Self.isBefore($0, $1) })) == bytes)
        let tape = try JSONTape(bytes, rules: .init(nestingDepthMaximum: 1, allowsNUL: true))
        var read: [String] = []
        var index = tape.content(of: 0).lowerBound
        while index < tape.content(of: 0).upperBound {
            read.append(tape.string(index))
            index = tape.next(after: index + 1)
        }
        let sorted = Self.names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        #expect(read.map { Array($0.utf8) } == sorted.map { Array($0.utf8) })
    }

    private static func isBefore(_ left: JSONContainerTests.AnyKey, _ right: JSONContainerTests.AnyKey) -> Bool {
        left.stringValue.utf8.lexicographicallyPrecedes(right.stringValue.utf8)
    }

    /// Writes numbers under names, one after the other.
    private struct InOrder: Encodable {
        let names: [JSONContainerTests.AnyKey]

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: JSONContainerTests.AnyKey.self)
            for name in names { try container.encode(name.stringValue.utf8.count, forKey: name) }
        }
    }

    @Test("names that were written twice stay in the order of writing")
    func writtenTwice() throws {
        let names: [JSONContainerTests.AnyKey] = ["b", "a", "b", "a\n", "a\n"]
        let bytes = try JSONCoders.ours.encode(InOrder(names: names))
        #expect(String(decoding: bytes, as: UTF8.self) == #"{"a":1,"a\n":2,"a\n":2,"b":1,"b":1}"#)
    }

    /// An object of so many members: of each name the number of its place, and at the end all of them again with others.
    private func object(_ count: Int, twice: Bool) -> String {
        let names = (0..<count).map { $0 % 3 == 0 ? "na\\u006de \($0)" : "name \($0)" }
        let first = names.enumerated().map { "\"\($0.element)\":\($0.offset)" }
        let second = names.reversed().map { "\"\($0)\":-1" }
        return "{" + (twice ? first + second : first).joined(separator: ",") + "}"
    }

    @Test(
        "every member is found in any order, and of two of one name the first counts, among few and among many",
        arguments: [1, 2, 3, 5, 6, 7, 31, 32, 33, 63, 64, 65, 66, 127, 128, 129, 500])
    func finding(count: Int) throws {
        var generator = SplitMix(seed: UInt64(count))
        for twice in [false, true] {
            let text = Array(object(count, twice: twice).utf8)
            let read = try JSONCoders.oursBack.decode(Lookup.self, from: text).container
            for place in (0..<count).shuffled(using: &generator) {
                #expect(try read.decode(Int.self, forKey: .init(stringValue: "name \(place)")) == place)
                #expect(!read.contains(.init(stringValue: "name \(place) ")))
            }
            #expect(!read.contains(""))
            let all = try JSONCoders.oursBack.decode([String: Int].self, from: text)
            #expect(all == Dictionary(uniqueKeysWithValues: (0..<count).map { ("name \($0)", $0) }))
        }
    }

    /// Keeps its container.
    private struct Lookup: Decodable {
        let container: KeyedDecodingContainer<JSONContainerTests.AnyKey>

        init(from decoder: any Decoder) throws {
            container = try decoder.container(keyedBy: JSONContainerTests.AnyKey.self)
        }
    }

    @Test("the first of two counts also where something between them was read before")
    func firstAfterAnother() throws {
        struct Pair: Decodable, Equatable {
            var later: Int
            var twice: Int

            enum CodingKeys: String, CodingKey { case later, twice }

            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: CodingKeys.self)
                later = try container.decode(Int.self, forKey: .later)
                twice = try container.decode(Int.self, forKey: .twice)
            }
        }
        let text = Array(#"{"twice":1,"later":2,"twice":3}"#.utf8)
        let read = try JSONCoders.oursBack.decode(Pair.self, from: text)
        #expect(read.twice == 1)
        #expect(read == (try JSONCoders.theirsBack.decode(Pair.self, from: Data(text))))
    }

    @Test("two names that look alike are two names", arguments: [0, 10, 100])
    func lookingAlike(others: Int) throws {
        let more = (0..<others).map { ",\"\($0)\":0" }.joined()
        let text = Array("{\"e\u{301}\":1,\"é\":2\(more)}".utf8)
        let read = try JSONCoders.oursBack.decode(Lookup.self, from: text).container
        #expect(try read.decode(Int.self, forKey: "é") == 2)
        #expect(try read.decode(Int.self, forKey: "e\u{301}") == 1)
    }
}
