import Foundation
import Synchronization

/// Buys at the simulator what a load is going to post.
///
/// A receipt holds everything that its Apple ID has not finished, so each purchase that is posted as one is an Apple
/// ID's only one. The others are sold to guests, hundreds in a request.
struct LoadShopper: Sendable {
    /// Apple IDs that buy at the same time.
    static let parallelMaximum = 16

    let shop: SimulatorClient
    /// Tells the Apple IDs of this run from those of others.
    let run: String

    /// Buys one purchase for each kind, in order.
    ///
    /// - Throws: `ToolFailure`.
    func buy(_ kinds: [LoadProofKind]) async throws -> [LoadProof] {
        let proofs = Mutex<[LoadProof?]>(Array(repeating: nil, count: kinds.count))
        try await ProgressLine(title: "selling", total: kinds.count).run {
            (proofs.withLock { $0.count { $0 != nil } }, "")
        } _: {
            let receipts = kinds.indices.filter { kinds[$0] == .receipt }
            let others = kinds.indices.filter { kinds[$0] != .receipt }
            for start in stride(from: 0, to: others.count, by: SimulatorClient.salesPerRequest) {
                let indices = others[start..<min(start + SimulatorClient.salesPerRequest, others.count)]
                let transactions = try await shop.sell(indices.count)
                proofs.withLock { proofs in
                    for (index, transaction) in zip(indices, transactions) {
                        proofs[index] = Self.proof(kinds[index], transaction)
                    }
                }
            }
            try await inParallel(receipts) { index in
                let proof = try await receipt(of: "load-\(run)-\(index)")
                proofs.withLock { $0[index] = proof }
            }
        }
        return proofs.withLock { $0.compactMap(\.self) }
    }

    private static func proof(_ kind: LoadProofKind, _ sold: SimulatorClient.Sold) -> LoadProof {
        LoadProof(
            kind: kind, transactionId: sold.transactionId, originalTransactionId: sold.originalTransactionId,
            content: kind == .signedTransaction ? sold.signedTransaction : nil)
    }

    private func receipt(of account: String) async throws -> LoadProof {
        let sold = try await shop.sell(1, to: account)
        guard let transaction = sold.first else { throw ToolFailure("the simulator sold nothing to \(account)") }
        return LoadProof(
            kind: .receipt, transactionId: transaction.transactionId,
            originalTransactionId: transaction.originalTransactionId, content: try await shop.receipt(of: account))
    }

    private func inParallel(_ indices: [Int], _ body: @Sendable @escaping (Int) async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, index) in indices.enumerated() {
                if number >= Self.parallelMaximum { try await group.next() }
                group.addTask { try await body(index) }
            }
            try await group.waitForAll()
        }
    }
}
