import Testing

@testable import AppStoreSimulator

@Suite("Notifications: ordered JSON")
struct NotificationJSONTests {
    @Test(
        "it is written as it was read",
        arguments: [
            "{}", "[]", "null", "-0.5e+10", #"{"b":1,"a":[true,false,null,{"x":"y"}]}"#, #""a\"\\ü😀""#,
            "12345678901234567890",
        ])
    func same(_ text: String) {
        #expect(OrderedJSON(text)?.text == text)
    }

    @Test("escapes are read")
    func escapes() {
        let json = OrderedJSON(#"  { "a" : "\u00e9\ud83d\ude00\n\/\t" , "b" : [ 1 , 2 ] } "#)
        #expect(json?["a"]?.string == "é😀\n/\t")
        #expect(json?["b"]?.text == "[1,2]")
    }

    @Test(
        "what is no JSON is refused",
        arguments: [
            "", "{", "{\"a\"}", "{\"a\":}", "[1,]", "[1 2]", "01", "+1", "1.", "nul", "\"a", "\"\\x\"", "\"\\ud800\"",
            "\"\\ud800\\u0041\"", "\"\\u00g0\"", "{} {}", "\"a\nb\"", String(repeating: "[", count: 100_000),
        ])
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
