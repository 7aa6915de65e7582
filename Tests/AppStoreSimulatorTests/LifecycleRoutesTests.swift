import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing

@testable import AppStoreSimulator

@Suite("Lifecycle routes")
struct LifecycleRoutesTests {
    private struct Answer: Decodable {
        struct Subscription: Decodable {
            let originalTransactionId: String
            let status: Int
            let renewalDate: Int64
            let autoRenewStatus: Int
        }
        struct Notification: Decodable {
            let notificationType: String
            let subtype: String?
        }
        let subscription: Subscription?
        let transactions: [String]
        let notifications: [Notification]

        var news: [String] {
            notifications.map { [$0.notificationType, $0.subtype].compactMap(\.self).joined(separator: "/") }
        }
    }

    private struct Shown: Decodable {
        struct RenewalInfo: Decodable {
            let originalTransactionId: String
            let autoRenewStatus: Int
        }
        let status: Int
        let renewalInfo: RenewalInfo
        let signedRenewalInfo: String
        let signedTransaction: String
    }

    private let store: Store
    private let application: Application<RouterResponder<BasicRequestContext>>
    private let subscription: String
    private let coins: String

    init() async throws {
        let signer = try PayloadSigner(chain: try CertificateAuthority(now: Date()).chain)
        let time = try LifecycleShop.instant("2026-03-01T00:00:00Z")
        let clock = VirtualClock(setting: .init(virtualAnchor: time, realAnchor: time, speed: 0), real: { time })
        store = try Store(file: nil, signer: signer, clock: clock)
        let router = Router(context: BasicRequestContext.self)
        router.add(middleware: ProblemMiddleware())
        LifecycleRoutes(store: store, signer: signer).addRoutes(to: router.group("simulator/v1"))
        application = Application(router: router)
        (subscription, coins) = try await store.change { state, now in
            var shop = try LifecycleShop()
            shop.state = state
            shop.now = now
            var app = shop.state.ensureApp(LifecycleShop.bundleId)
            app.keepsNotifications = true
            shop.state.put(app)
            shop.product("vip", level: 2, shared: true)
            shop.product("gold", level: 1)
            shop.product("coins", type: .consumable)
            shop.account("alice", family: "smith")
            shop.account("bob", family: "smith")
            let ids = (try shop.buy("vip").id, try shop.buy("coins").id)
            state = shop.state
            return ids
        }
    }

    private func call(_ path: String, _ body: String = "", _ method: HTTPRequest.Method = .post) async throws
        -> TestResponse
    {
        try await application.test(.router) { client in
            try await client.execute(
                uri: "/simulator/v1/\(path)", method: method, body: body.isEmpty ? nil : ByteBuffer(string: body))
        }
    }

    private func answer(_ path: String, _ body: String = "") async throws -> Answer {
        let response = try await call(path, body)
        try #require(response.status == .ok, "\(String(buffer: response.body))")
        return try JSONDecoder().decode(Answer.self, from: response.json)
    }

