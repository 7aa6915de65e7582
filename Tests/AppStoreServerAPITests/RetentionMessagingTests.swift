import AppStoreServerAPI
import AsyncHTTPClient
import Crypto
import Foundation
import Testing

/// Every call of the Retention Messaging API once: what is sent, and how Apple's answers are read.
@Suite(.serialized)
struct RetentionMessagingTests {
    private static let image = UUID()
    private static let message = UUID()

    /// Makes calls of a server with these bodies, and a refusal where there is a code; looks at the requests' lines.
    private func run(
        _ answers: [(request: String, status: String, body: String)],
        _ body: (AppStoreServerClient) async throws -> Void
    ) async throws {
        try await VerifyReceiptServer.run(answers.map { VerifyReceiptServer.http($0.status, $0.body) }) { server in
            let key = try SigningKey(
                issuerId: "issuer", keyId: "2X9R4HXF34", pem: P256.Signing.PrivateKey().pemRepresentation)
            try await body(
                AppStoreServerClient(
                    http: .shared, key: key, bundleId: "com.example.game",
                    hosts: AppStoreHosts(production: server.url, sandbox: server.url)))
            let lines = server.requests.map { $0.prefix { $0 != "\r\n" } }
            #expect(lines == answers.map { "\($0.request) HTTP/1.1"[...] })
        }
    }

    private func refused(_ status: String, _ code: Int) -> (String, String) {
        (status, "{\"errorCode\":\(code),\"errorMessage\":\"refused\"}")
    }

    @Test func messagesImagesAndDefaults() async throws {
        let (image, message) = (Self.image.uuidString.lowercased(), Self.message.uuidString.lowercased())
        let (pictures, messages) = ("/inApps/v1/messaging/image", "/inApps/v1/messaging/message")
        let standard = "/inApps/v1/messaging/default/gold/en-US"
        let (none, isUsed) = (refused("404 Not Found", 4_040_020), refused("403 Forbidden", 4_030_019))
        let isThere = refused("409 Conflict", 4_090_000)
        try await run([
            ("PUT \(pictures)/\(image)?imageSize=BULLET_POINT", "200 OK", ""),
            (
                "GET \(pictures)/list", "200 OK",
                #"{"imageIdentifiers":[{"imageIdentifier":"\#(image)","imageState":"APPROVED","#
                    + #""imageSize":"FULL_SIZE"}]}"#
            ),
            ("PUT \(messages)/\(message)", "200 OK", ""),
            (
                "GET \(messages)/list", "200 OK",
                #"{"messageIdentifiers":[{"messageIdentifier":"\#(message)","messageState":"APPROVED"}]}"#
            ),
            ("PUT \(standard)", "200 OK", ""),
            ("GET \(standard)", "200 OK", #"{"messageIdentifier":"\#(message)"}"#),
            ("DELETE \(standard)", "200 OK", ""),
            ("GET \(standard)", none.0, none.1), ("DELETE \(pictures)/\(image)", isUsed.0, isUsed.1),
            ("PUT \(pictures)/\(image)", isThere.0, isThere.1), ("DELETE \(messages)/\(message)", "200 OK", ""),
            ("DELETE \(pictures)/\(image)", "200 OK", ""),
        ]) { client in
            let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
            try await client.uploadRetentionImage(Self.image, png: png, size: .bulletPoint, in: .sandbox)
            let images = try await client.retentionImages(in: .sandbox)
            #expect(images.map(\.imageIdentifier) == [Self.image])
            #expect(images[0].imageState == .approved && images[0].imageSize == .fullSize)
            try await client.uploadRetentionMessage(
                Self.message,
                RetentionMessageContent(
                    header: "Stay", body: "There is more to come.",
                    image: .init(imageIdentifier: Self.image, altText: "A"), headerPosition: .aboveImage,
                    bulletPoints: [.init(text: "New maps", imageIdentifier: Self.image, altText: "B")]), in: .sandbox)
            let messages = try await client.retentionMessages(in: .sandbox)
            #expect(messages.map(\.messageIdentifier) == [Self.message] && messages[0].messageState == .approved)

            try await client.setDefaultRetentionMessage(Self.message, of: "gold", locale: "en-US", in: .sandbox)
            #expect(
                try await client.defaultRetentionMessage(of: "gold", locale: "en-US", in: .sandbox) == Self.message)
            try await client.deleteDefaultRetentionMessage(of: "gold", locale: "en-US", in: .sandbox)
            let gone = await refusal {
                try await client.defaultRetentionMessage(of: "gold", locale: "en-US", in: .sandbox)
            }
            #expect(gone?.code == .defaultMessageNotFound && gone?.category == .notFound)
            let used = await refusal {
                try await client.deleteRetentionImage(Self.image, in: .sandbox)
            }
            #expect(used?.code == .imageInUse && used?.category == .invalidRequest && used?.status == 403)
            let twice = await refusal {
                try await client.uploadRetentionImage(Self.image, png: png, in: .sandbox)
            }
            #expect(twice?.code == .imageAlreadyExists && twice?.status == 409)
            try await client.deleteRetentionMessage(Self.message, in: .sandbox)
            try await client.deleteRetentionImage(Self.image, in: .sandbox)
        }
    }

    @Test func realtimeURLAndPerformanceTest() async throws {
        let (address, tests) = ("/inApps/v1/messaging/realtime/url", "/inApps/v1/messaging/performanceTest")
        let url = "https://example.com/message"
        let config = #"{"maxConcurrentRequests":5,"totalRequests":100,"totalDuration":60000}"#
        let (none, untested, unknown) = (
            refused("404 Not Found", 4_040_021), refused("403 Forbidden", 4_030_026),
            refused("404 Not Found", 4_040_018)
        )
        try await run([
            ("GET \(address)", none.0, none.1), ("PUT \(address)", "200 OK", ""),
            ("GET \(address)", "200 OK", #"{"realtimeURL":"\#(url)"}"#),
            ("PUT \(address)", untested.0, untested.1),
            ("POST \(tests)", "200 OK", #"{"config":\#(config),"requestId":"r1"}"#),
            (
                "GET \(tests)/result/r1", "200 OK",
                #"{"config":\#(config),"target":"\#(url)","result":"PENDING","successRate":0,"numPending":100}"#
            ),
            ("GET \(tests)/result/r2", unknown.0, unknown.1), ("DELETE \(address)", "200 OK", ""),
        ]) { client in
            let missing = await refusal { try await client.realtimeURL(in: .sandbox) }
            #expect(missing?.code == .realtimeURLNotFound)
            try await client.setRealtimeURL(url, in: .sandbox)
            #expect(try await client.realtimeURL(in: .sandbox) == url)
            let early = await refusal {
                try await client.setRealtimeURL(url, in: .production)
            }
            #expect(early?.code == .forbiddenNoPassingTest)
            let started = try await client.startPerformanceTest(originalTransactionId: "2000000000000001")
            #expect(started.requestId == "r1" && started.config?.totalRequests == 100)
            let result = try await client.performanceTestResult(started.requestId)
            #expect(result.result == .pending && result.target == url)
            #expect(result.config == started.config && result.numPending == 100)
            let other = await refusal { try await client.performanceTestResult("r2") }
            #expect(other?.code == .performanceTestRunNotFound)
            try await client.deleteRealtimeURL(in: .sandbox)
        }
    }
}
