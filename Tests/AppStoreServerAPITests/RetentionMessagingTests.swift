import AppStoreServerAPI
import Foundation
import Testing

/// Every call of the Retention Messaging API once.
@Suite(.serialized)
struct RetentionMessagingTests {
    @Test(.enabled(if: Simulator.isThere, Simulator.missing))
    func messagesImagesAndDefaults() async throws {
        try await Simulator.run { store in
            let client = try await store.client()
            _ = try await store.sell("gold", type: "Auto-Renewable Subscription", environment: .sandbox)
            let (image, point, message) = (UUID(), UUID(), UUID())
            try await client.uploadRetentionImage(image, png: Self.png(3_840, 160), in: .sandbox)
            try await client.uploadRetentionImage(
                point, png: Self.png(1_024, 1_024), size: .bulletPoint, in: .sandbox)
            let images = try await client.retentionImages(in: .sandbox)
            #expect(Set(images.map(\.imageIdentifier)) == [image, point])
            #expect(images.allSatisfy { $0.imageState == .approved })
            #expect(Set(images.map(\.imageSize)) == [.fullSize, .bulletPoint])

            try await client.uploadRetentionMessage(
                message,
                RetentionMessageContent(
                    header: "Stay", body: "There is more to come.", image: .init(imageIdentifier: image, altText: "A"),
                    headerPosition: .aboveImage,
                    bulletPoints: [.init(text: "New maps", imageIdentifier: point, altText: "B")]), in: .sandbox)
            let messages = try await client.retentionMessages(in: .sandbox)
            #expect(messages.map(\.messageIdentifier) == [message] && messages[0].messageState == .approved)

            try await client.setDefaultRetentionMessage(message, of: "gold", locale: "en-US", in: .sandbox)
            #expect(try await client.defaultRetentionMessage(of: "gold", locale: "en-US", in: .sandbox) == message)
            try await client.deleteDefaultRetentionMessage(of: "gold", locale: "en-US", in: .sandbox)
            let gone = await refusal {
                try await client.defaultRetentionMessage(of: "gold", locale: "en-US", in: .sandbox)
            }
            #expect(gone?.code == .defaultMessageNotFound && gone?.category == .notFound)

            let used = await refusal { try await client.deleteRetentionImage(image, in: .sandbox) }
            #expect(used?.code == .imageInUse && used?.category == .invalidRequest && used?.status == 403)
            let twice = await refusal {
                try await client.uploadRetentionImage(image, png: Self.png(3_840, 160), in: .sandbox)
            }
            #expect(twice?.code == .imageAlreadyExists && twice?.status == 409)
            try await client.deleteRetentionMessage(message, in: .sandbox)
            try await client.deleteRetentionImage(image, in: .sandbox)
            #expect(try await client.retentionMessages(in: .sandbox).isEmpty)
            #expect(try await client.retentionImages(in: .sandbox).map(\.imageIdentifier) == [point])
        }
    }

    @Test(.enabled(if: Simulator.isThere, Simulator.missing))
    func realtimeURLAndPerformanceTest() async throws {
        try await Simulator.run { store in
            let client = try await store.client()
            let sold = try await store.sell("gold", type: "Auto-Renewable Subscription", environment: .sandbox)
            let none = await refusal { try await client.realtimeURL(in: .sandbox) }
            #expect(none?.code == .realtimeURLNotFound)
            let url = "http://127.0.0.1:9/message"
            try await client.setRealtimeURL(url, in: .sandbox)
            #expect(try await client.realtimeURL(in: .sandbox) == url)
            let untested = await refusal { try await client.setRealtimeURL(url, in: .production) }
            #expect(untested?.code == .forbiddenNoPassingTest)

            let started = try await client.startPerformanceTest(
                originalTransactionId: try #require(sold.first).originalTransactionId)
            #expect(try #require(started.config?.totalRequests) > 0)
            let result = try await client.performanceTestResult(started.requestId)
            #expect([.pending, .fail].contains(result.result) && result.target == url)
            #expect(result.config == started.config && result.numPending != nil)
            let unknown = await refusal { try await client.performanceTestResult(UUID().uuidString) }
            #expect(unknown?.code == .performanceTestRunNotFound)
            try await client.deleteRealtimeURL(in: .sandbox)
            #expect(await refusal { try await client.realtimeURL(in: .sandbox) }?.code == .realtimeURLNotFound)
        }
    }

    /// A PNG's head and the beginning of its pixels.
    private static func png(_ width: UInt32, _ height: UInt32) -> [UInt8] {
        func number(_ value: UInt32) -> [UInt8] {
            (0..<4).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
        }
        func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
            number(UInt32(data.count)) + Array(name.utf8) + data + [0, 0, 0, 0]
        }
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
            + chunk("IHDR", number(width) + number(height) + [8, 2, 0, 0, 0]) + chunk("IDAT", [0])
    }
}