    @Test("a call answers what it caused")
    func caused() async throws {
        var answer = try await answer("subscriptions/\(subscription)/auto-renew", #"{"on":false}"#)
        // The subscriber is told first, then the family that shares it.
        #expect(answer.news == Array(repeating: "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", count: 2))
        #expect(answer.transactions == [])
        #expect(answer.subscription?.autoRenewStatus == 0)
        let before = try #require(answer.subscription?.renewalDate)
        answer = try await self.answer("subscriptions/\(subscription)/extend", #"{"days":3}"#)
        #expect(answer.news == ["RENEWAL_EXTENDED", "RENEWAL_EXTENDED"])
        #expect(answer.transactions.first == subscription && answer.transactions.count == 2)
        #expect(answer.subscription?.renewalDate == before + 3 * LifecycleShop.day)
        answer = try await self.answer("subscriptions/\(subscription)/payment", #"{"fails":true}"#)
        #expect(answer.news == [])
        answer = try await self.answer(
            "apps/\(LifecycleShop.bundleId)/products/vip/price-increase", #"{"price":19990,"needsConsent":true}"#)
        #expect(answer.news == ["PRICE_INCREASE/PENDING"])
        answer = try await self.answer("subscriptions/\(subscription)/price-consent", #"{"agrees":true}"#)
        #expect(answer.news == ["PRICE_INCREASE/ACCEPTED"])
        answer = try await self.answer("transactions/\(subscription)/refund", #"{"percentage":50000,"reason":1}"#)
        #expect(answer.news == ["REFUND", "REVOKE"])
        #expect(answer.subscription?.status == 5)
        #expect(answer.transactions.count == 2)
        answer = try await self.answer("transactions/\(subscription)/reverse-refund")
        #expect(answer.subscription?.status == 1)
        answer = try await self.answer("subscriptions/\(subscription)/plan", #"{"productId":"gold"}"#)
        #expect(answer.news == ["REVOKE", "DID_CHANGE_RENEWAL_PREF/UPGRADE"])
        answer = try await self.answer("transactions/\(coins)/refund-request")
        #expect(answer.news == ["CONSUMPTION_REQUEST"])
        #expect(answer.subscription == nil)
        answer = try await self.answer("transactions/\(coins)/decline-refund")
        #expect(answer.news == ["REFUND_DECLINED"])
        answer = try await self.answer("accounts/bob/leave-family")
        #expect(answer.news == [])
        answer = try await self.answer(
            "accounts/alice/rescind-consent", #"{"bundleId":"\#(LifecycleShop.bundleId)"}"#)
        #expect(answer.news == ["RESCIND_CONSENT"])
        answer = try await self.answer("apps/\(LifecycleShop.bundleId)/products/vip/stop-selling")
        #expect(answer.news == [])
    }

    @Test("a subscription is shown with what is signed about it")
    func shown() async throws {
        let response = try await call("subscriptions/\(subscription)", "", .get)
        let shown = try JSONDecoder().decode(Shown.self, from: response.json)
        #expect(shown.status == 1)
        #expect(shown.renewalInfo.originalTransactionId == subscription)
        #expect(shown.renewalInfo.autoRenewStatus == 1)
        #expect(shown.signedRenewalInfo.split(separator: ".").count == 3)
        #expect(shown.signedTransaction.split(separator: ".").count == 3)
    }

    @Test("what cannot be is a problem")
    func problems() async throws {
        let cases: [(String, String, Int)] = [
            ("subscriptions/1/auto-renew", #"{"on":true}"#, 404), ("subscriptions/\(subscription)/auto-renew", "", 400),
            ("subscriptions/\(subscription)/extend", #"{"days":91}"#, 400),
            ("subscriptions/1/extend", #"{"days":9}"#, 404),
            ("subscriptions/\(subscription)/price-consent", #"{"agrees":true}"#, 409),
            ("subscriptions/\(subscription)/plan", #"{"productId":"coins"}"#, 400),
            ("subscriptions/\(subscription)/plan", #"{"productId":"vip","offer":{"kind":"free"}}"#, 400),
            ("transactions/1/refund", "", 404), ("transactions/\(coins)/refund", #"{"percentage":5000}"#, 409),
            ("transactions/\(coins)/reverse-refund", "", 409), ("accounts/zoe/leave-family", "", 404),
            ("apps/x/products/y/stop-selling", "", 404),
            ("apps/\(LifecycleShop.bundleId)/products/vip/price-increase", #"{"price":1,"needsConsent":false}"#, 400),
        ]
        for (path, body, status) in cases {
            let response = try await call(path, body)
            #expect(response.status.code == status, "\(path) \(body)")
            #expect(response.headers[.contentType] == "application/problem+json")
        }
        #expect(try await call("subscriptions/1", "", .get).status == .notFound)
        // What was refused changed nothing.
        #expect(await store.read { $0.subscriptions[subscription]?.status } == .active)
    }
}
