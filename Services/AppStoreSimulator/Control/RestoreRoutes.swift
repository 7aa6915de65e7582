import HTTPTypes
import Hummingbird

/// What gives a purchase further transactions: a restore, a further grant, a family member's copy.
struct RestoreRoutes: Sendable {
    enum Limit {
        /// Transactions of a device in one answer, the newest.
        static let transactions = 1_000
    }

    let store: Store
    let signer: PayloadSigner

    func addRoutes(to group: RouterGroup<BasicRequestContext>) {
        group.post("devices/{id}/restore") { request, context in
            let id = try context.parameters.require("id")
            return try await restore(try await ControlBody.decode(RestoreBody.self, from: request), on: id)
        }
        group.get("devices/{id}/transactions") { request, context in
            let query = request.uri.queryParameters
            guard let bundleId = query.get("bundleId") else { throw Problem(.badRequest, "bundleId: missing") }
            return try await list(
                on: try context.parameters.require("id"), bundleId: bundleId,
                environment: try FieldCheck.environment(query.get("environment")))
        }
        group.post("transactions/{id}/regrant") { request, context in
            let id = try context.parameters.require("id")
            return try await regrant(id, try await ControlBody.decode(RegrantBody.self, from: request))
        }
        group.post("transactions/{id}/family-share") { request, context in
            let id = try context.parameters.require("id")
            return try await share(id, try await ControlBody.decode(FamilyShareBody.self, from: request))
        }
    }

    @inline(never)
    private func restore(_ body: RestoreBody, on deviceId: String) async throws -> Response {
        let environment = try FieldCheck.environment(body.environment)
        let dates = RestoreDates(
            purchaseDate: try FieldCheck.choice(body.purchaseDate, "purchaseDate", usual: .restore),
            originalPurchaseDate: try FieldCheck.choice(
                body.originalPurchaseDate, "originalPurchaseDate", usual: .purchase))
        let restored = try await store.change { state, now in
            try state.restoreCompletedTransactions(
                on: deviceId, bundleId: body.bundleId, environment: environment, dates: dates, now: now)
        }
        return try await answer("restored", restored)
    }

    @inline(never)
    private func list(
        on deviceId: String, bundleId: String, environment: StoreEnvironment
    ) async throws -> Response {
        let seen = try await store.read { state in
            try state.transactions(on: deviceId, bundleId: bundleId, environment: environment)
        }
        var json = JSONText()
        let list = TransactionList(signer: signer)
        json.add(
            "transactions",
            json: try await list.json(seen.suffix(Limit.transactions), signedDate: store.clock.now))
        return ControlAnswer.json(json.object)
    }

    @inline(never)
    private func regrant(_ id: String, _ body: RegrantBody) async throws -> Response {
        let granted = try await store.change { state, now in
            try state.regrant(id, on: body.device, count: body.count ?? 1, now: now)
        }
        return try await answer("granted", granted)
    }

    @inline(never)
    private func share(_ id: String, _ body: FamilyShareBody) async throws -> Response {
        let lineItem = try body.webOrderLineItem.map {
            try FieldCheck.choice($0, "webOrderLineItem", usual: AppRecord.FamilyLineItem.own)
        }
        let copy = try await store.change { state, now in
            try state.shareWithMember(id, accountId: body.account, lineItem: lineItem, now: now)
        }
        return try await answer("shared", [copy])
    }

    private func answer(_ outcome: String, _ transactions: [TransactionRecord]) async throws -> Response {
        let signed = try await TransactionList(signer: signer).json(transactions, signedDate: store.clock.now)
        var json = JSONText()
        json.add("outcome", outcome)
        json.add("transactions", json: signed)
        return ControlAnswer.json(json.object)
    }
}

/// The body of `POST devices/{id}/restore`.
private struct RestoreBody: Decodable, Sendable {
    var bundleId: String
    var environment: String?
    var purchaseDate: String?
    var originalPurchaseDate: String?
}

/// The body of `POST transactions/{id}/regrant`.
private struct RegrantBody: Decodable, Sendable {
    var device: String?
    var count: Int?
}

/// The body of `POST transactions/{id}/family-share`.
private struct FamilyShareBody: Decodable, Sendable {
    var account: String
    var webOrderLineItem: String?
}
