import AppStore
import Foundation
import Testing

@testable import AppStoreSimulator

@Suite("Hostile headers")
struct HostileHeaderTests {
    private let store: SimulatedStore

    init() throws { store = try #require(SimulatedStore.shared) }

    @Test("the header that the other tests spoil is good")
    func good() throws {
        let list = try store.certificateTexts().joined(separator: ",")
        #expect(try store.rejectionOfHeader("{\"alg\":\"ES256\",\"x5c\":[\(list)]}") == nil)
        #expect(try store.rejectionOfHeader(" { \"x5c\" : [ \(list) ] , \"kid\":\"1\", \"alg\":\"ES256\" }\n") == nil)
    }

    @Test(
        "only ES256 is an algorithm",
        arguments: [
            "\"none\"", "\"None\"", "\"\"", "\"HS256\"", "\"ES384\"", "\"ES256K\"", "\"es256\"", "\"ES256 \"",
            "\"PS256\"", "256", "null", "[\"ES256\"]", "{\"ES256\":1}", "true",
        ])
    func algorithm(_ algorithm: String) throws {
        let list = try store.certificateTexts().joined(separator: ",")
        #expect(try store.rejectionOfHeader("{\"alg\":\(algorithm),\"x5c\":[\(list)]}") == .algorithmNotES256)
    }

    @Test("a header without an algorithm is refused")
    func noAlgorithm() throws {
        let list = try store.certificateTexts().joined(separator: ",")
        #expect(try store.rejectionOfHeader("{\"x5c\":[\(list)]}") == .algorithmNotES256)
    }

    @Test("exactly three certificates are accepted")
    func certificateCount() throws {
        let texts = try store.certificateTexts()
        let lists = [
            [], [texts[0]], [texts[0], texts[1]], [texts[0], texts[2]], texts + [texts[2]], texts + texts,
        ]
        for list in lists {
            let header = "{\"alg\":\"ES256\",\"x5c\":[\(list.joined(separator: ","))]}"
            #expect(try store.rejectionOfHeader(header) == .certificateCount)
        }
        #expect(try store.rejectionOfHeader("{\"alg\":\"ES256\"}") == .certificateCount)
        #expect(try store.rejectionOfHeader("{\"alg\":\"ES256\",\"x5c\":null}") == .certificateCount)
    }

    @Test("a certificate that is no base64 or no certificate is refused")
    func certificateGarbage() throws {
        let texts = try store.certificateTexts()
        let urlSafe = "\"-_-_\""
        let unpadded = "\"" + texts[0].filter { $0 != "=" && $0 != "\"" } + "A\""
        let trailing = "\"\((Data(try store.authority.chain.encoded[0]) + [0, 0]).base64EncodedString())\""
        let large = "\"\(Data(repeating: 0x30, count: 9_000).base64EncodedString())\""
        for garbage in [
            "\"\"", "\"!!!!\"", "\"MIIB\"", urlSafe, unpadded, trailing, large, "\"\\n\(texts[0].dropFirst())",
        ] {
            let header = "{\"alg\":\"ES256\",\"x5c\":[\(garbage),\(texts[1]),\(texts[2])]}"
            #expect(try store.rejectionOfHeader(header) == .certificateInvalid)
        }
    }

    @Test("a header that is not what RFC 7515 says is refused")
    func malformed() throws {
        let list = try store.certificateTexts().joined(separator: ",")
        let nested = String(repeating: "[", count: 40) + String(repeating: "]", count: 40)
        let headers = [
            "", "null", "[]", "\"ES256\"", "{", "{\"alg\":\"ES256\",}", "{\"alg\":\"ES256\"} {}",
            "{\"alg\":\"ES256\",\"x5c\":\"\(list.prefix(20).filter { $0 != "\"" })\"}",
            "{\"alg\":\"ES256\",\"x5c\":{}}", "{\"alg\":\"ES256\",\"x5c\":[1,2,3]}",
            "{\"alg\":\"ES256\",\"alg\":\"none\",\"x5c\":[\(list)]}",
            "{\"alg\":\"ES256\",\"crit\":[\"exp\"],\"exp\":1,\"x5c\":[\(list)]}",
            "{\"alg\":\"ES256\",\"jwk\":\(nested),\"x5c\":[\(list)]}",
        ]
        for header in headers.dropFirst() {
            #expect(try store.rejectionOfHeader(header) == .headerInvalid)
        }
        #expect(try store.rejectionOfHeader("") == .notAJWS)
    }

    @Test("what is not three parts of strict base64url is no JWS")
    func notAJWS() throws {
        let good = String(decoding: try store.sign(SimulatedStore.payload()), as: UTF8.self)
        let parts = good.split(separator: ".").map(String.init)
        let bad = [
            "", ".", "..", "...", "abc", parts[0], "\(parts[0]).\(parts[1])", "\(good).", "\(good).\(parts[2])",
            ".\(parts[1]).\(parts[2])", "\(parts[0])..\(parts[2])", "\(parts[0]).\(parts[1]).",
            "\(good)=", "\(good)==", "\(good)\n", " \(good)", "\(parts[0]).\(parts[1])=.\(parts[2])",
            "\(parts[0]).!\(parts[1].dropFirst()).\(parts[2])", "!\(good.dropFirst())",
            "\(parts[0]).\(parts[1]).\(parts[2].dropLast())\u{0}", "\(parts[0]).\(parts[1]).+/\(parts[2].dropFirst(2))",
        ]
        for text in bad {
            #expect(rejection(store.verifier.payload(Array(text.utf8))) == .notAJWS, "\(text.prefix(8))…")
        }
    }

    @Test("a signature has one spelling only: spare bits are zero")
    func oneSpelling() throws {
        var jws = try store.sign(SimulatedStore.payload())
        let verifier = store.verifier
        _ = try verifier.payload(jws).get()
        // 64 bytes leave four spare bits in the last letter: A, Q, g or w.
        jws[jws.count - 1] += 1
        #expect(rejection(verifier.payload(jws)) == .notAJWS)
    }

    @Test("more bytes than allowed are refused before anything is looked at")
    func tooLarge() {
        let huge = [UInt8](repeating: UInt8(ascii: "["), count: 4 << 20)
        #expect(rejection(store.verifier.payload(huge)) == .payloadTooLarge)
        let limits = SignedDataLimits(signedDataBytesMaximum: 10)
        let verifier = SignedDataVerifier(roots: store.roots, limits: limits)
        #expect(rejection(verifier.payload([UInt8](repeating: 65, count: 11))) == .payloadTooLarge)
        #expect(rejection(verifier.payload([UInt8](repeating: 65, count: 10))) == .notAJWS)
    }
}
