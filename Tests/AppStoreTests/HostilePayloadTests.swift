import AppStore
import Foundation
import Testing

@testable import AppStoreSimulator

/// What stands in a payload is judged even when it is signed well: a signature does not make JSON safe to keep.
@Suite("Hostile payloads")
struct HostilePayloadTests {
    private let store: SimulatedStore

    init() throws { store = try #require(SimulatedStore.shared) }

    @Test("a payload that is not one JSON object that says when it was signed is told apart from a forgery")
    func malformed() throws {
        let good = SimulatedStore.payload()
        let abyss = String(repeating: "[", count: 100_000)
        let objects = String(repeating: "{\"a\":", count: 20_000)
        let payloads = [
            "null", "[]", "1", "\"text\"", "{", "}", "{}}", "{\"signedDate\":}", "{\"signedDate\"}", "{signedDate:1}",
            "{'signedDate':1}", "{\"signedDate\":1,}", "{,}", "{\"a\":tru}", "{\"a\":NaN}", "{\"a\":Infinity}",
            "{\"a\":+1}", "{\"a\":01}", "{\"a\":1.}", "{\"a\":.5}", "{\"a\":1e}", "{\"a\":0x10}", "{\"a\":-}",
            "{\"a\":\"\\x\"}", "{\"a\":\"\\u12\"}", "{\"a\":\"\\ud800\"}", "{\"a\":\"\\udc00\"}",
            "{\"a\":\"\\ud800\\u0041\"}", "{\"a\":\"tab\there\"}", "{\"a\":\"unfinished", "\u{FEFF}\(good)",
            "\(good)\(good)", "\(good)x", "\(good)\u{0}", "{\"a\":\"\u{0}\"}", "{\"a\":\"\\u0000\"}",
            SimulatedStore.payload(["a": abyss]), SimulatedStore.payload(["a": objects]),
            SimulatedStore.payload(["a": "[1,2"]), SimulatedStore.payload(["a": "[1 2]"]),
            SimulatedStore.payload(["a": "{\"b\" 1}"]),
        ]
        let known = store.verifier
        _ = try known.payload(try store.sign(good)).get()
        for payload in payloads {
            let jws = try store.sign(payload)
            // Under a header that the verifier knows, and under one that it does not.
            for verifier in [known, store.verifier] {
                #expect(rejection(verifier.payload(jws)) == .payloadUnreadable, "\(payload.prefix(60))")
            }
            // The same under another one's signature is anybody's.
            let other = try store.sign(good)
            let signature = other.suffix(from: try #require(other.lastIndex(of: UInt8(ascii: "."))))
            let unsigned = jws.prefix(upTo: try #require(jws.lastIndex(of: UInt8(ascii: ".")))) + signature
            let code = rejection(store.verifier.payload(Array(unsigned)))
            #expect(code == .payloadInvalid || code == .signedDateMissing, "\(payload.prefix(60))")
        }
    }

    /// What no value of a known field may be, and what nobody asks for may.
    private static let strange =
        [
            "1e999", "-1e999", "1e-999", String(repeating: "9", count: 400), "0." + String(repeating: "3", count: 400),
            "\"a\\u0000b\"", "\"\\ud800\"", "\"\\udc00\\ud800\"", "\"\\ud800\\u0041\"", "{\"a\":1,\"a\":2}",
            "{\"a\":\"\\u0000\"}",
        ]
        + [40, 10_000].flatMap { depth in
            [("[", "]"), ("{\"a\":", "}"), ("[{\"]\":", "}]")].map { open, close in
                String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)
            }
        }

    @Test("a strange value in a field that nobody asks for turns nothing away, and the field is named")
    func strangeUnknown() throws {
        let good = SimulatedStore.payload()
        let doubled = String(good.dropLast()) + ",\"later\":1,\"later\":2}"
        for payload in Self.strange.map({ SimulatedStore.payload(["later": $0]) }) + [doubled] {
            let transaction = try store.verifier.transaction(try store.sign(payload), app: SimulatedStore.app).get()
            #expect(transaction.unknownFields == ["later"], "\(payload.prefix(60))")
            #expect(transaction.unreadableFields == [])
            #expect(String(decoding: transaction.payload, as: UTF8.self) == payload)
        }
        for name in ["a\\u0000", "\\ud800"] {
            let payload = String(good.dropLast()) + ",\"\(name)\":1}"
            let transaction = try store.verifier.transaction(try store.sign(payload), app: SimulatedStore.app).get()
            #expect(transaction.unknownFields == ["(unreadable)"])
        }
    }

    @Test("a strange value in a known field is never guessed")
    func strangeKnown() throws {
        let good = SimulatedStore.payload()
        let values = Self.strange.filter { !$0.hasPrefix("{\"a\":1") && !$0.hasPrefix("{\"a\":\"") }
        for value in values {
            #expect(try store.rejectionOfSigned(SimulatedStore.payload(["productId": value])) == .fieldInvalid)
            let jws = try store.sign(SimulatedStore.payload(["price": value]))
            let transaction = try store.verifier.transaction(jws, app: SimulatedStore.app).get()
            #expect(transaction.price == nil)
            #expect(transaction.unreadableFields == ["price"], "\(value.prefix(60))")
        }
        for name in ["quantity", "quantit\\u0079", "inAppOwnershipType"] {
            let value = name == "inAppOwnershipType" ? "\"PURCHASED\"" : "10"
            let twice = String(good.dropLast()) + ",\"\(name)\":\(value),\"\(name)\":\(value)}"
            #expect(try store.rejectionOfSigned(twice) == .fieldInvalid, "\(name)")
        }
    }

    @Test("bytes that are not UTF-8 are refused")
    func notUTF8() throws {
        for bytes in [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xE2, 0x82]] as [[UInt8]] {
            let payload = Array("{\"signedDate\":1,\"a\":\"".utf8) + bytes + Array("\"}".utf8)
            let jws = Array(try PayloadSigner(chain: store.authority.chain).sign(payload).utf8)
            #expect(rejection(store.verifier.payload(jws)) == .payloadUnreadable)
        }
    }

    @Test("a payload must say when it was signed")
    func signedDate() throws {
        #expect(try store.rejectionOfSigned(SimulatedStore.payload(["signedDate": nil])) == .payloadUnreadable)
        #expect(try store.rejectionOfSigned(SimulatedStore.payload(["signedDate": "null"])) == .payloadUnreadable)
        for value in ["\"2026\"", "true", "{}", "[]", "1e300", "-1e300", "9223372036854775807"] {
            #expect(
                try store.rejectionOfSigned(SimulatedStore.payload(["signedDate": value])) == .payloadUnreadable,
                "\(value)")
        }
        #expect(try store.rejectionOfSigned(SimulatedStore.payload(["signedDate": "0"])) == .certificateExpired)
    }

