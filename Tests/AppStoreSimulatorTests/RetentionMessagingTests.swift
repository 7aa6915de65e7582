import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing

@testable import AppStoreSimulator

@Suite("Retention messaging")
struct RetentionMessagingTests {
    private static let image = "01234567-89ab-cdef-0123-456789abcdef"
    private static let message = "fedcba98-7654-3210-fedc-ba9876543210"
    private static let plain = #"{"header":"Stay","body":"We would miss you."}"#
    private static let `default` = "default/gold.monthly/en-US"
    private static let choice = #"{"messageIdentifier":"\#(message)"}"#

    @Test("an image is uploaded, listed and deleted")
    func images() async throws {
        let shop = try await RetentionShop()
        let png = RetentionShop.png(3_840, 160)
        try await shop.succeed(.put, "messaging/image/\(Self.image.uppercased())", bytes: png)
        let list = try await shop.request(.get, "messaging/image/list")
        #expect(
            String(buffer: list.body)
                == #"{"imageIdentifiers":[{"imageIdentifier":"\#(Self.image)","imageState":"APPROVED","imageSize":"FULL_SIZE"}]}"#
        )
        #expect(try await shop.refusal(.put, "messaging/image/\(Self.image)", bytes: png) == 4_090_000)
        let elsewhere = try await shop.request(.get, "messaging/image/list", in: .production)
        #expect(String(buffer: elsewhere.body) == #"{"imageIdentifiers":[]}"#)
        try await shop.succeed(.delete, "messaging/image/\(Self.image)")
        #expect(try await shop.refusal(.delete, "messaging/image/\(Self.image)") == 4_040_014)
    }

    @Test(
        "an image that Apple would not show is refused",
        arguments: [
            (RetentionShop.png(3_840, 159), ""), (RetentionShop.png(3_840, 2_161), ""),
            (RetentionShop.png(3_839, 200), ""), (RetentionShop.png(3_840, 200, colourType: 6), ""),
            (RetentionShop.png(3_840, 200, transparent: true), ""), (Array("GIF89a".utf8), ""), ([], ""),
            (Array(RetentionShop.png(3_840, 200).prefix(20)), ""),
            (RetentionShop.png(3_840, 200), "?imageSize=BULLET_POINT"),
        ])
    func badImages(_ bytes: [UInt8], _ query: String) async throws {
        let shop = try await RetentionShop()
        #expect(try await shop.refusal(.put, "messaging/image/\(Self.image)\(query)", bytes: bytes) == 4_000_161)
    }

    @Test("an unknown image size, or an identifier that is no UUID, is refused")
    func badNames() async throws {
        let shop = try await RetentionShop()
        let png = RetentionShop.png(1_024, 1_024)
        #expect(try await shop.refusal(.put, "messaging/image/\(Self.image)?imageSize=TINY", bytes: png) == 4_000_216)
        #expect(try await shop.refusal(.put, "messaging/image/1?imageSize=BULLET_POINT", bytes: png) == 4_000_000)
        #expect(try await shop.refusal(.put, "messaging/message/1", Self.plain) == 4_000_000)
    }

    @Test(
        "a message beyond a limit has the limit's code",
        arguments: [
            (#"{"header":"\#(String(repeating: "é", count: 67))","body":"b"}"#, 4_000_162),
            (#"{"header":"h","body":"\#(String(repeating: "b", count: 145))"}"#, 4_000_163),
            (
                #"{"header":"h","body":"b","image":{"imageIdentifier":"\#(image)","altText":"\#(String(repeating: "a", count: 151))"}}"#,
                4_000_175
            ),
            (#"{"header":"h","body":"b","bulletPoints":[\#(points(6))]}"#, 4_000_218),
            (#"{"header":"h","body":"b","bulletPoints":[\#(points(1, text: 67))]}"#, 4_000_219),
            (#"{"header":"h","body":"b","headerPosition":"ABOVE_IMAGE"}"#, 4_000_224),
            (#"{"header":"h","body":"b","bulletPoints":[\#(points(1))]}"#, 4_040_014),
            (#"{"header":"h"}"#, 4_000_000), ("", 4_000_000),
        ] as [(String, Int64)])
    func badMessages(_ body: String, _ code: Int64) async throws {
        let shop = try await RetentionShop()
        #expect(try await shop.refusal(.put, "messaging/message/\(Self.message)", body) == code)
    }

    private static func points(_ count: Int, text: Int = 1) -> String {
        let text = String(repeating: "t", count: text)
        return (0..<count).map { _ in #"{"text":"\#(text)","imageIdentifier":"\#(image)","altText":"a"}"# }
            .joined(separator: ",")
    }

    @Test("a message holds its images, each of the right size")
    func messageWithImage() async throws {
        let shop = try await RetentionShop()
        let png = RetentionShop.png(3_840, 2_160)
        try await shop.succeed(.put, "messaging/image/\(Self.image)?imageSize=FULL_SIZE", bytes: png)
        let asPoint = #"{"header":"h","body":"b","bulletPoints":[\#(Self.points(1))]}"#
        #expect(try await shop.refusal(.put, "messaging/message/\(Self.message)", asPoint) == 4_000_216)
        let withImage =
            #"{"header":"h","body":"b","headerPosition":"ABOVE_IMAGE","image":{"imageIdentifier":"\#(Self.image)","altText":"a"}}"#
        try await shop.succeed(.put, "messaging/message/\(Self.message)", withImage)
        #expect(try await shop.refusal(.put, "messaging/message/\(Self.message)", withImage) == 4_090_001)
        #expect(try await shop.refusal(.delete, "messaging/image/\(Self.image)") == 4_030_019)
        try await shop.succeed(.delete, "messaging/message/\(Self.message)")
        try await shop.succeed(.delete, "messaging/image/\(Self.image)")
        #expect(try await shop.refusal(.delete, "messaging/message/\(Self.message)") == 4_040_015)
    }

    @Test("production approves after a day of the store's time, or when the control API says so")
    func review() async throws {
        let shop = try await RetentionShop()
        let path = "messaging/message/\(Self.message)"
        try await shop.succeed(.put, path, Self.plain, in: .production)
        func state() async throws -> String {
            String(buffer: try await shop.request(.get, "messaging/message/list", in: .production).body)
        }
        #expect(try await state().contains("PENDING"))
        #expect(
            try await shop.refusal(.put, "messaging/\(Self.default)", Self.choice, in: .production) == 4_030_017)
        shop.store.clock.set(shop.store.clock.now + RetentionReview.length)
        #expect(try await state().contains("APPROVED"))
        try await shop.succeed(.put, "messaging/\(Self.default)", Self.choice, in: .production)
        let review = "retention-messaging/\(Self.message)/review"
        try await shop.succeed(.post, review, #"{"state":"REJECTED"}"#, in: nil)
        #expect(try await state().contains("REJECTED"))
        for (path, body) in [
            (review, #"{"state":"GOOD"}"#), ("retention-messaging/x/review", #"{"state":"PENDING"}"#),
        ] {
            let response = try await shop.request(.post, path, body, in: nil)
            #expect(response.status == .badRequest)
        }
        let unknown = try await shop.request(
            .post, "retention-messaging/\(Self.image)/review", #"{"state":"PENDING"}"#, in: nil)
        #expect(unknown.status == .notFound)
    }

    @Test("a default message is set, replaced by itself, read and deleted")
    func defaults() async throws {
        let shop = try await RetentionShop()
        let path = "messaging/\(Self.default)"
        #expect(try await shop.refusal(.get, path) == 4_040_020)
        #expect(try await shop.refusal(.put, path, Self.choice) == 4_040_015)
        try await shop.succeed(.put, "messaging/message/\(Self.message)", Self.plain)
        #expect(try await shop.refusal(.put, "messaging/default/gold.monthly/en_US", Self.choice) == 4_000_164)
        #expect(try await shop.refusal(.put, "messaging/default/other/en-US", Self.choice) == 4_000_023)
        for _ in 0..<2 { try await shop.succeed(.put, path, Self.choice) }
        #expect(String(buffer: try await shop.request(.get, path).body) == Self.choice)
        try await shop.succeed(.delete, path)
        #expect(try await shop.refusal(.get, path) == 4_040_020)
        try await shop.succeed(.delete, path)
    }

    @Test("a default message needs images that are approved")
    func unapprovedImage() async throws {
        let shop = try await RetentionShop()
        try await shop.succeed(
            .put, "messaging/image/\(Self.image)?imageSize=BULLET_POINT", bytes: RetentionShop.png(1_024, 1_024))
        let body = #"{"header":"h","body":"b","bulletPoints":[\#(Self.points(1))]}"#
        try await shop.succeed(.put, "messaging/message/\(Self.message)", body)
        try await shop.succeed(
            .post, "retention-messaging/\(Self.image)/review", #"{"state":"PENDING","environment":"Sandbox"}"#, in: nil)
        #expect(try await shop.refusal(.put, "messaging/\(Self.default)", Self.choice) == 4_030_018)
    }
}
