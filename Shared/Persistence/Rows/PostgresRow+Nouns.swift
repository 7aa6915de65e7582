import Foundation
import Messages
package import Postgres
package import PurchaseModel

/// Reads the nouns of the model out of rows. What cannot be read is an error: a row that is passed over in silence would be
/// a purchase that is lost in silence.
extension PostgresRow {
    /// The column `environment`.
    ///
    /// - Throws: `PostgresError`, also where it is none that this program knows.
    package func environment(_ column: String = "environment") throws(PostgresError) -> StoreEnvironment {
        try known(column)
    }

    /// An order's own id, in `environment` and a column of transaction ids.
    package func orderKey(_ column: String = "transaction_id") throws(PostgresError) -> OrderKey {
        OrderKey(environment: try environment(), transactionId: try decode(column))
    }

    /// A lineage, in `environment` and `original_transaction_id`.
    package func lineageKey(_ column: String = "original_transaction_id") throws(PostgresError) -> LineageKey {
        LineageKey(environment: try environment(), originalTransactionId: try decode(column))
    }

    /// An order's state.
    package func orderState(_ column: String = "state") throws(PostgresError) -> OrderState {
        try known(column)
    }

    /// An account; nil where the column is null.
    package func accountIfPresent(_ column: String = "account") throws(PostgresError) -> Account? {
        try decodeIfPresent(column, as: String.self).map { Account(stored: $0) }
    }

    /// A reason; nil where the column is null.
    package func reasonIfPresent(_ column: String = "reason") throws(PostgresError) -> ReasonCode? {
        try decodeIfPresent(column, as: String.self).map(ReasonCode.init)
    }

    /// A value of an enumeration that is kept as text.
    package func known<Value: RawRepresentable<String>>(
        _ column: String, as type: Value.Type = Value.self
    ) throws(PostgresError) -> Value {
        let text: String = try decode(column)
        guard let value = Value(rawValue: text) else {
            throw PostgresError(code: .decodingFailed, reason: "\(column) has a value that this program does not know")
        }
        return value
    }

    /// A value that is kept as JSON.
    package func json<Value: Decodable>(_ column: String, as type: Value.Type) throws(PostgresError) -> Value {
        let text: String = try decode(column)
        do {
            return try MessageCoding.decode(type, from: Array(text.utf8))
        } catch {
            throw PostgresError(code: .decodingFailed, reason: "\(column) is no \(type)")
        }
    }

    /// A value that is kept as JSON; nil where the column is null.
    package func jsonIfPresent<Value: Decodable>(_ column: String, as type: Value.Type) throws(PostgresError) -> Value?
    {
        guard try decodeIfPresent(column, as: String.self) != nil else { return nil }
        return try json(column, as: type)
    }
}

extension StoreEnvironment: PostgresEncodable, PostgresDecodable {}
extension OrderState: PostgresEncodable, PostgresDecodable {}
extension SubmissionState: PostgresEncodable, PostgresDecodable {}
extension ReasonCode: PostgresEncodable, PostgresDecodable {}
extension ProofKind: PostgresEncodable, PostgresDecodable {}
extension BindingChange.Cause: PostgresEncodable, PostgresDecodable {}
extension RestorePolicy: PostgresEncodable {}

extension Account: PostgresEncodable, PostgresDecodable, PostgresArrayElement {
    package static var postgresType: UInt32 { String.postgresType }
    package static var postgresArrayType: UInt32 { String.postgresArrayType }
    package var postgresByteCount: Int { text.postgresByteCount }

    package func writePostgres(to destination: UnsafeMutableRawPointer) { text.writePostgres(to: destination) }

    package static func decode(_ cell: PostgresCell) throws(PostgresError) -> Account {
        Account(stored: try String.decode(cell))
    }
}

extension SQL {
    /// `unnest(…)` of the environments and the transaction ids of orders.
    static func rows(of orders: [OrderKey]) -> SQL {
        "unnest(\(orders.map(\.environment)), \(orders.map(\.transactionId)))"
    }

    /// `unnest(…)` of the environments and the original ids of lineages.
    static func rows(of lineages: [LineageKey]) -> SQL {
        "unnest(\(lineages.map(\.environment)), \(lineages.map(\.originalTransactionId)))"
    }
}

/// A column of JSON.
struct JSONColumn<Value: Decodable & Sendable>: PostgresDecodable {
    let value: Value

    static func decode(_ cell: PostgresCell) throws(PostgresError) -> JSONColumn {
        do {
            return JSONColumn(value: try MessageCoding.decode(Value.self, from: Array(try String.decode(cell).utf8)))
        } catch {
            throw PostgresError(code: .decodingFailed, reason: "\(cell.column) is no \(Value.self)")
        }
    }
}
