import Foundation
import HTTPTypes
import HummingbirdTesting
import Testing

@testable import AppStoreSimulator

@Suite("Notifications: the log")
struct NotificationLogTests {
    @Test("what is older than Apple's history is forgotten: 180 days in production, 30 in the sandbox")
    func forgetting() async throws {
        try await NotificationDesk.with { desk in
            let start = desk.store.clock.now
            for environment in StoreEnvironment.allCases {
                for _ in 0..<2 { try await desk.buyCoins(environment: environment) }
            }
            func kept(_ days: Int64) async throws -> [String] {
                try await desk.store.change { state, _ in state.forgetOldNotifications(now: start + days * 86_400_000) }
                return await desk.notifications().map(\.environment.rawValue)
            }
            #expect(try await kept(30).count == 4)
            #expect(try await kept(31) == ["Production", "Production"])
            #expect(try await kept(180) == ["Production", "Production"])
            #expect(try await kept(181).isEmpty)
            try await desk.buyCoins()
            #expect(await desk.notifications().count == 1)
        }
    }

    @Test("the control API lists them oldest first, with everything in them decoded")
    func list() async throws {
        try await NotificationDesk.with { desk in
            let id = try await desk.buyCoins()
            try await desk.buyCoins(environment: .sandbox)
            let all = try await desk.control(.get, "notifications?bundleId=\(NotificationDesk.bundleId)")
            let first = try #require(all["notifications"]?.elements.first)
            #expect(all["notifications"]?.elements.count == 2)
            #expect(first["environment"]?.string == "Production")
            #expect(first.at("payload.data.signedTransactionInfo.transactionId")?.string == id)
            #expect(first["attempts"] == .array([]))
            let sequence = try #require(first["sequence"]?.number)
            let next = try await desk.control(.get, "notifications?after=\(sequence)&limit=1")
            #expect(next["notifications"]?.elements.first?["environment"]?.string == "Sandbox")
            let newest = try await desk.control(.get, "notifications?limit=0")
            #expect(newest["newest"]?.number == sequence + 1)
            #expect(newest["notifications"] == .array([]))
            let uuid = try #require(first["notificationUUID"]?.string)
            #expect(try await desk.control(.get, "notifications/\(uuid)")["sequence"]?.number == sequence)
            #expect(try await desk.request(.get, "notifications/none").status == .notFound)
            for query in ["after=-1", "limit=1001", "limit=x", "wait=31"] {
                #expect(try await desk.request(.get, "notifications?\(query)").status == .badRequest)
            }
            #expect(try await desk.control(.delete, "notifications?bundleId=other")["deleted"]?.number == 0)
            #expect(try await desk.control(.delete, "notifications")["deleted"]?.number == 2)
            #expect(await desk.notifications().isEmpty)
        }
    }

    @Test("who waits is woken by the next notification, and by nobody else's")
    func waiting() async throws {
        try await NotificationDesk.with { desk in
            async let answer = desk.control(
                .get, "notifications?bundleId=\(NotificationDesk.bundleId)&wait=30")
            try await desk.store.change { state, now in
                var app = state.ensureApp("com.example.other")
                app.keepsNotifications = true
                state.put(app)
                state.notifyTest(app, environment: .production, now: now)
            }
            let id = try await desk.buyCoins()
            let rows = try await answer["notifications"]?.elements
            #expect(rows?.map { $0["transactionId"]?.string } == [id])
        }
    }

    @Test("the bell lets nobody wait for what has come, and lets go who is cancelled")
    func bell() async {
        let bell = NotificationBell()
        bell.ring(5)
        await bell.wait(after: 4)
        let waiting = Task { await bell.wait(after: 5) }
        waiting.cancel()
        await waiting.value
        async let woken: Void = bell.wait(after: 5)
        bell.ring(6)
        await woken
        await bell.wait(after: 6, atMost: .milliseconds(1))
    }

    @Test("external purchase tokens: created, reminded of while active, missed when nobody reports them")
    func tokens() async throws {
        try await NotificationDesk.with { desk in
            func subtypes() async -> [String?] { await desk.notifications().map(\.subtype) }
            let body = #"{"bundleId":"\#(NotificationDesk.bundleId)","environment":"Sandbox""#
            let first = try await desk.control(.post, "external-purchase-tokens", body + "}")
            #expect(first["externalPurchaseId"]?.string?.hasPrefix("SANDBOX") == true)
            #expect(first["tokenExpirationDate"] == nil)
            try await desk.advance(hours: 239)
            #expect(await subtypes() == ["CREATED"])
            try await desk.advance(hours: 2)
            #expect(await subtypes() == ["CREATED", "UNREPORTED"])
            let payload = try desk.verified(try #require(await desk.notifications().last).signedPayload)
            #expect(
                payload["externalPurchaseToken"]?.names
                    == ["externalPurchaseId", "tokenCreationDate", "appAppleId", "bundleId"])

            let reported = try await desk.control(.post, "external-purchase-tokens", body + "}")
            let id = try #require(reported["externalPurchaseId"]?.string)
            _ = try await desk.control(.post, "external-purchase-tokens/\(id)/report")
            try await desk.advance(hours: 300)
            #expect(await subtypes().count == 3)

            _ = try await desk.control(
                .post, "external-purchase-tokens",
                body + #","tokenType":"ACQUISITION","expiresIn":"25h","remindEvery":"10h"}"#)
            try await desk.advance(hours: 100)
            #expect(
                await subtypes().suffix(4)
                    == ["CREATED", "ACTIVE_TOKEN_REMINDER", "ACTIVE_TOKEN_REMINDER", "UNREPORTED"])
            for bad in [
                #"{"bundleId":"nobody's"}"#, body + #","tokenType":"OTHER"}"#, body + #","expiresIn":"1h"}"#,
                body + #","tokenType":"SERVICES","remindEvery":0}"#,
            ] {
                let status = try await desk.request(.post, "external-purchase-tokens", bad).status
                #expect([.badRequest, .notFound].contains(status))
            }
        }
    }
}
