import Foundation
import JSONText
import Testing

@Suite("Containers of JSON, as they may be asked for")
struct JSONContainerTests {
    /// A name that is whatever it is.
    struct AnyKey: CodingKey, Hashable, ExpressibleByStringLiteral {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init(stringLiteral value: String) { stringValue = value }
        init?(intValue: Int) { nil }
    }

    /// Runs a closure as a value that is encoded.
    private struct Writing: Encodable {
        let write: (any Encoder) throws -> Void

        init(_ write: @escaping (any Encoder) throws -> Void) { self.write = write }
        func encode(to encoder: any Encoder) throws { try write(encoder) }
    }

    /// Hands out the decoder that it was made with.
    private struct Kept: Decodable {
        let decoder: any Decoder

        init(from decoder: any Decoder) { self.decoder = decoder }
    }

    private func text(_ write: @escaping (any Encoder) throws -> Void) throws -> String {
        let ours = try JSONCoders.ours.encode(Writing(write))
        #expect(try JSONCoders.theirs.encode(Writing(write)) == Data(ours))
        return String(decoding: ours, as: UTF8.self)
    }

    private func decoder(_ text: String) throws -> any Decoder {
        try JSONCoders.oursBack.decode(Kept.self, from: Array(text.utf8)).decoder
    }

    private func path(_ body: () throws -> some Any) -> [String]? {
        do {
            _ = try body()
            return nil
        } catch DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
            DecodingError.dataCorrupted(let context), DecodingError.keyNotFound(_, let context)
        {
            return context.codingPath.map(\.stringValue)
        } catch {
            return ["another error"]
        }
    }

    // Writing.

