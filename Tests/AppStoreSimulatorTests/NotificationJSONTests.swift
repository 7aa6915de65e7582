import Testing

@testable import AppStoreSimulator

@Suite("Notifications: ordered JSON")
struct NotificationJSONTests {
    @Test(
        "it is written as it was read",
        arguments: [
            "{}", "[]", "null", "-0.5e+10", #"{"b":1,"a":[true,false,null,{"x":"y"}]}"#, #""a\"\\ü😀""#,
            "12345678901234567890", "1e400",
        ])
    func same(_ text: String) {
        #expect(OrderedJSON(text)?.text == text)
    }

    @Test("what is no JSON, or no text, is refused", arguments: ["", "{\"a\"}", "01", "{} {}", "[\"1\\ud800\"]"])
    func refused(_ text: String) {
        #expect(OrderedJSON(text) == nil)
    }

    @Test("a path leads into objects and arrays, and nowhere else")
    func paths() throws {
        var json = try #require(OrderedJSON(#"{"a":{"b":[1,{"c":2}]},"t":"x"}"#))
        func set(_ path: String) -> Bool { json.set(.literal("9"), at: path.split(separator: ".")[...]) }
        #expect(set("a.b.1.c"))
        #expect(set("a.new.deep"))
        #expect(!set("a.b.2"))
        #expect(!set("a.b.x"))
        #expect(!set("t.y"))
        #expect(json.text == #"{"a":{"b":[1,{"c":9}],"new":{"deep":9}},"t":"x"}"#)
    }
}