    @Test("numbers of any size are read or refused, and never crash")
    func numbers() throws {
        let huge = ["99999999999999999999999999", "1e308", "-1e308", "9223372036854775808"]
        for number in huge {
            #expect(try store.rejectionOfSigned(SimulatedStore.payload(["quantity": number])) == .fieldInvalid)
            #expect(try store.rejectionOfSigned(SimulatedStore.payload(["expiresDate": number])) == .fieldInvalid)
            let jws = try store.sign(SimulatedStore.payload(["price": number]))
            let transaction = try store.verifier.transaction(jws, app: SimulatedStore.app).get()
            #expect(transaction.price == nil)
            #expect(transaction.unreadableFields == ["price"])
        }
    }

    @Test("every field that a transaction needs is missed, whether absent, null or empty")
    func missingFields() throws {
        for value in [nil, "null", "\"\""] as [String?] {
            let code = try store.rejectionOfSigned(SimulatedStore.payload(["bundleId": value]))
            #expect(code == .bundleIdMissing, "\(value ?? "absent")")
        }
        for name in ["originalTransactionId", "productId", "type", "purchaseDate"] {
            let absent = try store.rejectionOfSigned(SimulatedStore.payload([name: nil]))
            #expect(absent == .fieldMissing, "\(name)")
            #expect(try store.rejectionOfSigned(SimulatedStore.payload([name: "null"])) == .fieldMissing, "\(name)")
        }
        #expect(try store.rejectionOfSigned(SimulatedStore.payload(["productId": "\"\""])) == .fieldMissing)
        #expect(try store.rejectionOfSigned(SimulatedStore.payload(["transactionId": "\"\""])) == .fieldMissing)
        #expect(try store.rejectionOfSigned(SimulatedStore.payload(["transactionId": nil])) == .notATransaction)
        #expect(try store.rejectionOfSigned(SimulatedStore.payload(["transactionId": "null"])) == .notATransaction)
    }

