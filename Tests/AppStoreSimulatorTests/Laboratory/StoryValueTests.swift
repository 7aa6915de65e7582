import Foundation
import Testing

@testable import AppStoreSimulator

/// How stories find values and compare them.
@Suite struct StoryValueTests {
    private static func value(_ json: String) throws -> JSONValue {
        try #require(JSONValue(json: Data(json.utf8)))
    }

    /// A compact JWS around a payload; nobody checks its signature here.
    private static func signed(_ payload: String) -> String {
        let parts = ["{\"alg\":\"ES256\"}", payload].map { text in
            Data(text.utf8).base64EncodedString().replacingOccurrences(of: "+", with: "-")
                .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
        }
        return parts.joined(separator: ".") + ".c2ln"
    }

    @Test func aPathGoesThroughListsAndSignedPayloads() throws {
        let inner = Self.signed(#"{"productId":"gems.100","price":990}"#)
        let outer = Self.signed(#"{"data":{"signedTransactionInfo":"\#(inner)"}}"#)
        let root = try Self.value(#"{"signedPayload":"\#(outer)","data":[{"id":"a"},{"id":"b"}]}"#)
        func at(_ path: String) -> JSONValue? { StoryPath(path)?.value(in: root) }
        #expect(at("signedPayload.data.signedTransactionInfo.productId") == .text("gems.100"))
        #expect(at("data[0].id") == .text("a") && at("data[-1].id") == .text("b"))
        #expect(at("data[*].id") == .list([.text("a"), .text("b")]))
        #expect(at("data[2].id") == nil && at("data.id") == nil && at("signedPayload.data.nothing") == nil)
        #expect(at("") == root)
        for wrong in ["a..b", "a[", "a[x]", ".a", "a[0"] {
            #expect(StoryPath(wrong) == nil, "\(wrong)")
        }
    }

    @Test func numbersAreEqualAsInJSON() throws {
        #expect(
            try Self.value("[1,2.5,true,null,\"1\"]")
                == .list([.number(1), .number(2.5), .flag(true), .null, .text("1")]))
        #expect(JSONValue.whole(1) != .flag(true) && JSONValue.whole(1) != .text("1"))
        #expect(JSONValue.whole(9_007_199_254_740_993) != .whole(9_007_199_254_740_992))
    }

    @Test(arguments: [
        ("equals", "3", true), ("not", "3", false), ("above", "2", true), ("above", "3", false), ("atLeast", "3", true),
        ("below", "4", true), ("atMost", "2", false), ("present", "true", true), ("absent", "true", false),
    ])
    func aNumberIsCompared(_ test: String, operand: String, holds: Bool) throws {
        let matcher = StoryMatcher(tests: [(try #require(.init(rawValue: test)), try Self.value(operand))])
        let mismatch = try matcher.mismatch(.whole(3), in: StoryScope(run: "r", bundleId: "b"))
        #expect((mismatch == nil) == holds)
    }

    @Test(arguments: [
        ("count", "2", true), ("count", "3", false), ("contains", "\"b\"", true), ("contains", "[\"a\",\"b\"]", true),
        ("contains", "\"c\"", false), ("unordered", "[\"b\",\"a\"]", true), ("unordered", "[\"b\",\"b\"]", false),
    ])
    func aListIsCompared(_ test: String, operand: String, holds: Bool) throws {
        let matcher = StoryMatcher(tests: [(try #require(.init(rawValue: test)), try Self.value(operand))])
        let mismatch = try matcher.mismatch(try Self.value("[\"a\",\"b\"]"), in: StoryScope(run: "r", bundleId: "b"))
        #expect((mismatch == nil) == holds)
    }

    @Test func anInstantIsMilliseconds() throws {
        let matcher = StoryMatcher(tests: [(.at, .text("2026-01-31T10:00:00Z"))])
        #expect(try matcher.mismatch(.whole(1_769_853_600_000), in: StoryScope(run: "r", bundleId: "b")) == nil)
        #expect(StoryInstant.text(1_769_853_600_000) == "2026-01-31 10:00:00")
    }

    @Test func namesAreReplaced() throws {
        var scope = StoryScope(run: "x1", bundleId: "com.example.x1")
        scope.keep("first", .map(["id": .whole(7), "list": .list([.text("a")])]))
        #expect(try scope.resolve(.text("${first.id}")) == .whole(7))
        #expect(try scope.resolve(.text("/a/${first.id}/${first.list[0]}")) == .text("/a/7/a"))
        #expect(try scope.resolve(.text("${account.alice} ${bundleId}")) == .text("alice-x1 com.example.x1"))
        let player = try #require(try scope.resolve(.text("${player.alice}")).text)
        #expect(UUID(uuidString: player) != nil && player == player.lowercased())
        #expect(try scope.resolve(.text("${player.alice}")) == .text(player))
        #expect(try scope.resolve(.text("${player.bob}")) != .text(player))
        #expect(throws: StoryScope.Unknown.self) { try scope.resolve(.text("${first.nothing}")) }
        #expect(throws: StoryScope.Unknown.self) { try scope.resolve(.text("${receiver}")) }
    }

    @Test func reportsHoldNoSignedPayload() {
        let shown = JSONValue.map(["signedTransaction": .text(Self.signed("{}"))]).shown
        #expect(shown == #"{"signedTransaction":"(a signed payload)"}"#)
    }

    @Test func notificationsAreComparedByOrderOrWithoutIt() throws {
        let scope = StoryScope(run: "r", bundleId: "b")
        let came = ["DID_RENEW", "REFUND", "DID_RENEW"].map { JSONValue.map(["notificationType": .text($0)]) }
        func fits(_ order: NotificationList.Order, _ types: [String]) throws -> Bool {
            let list = NotificationList(order: order, expected: types.map { NotificationList.Expected(type: $0) })
            return try list.mismatch(came, what: "notifications", in: scope) == nil
        }
        #expect(try fits(.exact, ["DID_RENEW", "REFUND", "DID_RENEW"]))
        #expect(try !fits(.exact, ["DID_RENEW", "DID_RENEW", "REFUND"]))
        #expect(try fits(.unordered, ["DID_RENEW", "DID_RENEW", "REFUND"]))
        #expect(try !fits(.unordered, ["DID_RENEW", "REFUND"]))
        #expect(try fits(.contains, ["REFUND"]))
        #expect(try !fits(.contains, ["REFUND", "REFUND"]))
        #expect(try fits(.without, ["TEST"]))
        #expect(try !fits(.without, ["REFUND"]))
    }
}
