import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing

@testable import AppStoreSimulator

@Suite("Server API: notifications")
struct ServerAPINotificationTests {
    struct History: Decodable {
        struct Item: Decodable {
            struct Attempt: Decodable {
                let attemptDate: Int64
                let sendAttemptResult: String
            }
            let signedPayload: String
            let firstSendAttemptResult: String?
            let sendAttempts: [Attempt]
        }
        let paginationToken: String?
        let hasMore: Bool
        let notificationHistory: [Item]

        func types() throws -> [String?] {
            try notificationHistory.map { try SignedFields($0.signedPayload).notificationType }
        }
    }

    private static let day: Int64 = 86_400_000
    private static let path = "v1/notifications/history"

    private static func range(_ shop: ServerAPIShop, _ more: String = "") -> String {
        #"{"startDate":\#(shop.clock.now - day),"endDate":\#(shop.clock.now + day)\#(more)}"#
    }

    /// Records an attempt for each notification that has none.
    private static func attempt(_ shop: ServerAPIShop, _ result: SendAttemptResult) async throws {
        try await shop.store.change { state, now in
            for var row in state.notifications.rows.values where row.attempts.isEmpty {
                row.attempts = [.init(attemptDate: now, sendAttemptResult: result.rawValue)]
                row.nextAttemptDate = nil
                state.put(row)
            }
        }
    }

