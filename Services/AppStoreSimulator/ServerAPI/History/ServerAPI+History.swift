import Hummingbird

extension ServerAPI {
    /// Get Transaction History, in its second version, and Get Refund History.
    func addHistoryRoutes(to group: RouterGroup<ServerAPIContext>) {
        limited(group, .transactionHistory).get("v2/history/{transactionId}") { request, context in
            try await history(request, context)
        }
        limited(group, .refundHistory).get("v2/refund/lookup/{transactionId}") { request, context in
            let app = try context.caller()
            let id = try context.pathPart("transactionId")
            let revision: RevisionToken? =
                if let text = request.uri.queryParameters.get("revision") { try RevisionToken(text) } else { nil }
            let page = try await store.read { state in
                state.refunds(of: try state.customer(ofAny: id, app: app, environment: environment), after: revision)
            }
            var json = JSONText()
            json.add("hasMore", page.hasMore)
            json.add("revision", page.revision.text)
            json.add("signedTransactions", json: try signatures.list(page.transactions, now: store.clock.now))
            return APIAnswer.json(json.object)
        }
    }

    private func history(_ request: Request, _ context: ServerAPIContext) async throws -> Response {
        let app = try context.caller()
        let id = try context.pathPart("transactionId")
        let query = try HistoryQuery(request.uri.queryParameters)
        let page = try await store.read { state in
            state.history(of: try state.customer(ofAny: id, app: app, environment: environment), query)
        }
        var json = JSONText()
        json.add("revision", page.revision.text)
        json.add("hasMore", page.hasMore)
        json.add("bundleId", app.bundleId)
        json.add("appAppleId", app.appAppleId)
        json.add("environment", environment.rawValue)
        json.add("signedTransactions", json: try signatures.list(page.transactions, now: store.clock.now))
        return APIAnswer.json(json.object)
    }
}
