import AppStore
import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing

@testable import AppStoreSimulator

@Suite("Forgeries")
struct ForgeryTests {
    private let app = AppIdentity(bundleId: "com.example.game")

    private func body(_ kind: String, _ more: String = "") -> String {
        #"{"kind":"\#(kind)","bundleId":"com.example.game","productId":"coins.100"\#(more)}"#
    }

    @Test("each kind is refused with exactly the code it names, also by a verifier that knows the genuine chain")
    func refused() async throws {
        let bench = try ForgeryBench()
        let fresh = SignedDataVerifier(roots: try bench.roots())
        let knowing = SignedDataVerifier(roots: try bench.roots())
        let genuine = try await bench.post("attacks", body("thousand_times"), as: ForgeryBench.Attacked.self)
        _ = try knowing.transaction(Array(genuine.artefacts[0].value.utf8), app: app).get()
        for forgery in Forgery.all {
            let forged = try await bench.post("forgeries", body(forgery.kind), as: ForgeryBench.Forged.self)
            #expect(forged.kind == forgery.kind)
            #expect(forged.expectedRejection == forgery.expectedRejection)
            let jws = Array(forged.signedTransaction.utf8)
            #expect(rejectionCode(fresh.transaction(jws, app: app)) == forgery.expectedRejection, "\(forgery.kind)")
            #expect(rejectionCode(knowing.transaction(jws, app: app)) == forgery.expectedRejection, "\(forgery.kind)")
        }
        #expect(fresh.chainsCached <= 1)
        await bench.close()
    }

    @Test(
        "they are refused wherever the store's clock stands",
        arguments: [VirtualClock.Limit.earliest, VirtualClock().now + VirtualClock.Limit.ahead])
    func anyTime(_ instant: Int64) async throws {
        let clock = VirtualClock()
        clock.set(instant, speed: 0)
        let bench = try ForgeryBench(clock: clock)
        let verifier = SignedDataVerifier(roots: try bench.roots())
        let genuine = try await bench.post("attacks", body("thousand_times"), as: ForgeryBench.Attacked.self)
        let transaction = try verifier.transaction(Array(genuine.artefacts[0].value.utf8), app: app).get()
        #expect(Int64(transaction.signedDate.timeIntervalSince1970 * 1_000) == instant)
        for forgery in Forgery.all {
            let forged = try await bench.post("forgeries", body(forgery.kind), as: ForgeryBench.Forged.self)
            #expect(
                rejectionCode(verifier.transaction(Array(forged.signedTransaction.utf8), app: app))
                    == forgery.expectedRejection, "\(forgery.kind)")
        }
        await bench.close()
    }

    @Test("a sale's fields are in the forgery, and each forgery has an id of its own")
    func fields() async throws {
        let bench = try ForgeryBench()
        let more = #","type":"Auto-Renewable Subscription","environment":"Sandbox","quantity":2,"price":1990"#
        let first = try await bench.post("forgeries", body("edited_payload", more), as: ForgeryBench.Forged.self)
        let second = try await bench.post("forgeries", body("edited_payload", more), as: ForgeryBench.Forged.self)
        #expect(first.transactionId != second.transactionId)
        let part = String(first.signedTransaction.split(separator: ".")[1])
        let payload = PayloadText(String(decoding: try #require(Base64URL.decode(part)), as: UTF8.self))
        #expect(payload["transactionId"] == "\"\(first.transactionId)\"")
        #expect(payload["type"] == "\"Auto-Renewable Subscription\"")
        #expect(payload["environment"] == "\"Sandbox\"")
        #expect(payload["quantity"] == "20")
        #expect(payload["price"] == "1990")
        #expect(payload["expiresDate"] != nil)
        await bench.close()
    }

    @Test("the list names every kind once, with a code and a sentence for each")
    func list() async throws {
        let bench = try ForgeryBench()
        let menu = try ForgeryBench.menu(of: try await bench.request(.get, "/simulator/v1/forgeries"))
        #expect(menu.kinds.map(\.kind) == Forgery.all.map(\.kind))
        #expect(menu.kinds.map(\.expectedRejection) == Forgery.all.map(\.expectedRejection))
        #expect(menu.attacks.map(\.kind) == Attack.all.map(\.kind))
        #expect(menu.kinds.count >= 60)
        #expect(Set(menu.kinds.map(\.kind)).count == menu.kinds.count)
        #expect(Set(menu.attacks.map(\.kind)).count == menu.attacks.count)
        for sentence in menu.kinds.map(\.what) + menu.attacks.map(\.what) + menu.attacks.map(\.goodBackend) {
            #expect(sentence.hasSuffix("."), "\(sentence)")
        }
        // What was there before other kinds came.
        let first = [
            "self_made_chain", "edited_payload", "algorithm_none", "algorithm_hs256", "expired_leaf", "wrong_bundle",
            "xcode", "local_testing", "swapped_certificates", "missing_certificate", "missing_leaf_marker",
            "missing_intermediate_marker",
        ]
        #expect(Set(menu.kinds.map(\.kind)).isSuperset(of: first))
        await bench.close()
    }

    @Test("a kind that does not exist, and more than one at a time, are problems")
    func bad() async throws {
        let bench = try ForgeryBench()
        for path in ["forgeries", "attacks"] {
            for body in [
                body("magic"), body(""), "{}", #"{"kind":"xcode"}"#, body("thousand_times", #","type":"Coin""#),
                #"{"kind":"\#(path == "attacks" ? "thousand_times" : "xcode")","bundleId":"a","productId":"p","count":2}"#,
            ] {
                let response = try await bench.request(
                    .post, "/simulator/v1/\(path)", body: ByteBuffer(string: body))
                #expect(response.status == .badRequest, "\(body)")
                #expect(response.headers[.contentType] == "application/problem+json")
            }
        }
        await bench.close()
    }

    @Test("fields of a payload can be changed without touching the others")
    func payloadText() {
        let text = #"{"a":"x,\"}:{","b":{"c":[1,{"d":"]"}],"e":{}},"f":-1.5,"g":null}"#
        var payload = PayloadText(text)
        #expect(payload.text == text)
        #expect(payload["a"] == #""x,\"}:{""#)
        #expect(payload["b"] == #"{"c":[1,{"d":"]"}],"e":{}}"#)
        #expect(payload["f"] == "-1.5")
        #expect(payload["h"] == nil)
        payload["a"] = nil
        payload["f"] = "2"
        payload["h"] = "true"
        payload.append(name: "\"f\"", "3")
        #expect(payload.text == #"{"b":{"c":[1,{"d":"]"}],"e":{}},"f":2,"g":null,"h":true,"f":3}"#)
        #expect(PayloadText("{}").text == "{}")
    }
}
