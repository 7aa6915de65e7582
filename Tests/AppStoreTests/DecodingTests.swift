import Foundation
import JSONText
import Testing

@testable import AppStore

@Suite("Decoding")
struct DecodingTests {
    @Test("base64url agrees with Foundation for every length and byte")
    func base64url() {
        for count in 0..<300 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ count) }
            let text = Data(bytes).base64EncodedString()
            let urlSafe = text.filter { $0 != "=" }.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 }
            #expect(Base64Decoding.padded(Array(text.utf8)[...]) == bytes)
            #expect(Base64Decoding.urlSafe(Array(String(urlSafe).utf8)[...]) == bytes)
        }
    }

    @Test(
        "base64url has one spelling",
        arguments: ["A", "AB", "AAB", "AA=", "AA==", "A A", "AA\n", "AAA+", "AAA/", "AAAAA", "é"])
    func strict(_ text: String) {
        #expect(Base64Decoding.urlSafe(Array(text.utf8)[...]) == nil)
    }

    @Test(
        "padded base64 has one spelling",
        arguments: [
            "A", "AA", "AAA", "AA=", "AB==", "AAB=", "A===", "====", "=AAA", "AA=A", "AAA-", "AA==AAAA", "AAAA=",
        ])
    func strictPadded(_ text: String) {
        #expect(Base64Decoding.padded(Array(text.utf8)[...]) == nil)
    }

    @Test("UUIDs are read in either case, and nothing else is")
    func uuids() {
        for _ in 0..<100 {
            let uuid = UUID()
            #expect(UUIDText.uuid(uuid.uuidString) == uuid)
            #expect(UUIDText.uuid(uuid.uuidString.lowercased()) == uuid)
        }
        let good = "207262da-1ac8-4e0a-a399-5aa62a82800f"
        for bad in [
            "", "player-7", good + "0", String(good.dropLast()), good.replacingOccurrences(of: "-", with: ""),
            "{\(good)}", " 07262da-1ac8-4e0a-a399-5aa62a82800f", "+07262da-1ac8-4e0a-a399-5aa62a82800f",
            "0x7262da-1ac8-4e0a-a399-5aa62a82800f", "207262da-1ac8-4e0a-a399-5aa62a82800g",
            "207262da1-ac8-4e0a-a399-5aa62a82800f", "207262d\u{E9}-1ac8-4e0a-a399-5aa62a8280f",
        ] {
            #expect(UUIDText.uuid(bad) == nil, "\(bad)")
        }
    }

    @Test("JSON values are what they say")
    func values() throws {
        let text = """
             { "a" : 1 , "b":-0.5e1,"c":"x\\ty","d":[1,"2",{"e":null}],"f":{"g":true},"h":false,"i":null,
            "":9223372036854775807,"j":-9223372036854775808,"k":[],"l":{} }
            """
        let object = try JSONObject(Array(text.utf8), nestingDepthMaximum: 4)
        #expect(object["a"] == .integer(1))
        #expect(object["b"] == .number(-5))
        #expect(object["c"] == .string("x\ty"))
        #expect(object["h"] == .bool(false))
        #expect(object["i"] == .null)
        #expect(object[""] == .integer(.max))
        #expect(object["j"] == .integer(.min))
        #expect(object["nothing"] == nil)
        guard case .array(let range) = object["d"], case .object(let nested) = object["f"] else {
            Issue.record("nested values are missing")
            return
        }
        #expect(object.elements(at: range).prefix(2) == [.integer(1), .string("2")])
        #expect(object.object(at: nested)["g"] == .bool(true))
        #expect(object.raw(at: nested) == "{\"g\":true}")
    }

    @Test("nesting is counted exactly")
    func nesting() {
        func parse(_ depth: Int) -> Bool {
            let text = "{\"a\":" + String(repeating: "[", count: depth) + String(repeating: "]", count: depth) + "}"
            return (try? JSONObject(Array(text.utf8), nestingDepthMaximum: 5)) != nil
        }
        #expect(parse(4))
        #expect(!parse(5))
    }

    @Test("every truncation of a good text is refused")
    func truncation() throws {
        let text = Array("{\"a\":\"x\\u00e9\",\"b\":[1,2.5e3,{\"c\":true}],\"d\":null}".utf8)
        _ = try JSONObject(text, nestingDepthMaximum: 8)
        for count in 0..<text.count {
            #expect(throws: JSONFault.self) { try JSONObject(Array(text[..<count]), nestingDepthMaximum: 8) }
        }
    }
}
