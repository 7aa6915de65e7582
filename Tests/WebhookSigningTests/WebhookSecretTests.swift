import Foundation
import Testing
import WebhookSigning

@Suite("Webhook secrets")
struct WebhookSecretTests {
    @Test("a secret's text survives reading and revealing", arguments: [24, 32, 64])
    func roundTrip(byteCount: Int) throws {
        let text = "whsec_" + Data(repeating: 0xA5, count: byteCount).base64EncodedString()
        let secret = try WebhookSecret(text)
        #expect(secret.reveal() == text)
        #expect(try WebhookSecret(secret.reveal()) == secret)
    }

    @Test("generated secrets are readable and differ")
    func generated() throws {
        let (first, second) = (WebhookSecret.generate(), WebhookSecret.generate())
        #expect(first != second)
        #expect(try WebhookSecret(first.reveal()) == first)
    }

    @Test("a text that is no secret says why, without repeating it")
    func refused() {
        func code(_ text: String) -> WebhookSecretError.Code? {
            do {
                _ = try WebhookSecret(text)
                return nil
            } catch {
                #expect(!error.description.contains("SECRETTEXT"))
                return error.code
            }
        }
        #expect(code("") == .missingPrefix)
        #expect(code("SECRETTEXT") == .missingPrefix)
        #expect(code("WHSEC_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw") == .missingPrefix)
        #expect(code("whsec_SECRETTEXT!") == .notBase64)
        #expect(code("whsec_") == .wrongLength)
        #expect(code("whsec_" + Data(count: 23).base64EncodedString()) == .wrongLength)
        #expect(code("whsec_" + Data(count: 65).base64EncodedString()) == .wrongLength)
    }

    @Test("no way of printing shows the key")
    func redacted() throws {
        let secret = WebhookSecret.generate()
        let key = String(secret.reveal().dropFirst("whsec_".count))
        var dumped = ""
        dump(secret, to: &dumped)
        for text in ["\(secret)", String(reflecting: secret), String(describing: [secret]), dumped] {
            #expect(!text.contains(key))
            #expect(text.contains("redacted"))
        }
    }
}
