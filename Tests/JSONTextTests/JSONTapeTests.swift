import JSONText
import Testing

@Suite("JSON texts that are right, and that are not")
struct JSONTapeTests {
    private func reason(_ text: String, allowsNUL: Bool = false) -> String? {
        reason(Array(text.utf8), allowsNUL: allowsNUL)
    }

    private func reason(_ text: [UInt8], allowsNUL: Bool = false) -> String? {
        do {
            _ = try JSONTape(text, rules: .init(nestingDepthMaximum: 4, allowsNUL: allowsNUL))
            return nil
        } catch {
            return error.reason
        }
    }

    @Test(
        "values of every kind",
        arguments: [
            "0", "-0", "1.5e-3", "1E+2", "\"\"", "\"a\\u00e9\\n\"", "\"\u{7F}\"", "null", "true", "false", "[]", "{}",
            " [ 1 , {\"a\":[ ] } ]\n", "\"\\ud834\\udd1e\"", "\"é👪\"", "[[[[]]]]", "{\"\":{\"\":1}}",
        ])
    func right(text: String) {
        #expect(reason(text) == nil)
    }

    @Test(
        "what is no JSON, with the reason",
        arguments: [
            ("", "ends too early"), ("[", "ends too early"), ("[1,]", "not a value"),
            ("{\"a\" 1}", "a separator is missing"),
            ("{a:1}", "a string was expected"), ("{\"a\":1,}", "a string was expected"),
            ("[1 2]", "a separator is missing"),
            ("01", "a number starts with zero"), ("-", "not a value"), ("1.", "a digit is missing"),
            ("1e", "a digit is missing"), (".5", "not a value"), ("+1", "not a value"), ("NaN", "not a value"),
            ("1e999", "a number is too large"), ("1.5e-999", "a number is too small"),
            (String(repeating: "1", count: 65), "a number is too long"),
            ("\"a", "ends too early"), ("\"\n\"", "a control character in a string"), ("\"\\x\"", "an unknown escape"),
            ("\"\\u12x4\"", "not a hexadecimal digit"), ("\"\\ud800\"", "half a surrogate pair"),
            ("\"\\udc00\"", "half a surrogate pair"), ("\"\\ud800\\u0041\"", "half a surrogate pair"),
            ("\"\\u0000\"", "NUL in a string"), ("tru", "not a value"), ("nul", "not a value"),
            ("1 1", "something follows the value"), ("[[[[[]]]]]", "nested deeper than 4"),
            ("\u{FEFF}1", "not a value"),
        ])
    func wrong(text: String, expected: String) {
        #expect(reason(text) == expected)
    }

    @Test("bytes that are not UTF-8 are refused, wherever in a string they stand", arguments: 0..<20)
    func notUTF8(place: Int) {
        var text = [UInt8](repeating: UInt8(ascii: "x"), count: 20)
        text[place] = 0xFF
        let quote = [UInt8(ascii: "\"")]
        #expect(reason(quote + text + quote) == "not UTF-8")
    }

    @Test("every special character stops a string, wherever it stands", arguments: 0..<20)
    func specials(place: Int) throws {
        for special in Array("\"\\\u{1F}\u{0}".utf8) {
            var text = [UInt8](repeating: UInt8(ascii: "x"), count: 20)
            text[place] = special
            #expect(reason([UInt8(ascii: "\"")] + text + [UInt8(ascii: "\"")]) != nil)
        }
        var text = Array("\"xxxxxxxxxxxxxxxxxxxx\"".utf8)
        text.replaceSubrange((place + 1)..<(place + 1), with: Array("\\\"".utf8))
        let tape = try JSONTape(text, rules: .init(nestingDepthMaximum: 1, allowsNUL: false))
        #expect(tape.string(0).count == 21)
    }

    @Test("NUL is allowed where somebody can keep it")
    func allowedNUL() throws {
        #expect(reason("\"\\u0000\"", allowsNUL: true) == nil)
        #expect(reason("\"\u{0}\"", allowsNUL: true) == "a control character in a string")
    }

    @Test("members are found by their name, also where it is written with escapes, and the first of two counts")
    func members() throws {
        let text = #"{"a":1,"b":{"a":2},"\u0063":3,"a":4,"long name":[5]}"#
        let tape = try JSONTape(Array(text.utf8), rules: .init(nestingDepthMaximum: 4, allowsNUL: false))
        func number(_ name: String) -> Int64? { tape.member(name, of: 0).flatMap { tape.integer($0) } }
        #expect(number("a") == 1 && number("c") == 3 && number("d") == nil && number("") == nil)
        #expect(tape.member("b", of: 0).map { String(decoding: tape.raw($0), as: UTF8.self) } == #"{"a":2}"#)
        let first = tape.content(of: 0).lowerBound
        #expect(tape.member("long name", of: 0, from: first) == tape.member("long name", of: 0))
        #expect(tape.member("a", of: 0, from: tape.next(after: first + 1)) != nil)
    }

    @Test("numbers are exact to the last digit")
    func numbers() throws {
        func tape(_ text: String) throws -> JSONTape {
            try JSONTape(Array(text.utf8), rules: .init(nestingDepthMaximum: 1, allowsNUL: false))
        }
        for number in [Int64.max, .min, 0, -1, 999_999_999_999_999_999, -999_999_999_999_999_999] {
            #expect(try tape("\(number)").integer(0) == number)
        }
        #expect(try tape("9223372036854775808").integer(0) == nil)
        #expect(try tape("9223372036854775808").number(0) == 9_223_372_036_854_775_808)
        #expect(try tape("1.0").integer(0) == nil)
        #expect(try tape("0.1").number(0) == 0.1)
        #expect(try tape("\"1\"").integer(0) == nil && tape("\"1\"").number(0) == nil)
    }
}
