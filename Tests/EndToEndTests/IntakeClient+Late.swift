import Foundation
import Messages
import Postgres

/// What Apple says later: a transaction signed with other fields, told of in an order that the test chooses, or moved.
extension IntakeClient {
    /// A transaction as Apple's device signs it now, with fields replaced, added and removed.
    ///
    /// - Parameters:
    ///   - fields: a merge patch of the transaction, JSON (RFC 7396): `null` removes a field.
    ///   - isKept: whether Apple's servers say so, too, from now on.
    func signed(_ transactionId: String, with fields: String, isKept: Bool = false) async throws -> String {
        struct Signed: Decodable { let signedTransaction: String }
        let answer = try await controlled(
            "POST", "transactions/\(transactionId)/sign", #"{"fields":\#(fields),"keep":\#(isKept)}"#)
        return try JSONDecoder().decode(Signed.self, from: answer).signedTransaction
    }

    /// Apple's server tells of a transaction, now.
    ///
    /// - Parameters:
    ///   - type: with a subtype behind a `/` where it has one.
    ///   - fields: a merge patch of the transaction in it, JSON.
    ///   - data: a merge patch of the notification's `data`, JSON.
    /// - Returns: the notification's UUID.
    @discardableResult
    func tell(
        _ type: String, of transactionId: String, with fields: String = "{}", data: String = "{}"
    ) async throws -> String {
        let names = type.split(separator: "/")
        let subtype = names.count > 1 ? #""subtype":"\#(names[1])","# : ""
        struct Told: Decodable {
            struct Notification: Decodable { let notificationUUID: String }
            let notification: Notification
        }
        let answer = try await controlled(
            "POST", "transactions/\(transactionId)/sign",
            #"""
            {"fields":\#(fields),"notification":{"notificationType":"\#(names[0])",\#(subtype)"data":\#(data)}}
            """#)
        return try JSONDecoder().decode(Told.self, from: answer).notification.notificationUUID
    }

    /// What happens to a transaction or a subscription, of which Apple tells only when it is sent.
    ///
    /// - Returns: the UUID of the notification.
    func withheld(_ app: String, _ path: String) async throws -> String {
        struct Caused: Decodable {
            struct Notification: Decodable { let notificationUUID: String }
            let notifications: [Notification]
        }
        let caused = try JSONDecoder().decode(
            Caused.self, from: try await untold(app) { try await controlled("POST", path, "{}") })
        guard let first = caused.notifications.first else { throw StackFailure("\(path): nothing to tell") }
        return first.notificationUUID
    }

    /// Apple sends a notification.
    func sendNotification(_ uuid: String) async throws {
        try await control("POST", "notifications/\(uuid)/resend")
    }

    /// The newest transaction of a subscription.
    func latest(of originalTransactionId: String) async throws -> String {
        struct Subscription: Decodable { let transactionId: String }
        let answer = try await controlled("GET", "subscriptions/\(originalTransactionId)")
        return try JSONDecoder().decode(Subscription.self, from: answer).transactionId
    }

    /// Apple signs a subscription under another original id from now on.
    ///
    /// - Parameter target: one that it had before; nil for a new one.
    /// - Returns: the other id.
    func move(_ originalTransactionId: String, to target: String? = nil) async throws -> String {
        struct Moved: Decodable {
            struct Subscription: Decodable { let originalTransactionId: String }
            let subscription: Subscription
        }
        let body = target.map { #"{"to":"\#($0)"}"# } ?? "{}"
        let answer = try await controlled("POST", "subscriptions/\(originalTransactionId)/move", body)
        return try JSONDecoder().decode(Moved.self, from: answer).subscription.originalTransactionId
    }

    /// Runs a body while the store's clock is some days in the past, and sets it right afterwards.
    func daysAgo<Value>(_ days: Double, _ body: () async throws -> Value) async throws -> Value {
        try await setStoreClock(Date(timeIntervalSinceNow: -days * 86_400))
        do {
            let value = try await body()
            try await setStoreClock(Date())
            return value
        } catch {
            try await setStoreClock(Date())
            throw error
        }
    }

    /// The two plans of the app that Apple tells of, and a level pack.
    func definePlans(isFamilyShareable: Bool = false) async throws {
        for (id, level, price) in [("vip.silver", 2, 4990), ("vip.gold", 1, 9990)] {
            try await control(
                "PUT", "apps/\(LatePlans.app)/products/\(id)",
                #"""
                {"type":"Auto-Renewable Subscription","period":"P1M","price":\#(price),"level":\#(level),
                "subscriptionGroupIdentifier":"21000077","isFamilyShareable":\#(isFamilyShareable)}
                """#)
        }
    }

    /// Buys a plan, and Apple does not tell of it.
    func subscribeUntold(_ player: Player, to product: String = "vip.silver", token: String? = nil) async throws -> Sale
    {
        var order = ["bundleId": LatePlans.app, "productId": product, "account": player.appleId]
        order["appAccountToken"] = token
        let sold = order
        guard let sale = try await untold(LatePlans.app, { try await sell(sold) }).first else {
            throw StackFailure("nothing was sold to \(player.appleId)")
        }
        return sale
    }
}

extension Database {
    /// Waits until what a notification said is carried out.
    func hasSettled(notification uuid: String) async throws -> Bool {
        try await wait(
            for: 1, within: .seconds(30),
            """
            SELECT count(*) AS n FROM apple_notifications n JOIN submissions s ON s.id = n.submission_id
            WHERE n.notification_uuid = $1 AND s.state <> 'received'
            """, [.text(uuid)]) == 1
    }
}

/// What the tests of late words have in common.
enum LatePlans {
    static let app = "com.example.watched"
    static let granted = "vip, 50 gem, vip.silver active"
    static let takenBack = "0 gem, vip.silver revoked"

    /// Runs a body with the plans defined; afterwards nothing is shared with families, and the books balance.
    static func selling(
        isFamilyShareable: Bool = false, _ body: (Stack, IntakeClient, Database) async throws -> Void
    ) async throws {
        try await withStack { stack, client, database in
            try await client.definePlans(isFamilyShareable: isFamilyShareable)
            do {
                try await body(stack, client, database)
            } catch {
                try await client.definePlans()
                throw error
            }
            try await client.definePlans()
            try await Ledger(database, stack).expectCleanAudit()
        }
    }
}
