import Foundation
import Messages
import NIOHTTP1

/// What an account is told, and the simulator's clock and subscriptions.
extension IntakeClient {
    /// What intake says of an account.
    struct Account: Decodable, Sendable {
        struct Entitlement: Decodable, Sendable { let entitlement: String }
        struct Balance: Decodable, Sendable {
            let item: String
            let amount: Int64
        }
        struct Subscription: Decodable, Sendable {
            let state: String
            let productId: String

            enum CodingKeys: String, CodingKey {
                case state
                case productId = "product_id"
            }
        }
        let version: Int64
        let entitlements: [Entitlement]
        let balances: [Balance]
        let subscriptions: [Subscription]

        /// In one line: what may be used, what is owned, and where subscriptions stand.
        var summary: String {
            let parts =
                Set(entitlements.map(\.entitlement)).sorted() + balances.map { "\($0.amount) \($0.item)" }
                + subscriptions.map { "\($0.productId) \($0.state)" }.sorted()
            return parts.joined(separator: ", ")
        }
    }

    /// An account, read by the server.
    func account(_ name: String, app: String) async throws -> Account {
        let answer = try await send(.GET, "\(intake)/v1/accounts/\(name)?app=\(app)", headers: jsonHeaders)
        guard answer.status == 200 else {
            throw StackFailure("\(name): \(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
        }
        return try JSONDecoder().decode(Account.self, from: answer.body)
    }

    /// Asks until an account stands as expected, for a bounded time; returns the last summary.
    func wait(for expected: String, of name: String, app: String, within: Duration = .seconds(30)) async throws
        -> String
    {
        let deadline = ContinuousClock.now + within
        while true {
            let summary = try await account(name, app: app).summary
            if summary == expected || ContinuousClock.now > deadline { return summary }
            // Apple's notification is under way through three processes; an account has no signal but this question.
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    /// How many subscriptions began, were renewed, came back and ended in the last hundred days.
    struct SubscriptionFigures: Decodable, Sendable, Equatable {
        var started = 0, renewed = 0, returned = 0, ended = 0

        static func - (one: SubscriptionFigures, other: SubscriptionFigures) -> SubscriptionFigures {
            SubscriptionFigures(
                started: one.started - other.started, renewed: one.renewed - other.renewed,
                returned: one.returned - other.returned, ended: one.ended - other.ended)
        }
    }

    /// The totals of an app and environment.
    func subscriptionFigures(app: String, environment: String = "production") async throws -> SubscriptionFigures {
        struct Answer: Decodable { let totals: SubscriptionFigures }
        func day(_ days: Double) -> String {
            String(Date(timeIntervalSinceNow: days * 86_400).ISO8601Format().prefix(10))
        }
        let answer = try await send(
            .GET,
            "\(intake)/v1/subscription-figures?app=\(app)&environment=\(environment)&from=\(day(-100))&to=\(day(1))",
            headers: jsonHeaders)
        guard answer.status == 200 else { throw StackFailure("no figures: \(answer.status)") }
        return try JSONDecoder().decode(Answer.self, from: answer.body).totals
    }

    /// A UUID for the next purchase of an account.
    func intent(
        _ account: String, app: String, product: String, reference: String? = nil
    ) async throws -> String {
        struct Intent: Decodable { let id: String }
        var fields = ["app": app, "account": account, "product_id": product]
        fields["reference"] = reference
        let answer = try await send(
            .POST, "\(intake)/v1/intents", headers: jsonHeaders,
            body: try MessageCoding.encode(fields))
        guard answer.status == 201 else {
            throw StackFailure("no intent: \(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
        }
        return try JSONDecoder().decode(Intent.self, from: answer.body).id
    }

    /// Sets the store's clock; its sales and renewals have its time.
    func setStoreClock(_ date: Date) async throws {
        try await control("PUT", "clock", #"{"now":"\#(MessageCoding.text(date))","speed":1}"#)
    }

    /// Lets the store's time pass, with everything that happens in it.
    func advanceStore(_ span: String) async throws {
        try await control("POST", "clock/advance", #"{"by":"\#(span)"}"#)
    }
}
