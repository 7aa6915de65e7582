import Persistence
import PurchaseModel

/// Where an older system's grants and the books differ.
struct Difference: Encodable, Sendable, Equatable {
    enum Kind: String, Encodable, Sendable, CaseIterable {
        /// Granted there; here Apple's data is refused, or Apple knows no such purchase.
        case notGenuineHere = "not_genuine_here"
        /// Genuine here; the older system granted nothing, or nothing is said of it in any file.
        case notGrantedThere = "not_granted_there"
        /// Granted there several times.
        case grantedRepeatedlyThere = "granted_repeatedly_there"
        /// Granted there; Apple took it back.
        case takenBackByApple = "taken_back_by_apple"
        case anotherAccount = "another_account"
        case anotherProduct = "another_product"
        case anotherQuantity = "another_quantity"
        /// The catalogue grants other items than the older system did.
        case anotherAmount = "another_amount"
        /// Genuine, and held here for a doubt.
        case inDoubtHere = "in_doubt_here"
        /// Nothing is known here yet.
        case undecidedHere = "undecided_here"

        var words: String { rawValue.replacing("_", with: " ") }
    }

    let kind: Kind
    /// Of the file; nil where none names it.
    let line: Int64?
    let environment: String?
    let transactionId: String?
    /// What the older system says.
    let there: String?
    /// What the books say.
    let here: String?

    /// The line of a CSV file.
    var fields: [String] {
        [kind.rawValue, line.map { "\($0)" } ?? "", environment ?? "", transactionId ?? "", there ?? "", here ?? ""]
    }

    static let header = "kind,line,environment,transaction_id,there,here"
}

/// Compares a line with the order that it leads to: a pure function.
enum ShadowComparison {
    /// All differences of one row; a line may have several.
    ///
    /// - Parameter product: what the catalogue of now grants; nil where it is not known.
    static func differences(_ row: ImportStore.Compared, product: Catalogue.Product?) -> [Difference] {
        func difference(_ kind: Difference.Kind, _ there: String? = nil, _ here: String? = nil) -> Difference {
            Difference(
                kind: kind, line: row.line, environment: row.order?.key.environment.rawValue,
                transactionId: row.order?.key.transactionId ?? row.claim.transactionId, there: there, here: here)
        }
        guard let order = row.order else {
            switch row.submissionState {
            case .received: return [difference(.undecidedHere, nil, row.submissionReason?.rawValue)]
            case .rejected where row.claim.isGranted:
                return [difference(.notGenuineHere, nil, row.submissionReason?.rawValue)]
            case .parked: return [difference(.inDoubtHere, nil, row.submissionReason?.rawValue)]
            default: return []
            }
        }
        guard row.claim.isGranted else {
            return order.state == .granted ? [difference(.notGrantedThere, nil, order.account?.text)] : []
        }
        var found: [Difference] = []
        switch order.state {
        case .parked: found.append(difference(.inDoubtHere, row.account?.text, order.reason?.rawValue))
        case .revoked: found.append(difference(.takenBackByApple, row.account?.text, order.account?.text))
        case .granted: break
        }
        if let there = row.account, let here = order.account, there != here, !order.isShared {
            found.append(difference(.anotherAccount, there.text, here.text))
        }
        if let there = row.claim.productId, there != order.productId {
            found.append(difference(.anotherProduct, there, order.productId))
        }
        if let there = row.claim.quantity, there != order.quantity {
            found.append(difference(.anotherQuantity, "\(there)", "\(order.quantity)"))
        }
        if let there = row.claim.items, let product, product.id == order.productId {
            let here = items(of: product, quantity: order.quantity)
            if there.filter({ $0.value != 0 }) != here {
                found.append(difference(.anotherAmount, text(there), text(here)))
            }
        }
        return found
    }

    private static func items(of product: Catalogue.Product, quantity: Int32) -> [String: Int64] {
        let grants = product.items.map {
            ($0.item, $0.amount.multipliedReportingOverflow(by: Int64(quantity)).partialValue)
        }
        return Dictionary(grants) { $0 &+ $1 }.filter { $0.value != 0 }
    }

    private static func text(_ items: [String: Int64]) -> String {
        items.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: ";")
    }
}
