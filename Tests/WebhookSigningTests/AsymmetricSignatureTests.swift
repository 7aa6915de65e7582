import Crypto
import Foundation
import Testing
import WebhookSigning

@Suite("Webhook signatures by ed25519")
struct AsymmetricSignatureTests {
    private static let id = "evt_1"
    private static let body = Array(#"{"id":"evt_1"}"#.utf8)
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    private func signature(_ signer: WebhookSigner) -> String {
        signer.headers(id: Self.id, timestamp: Self.now, body: Self.body)[2].value
    }

    private func verify(_ verifier: WebhookVerifier, _ signature: String, body: [UInt8] = AsymmetricSignatureTests.body)
        throws
    {
        try verifier.verify(
            id: Self.id, timestamp: "1800000000", signature: signature, body: body, now: Self.now)
    }

    @Test("the public key alone verifies, and so does plain ed25519 of id.timestamp.body")
    func verified() throws {
        let key = WebhookSigningKey.generate()
        let header = signature(WebhookSigner(secrets: [.generate()], keys: [key]))
        #expect(header.split(separator: " ").map { $0.prefix { $0 != "," } } == ["v1", "v1a"])
        let text = key.publicKey.description
        try verify(WebhookVerifier(publicKeys: [try WebhookPublicKey(text)]), header)
        let raw = try #require(Data(base64Encoded: String(text.dropFirst("whpk_".count))))
        let entry = try #require(header.split(separator: " ").last)
        let bytes = try #require(Data(base64Encoded: String(entry.dropFirst("v1a,".count))))
        let content = Data("evt_1.1800000000.".utf8) + Self.body
        #expect(try Curve25519.Signing.PublicKey(rawRepresentation: raw).isValidSignature(bytes, for: content))
    }

    @Test("another key, another body, and a header without v1a are refused")
    func refused() throws {
        let (key, secret) = (WebhookSigningKey.generate(), WebhookSecret.generate())
        let header = signature(WebhookSigner(secrets: [secret], keys: [key]))
        let own = WebhookVerifier(publicKeys: [key.publicKey])
        func code(_ body: () throws -> Void) -> WebhookVerificationError.Code? {
            do {
                try body()
                return nil
            } catch { return (error as? WebhookVerificationError)?.code }
        }
        let other = WebhookVerifier(publicKeys: [WebhookSigningKey.generate().publicKey])
        #expect(code { try verify(other, header) } == .noMatchingSignature)
        #expect(code { try verify(own, header, body: [1]) } == .noMatchingSignature)
        #expect(code { try verify(own, signature(WebhookSigner(secrets: [secret]))) } == .malformedSignature)
        #expect(code { try verify(WebhookVerifier(secrets: [.generate()]), header) } == .noMatchingSignature)
        #expect(code { try verify(own, "v1a,!") } == .malformedSignature)
    }

    @Test("while keys rotate either public key verifies")
    func rotation() throws {
        let (old, new) = (WebhookSigningKey.generate(), WebhookSigningKey.generate())
        let header = signature(WebhookSigner(secrets: [.generate()], keys: [new, old]))
        for key in [old, new] { try verify(WebhookVerifier(publicKeys: [key.publicKey]), header) }
    }

    @Test("a private key survives revealing, and no way of printing shows it")
    func texts() throws {
        let key = WebhookSigningKey.generate()
        let read = try WebhookSigningKey(key.reveal())
        #expect(read.publicKey.description == key.publicKey.description)
        var dumped = ""
        dump(key, to: &dumped)
        for text in ["\(key)", String(reflecting: key), dumped] {
            #expect(text.contains("redacted") && !text.contains(key.reveal().dropFirst(5)))
        }
        for bad in ["", "whsec_AAAA", "whsk_!", "whsk_AAAA"] {
            #expect(throws: WebhookSecretError.self) { try WebhookSigningKey(bad) }
        }
        #expect(throws: WebhookSecretError.self) { try WebhookPublicKey(key.reveal()) }
    }
}
