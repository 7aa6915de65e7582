import ChanceTesting
import Foundation
import Testing

@testable import AppStoreServerAPI

/// What is no answer of verifyReceipt says nothing about a receipt, and never stops the process.
@Suite("verifyReceipt: what is no answer")
struct VerifyReceiptHostileTests {
    private func refused(_ json: String) -> AppStoreServerError? {
        do {
            _ = try verifyReceiptAnswer(json)
            return nil
        } catch {
            return error as? AppStoreServerError
        }
    }

    @Test(
        "unreadable, and nothing of it is repeated",
        arguments: [
            "", "{", "[]", "null", "0", "{}", "<html>top-secret</html>", #"{"status":null}"#, #"{"status":{}}"#,
            #"{"status":"valid"}"#, #"{"status":0.5}"#, #"{"status":1e400}"#, #"{"status":123456789012345678901}"#,
            #"{"status":true}"#, #"{"status":0}"#, #"{"status":0,"receipt":null}"#,
            #"{"status":0,"receipt":"top-secret"}"#, #"{"status":0,"receipt":[]}"#, #"{"status":21006}"#,
            #"{"status":0,"receipt":{}} x"#, #"{"status":21002,"status":0,"receipt":{}}"#,
            #"{"status":0,"receipt":{},"receipt":{}}"#, #"{"status":0,"st\u0061tus":21003,"receipt":{}}"#,
            #"{"status":0,"receipt":{"bundle_id":"a","bundle_id":"b"}}"#,
            #"{"status":0,"receipt":{"in_app":[{"a":{"b":1,"b":2}}]}}"#,
        ])
    func unreadable(json: String) throws {
        let error = try #require(refused(json))
        #expect(error.category == .unreadable && error.isRetryable && error.status == 200 && error.code == nil)
        #expect(!"\(error)".contains("top-secret"))
    }

    @Test("the same name in different objects, or a name in a text, is no repetition")
    func noRepetition() {
        for json in [
            #"{"a":{"a":1},"b":[{"a":1},{"a":2}],"c":"\",\"a\":","d":["a","a",{"a":"a"}],"e":{},"f":[]}"#,
            #"{"a":"\\","b":"\\\"","c":"{\"a\":1,\"a\":2}"}"#,
        ] {
            #expect(!RepeatedNames.occur(in: Array(json.utf8)))
        }
        for json in [#"{"a":"\\","a":1}"#, #"{"x":[1,{"a":1,"b":{"a":1},"a":2}]}"#, #"{"a":{},"a":1}"#] {
            #expect(RepeatedNames.occur(in: Array(json.utf8)))
        }
    }

    @Test("an answer that breaks off anywhere is none")
    func prefixes() {
        let json = verifyReceiptJSON(
            inApp: "[\(entry("1", #","cancellation_date_ms":"5","is_upgraded":true"#)),\(entry("2"))]",
            #","latest_receipt_info":[\#(entry("3"))],"pending_renewal_info":[{"original_transaction_id":"1"}]"#)
        #expect(refused(json) == nil)
        for length in 0..<json.utf8.count {
            #expect(refused(String(decoding: json.utf8.prefix(length), as: UTF8.self))?.category == .unreadable)
        }
    }

    @Test("deep nesting and long lists end in an answer or an error")
    func large() throws {
        for depth in [100, 100_000] {
            let nested = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            let error = refused(#"{"status":0,"receipt":{"in_app":\#(nested)}}"#)
            #expect(error == nil || error?.category == .unreadable)
        }
        let many = (1...3_000).map { entry("\($0)") }.joined(separator: ",")
        let answer = try verifyReceiptAnswer(
            verifyReceiptJSON(inApp: "[\(many)]", #","latest_receipt_info":[\#(many)]"#))
        #expect(answer.purchases.count == 3_000 && answer.unreadablePurchases == 0)
    }

    @Test("a random change of a byte gives an answer or an error, and no purchase out of nothing")
    func randomChanges() throws {
        var random = SplitMix(seed: 0x5EED)
        let json = Array(
            verifyReceiptJSON(
                inApp: "[\(entry("1", #","cancellation_date_ms":"5""#)),\(entry("2"))]",
                #","latest_receipt_info":[\#(entry("1")),\#(entry("3"))]"#
            ).utf8)
        var answers = 0
        for _ in 0..<5_000 {
            var changed = json
            changed[Int.random(in: 0..<json.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            guard
                let answer = try? VerifyReceiptAnswer(
                    reading: Data(changed), httpStatus: 200, from: .production, hasSentSharedSecret: false)
            else { continue }
            answers += 1
            #expect(answer.purchases.count <= 4)
            #expect(Set(answer.purchases.map(\.transactionId)).count == answer.purchases.count)
        }
        #expect(answers > 100)
    }

    @Test("an answer shows numbers only")
    func description() throws {
        let answer = try verifyReceiptAnswer(
            verifyReceiptJSON(inApp: #"[\#(entry("777"))]"#, #","latest_receipt":"top-secret""#))
        #expect("\(answer)" == "verifyReceipt, Production: status 0, 1 purchases, 0 unreadable")
        #expect(String(reflecting: answer) == "\(answer)")
    }
}
