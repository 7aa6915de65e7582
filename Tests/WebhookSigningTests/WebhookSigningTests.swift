import Foundation
import Testing
import WebhookSigning

/// The example the Standard Webhooks project publishes with its libraries.
private enum PublishedExample {
    static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    static let id = "msg_p5jXN8AQM9LWM0D4loKWxJek"
    static let time = Date(timeIntervalSince1970: 1_614_265_330)
    static let timestamp = "1614265330"
    static let body = Array("{\"test\": 2432232314}".utf8)
    static let signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
}

@Suite("Webhook signatures")
struct WebhookSigningTests {
    @Test("the published example is signed as published")
    func publishedExampleIsSigned() throws {
        let signer = WebhookSigner(secrets: [try WebhookSecret(PublishedExample.secret)])
        let headers = signer.headers(
            id: PublishedExample.id, timestamp: PublishedExample.time, body: PublishedExample.body)
        #expect(headers.map(\.name) == ["webhook-id", "webhook-timestamp", "webhook-signature"])
        #expect(
            headers.map(\.value) == [PublishedExample.id, PublishedExample.timestamp, PublishedExample.signature])
    }

    @Test("the published example is accepted, and among signatures of other schemes too")
    func publishedExampleIsVerified() throws {
        try verify()
        try verify(
            signature: "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM= "
                + PublishedExample.signature)
    }

    @Test("a signer with two secrets satisfies receivers that know either")
    func rotation() throws {
        let (old, new) = (WebhookSecret.generate(), WebhookSecret.generate())
        let headers = WebhookSigner(secrets: [new, old])
            .headers(id: "msg_1", timestamp: PublishedExample.time, body: [1, 2, 3])
        let signature = headers[2].value
        #expect(signature.split(separator: " ").count == 2)
        for secrets in [[old], [new], [WebhookSecret.generate(), old]] {
            try WebhookVerifier(secrets: secrets).verify(
                id: "msg_1", timestamp: PublishedExample.timestamp, signature: signature, body: [1, 2, 3],
                now: PublishedExample.time)
        }
    }

    @Test("whatever is signed cannot be changed")
    func tampering() {
        #expect(refusal(id: "msg_other") == .noMatchingSignature)
        #expect(refusal(timestamp: "1614265331") == .noMatchingSignature)
        #expect(refusal(body: PublishedExample.body + [0x20]) == .noMatchingSignature)
        #expect(refusal(secret: WebhookSecret.generate().reveal()) == .noMatchingSignature)
        #expect(refusal(signature: "v1,AAAA") == .noMatchingSignature)
        #expect(refusal(signature: "v1,") == .noMatchingSignature)
        #expect(refusal(signature: String(PublishedExample.signature.prefix(19))) == .noMatchingSignature)
    }

    @Test("a fraction of a second is cut off, also before 1970")
    func fractionalTimestamp() throws {
        let signer = WebhookSigner(secrets: [.generate()])
        #expect(signer.headers(id: "m", timestamp: Date(timeIntervalSince1970: 7.9), body: [])[1].value == "7")
        #expect(signer.headers(id: "m", timestamp: Date(timeIntervalSince1970: -0.5), body: [])[1].value == "-1")
    }

    @Test("the tolerance holds to the second, either way", arguments: [-300.0, -299, 0, 300])
    func withinTolerance(offset: Double) throws {
        try verify(now: PublishedExample.time.addingTimeInterval(offset))
    }

    @Test("a message outside the tolerance is refused")
    func outsideTolerance() {
        #expect(refusal(now: PublishedExample.time.addingTimeInterval(301)) == .timestampTooOld)
        #expect(refusal(now: PublishedExample.time.addingTimeInterval(-301)) == .timestampTooNew)
        #expect(refusal(timestamp: "9223372036854775807") == .timestampTooNew)
    }

    @Test(
        "a timestamp that is no plain number is refused",
        arguments: ["", " ", "-1", "+1614265330", "1614265330.0", "1e9", "١٦١٤٢٦٥٣٣٠", "99999999999999999999"])
    func malformedTimestamp(text: String) {
        #expect(refusal(timestamp: text) == .malformedTimestamp)
    }

    @Test(
        "a header without a well-formed v1 signature is refused",
        arguments: ["", "   ", "v1", "garbage", "v1,not base64!", "v2,AAAA", "v1a,AAAA"])
    func malformedSignature(text: String) {
        #expect(refusal(signature: text) == .malformedSignature)
    }

    @Test("an endless list of signatures is not worked through")
    func tooManySignatures() throws {
        let wrong = "v1,AAAA "
        try verify(signature: String(repeating: wrong, count: 15) + PublishedExample.signature)
        #expect(
            refusal(signature: String(repeating: wrong, count: 16) + PublishedExample.signature) == .tooManySignatures)
    }

    @Test("a verifier without secrets accepts nothing, and an unsigned message is refused")
    func noSecrets() {
        #expect(throws: WebhookVerificationError.self) {
            try WebhookVerifier(secrets: []).verify(
                id: PublishedExample.id, timestamp: PublishedExample.timestamp, signature: PublishedExample.signature,
                body: PublishedExample.body, now: PublishedExample.time)
        }
        let headers = WebhookSigner(secrets: []).headers(id: "m", timestamp: PublishedExample.time, body: [])
        #expect(headers[2].value.isEmpty)
    }

    private func verify(
        secret: String = PublishedExample.secret, id: String = PublishedExample.id,
        timestamp: String = PublishedExample.timestamp, signature: String = PublishedExample.signature,
        body: [UInt8] = PublishedExample.body, now: Date = PublishedExample.time
    ) throws {
        try WebhookVerifier(secrets: [try WebhookSecret(secret)]).verify(
            id: id, timestamp: timestamp, signature: signature, body: body, now: now)
    }

    private func refusal(
        secret: String = PublishedExample.secret, id: String = PublishedExample.id,
        timestamp: String = PublishedExample.timestamp, signature: String = PublishedExample.signature,
        body: [UInt8] = PublishedExample.body, now: Date = PublishedExample.time
    ) -> WebhookVerificationError.Code? {
        do {
            try verify(secret: secret, id: id, timestamp: timestamp, signature: signature, body: body, now: now)
            return nil
        } catch {
            return (error as? WebhookVerificationError)?.code
        }
    }
}