    @Test("filters: type, subtype, customer, failures, time, environment")
    func filters() async throws {
        let shop = try await ServerAPIShop()
        let coins = try await shop.buy("coins")
        try await shop.buy("gold")
        let bob = try await shop.buy("sword", account: "bob")
        try await Self.attempt(shop, .success)
        try await shop.buy("coins", account: "bob")
        try await Self.attempt(shop, .noResponse)
        for (more, expected) in [
            ("", ["ONE_TIME_CHARGE", "SUBSCRIBED", "ONE_TIME_CHARGE", "ONE_TIME_CHARGE"]),
            (#","notificationType":"SUBSCRIBED""#, ["SUBSCRIBED"]),
            (#","notificationType":"SUBSCRIBED","notificationSubtype":"INITIAL_BUY""#, ["SUBSCRIBED"]),
            (#","notificationType":"SUBSCRIBED","notificationSubtype":"RESUBSCRIBE""#, []),
            (#","transactionId":"\#(coins)""#, ["ONE_TIME_CHARGE", "SUBSCRIBED"]),
            (#","transactionId":"\#(bob)","onlyFailures":true"#, ["ONE_TIME_CHARGE"]),
            (#","onlyFailures":true"#, ["ONE_TIME_CHARGE"]), (#","onlyFailures":null,"transactionId":null"#, nil),
        ] as [(String, [String]?)] {
            let found = try await shop.get(History.self, .post, Self.path, Self.range(shop, more)).types()
            #expect(
                found == expected ?? ["ONE_TIME_CHARGE", "SUBSCRIBED", "ONE_TIME_CHARGE", "ONE_TIME_CHARGE"], "\(more)")
        }
        let before = #"{"startDate":\#(shop.clock.now - Self.day),"endDate":\#(shop.clock.now)}"#
        #expect(try await shop.get(History.self, .post, Self.path, before).notificationHistory.isEmpty)
        let sandbox = try await shop.get(History.self, .post, Self.path, Self.range(shop), in: .sandbox)
        #expect(sandbox.notificationHistory.isEmpty)
        await shop.store.close()
    }

    @Test("each field that is wrong has its code")
    func refused() async throws {
        let shop = try await ServerAPIShop()
        let now = shop.clock.now
        for (body, code) in [
            ("{}", 4_000_015), (#"{"startDate":"1"}"#, 4_000_015), (#"{"startDate":1}"#, 4_000_016),
            (#"{"startDate":2,"endDate":2}"#, 4_000_013), (#"{"startDate":3,"endDate":2}"#, 4_000_013),
            (#"{"startDate":\#(now - 180 * Self.day - 1),"endDate":\#(now)}"#, 4_000_012),
            (Self.range(shop, #","notificationType":"BOUGHT""#), 4_000_018),
            (Self.range(shop, #","notificationType":1"#), 4_000_018),
            (Self.range(shop, #","notificationType":"TEST","notificationSubtype":"X""#), 4_000_018),
            (Self.range(shop, #","notificationSubtype":"UPGRADE""#), 4_000_018),
            (Self.range(shop, #","notificationType":"TEST","transactionId":"1""#), 4_000_019),
            (Self.range(shop, #","transactionId":"x""#), 4_000_006),
            (Self.range(shop, #","transactionId":"999""#), 4_040_010),
            (Self.range(shop, #","onlyFailures":"yes""#), 4_000_000), ("", 4_000_000),
        ] as [(String, Int64)] {
            #expect(try await shop.refusal(.post, Self.path, body) == code, "\(body)")
        }
        // The window's very first instant, which is nearer in the sandbox.
        let oldest = #"{"startDate":\#(now - 180 * Self.day),"endDate":\#(now)}"#
        #expect(try await shop.call(.post, Self.path, oldest).status == .ok)
        #expect(try await shop.refusal(.post, Self.path, oldest, in: .sandbox) == 4_000_012)
        let month = #"{"startDate":\#(now - 30 * Self.day),"endDate":\#(now)}"#
        #expect(try await shop.call(.post, Self.path, month, in: .sandbox).status == .ok)
        for token in ["x", "1", "", "1_-1"] {
            let code = try await shop.refusal(.post, "\(Self.path)?paginationToken=\(token)", Self.range(shop))
            #expect(code == 4_000_014, "\(token)")
        }
        let token = PaginationToken(sequence: 1, madeDate: now).text
        shop.time.step(PaginationToken.Limit.age)
        let path = "\(Self.path)?paginationToken=\(token)"
        #expect(try await shop.call(.post, path, Self.range(shop)).status == .ok)
        shop.time.step(1)
        #expect(try await shop.refusal(.post, path, Self.range(shop)) == 4_000_017)
        await shop.store.close()
    }

    @Test("a test notification is requested, and its status told once it was sent")
    func testNotification() async throws {
        struct Requested: Decodable { let testNotificationToken: String }
        let shop = try await ServerAPIShop()
        #expect(try await shop.refusal(.post, "v1/notifications/test") == 4_040_007)
        try await shop.store.change { state, _ in
            var app = try #require(state.apps[ServerAPIShop.bundleId])
            app.notificationURLs = [.sandbox: "http://127.0.0.1:9/"]
            state.put(app)
        }
        #expect(try await shop.refusal(.post, "v1/notifications/test") == 4_040_007)
        let token = try await shop.get(Requested.self, .post, "v1/notifications/test", in: .sandbox)
            .testNotificationToken
        let path = "v1/notifications/test/\(token)"
        #expect(try await shop.refusal(.get, path, in: .sandbox) == 4_040_008)
        try await Self.attempt(shop, .unsuccessfulStatus)
        let status = try await shop.get(History.Item.self, .get, path, in: .sandbox)
        #expect(try SignedFields(status.signedPayload).notificationType == "TEST")
        #expect(status.sendAttempts.map(\.sendAttemptResult) == ["UNSUCCESSFUL_HTTP_RESPONSE_CODE"])
        #expect(try await shop.refusal(.get, path) == 4_040_008)
        let unknown = "\(UUID().uuidString.lowercased())_\(shop.clock.now)"
        #expect(try await shop.refusal(.get, "v1/notifications/test/\(unknown)", in: .sandbox) == 4_040_008)
        for wrong in ["x", "1_2", "\(UUID().uuidString)", "\(UUID().uuidString)_x"] {
            #expect(
                try await shop.refusal(.get, "v1/notifications/test/\(wrong)", in: .sandbox) == 4_000_020, "\(wrong)")
        }
        await shop.store.close()
    }
}
