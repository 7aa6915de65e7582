import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import WebhookSigning

/// Takes webhooks as a studio's backend would: checks the signature, writes the event down, then answers 204.
struct WebhookReceiver: Sendable {
    /// The largest webhook that is read; real ones have some two kilobytes.
    static let bodyBytesMaximum = 1 << 20

    let verifier: WebhookVerifier
    let log: WebhookLog
    /// The share of good webhooks that is answered with 500, from 0 to 1.
    let failShare: Double
    /// Passes an accepted webhook on, and gives the answer; nil where nothing is passed on.
    var forward: (@Sendable (_ headers: [(String, String)], _ body: [UInt8]) async -> HTTPResponse.Status)?

    /// The headers that are passed on as they came.
    private static let forwarded = [
        WebhookSigner.idHeader, WebhookSigner.timestampHeader, WebhookSigner.signatureHeader, "user-agent",
        "traceparent",
    ]

    /// The routes: the hook at `/hooks`, and at `/readyz` and `/stats` what scripts ask.
    func makeRouter() -> Router<BasicRequestContext> {
        let router = Router(context: BasicRequestContext.self)
        router.get("readyz") { _, _ in "ready\n" }
        router.get("stats") { _, _ in
            Response(
                status: .ok, headers: [.contentType: "application/json"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: try ToolOutput.json(await log.snapshot()) + "\n")))
        }
        router.post("hooks") { request, _ in
            let body = try await request.body.collect(upTo: Self.bodyBytesMaximum)
            return Response(status: await receive(request.headers, body: Array(body.readableBytesView), now: Date()))
        }
        return router
    }

    /// What a webhook is answered with.
    func receive(_ headers: HTTPFields, body: [UInt8], now: Date) async -> HTTPResponse.Status {
        guard let id = Self.header(WebhookSigner.idHeader, headers),
            let timestamp = Self.header(WebhookSigner.timestampHeader, headers),
            let signature = Self.header(WebhookSigner.signatureHeader, headers),
            (try? verifier.verify(id: id, timestamp: timestamp, signature: signature, body: body, now: now)) != nil
        else {
            await log.noteBadSignature()
            return .unauthorized
        }
        // After the check, so that a failure on purpose is never mistaken for a forged webhook.
        if failShare > 0, Double.random(in: 0..<1) < failShare {
            await log.noteFailureOnPurpose()
            return .internalServerError
        }
        if let forward {
            let given = Self.forwarded.compactMap { name in Self.header(name, headers).map { (name, $0) } }
            let answer = await forward(given, body)
            // What is not taken there is not taken here, and comes again.
            guard answer.kind == .successful else { return answer }
        }
        do {
            try await log.append(
                ReceivedWebhook(
                    eventId: id, attemptTimestamp: timestamp, userAgent: headers[.userAgent],
                    traceparent: Self.header("traceparent", headers), body: body, receivedAt: ToolOutput.instant(now)))
            return .noContent
        } catch {
            return .internalServerError
        }
    }

    private static func header(_ name: String, _ headers: HTTPFields) -> String? {
        HTTPField.Name(name).flatMap { headers[$0] }
    }
}
