import Foundation
import PurchaseModel

/// A version of the API.
///
/// Within one, requests and answers only grow by members, values and routes; whatever else changes makes a new one. Who names one goes on to have it, and who names none has the oldest.
enum APIVersion: String, CaseIterable, Sendable {
    /// Intents have their UUIDs as ids, spends numbers: `spend_7`.
    case first = "2026-11-27"
    /// Both have opaque ids: `int_…`, `spd_…`.
    case prefixedIds = "2026-11-28"

    /// What who names none has: apps in the field send no header that their author did not know.
    static let oldest = first
    /// What the OpenAPI document is of.
    static let newest = prefixedIds

    /// A spend's id.
    func spendId(_ number: Int64) -> String { self == .first ? "spend_\(number)" : SpendId.text(number) }

    /// An intent's id.
    func intentId(_ uuid: UUID) -> String {
        self == .first ? uuid.uuidString.lowercased() : IntentId.text(uuid)
    }
}
