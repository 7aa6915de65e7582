import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing

@testable import AppStoreSimulator

@Suite("Server API: rate limits")
struct ServerAPIRateLimitTests {
    private static let app = "com.example.game"

    /// How many calls are let through, one after the other, before one is refused; and when that may come again.
    private static func burst(
        _ limiter: RateLimiter, _ call: RateLimitedCall, _ environment: StoreEnvironment, atMost: Int = 1_000
    ) -> (admitted: Int, retryAfter: Int64?) {
        for count in 0..<atMost {
            do {
                try limiter.admit(call, bundleId: app, environment: environment)
            } catch {
                return (count, error.retryAfter)
            }
        }
        return (atMost, nil)
    }

    @Test("a bucket lets some seconds of the rate through at once, and refills at the rate")
    func bucket() {
        let time = SteppedTime()
        let limiter = RateLimiter(clock: time.clock())
        let first = Self.burst(limiter, .transactionInfo, .production)
        #expect(first.admitted == 500)
        #expect(first.retryAfter == SteppedTime.start + 20)
        time.step(1_000)
        #expect(Self.burst(limiter, .transactionInfo, .production).admitted == 50)
        time.step(3_600_000)
        #expect(Self.burst(limiter, .transactionInfo, .production).admitted == 500)
    }

    @Test("each call, each app and each environment has its own; the sandbox a tenth")
    func separate() throws {
        let limiter = RateLimiter(clock: SteppedTime().clock())
        #expect(Self.burst(limiter, .lookUpOrder, .production).admitted == 100)
        #expect(Self.burst(limiter, .refundHistory, .production).admitted == 100)
        #expect(Self.burst(limiter, .transactionHistory, .sandbox).admitted == 50)
        #expect(Self.burst(limiter, .setAppAccountToken, .sandbox).admitted == 20)
        let slow = Self.burst(limiter, .requestTestNotification, .sandbox)
        #expect(slow.admitted == 10)
        // One call in ten seconds.
        #expect(slow.retryAfter == SteppedTime.start + 10_000)
        try limiter.admit(.lookUpOrder, bundleId: "com.example.other", environment: .production)
    }

    @Test("an hour has room for the rate times 3,600")
    func hour() {
        let time = SteppedTime()
        let limiter = RateLimiter(clock: time.clock())
        // The bucket starts full, so calling as fast as it refills uses the hour up before the hour ends.
        var admitted = 0
        var retryAfter: Int64?
        for _ in 0..<3_600 where retryAfter != SteppedTime.start + 3_600_000 {
            let burst = Self.burst(limiter, .massExtendRenewalDate, .production)
            admitted += burst.admitted
            retryAfter = burst.retryAfter
            time.step(1_000)
        }
        #expect(admitted == 3_600)
        #expect(retryAfter == SteppedTime.start + 3_600_000)
        time.step(3_600_000)
        #expect(Self.burst(limiter, .massExtendRenewalDate, .production).admitted == 10)
    }

    @Test("too many calls are answered by 429, and Retry-After in milliseconds of UNIX time")
    func answer() async throws {
        let shop = try await ServerAPIShop()
        for _ in 0..<10 {
            #expect(try await shop.refusal(.post, "v1/notifications/test") == 4_040_007)
        }
        let response = try await shop.call(.post, "v1/notifications/test")
        #expect(response.status == .tooManyRequests)
        #expect(response.headers[.retryAfter] == String(SteppedTime.start + 1_000))
        #expect(try JSONDecoder().decode(ServerAPIShop.Refusal.self, from: response.json).errorCode == 4_290_000)
        #expect(try await shop.refusal(.get, "v1/notifications/test/x") == 4_000_020)
        shop.time.step(1_000)
        #expect(try await shop.refusal(.post, "v1/notifications/test") == 4_040_007)
        await shop.store.close()
    }

    @Test("the control API turns them off, or makes them wider or narrower")
    func control() async throws {
        let shop = try await ServerAPIShop()
        #expect(String(buffer: try await shop.control(.get, "rate-limits").body) == #"{"enabled":true,"factor":1}"#)
        let off = try await shop.control(.put, "rate-limits", #"{"enabled":false}"#)
        #expect(String(buffer: off.body) == #"{"enabled":false,"factor":1}"#)
        #expect(Self.burst(shop.limiter, .massExtendRenewalDate, .production).admitted == 1_000)
        let wide = try await shop.control(.put, "rate-limits", #"{"enabled":true,"factor":2}"#)
        #expect(wide.status == .ok)
        #expect(Self.burst(shop.limiter, .lookUpOrder, .production).admitted == 200)
        for body in [#"{"factor":0}"#, #"{"factor":-1}"#, #"{"factor":1001}"#, #"{"factor":"1"}"#, "[]"] {
            #expect(try await shop.control(.put, "rate-limits", body).status == .badRequest, "\(body)")
        }
        await shop.store.close()
    }
}
