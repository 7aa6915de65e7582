import Foundation
import Messages

/// The further transaction ids that Apple gives one purchase, and what Apple never tells of.
extension IntakeClient {
    /// A player of an app, and the Apple ID that pays: new to everybody.
    struct Player: Sendable {
        let account: String
        var appleId: String { "apple-id-of-\(account)" }

        init(_ role: String) {
            account = "\(role)-\(UInt32.random(in: 0...UInt32.max))"
        }
    }

    /// `restoreCompletedTransactions` on a new device of an Apple ID that owns one thing: its further transaction.
    func restore(app: String, by player: Player) async throws -> Sale {
        let device = try await device(of: player)
        let restored = try await sales("POST", "devices/\(device)/restore", #"{"bundleId":"\#(app)"}"#)
        guard let sale = restored.first, restored.count == 1 else {
            throw StackFailure("\(player.appleId): \(restored.count) purchases were restored")
        }
        return sale
    }

    /// Apple grants a purchase again, each time under another id.
    func regrant(_ sale: Sale, count: Int = 1) async throws -> [Sale] {
        try await sales("POST", "transactions/\(sale.transactionId)/regrant", #"{"count":\#(count)}"#)
    }

    /// What StoreKit shows an app on a new device of an Apple ID.
    func shown(app: String, to player: Player) async throws -> [Sale] {
        let device = try await device(of: player)
        return try await sales("GET", "devices/\(device)/transactions?bundleId=\(app)")
    }

    /// A transaction as Apple signs it for who asks now.
    func signedAnew(_ sale: Sale) async throws -> String {
        try await signed(sale.transactionId)
    }

    /// The same by its id.
    func signed(_ transactionId: String) async throws -> String {
        struct Transaction: Decodable { let signedTransaction: String }
        let answer = try await controlled("GET", "transactions/\(transactionId)")
        return try JSONDecoder().decode(Transaction.self, from: answer).signedTransaction
    }

    /// Apple refunds a purchase, and names this id of it.
    func refund(_ sale: Sale) async throws {
        try await control("POST", "transactions/\(sale.transactionId)/refund", "{}")
    }

    /// Lets an app's notifications go nowhere while the body runs: of what happens meanwhile Apple never tells.
    func untold<Value>(_ app: String, _ body: () async throws -> Value) async throws -> Value {
        let known = try JSONDecoder().decode(AppOfStore.self, from: try await controlled("GET", "apps/\(app)"))
        // An empty address is none; one that is left out would stay.
        try await send(notificationsOf: app, to: known.notificationURLs.mapValues { _ in "" })
        do {
            let value = try await body()
            try await send(notificationsOf: app, to: known.notificationURLs)
            return value
        } catch {
            try await send(notificationsOf: app, to: known.notificationURLs)
            throw error
        }
    }

    /// A new subscription to the lower plan of an app, which Apple signs with the line item of another one from now on.
    ///
    /// No way of buying leads to that: Apple's ids are not known to meet, and the simulator's do not.
    func sell(withLineItem lineItem: String, app: String, to player: Player) async throws -> Sale {
        let sold = try await sell(["bundleId": app, "productId": "vip.silver", "account": player.appleId])
        guard let sale = sold.first else { throw StackFailure("nothing was sold to \(player.appleId)") }
        let signed = try await signed(
            sale.transactionId, with: #"{"webOrderLineItemId":"\#(lineItem)"}"#, isKept: true)
        return Sale(
            transactionId: sale.transactionId, originalTransactionId: sale.originalTransactionId,
            webOrderLineItemId: lineItem, signedTransaction: signed)
    }

    private struct AppOfStore: Decodable { let notificationURLs: [String: String] }

    private func send(notificationsOf app: String, to urls: [String: String]) async throws {
        let body = try MessageCoding.encode(["notificationURLs": urls])
        try await control("PUT", "apps/\(app)", String(decoding: body, as: UTF8.self))
    }

    /// - Returns: the new device's id.
    private func device(of player: Player) async throws -> String {
        let device = "phone-\(UInt32.random(in: 0...UInt32.max))-of-\(player.account)"
        try await control("PUT", "devices/\(device)", #"{"account":"\#(player.appleId)"}"#)
        return device
    }

    private func sales(_ method: String, _ path: String, _ json: String? = nil) async throws -> [Sale] {
        struct Sales: Decodable { let transactions: [Sale] }
        let answer = try await controlled(method, path, json)
        return try JSONDecoder().decode(Sales.self, from: answer).transactions
    }
}

extension Data {
    /// Bytes from base64url without padding, as in a JWS; nil for anything else.
    init?(base64URL text: String) {
        var base64 = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        while !base64.utf8.count.isMultiple(of: 4) { base64.append("=") }
        self.init(base64Encoded: base64)
    }

    /// The bytes in base64url without padding.
    var base64URL: String {
        base64EncodedString().replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }
}
