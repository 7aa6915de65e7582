import Foundation
import JSONText

/// Of everything that a message is made of, at random.
struct JSONSample: Codable, Equatable {
    struct Part: Codable, Equatable {
        var name: String
        var number: Double?
        var numbers: [Int64]
    }

    enum Kind: String, Codable { case one, two }

    enum CodingKeys: String, CodingKey {
        case text, part, parts, map, kind, isTrue, id, small, nothing
        case aDate = "a_date"
        case quoted = "\"quoted\\ /key\""
        case accented = "clé"
        case large = "Large"
    }

    var text: String
    var part: Part?
    var parts: [Part]
    var map: [String: Int]
    var kind: Kind
    var isTrue: Bool
    var id: UUID
    var small: UInt8
    var nothing: [String?]
    var aDate: Date
    var quoted: String?
    var accented: Float
    var large: UInt64

    init(using generator: inout some RandomNumberGenerator) {
        text = Self.text(&generator)
        part = Bool.random(using: &generator) ? Self.part(&generator) : nil
        parts = (0..<Int.random(in: 0...3, using: &generator)).map { _ in Self.part(&generator) }
        map = [:]
        for _ in 0..<Int.random(in: 0...4, using: &generator) {
            map[Self.text(&generator)] = .random(in: -9...9, using: &generator)
        }
        kind = Bool.random(using: &generator) ? .one : .two
        isTrue = .random(using: &generator)
        id = UUID()
        small = .random(in: 0...255, using: &generator)
        nothing = Bool.random(using: &generator) ? [nil, "x", nil] : []
        // What a text can hold: whole milliseconds, as a parser adds them up.
        let milliseconds = Int64.random(in: 0...4_000_000_000_000, using: &generator)
        let written = Date(timeIntervalSince1970: Double(milliseconds) / 1_000).formatted(JSONCoders.style)
        aDate = (try? JSONCoders.style.parse(written)) ?? Date(timeIntervalSinceReferenceDate: 0)
        quoted = Bool.random(using: &generator) ? Self.text(&generator) : nil
        accented = Float.random(in: -1...1, using: &generator)
        large = .random(in: 0...UInt64.max, using: &generator)
    }

    private static func part(_ generator: inout some RandomNumberGenerator) -> Part {
        let bits = Double(bitPattern: generator.next())
        let numbers = (0..<Int.random(in: 0...3, using: &generator)).map { _ in
            Int64.random(in: .min ... .max, using: &generator) >> Int64.random(in: 0...63, using: &generator)
        }
        return Part(
            name: text(&generator), number: bits.isFinite ? bits : Bool.random(using: &generator) ? 5 : nil,
            numbers: numbers)
    }

    /// Short and long, plain and full of what has to be escaped.
    private static func text(_ generator: inout some RandomNumberGenerator) -> String {
        let special: [Unicode.Scalar] = [
            "\"", "\\", "/", "\u{0}", "\u{1}", "\u{8}", "\t", "\n", "\u{B}", "\u{C}", "\r", "\u{1F}", "\u{7F}", "é",
            "\u{80}", "\u{2028}", "￿", "𝄞", "👪", " ", "a",
        ]
        let isPlain = Bool.random(using: &generator)
        var scalars = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...40, using: &generator) {
            let plain = Unicode.Scalar(UInt8.random(in: 0x20...0x7E, using: &generator))
            scalars.append(isPlain ? plain : special.randomElement(using: &generator) ?? plain)
        }
        return String(scalars)
    }
}

/// Foundation's coders as messages used them, which say what is right; and ours.
enum JSONCoders {
    static let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    static let ours = JSONTextEncoder { $0.addingTimeInterval(0.0005).formatted(style) }
    static let oursBack = JSONTextDecoder { try? style.parse($0) }

    static var theirs: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            try container.encode(date.addingTimeInterval(0.0005).formatted(style))
        }
        return encoder
    }

    static var theirsBack: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { try style.parse(try $0.singleValueContainer().decode(String.self)) }
        return decoder
    }
}
