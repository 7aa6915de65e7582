import Hummingbird

extension ServerAPI {
    /// Get Transaction Info, Get App Transaction Info, Look Up Order ID and Finish Transaction.
    func addTransactionRoutes(to group: RouterGroup<ServerAPIContext>) {
        limited(group, .transactionInfo).get("v1/transactions/{transactionId}") { _, context in
            try await transactionInfo(try context.pathPart("transactionId"), app: try context.caller())
        }
        limited(group, .appTransactionInfo).get("v1/transactions/appTransactions/{transactionId}") { _, context in
            try await appTransactionInfo(try context.pathPart("transactionId"), app: try context.caller())
        }
        limited(group, .lookUpOrder).get("v1/lookup/{orderId}") { _, context in
            try await lookUp(orderId: try context.pathPart("orderId"), app: try context.caller())
        }
        limited(group, .finishTransaction).post("v1/transactions/{transactionId}/finish") { _, context in
            let app = try context.caller()
            let id = try context.pathPart("transactionId")
            try await store.change { state, now in
                _ = try state.transaction(id, app: app, environment: environment)
                try state.finish(id, now: now)
            }
            return APIAnswer.empty()
        }
    }

    private func transactionInfo(_ id: String, app: AppRecord) async throws -> Response {
        let transaction = try await store.read { state in
            try state.transaction(id, app: app, environment: environment)
        }
        let signed = try signatures.signed(transaction, now: store.clock.now)
        return APIAnswer.json("{\"signedTransactionInfo\":\"\(signed)\"}")
    }

    /// A customer who owns something but never downloaded the app (a family member) has no app transaction.
    ///
    /// A guest has one from the first time that somebody asks for it.
    private func appTransactionInfo(_ id: String, app: AppRecord) async throws -> Response {
        let (customer, known) = try await store.read { state in
            let customer = try state.customer(ofAny: id, app: app, environment: environment)
            return (customer, state.downloads[customer.key])
        }
        let download: DownloadRecord
        if let known {
            download = known
        } else {
            guard StoreState.isGuest(customer.accountId) else { throw APIError.appTransactionDoesNotExist }
            download = try await store.change { state, now in
                state.download(
                    bundleId: customer.bundleId, accountId: customer.accountId, environment: environment, now: now)
            }
        }
        let payload = download.appTransaction(app: app, device: nil, signedDate: store.clock.now)
        return APIAnswer.json("{\"signedAppTransactionInfo\":\"\(try signer.sign(payload))\"}")
    }

    /// An order of somebody else, or none at all, is an invalid order: no error.
    private func lookUp(orderId: String, app: AppRecord) async throws -> Response {
        let transactions = await store.read { state in
            state.orders[orderId, default: []].compactMap { state.transactions[$0] }
                .filter { $0.bundleId == app.bundleId && $0.environment == environment }
        }
        var json = JSONText()
        json.add("status", transactions.isEmpty ? OrderStatus.invalid.rawValue : OrderStatus.valid.rawValue)
        json.add("signedTransactions", json: try signatures.list(transactions, now: store.clock.now))
        return APIAnswer.json(json.object)
    }

    /// Apple's `orderLookupStatus`.
    private enum OrderStatus: Int64 {
        case valid = 0
        case invalid = 1
    }
}
