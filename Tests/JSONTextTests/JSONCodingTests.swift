import ChanceTesting
import Foundation
import JSONText
import Testing

@Suite("JSON is written and read as Foundation does")
struct JSONCodingTests {
    @Test("two thousand random values have Foundation's bytes, and are read back", arguments: 0..<20)
    func randomValues(seed: UInt64) throws {
        var generator = SplitMix(seed: seed)
        for _ in 0..<100 {
            let sample = JSONSample(using: &generator)
            let bytes = try JSONCoders.ours.encode(sample)
            #expect(
                String(decoding: bytes, as: UTF8.self)
                    == String(decoding: try JSONCoders.theirs.encode(sample), as: UTF8.self))
            #expect(try JSONCoders.oursBack.decode(JSONSample.self, from: bytes) == sample)
            #expect(try JSONCoders.theirsBack.decode(JSONSample.self, from: Data(bytes)) == sample)
        }
    }

    @Test("whatever a changed text is taken for, Foundation takes it for the same", arguments: 0..<10)
    func changedTexts(seed: UInt64) throws {
        var generator = SplitMix(seed: seed &+ 1_000)
        var taken = 0
        for _ in 0..<100 {
            let sample = JSONSample(using: &generator)
            let bytes = try JSONCoders.ours.encode(sample)
            for _ in 0..<10 {
                let changed = Self.changed(bytes, &generator)
                guard let read = try? JSONCoders.oursBack.decode(JSONSample.self, from: changed) else { continue }
                taken += 1
                #expect(try JSONCoders.theirsBack.decode(JSONSample.self, from: Data(changed)) == read)
            }
        }
        #expect(taken > 20, "changes that leave a sample a sample are not rare")
    }

    private static func changed(_ bytes: [UInt8], _ generator: inout SplitMix) -> [UInt8] {
        var changed = bytes
        let place = Int.random(in: 0..<changed.count, using: &generator)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: changed[place] = UInt8.random(in: 0...255, using: &generator)
        case 1: changed.remove(at: place)
        case 2: changed.insert(Array("\"\\{}[],:0 1e.-u\n".utf8).randomElement(using: &generator) ?? 0, at: place)
        default: changed.insert(contentsOf: [0x20, 0x0A], at: place)
        }
        return changed
    }

    private struct Outer: Codable, Equatable {
        var inner: [[String: [Int]]]
        var first: Int?
    }

    /// Writes two nested containers by turns.
    private struct ByTurns: Encodable {
        enum Key: String, CodingKey { case left, right, list }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            var right = container.nestedContainer(keyedBy: Key.self, forKey: .right)
            var left = container.nestedContainer(keyedBy: Key.self, forKey: .left)
            var list = container.nestedUnkeyedContainer(forKey: .list)
            try right.encode(1, forKey: .right)
            try list.encode("a")
            try left.encode(2, forKey: .right)
            try right.encode([3], forKey: .left)
            try list.encode(4.5)
            var last = list.nestedContainer(keyedBy: Key.self)
            try last.encodeNil(forKey: .left)
        }
    }

    @Test("what nests, and what is written by turns")
    func nesting() throws {
        let outer = Outer(inner: [["b": [1, 2], "a": []], [:]], first: nil)
        let bytes = try JSONCoders.ours.encode(outer)
        #expect(String(decoding: bytes, as: UTF8.self) == #"{"inner":[{"a":[],"b":[1,2]},{}]}"#)
        #expect(try JSONCoders.oursBack.decode(Outer.self, from: bytes) == outer)
        let turns = try JSONCoders.ours.encode(ByTurns())
        #expect(
            String(decoding: turns, as: UTF8.self)
                == #"{"left":{"right":2},"list":["a",4.5,{"left":null}],"right":{"left":[3],"right":1}}"#)
        #expect(try JSONCoders.theirs.encode(ByTurns()) == Data(turns))
        #expect(try JSONCoders.ours.encode("text") == Array(#""text""#.utf8))
        #expect(try JSONCoders.ours.encode([Date]()) == Array("[]".utf8))
    }

    @Test("a number that is not finite is no JSON", arguments: [Double.nan, .infinity, -.infinity])
    func notFinite(number: Double) {
        #expect(throws: EncodingError.self) { try JSONCoders.ours.encode([number]) }
    }

    @Test("a mistake says where it is")
    func mistakes() throws {
        func path(_ text: String) -> [String]? {
            do {
                _ = try JSONCoders.oursBack.decode(Outer.self, from: Array(text.utf8))
                return nil
            } catch DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
                DecodingError.dataCorrupted(let context)
            {
                return context.codingPath.map { $0.intValue.map(String.init) ?? $0.stringValue }
            } catch DecodingError.keyNotFound(let key, _) {
                return ["no", key.stringValue]
            } catch {
                return ["another error"]
            }
        }
        #expect(path(#"{"inner":[{"a":[1]}]}"#) == nil)
        #expect(path(#"{"inner":[{"a":[1,true]}]}"#) == ["inner", "0", "a", "1"])
        #expect(path(#"{"inner":[{},{"a":{}}]}"#) == ["inner", "1", "a"])
        #expect(path(#"{"inner":null}"#) == ["inner"])
        #expect(path(#"{"first":1}"#) == ["no", "inner"])
        #expect(path(#"{"inner":[],"first":1.5}"#) == ["first"])
        #expect(path(#"{"inner":[],"first":"1"}"#) == ["first"])
        #expect(path(#"{"inner":[],"first":1.0}"#) == nil)
        #expect(path("[]") == [])
        #expect(path("{") == [])
    }

    @Test("of two members of one name the first counts, as with Foundation")
    func twice() throws {
        let text = Array(#"{"inner":[],"first":1,"first":2}"#.utf8)
        let read = try JSONCoders.oursBack.decode(Outer.self, from: text)
        #expect(read == (try JSONCoders.theirsBack.decode(Outer.self, from: Data(text))))
    }
}
