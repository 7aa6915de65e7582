package import CountersignClient
import Foundation
import Synchronization

/// Where a ``FakeAppStore`` gets its transactions from: made up, or really signed by the simulator.
package protocol FakeSeller: Sendable {
    /// Sells what is ordered, to one Apple Account.
    ///
    /// - Throws: any error; the payment sheet ends with it.
    func sell(_ order: StoreOrder) async throws -> StoreTransaction

    /// The app finishes a transaction.
    func finished(_ id: String) async
}

extension FakeSeller {
    package func finished(_ id: String) async {}
}

/// Sells made-up transactions, for tests whose server believes everything.
package final class PlainSeller: FakeSeller {
    /// Which of Apple's interfaces the transactions look like they are from.
    package enum Interface: Sendable {
        /// Each has its signed transaction.
        case storeKit2
        /// The proof is the app's receipt.
        case storeKit1
    }

    private let interface: Interface
    private let lastID: Mutex<Int>

    /// A seller; `firstID` keeps the ids of several sellers apart.
    package init(_ interface: Interface = .storeKit2, firstID: Int = 1_000) {
        self.interface = interface
        lastID = Mutex(firstID - 1)
    }

    /// The id in a signed transaction of such a seller.
    static func transactionID(_ signed: String) -> String? {
        let parts = signed.split(separator: ".")
        return parts.count == 3 ? String(parts[1]) : nil
    }

    package func sell(_ order: StoreOrder) async throws -> StoreTransaction {
        let number = lastID.withLock {
            $0 += 1
            return $0
        }
        return StoreTransaction(
            id: "\(number)", originalID: "\(number)", productID: order.productID, quantity: order.quantity,
            accountToken: order.accountToken, environment: .sandbox,
            proof: interface == .storeKit2 ? .signedTransaction("e30.\(number).AA") : .receipt)
    }
}
