package import Foundation
import Messages
package import Postgres
package import PurchaseModel

/// The table `spends`: what players spend out of a wallet that Countersign holds, each request once.
package struct SpendStore: Sendable {
    /// The most items of one request: all of their balances are locked until it is done.
    package static let itemsMaximum = 50

    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// What is to be spent.
    package struct Request: Sendable {
        /// Whose it is.
        package let customer: Customer
        /// The caller's name of this request; the same name never spends twice.
        package let key: String
        /// A hash of everything else of the request, by which a repetition is known from another request.
        package let sha256: String
        /// What is taken: at most ``SpendStore/itemsMaximum`` distinct items, each 1 to `LedgerStore.Limit.amount`.
        package let items: [Catalogue.ItemGrant]
        /// The studio's own word for what is bought.
        package let reference: String?

        /// Makes a request.
        package init(
            customer: Customer, key: String, sha256: String, items: [Catalogue.ItemGrant], reference: String?
        ) {
            self.customer = customer
            self.key = key
            self.sha256 = sha256
            self.items = items
            self.reference = reference
        }
    }

    /// What was spent.
    package struct Spend: Sendable {
        /// Its number.
        package let id: Int64
        /// What was taken.
        package let items: [Catalogue.ItemGrant]
        /// What remained of these items then.
        package let balances: [Catalogue.ItemGrant]
        /// The studio's own word for what was bought.
        package let reference: String?
        /// When.
        package let createdAt: Date
    }

    /// What became of a request.
    package enum Outcome: Sendable {
        /// It is spent.
        case spent(Spend)
        /// It was spent before, by the same request.
        case repeated(Spend)
        /// Another request has used the key.
        case keyReused
        /// Nothing is spent, and nothing remembered: there is not enough of these.
        case insufficient([LedgerStore.Shortage])
    }

    /// The part of a spend that only its row knows, as JSON.
    private struct Answer: Codable, Sendable {
        let items: [Catalogue.ItemGrant]
        let balances: [Catalogue.ItemGrant]
    }

    /// Unwinds a transaction that found too little, so that nothing of it is written.
    private struct Shortfall: Error {
        let shortages: [LedgerStore.Shortage]
    }

    /// Takes all of the items, or nothing: the balances, the lines and the row are one transaction.
    ///
    /// A request that finds too little leaves nothing behind, and may be tried again.
    ///
    /// - Throws: `PostgresError`; after `connectionLost` the same request, repeated, tells what became of it.
    ///   `LedgerError` for items and amounts that no request may have.
    package func spend(_ request: Request) async throws -> Outcome {
        do {
            return try await pool.withTransaction { try await Self.spend(request, on: $0) }
        } catch let shortfall as Shortfall {
            return .insufficient(shortfall.shortages)
        }
    }

    @inline(never)
    private static func spend(_ request: Request, on connection: PostgresConnection) async throws -> Outcome {
        if let known = try await known(request, on: connection) { return known }
        var written: Spend?
        let spent = try await LedgerStore.spend(request.items, of: request.customer, on: connection) { balances in
            written = try await insert(request, balances, on: connection)
            return written?.id
        }
        switch spent {
        case .spent:
            if let written { return .spent(written) }
        case .insufficient(let shortages):
            // Perhaps the same request has just spent it: who waited for its balances sees its row now.
            guard let known = try await known(request, on: connection) else { throw Shortfall(shortages: shortages) }
            return known
        case .abandoned:
            // The key was taken meanwhile, and who took it has committed.
            if let known = try await known(request, on: connection) { return known }
        }
        return .keyReused
    }

    /// What is remembered under the request's key.
    private static func known(_ request: Request, on connection: PostgresConnection) async throws -> Outcome? {
        let result = try await connection.query(
            """
            SELECT id, request_sha256, reference, answer, created_at FROM spends
            WHERE \(AccountStore.isOf(request.customer)) AND idempotency_key = \(request.key)
            """)
        guard let row = result.rows.first else { return nil }
        let (id, sha256, reference, answer, createdAt) = try row.decode(
            (Int64, String, String?, JSONColumn<Answer>, Date).self)
        guard sha256 == request.sha256 else { return .keyReused }
        return .repeated(
            Spend(
                id: id, items: answer.value.items, balances: answer.value.balances, reference: reference,
                createdAt: createdAt))
    }

    /// Writes the request down; nil when its key is taken.
    private static func insert(
        _ request: Request, _ balances: [Catalogue.ItemGrant], on connection: PostgresConnection
    ) async throws -> Spend? {
        let answer = String(
            decoding: try MessageCoding.encode(Answer(items: request.items, balances: balances)), as: UTF8.self)
        let result = try await connection.query(
            """
            INSERT INTO spends (account, app, environment, idempotency_key, request_sha256, reference, answer)
            VALUES (\(request.customer.account), \(request.customer.app), \(request.customer.environment),
                \(request.key), \(request.sha256), \(request.reference), \(json: answer))
            ON CONFLICT (account, app, environment, idempotency_key) DO NOTHING RETURNING id, created_at
            """)
        return try result.map { (id: Int64, createdAt: Date) in
            Spend(
                id: id, items: request.items, balances: balances, reference: request.reference, createdAt: createdAt)
        }.first
    }
}
