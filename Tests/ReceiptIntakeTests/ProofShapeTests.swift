import Foundation
import ServiceRuntime
import Testing

@testable import ReceiptIntake

@Suite("What intake reads in a proof that nobody has verified")
struct ProofShapeTests {
    @Test("a real shape is taken, and its payload found")
    func realShape() throws {
        let jws = try #require(PostedJWS(Proofs.jws(originalTransactionId: "2000000123456789")))
        #expect(PartitionKey.make(.signedTransaction(jws), account: "player") == "2000000123456789")
    }

    @Test(
        "anything but three parts of base64url is refused",
        arguments: [
            "", ".", "..", "...", "a.b", "ab.cd", "ab.cd.ef.gh", ".ab.cd", "ab..cd", "ab.cd.", "ab.cd.e", "ab.c+.ef",
            "ab.cd.ef=", "ab.cd.e f", "ab.cd.ef\n", "ab.c\u{0}d.ef", "äb.cd.ef", "ab.cd.ｅｆ", " ab.cd.ef",
        ])
    func malformed(text: String) {
        #expect(PostedJWS(text) == nil)
    }

    @Test("64 KiB are taken, and a byte more is not")
    func size() {
        let fitting = "ab.cd." + String(repeating: "A", count: PostedJWS.bytesMaximum - 6)
        #expect(PostedJWS(fitting) != nil)
        #expect(PostedJWS(fitting + "A") == nil)
        #expect(PostedJWS(fitting + "AA") == nil)
    }

    @Test(
        "a payload that is not what it should be leaves the account as the key",
        arguments: [
            "", "null", "[]", "{}", "7", "\"text\"", "{\"originalTransactionId\":null}",
            "{\"originalTransactionId\":7}", "{\"originalTransactionId\":\"\"}",
            "{\"originalTransactionId\":\"12a\"}", "{\"originalTransactionId\":\"-1\"}",
            "{\"originalTransactionId\":\"１２\"}", "{\"originalTransactionId\":\"1\\u00002\"}",
            "{\"originalTransactionId\":[\"1\"]}",
            "{\"originalTransactionId\":\"\(String(repeating: "1", count: 65))\"}",
            "{\"originalTransactionId\":\"1\"", String(repeating: "[", count: 20_000),
            String(repeating: "{\"a\":", count: 9_000), "\u{FF}\u{FE}",
        ])
    func hostilePayload(payload: String) {
        let text = "e30." + (payload.isEmpty ? "AA" : Proofs.encode(Data(payload.utf8))) + ".c2ln"
        let jws = PostedJWS(text)
        #expect(jws != nil)
        #expect(jws.map { PartitionKey.make(.signedTransaction($0), account: "player") } == "player")
    }

    @Test("64 digits are the most that is believed")
    func longestKey() throws {
        let digits = String(repeating: "1", count: 64)
        let jws = try #require(PostedJWS(Proofs.jws(originalTransactionId: digits)))
        #expect(PartitionKey.make(.signedTransaction(jws), account: "player") == digits)
    }

    @Test("a body may nest sixteen deep, and brackets in texts do not count")
    func nesting() {
        func nested(_ depth: Int) -> [UInt8] {
            Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
        }
        #expect(JSONBody.isShallow(nested(16)))
        #expect(!JSONBody.isShallow(nested(17)))
        #expect(JSONBody.isShallow(Array("{\"a\":\"\(String(repeating: "[{", count: 50))\\\"[[[\"}".utf8)))
        #expect(!JSONBody.isShallow(Array("{\"a\\\\\":\(String(repeating: "[", count: 20))".utf8)))
    }

    @Test("what is wrong with a body is said in the same words, whatever else is wrong with it")
    func problems() {
        func problem(_ body: [UInt8]) -> ProblemDetails? {
            do {
                _ = try JSONBody.decode([String: String].self, from: body)
                return nil
            } catch {
                return error as? ProblemDetails
            }
        }
        let deep = Array(String(repeating: "[", count: 17).utf8)
        let tooDeep = ProblemDetails.bodyMalformed("It nests deeper than 16 levels.")
        #expect(problem(deep + Array(String(repeating: "]", count: 17).utf8)) == tooDeep)
        #expect(problem(Array("{\"a\" x".utf8) + deep) == tooDeep)
        #expect(problem(deep + [0xFF]) == .bodyMalformed("It is not UTF-8 text."))
        #expect(
            problem(Array(deep.dropLast()) + Array(String(repeating: "]", count: 16).utf8))
                == .bodyMalformed("It is no JSON object."))
        #expect(problem(Array(deep.dropLast())) == .bodyMalformed("It is not JSON."))
        #expect(problem(Array("{\"a\":\"\u{1}\"}".utf8)) == .bodyMalformed("It is not JSON."))
        #expect(problem(Array("{\"a\":\"\(String(repeating: "[", count: 50))\"}".utf8)) == nil)
    }
}

/// Proofs whose form is right and whose content is made up.
enum Proofs {
    static func encode(_ data: Data) -> String {
        data.base64EncodedString().replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }

    static func jws(originalTransactionId: String, nonce: String = "") -> String {
        let payload = "{\"originalTransactionId\":\"\(originalTransactionId)\",\"nonce\":\"\(nonce)\"}"
        return [#"{"alg":"ES256"}"#, payload, "signature"].map { encode(Data($0.utf8)) }.joined(separator: ".")
    }

    /// One that no other test posts.
    static func fresh() -> String {
        jws(originalTransactionId: "2000000000000001", nonce: UUID().uuidString)
    }
}