    @Test("a missing bundle id is the app's where something else says whose it is; another app's never is")
    func knownApp() throws {
        func read(_ changes: [String: String?]) throws -> Result<SignedTransaction, SignedDataRejection> {
            store.verifier.transaction(
                try store.sign(SimulatedStore.payload(changes)), app: SimulatedStore.app, isAppKnown: true)
        }
        #expect(try read(["bundleId": nil]).get().bundleId == SimulatedStore.app.bundleId)
        #expect(rejection(try read(["bundleId": "\"com.example.other\""])) == .bundleMismatch)
        #expect(rejection(try read(["bundleId": "7"])) == .fieldInvalid)
        #expect(rejection(try read(["bundleId": nil, "environment": "\"Xcode\""])) == .environmentXcode)
    }

    @Test("a field on which a grant depends is never guessed")
    func invalidFields() throws {
        let fields = [
            ("transactionId", "2000000000000001"), ("originalTransactionId", "true"), ("bundleId", "[]"),
            ("transactionId", "\"e\u{301}\""), ("originalTransactionId", "\"\u{E9}\""),
            ("productId", "{}"), ("type", "1"), ("purchaseDate", "\"today\""), ("quantity", "0"), ("quantity", "-1"),
            ("quantity", "1.5"), ("quantity", "\"1\""), ("revocationDate", "\"never\""), ("expiresDate", "false"),
            ("environment", "1"), ("inAppOwnershipType", "1"),
        ]
        for (name, value) in fields {
            #expect(try store.rejectionOfSigned(SimulatedStore.payload([name: value])) == .fieldInvalid, "\(name)")
        }
    }

    @Test("a transaction of another app is refused")
    func bundle() throws {
        for bundleId in ["com.example.game2", "com.example.Game", "com.example", "com.example.game "] {
            let payload = SimulatedStore.payload(["bundleId": "\"\(bundleId)\""])
            #expect(try store.rejectionOfSigned(payload) == .bundleMismatch)
        }
    }

    @Test("a bundle id that only looks the same, with the Kelvin sign for a K, is another app's")
    func canonicallyEqualBundle() throws {
        let jws = try store.sign(SimulatedStore.payload(["bundleId": "\"com.example.\u{212A}art\""]))
        let app = AppIdentity(bundleId: "com.example.Kart")
        #expect(rejection(store.verifier.transaction(jws, app: app)) == .bundleMismatch)
    }

    @Test("development environments and unknown ones are refused, a missing one is not")
    func environment() throws {
        func code(_ environment: String?) throws -> RejectionCode? {
            try store.rejectionOfSigned(SimulatedStore.payload(["environment": environment]))
        }
        #expect(try code("\"Xcode\"") == .environmentXcode)
        #expect(try code("\"LocalTesting\"") == .environmentLocalTesting)
        for unknown in ["\"production\"", "\"\"", "\"Staging\"", "\"PRODUCTION\"", "\"Production \""] {
            #expect(try code(unknown) == .environmentUnknown)
        }
        #expect(try code("\"Production\"") == nil)
        #expect(try code("\"Sandbox\"") == nil)
        for absent in [nil, "null"] as [String?] {
            let jws = try store.sign(SimulatedStore.payload(["environment": absent]))
            #expect(try store.verifier.transaction(jws, app: SimulatedStore.app).get().environment == nil)
        }
    }

    @Test("a refusal never says what the payload says")
    func details() throws {
        let secret = "SECRET"
        let payloads = [
            SimulatedStore.payload(["bundleId": "\"\(secret)\""]),
            SimulatedStore.payload(["environment": "\"\(secret)\""]),
            SimulatedStore.payload(["expiresDate": "\"\(secret)\""]), "{\"\(secret)\":1,\"\(secret)\":2}", secret,
        ]
        for payload in payloads {
            guard
                case .failure(let rejection) = store.verifier.transaction(
                    try store.sign(payload), app: SimulatedStore.app)
            else {
                Issue.record("accepted")
                continue
            }
            #expect(!rejection.description.contains(secret))
        }
    }
}
