import Persistence
import PurchaseModel
import Synchronization

/// Products whose parked orders are to be looked at by the catalogue in use, though it says of them what it said before.
///
/// A batch that began by one catalogue may be committed when the next one is in use, and its round over: what it parked is
/// handed in here.
final class DoubtfulProducts: Sendable {
    private struct State {
        /// The catalogue of the round that began last.
        var inUse: Catalogue?
        var products: Set<AppProduct> = []
    }

    private let state = Mutex(State())

    /// Hands in what a commit has parked for the sake of a catalogue that is not in use any more.
    func note(_ decided: Decided, by catalogue: Catalogue?) {
        let parked = decided.transitions.filter { transition in
            transition.state == .parked && transition.reason.map { OrderStore.catalogueReasons.contains($0) } ?? false
        }
        guard !parked.isEmpty else { return }
        let products = Set(
            parked.map { AppProduct(app: $0.transaction.bundleId, productId: $0.transaction.productId) })
        state.withLock { state in
            guard let inUse = state.inUse, inUse.version != catalogue?.version else { return }
            state.products.formUnion(products)
        }
    }

    /// Hands in products whatever the catalogue says.
    func add(_ products: Set<AppProduct>) {
        state.withLock { $0.products.formUnion(products) }
    }

    /// Begins a round by a catalogue, if there is a reason for one.
    ///
    /// - Returns: what it says otherwise than the one before, and what was handed in since.
    func begin(_ catalogue: Catalogue) -> Set<AppProduct> {
        state.withLock { state in
            defer { state = State(inUse: catalogue) }
            guard state.inUse?.version != catalogue.version else { return state.products }
            return catalogue.changes(from: state.inUse).union(state.products)
        }
    }
}
