import Foundation

/// What Apple itself has signed or answered on a bad day: genuine, and not whole, or said twice.
extension Attack {
    static let lacking = [
        Attack(
            "missing_bundle_id", "A genuine transaction that does not say whose app it is, as one in a million.",
            goodBackend: "Apple is asked for it with the app's key; it is granted if Apple knows it."
        ) { material in
            var payload = PayloadText(try await material.buy().payload(signedDate: material.now))
            payload["bundleId"] = nil
            return [.transaction(try material.signer.sign(payload.text))]
        },
        Attack(
            "receipt_with_id_twice",
            "A genuine receipt that has one transaction twice: as it was bought, and cancelled.",
            goodBackend: "The cancellation counts, whichever of the two comes first."
        ) { material in
            let transaction = try await material.buy()
            let now = material.now
            var contents = await material.store.read { state in
                AppReceipt.contents(
                    of: state, bundleId: transaction.bundleId, accountId: transaction.accountId, device: nil,
                    environment: transaction.environment, now: now)
            }
            let listed = contents.inAppPurchases.filter { $0.transactionId == transaction.transactionId }
            contents.inAppPurchases += listed.map { purchase in
                var cancelled = purchase
                cancelled.cancellationDate = now
                return cancelled
            }
            return [.receipt(Data(try material.receipts.receipt(contents)).base64EncodedString())]
        },
    ]
}
