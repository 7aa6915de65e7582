import Foundation
import JSONText
import Testing

@Suite("JSON that is deep, long or full of escapes")
struct JSONSizeTests {
    private func nested(_ depth: Int) -> [UInt8] {
        Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
    }

    /// An array of arrays of nothing else.
    private indirect enum Deep: Codable, Equatable {
        case level([Deep])

        init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            var inner: [Deep] = []
            while !container.isAtEnd { inner.append(try container.decode(Deep.self)) }
            self = .level(inner)
        }

        func encode(to encoder: any Encoder) throws {
            guard case .level(let inner) = self else { return }
            var container = encoder.unkeyedContainer()
            for level in inner { try container.encode(level) }
        }
    }

    @Test("a decoder nests as deep as it is told, and 64 levels where it is told nothing", arguments: [1, 2, 16, 64])
    func nesting(depth: Int) throws {
        let decoder = JSONCoders.oursBack
        let deep = try decoder.decode(Deep.self, from: nested(depth), nestingDepthMaximum: depth)
        #expect(try JSONCoders.ours.encode(deep) == nested(depth))
        #expect(try decoder.decode(Deep.self, from: nested(depth)) == deep)
        #expect(throws: DecodingError.self) {
            try decoder.decode(Deep.self, from: nested(depth + 1), nestingDepthMaximum: depth)
        }
        #expect(throws: DecodingError.self) { try decoder.decode(Deep.self, from: nested(65)) }
        #expect(throws: DecodingError.self) { try decoder.decode(Deep.self, from: nested(depth).dropLast()) }
    }

    @Test("a thousand levels are written")
    func writtenDeep() throws {
        var deep: [String: JSONTree] = [:]
        for _ in 0..<1_000 { deep = ["b": .object(deep), "a": .text("\u{1}")] }
        let text = String(decoding: try JSONCoders.ours.encode(deep), as: UTF8.self)
        let level = #"{"a":"\u0001","b":"#
        #expect(text == String(repeating: level, count: 1_000) + "{}" + String(repeating: "}", count: 1_000))
    }

    /// Objects and texts.
    private indirect enum JSONTree: Encodable {
        case text(String)
        case object([String: JSONTree])

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .text(let text): try container.encode(text)
            case .object(let object): try container.encode(object)
            }
        }
    }

    @Test(
        "strings of every length around a word, with an escape at every place, are written and read",
        arguments: ["\"", "\\", "\u{1F}", "\u{0}", "\n", "é", "𝄞", "/"])
    func escapes(special: String) throws {
        for length in 0..<80 {
            for place in stride(from: 0, through: length, by: length < 20 ? 1 : 7) {
                let before = String(repeating: "x", count: place)
                let text = before + special + String(repeating: "y", count: length - place)
                let bytes = try JSONCoders.ours.encode([text])
                #expect(Data(bytes) == (try JSONCoders.theirs.encode([text])))
                #expect(try JSONCoders.oursBack.decode([String].self, from: bytes) == [text])
            }
        }
    }

    @Test(
        "megabytes of plain text, of escapes, and of small values",
        arguments: ["x", "\"", "\u{1}", "é", "\"x", "👪\\"])
    func huge(pattern: String) throws {
        let text = String(repeating: pattern, count: 500_000)
        let bytes = try JSONCoders.ours.encode([text: [text]])
        #expect(Data(bytes) == (try JSONCoders.theirs.encode([text: [text]])))
        #expect(try JSONCoders.oursBack.decode([String: [String]].self, from: bytes) == [text: [text]])
        let numbers = [Int](repeating: 0, count: 200_000)
        let list = try JSONCoders.ours.encode(numbers)
        #expect(list.count == 400_001)
        #expect(try JSONCoders.oursBack.decode([Int].self, from: list) == numbers)
    }

    @Test("escapes of four digits mean the same as the characters, and what is cut short is refused")
    func unicodeEscapes() throws {
        let scalars: [Unicode.Scalar] = [
            "\u{0}", "a", "\u{7F}", "\u{80}", "\u{7FF}", "\u{800}", "\u{FFFF}", "𐀀", "\u{10FFFF}",
        ]
        for scalar in scalars {
            let escaped = String(scalar).utf16.map { String(format: "\\u%04X", Int($0)) }.joined()
            let text = Array("[\"\(escaped)\",\"aaaaaaaa\(escaped)b\"]".utf8)
            #expect(
                try JSONCoders.oursBack.decode([String].self, from: text)
                    == [String(scalar), "aaaaaaaa\(scalar)b"])
            for count in 0..<text.count {
                #expect(throws: DecodingError.self) {
                    try JSONCoders.oursBack.decode([String].self, from: Array(text[..<count]))
                }
            }
        }
    }

    @Test("numbers of every width, to their ends")
    func widths() throws {
        struct Widths: Codable, Equatable {
            var a: [Int8] = [.min, -1, 0, 9, 10, .max]
            var b: [Int16] = [.min, .max]
            var c: [Int32] = [.min, .max]
            var d: [Int64] = [.min, -999_999_999_999_999_999, 999_999_999_999_999_999, .max]
            var e: [UInt8] = [.max]
            var f: [UInt16] = [.max]
            var g: [UInt32] = [.max]
            var h: [UInt64] = [.max, 0, 10_000_000_000_000_000_000]
            var i: [Double] = [0, -0.0, 5, 1e16, 1e-7, .greatestFiniteMagnitude, .leastNonzeroMagnitude, 0.1]
            var j: [Float] = [0, 5, .greatestFiniteMagnitude, .leastNonzeroMagnitude, 0.1]
        }
        let bytes = try JSONCoders.ours.encode(Widths())
        #expect(Data(bytes) == (try JSONCoders.theirs.encode(Widths())))
        #expect(try JSONCoders.oursBack.decode(Widths.self, from: bytes) == Widths())
    }

    @Test(
        "a UUID is what Foundation takes for one",
        arguments: [
            "8F0E2D5A-0000-4000-8000-00000000000A", "8f0e2d5a-0000-4000-8000-00000000000a", "8f0e2d5a000040008000",
            "8F0E2D5A-0000-4000-8000-00000000000", "8F0E2D5A-0000-4000-8000-00000000000AB", "",
            "8F0E2D5A-0000-4000-8000_00000000000A", "8F0E2D5A-0000-4000-8000-0000000000 A",
            "8F0E2D5A-0000-4000-8000-00000000000G", "+F0E2D5A-0000-4000-8000-00000000000A",
        ])
    func uuids(text: String) throws {
        let bytes = Array("[\"\(text)\"]".utf8)
        let ours = try? JSONCoders.oursBack.decode([UUID].self, from: bytes)
        #expect(ours == (try? JSONCoders.theirsBack.decode([UUID].self, from: Data(bytes))))
        if let ours {
            #expect(try JSONCoders.ours.encode(ours) == Array("[\"\(ours[0].uuidString)\"]".utf8))
        }
    }

    @Test("a date is taken from its usual form, else from any other")
    func dates() throws {
        let decoder = JSONTextDecoder(
            date: { $0.isEmpty ? nil : Date(timeIntervalSince1970: Double($0.utf8.count)) },
            usualDate: { $0.elementsEqual("usual".utf8) ? Date(timeIntervalSince1970: -1) : nil })
        let read = try decoder.decode([Date].self, from: Array(#"["usual","other","us\u0075al"]"#.utf8))
        #expect(read.map(\.timeIntervalSince1970) == [-1, 5, 5])
        #expect(throws: DecodingError.self) { try decoder.decode([Date].self, from: Array(#"[""]"#.utf8)) }
        #expect(throws: DecodingError.self) { try decoder.decode([Date].self, from: Array("[1]".utf8)) }
    }
}
