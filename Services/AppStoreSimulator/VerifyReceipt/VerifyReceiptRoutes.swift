import Hummingbird

/// `verify-receipt`: which status to answer, whatever the receipt is.
struct VerifyReceiptRoutes: Sendable {
    private struct Body: Decodable {
        /// Nil for both.
        var environment: StoreEnvironment?
        var status: Int64
        var share: Double?
        var isRetryable: Bool?
    }

    let demands: VerifyReceiptDemands

    func addRoutes(to router: RouterGroup<BasicRequestContext>) {
        router.get("verify-receipt") { _, _ in try answer() }
        router.delete("verify-receipt") { _, _ in
            for environment in StoreEnvironment.allCases { demands.set(nil, in: environment) }
            return try answer()
        }
        router.put("verify-receipt") { request, _ in
            let body = try await ControlBody.decode(Body.self, from: request)
            let share = body.share ?? 1
            guard body.status == VerifyReceiptStatus.valid || VerifyReceiptStatus.canBeDemanded(body.status) else {
                throw Problem(.badRequest, "status: 21000 to 21010, 21100 to 21199, or 0 for none")
            }
            guard share > 0, share <= 1 else { throw Problem(.badRequest, "share: more than 0, at most 1") }
            let demand =
                body.status == VerifyReceiptStatus.valid
                ? nil
                : VerifyReceiptDemands.Demand(status: body.status, share: share, isRetryable: body.isRetryable)
            for environment in body.environment.map({ [$0] }) ?? StoreEnvironment.allCases {
                demands.set(demand, in: environment)
            }
            return try answer()
        }
    }

    private func answer() throws -> Response {
        var demanded: [String: VerifyReceiptDemands.Demand] = [:]
        for (environment, demand) in demands.all { demanded[environment.rawValue] = demand }
        return try ControlAnswer.encoded(demanded)
    }
}
