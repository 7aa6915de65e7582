import Foundation
import Hummingbird

extension ServerAPI {
    /// Send Consumption Information, in both versions.
    func addConsumptionRoutes(to group: RouterGroup<ServerAPIContext>) {
        limited(group, .consumption).put("v2/transactions/consumption/{transactionId}") { request, context in
            try await consumption(request, context, version: 2) { body throws(APIError) in
                try ConsumptionV2.check(body)
            } ofTransaction: { body, transaction throws(APIError) in
                try ConsumptionV2.check(body, of: transaction)
            }
        }
        limited(group, .consumptionV1).put("v1/transactions/consumption/{transactionId}") { request, context in
            try await consumption(request, context, version: 1) { body throws(APIError) in
                try ConsumptionV1.check(body)
            } ofTransaction: { _, transaction throws(APIError) in
                try ConsumptionV1.check(of: transaction)
            }
        }
    }

    private func consumption(
        _ request: Request, _ context: ServerAPIContext, version: Int,
        _ check: ([String: JSONValue]) throws(APIError) -> Void,
        ofTransaction checkTransaction:
            @escaping @Sendable ([String: JSONValue], TransactionRecord) throws(APIError) -> Void
    ) async throws -> Response {
        let app = try context.caller()
        let id = try context.pathPart("transactionId")
        let body = try await APIBody.object(request)
        try check(body)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let text = String(decoding: try encoder.encode(body), as: UTF8.self)
        try await store.change { state, now in
            let transaction = try state.transaction(id, app: app, environment: environment)
            try checkTransaction(body, transaction)
            try state.takeConsumptionAnswer(text, version: version, of: transaction, now: now)
        }
        return APIAnswer.empty(.accepted)
    }
}

extension StoreState {
    enum ConsumptionLimit {
        /// Answers that are kept.
        static let answers = 100_000
    }

    /// Keeps what a developer answered, and asks no more.
    fileprivate mutating func takeConsumptionAnswer(
        _ body: String, version: Int, of transaction: TransactionRecord, now: Int64
    ) throws(APIError) {
        guard consumptionAnswers.count < ConsumptionLimit.answers else { throw .generalInternal }
        put(
            ConsumptionAnswerRecord(
                id: String(consumptionAnswers.count + 1), transactionId: transaction.id,
                environment: transaction.environment, version: version, receivedDate: now, body: body))
        consumptionAnswered(transaction.id)
    }
}