    @Test("containers without content, of which nothing or everything was asked")
    func empty() throws {
        // Foundation has an object of a value that encodes nothing, but not of the outermost.
        #expect(try JSONCoders.ours.encode(Writing { _ in }) == Array("{}".utf8))
        #expect(try text { _ = $0.container(keyedBy: AnyKey.self) } == "{}")
        #expect(try text { _ = $0.unkeyedContainer() } == "[]")
        #expect(
            try text {
                var list = $0.unkeyedContainer()
                _ = list.nestedContainer(keyedBy: AnyKey.self)
                _ = list.nestedUnkeyedContainer()
                try list.encode(Writing { _ in })
                try list.encode([String: Int]())
            } == "[{},[],{},{}]")
    }

    @Test("containers that are left open while others are written keep their places")
    func leftOpen() throws {
        let written = try text {
            var list = $0.unkeyedContainer()
            var first = list.nestedUnkeyedContainer()
            try list.encode("between")
            var second = list.nestedContainer(keyedBy: AnyKey.self)
            try second.encode(2, forKey: "b")
            try first.encode(String(repeating: "x", count: 5_000))
            try list.encode([1, 2])
            var inner = second.nestedContainer(keyedBy: AnyKey.self, forKey: "a")
            try inner.encode("late", forKey: "z")
            try first.encodeNil()
            try inner.encode("later", forKey: "y")
            #expect(list.count == 4)
        }
        let long = String(repeating: "x", count: 5_000)
        #expect(written == #"[["\#(long)",null],"between",{"a":{"y":"later","z":"late"},"b":2},[1,2]]"#)
    }

    @Test("super encoders, and two parts of a value that write into one object")
    func superEncoders() throws {
        let written = try text { encoder in
            var own = encoder.container(keyedBy: AnyKey.self)
            try own.encode(1, forKey: "z")
            try Writing {
                var more = $0.container(keyedBy: AnyKey.self)
                try more.encode(2, forKey: "m")
            }.encode(to: encoder)
            try Writing {
                var base = $0.container(keyedBy: AnyKey.self)
                try base.encode(3, forKey: "b")
                try base.encode(4, forKey: "a")
            }.encode(to: own.superEncoder())
            try "single".encode(to: own.superEncoder(forKey: "one"))
            try [5].encode(to: own.superEncoder(forKey: "list"))
            _ = own.superEncoder(forKey: "nothing")
            try own.encode(6, forKey: "a")
        }
        #expect(
            written
                == #"{"a":6,"list":[5],"m":2,"nothing":{},"one":"single","super":{"a":4,"b":3},"z":1}"#)
        let list = try text {
            var list = $0.unkeyedContainer()
            let base = list.superEncoder()
            try list.encode(1)
            try ["a": 2].encode(to: base)
        }
        #expect(list == #"[{"a":2},1]"#)
    }

    @Test("what fails to encode leaves nothing behind")
    func failing() throws {
        let failing = Writing {
            var inner = $0.container(keyedBy: AnyKey.self)
            try inner.encode("left", forKey: "behind")
            var open = inner.nestedUnkeyedContainer(forKey: "open")
            try open.encode(1)
            try inner.encode(Double.nan, forKey: "number")
        }
        let written = try text {
            var object = $0.container(keyedBy: AnyKey.self)
            #expect(throws: EncodingError.self) { try object.encode(failing, forKey: "b") }
            try object.encode(1, forKey: "c")
            #expect(throws: EncodingError.self) { try object.encode(Float.infinity, forKey: "d") }
            #expect(throws: EncodingError.self) { try object.encode(failing, forKey: "e") }
            try object.encode(2, forKey: "a")
        }
        #expect(written == #"{"a":2,"c":1}"#)
        let list = try JSONCoders.ours.encode(
            Writing {
                var list = $0.unkeyedContainer()
                #expect(throws: EncodingError.self) { try list.encode(failing) }
                try list.encode(1)
                #expect(throws: EncodingError.self) { try list.encode([1, -Double.infinity]) }
                try list.encode(2)
            })
        #expect(String(decoding: list, as: UTF8.self) == "[1,2]")
    }

    // Reading.

    @Test("a decoder reads on after its text was decoded")
    func keptDecoder() throws {
        let kept = try decoder(#"{"a":[1,{"b":"text that is long enough"}],"c":null}"#)
        let object = try kept.container(keyedBy: AnyKey.self)
        var list = try object.nestedUnkeyedContainer(forKey: "a")
        #expect(try list.decode(Int.self) == 1)
        let inner = try list.superDecoder()
        #expect(list.isAtEnd)
        let last = try inner.container(keyedBy: AnyKey.self)
        #expect(try last.decode(String.self, forKey: "b") == "text that is long enough")
        #expect(inner.codingPath.map(\.stringValue) == ["a", "Index 1"])
        #expect(try object.superDecoder(forKey: "c").singleValueContainer().decodeNil())
        #expect(try object.superDecoder().container(keyedBy: AnyKey.self).contains("c"))
        #expect(path { try list.decode(String.self) } == ["a", "Index 2"])
        #expect(path { try list.decodeNil() } == ["a", "Index 2"])
        #expect(path { try object.decode(Int.self, forKey: "d") } == [])
    }

    @Test("what is not there, not such a value, or does not fit says where it is")
    func faults() throws {
        let object = try decoder(
            #"{"a":"x","b":300,"c":-1,"d":1e300,"e":null,"f":[true,"y"],"g":{"h":[[]]},"i":"no date"}"#
        ).container(keyedBy: AnyKey.self)
        #expect(path { try object.decode(Bool.self, forKey: "a") } == ["a"])
        #expect(path { try object.decode(Date.self, forKey: "b") } == ["b"])
        #expect(path { try object.decode(UInt8.self, forKey: "b") } == ["b"])
        #expect(path { try object.decode(UInt.self, forKey: "c") } == ["c"])
        #expect(path { try object.decode(Float.self, forKey: "d") } == ["d"])
        #expect(path { try object.decode(String.self, forKey: "e") } == ["e"])
        #expect(path { try object.decode([Bool].self, forKey: "f") } == ["f", "Index 1"])
        #expect(path { try object.decode([String: [[Int]]].self, forKey: "g") } == nil)
        #expect(path { try object.decode([String: [Int]].self, forKey: "g") } == ["g", "h", "Index 0"])
        #expect(path { try object.decode(Date.self, forKey: "i") } == ["i"])
        #expect(path { try object.decode([UUID].self, forKey: "f") } == ["f", "Index 0"])
        #expect(try object.decodeIfPresent(UUID.self, forKey: "e") == nil)
        #expect(try object.decodeIfPresent(Float.self, forKey: "z") == nil)
    }
}
