import Foundation
import Persistence
import PurchaseModel
import ServiceRuntime

/// What the studio's backend sends to have Apple asked about a customer: `SweepRequest` in the OpenAPI document.
struct SweepRequest: Decodable, Sendable {
    enum Limit {
        /// Unicode scalars of a request's id: ours have 36.
        static let id = 64
    }

    let app: String
    let account: String?
    let transactionId: String?
    let appAccountToken: String?
    let orderId: String?
    let environment: String?
    let reason: String?

    enum CodingKeys: String, CodingKey {
        case app, account, environment, reason
        case transactionId = "transaction_id"
        case appAccountToken = "app_account_token"
        case orderId = "order_id"
    }

    /// Whom Apple is to be asked about: exactly one field says it.
    ///
    /// - Throws: `ProblemDetails` for none, for several, and for what is none.
    func subject() throws -> SweepRequestStore.Subject {
        guard [account, transactionId, appAccountToken, orderId].compactMap(\.self).count == 1 else {
            throw ProblemDetails.sweepSubjectUnclear
        }
        if let account {
            guard let account = Account(account) else {
                throw ProblemDetails.fieldInvalid(CodingKeys.account.rawValue, "1 to 255 printable characters")
            }
            return .account(account)
        }
        if let transactionId {
            guard let id = TransactionId(transactionId) else {
                throw ProblemDetails.fieldInvalid(
                    CodingKeys.transactionId.rawValue, "1 to \(TransactionId.lengthMaximum) letters and digits")
            }
            return .transaction(id.text)
        }
        if let orderId {
            guard let id = OrderId(orderId) else {
                throw ProblemDetails.fieldInvalid(
                    CodingKeys.orderId.rawValue, "1 to \(OrderId.lengthMaximum) letters and digits of ASCII")
            }
            return .order(id.text)
        }
        guard let token = appAccountToken.flatMap(UUID.init(uuidString:)) else {
            throw ProblemDetails.fieldInvalid(CodingKeys.appAccountToken.rawValue, "a UUID")
        }
        return .token(token)
    }
}

/// How far a request is: `Sweep` in the OpenAPI document.
struct SweepAnswer: Encodable, Sendable {
    /// A purchase that was found.
    struct Recovered: Encodable, Sendable {
        let environment: String
        let transactionId: String
        let state: String
        let reason: String?

        enum CodingKeys: String, CodingKey {
            case environment, state, reason
            case transactionId = "transaction_id"
        }
    }

    let id: String
    /// `received` until a worker has it, `under_way` while Apple is asked, `finished`.
    let state: String
    let requestedAt: Date
    let finishedAt: Date?
    let questions: Int64
    let questionsLeft: Int64
    let calls: Int64
    let found: Int64
    let waitsFor: String?
    let recovered: [Recovered]

    enum CodingKeys: String, CodingKey {
        case id, state, questions, calls, found, recovered
        case requestedAt = "requested_at"
        case finishedAt = "finished_at"
        case questionsLeft = "questions_left"
        case waitsFor = "waits_for"
    }

    init(_ status: SweepRequestStore.Status) {
        id = status.id
        state = status.takenAt == nil ? "received" : status.finishedAt == nil ? "under_way" : "finished"
        requestedAt = status.requestedAt
        finishedAt = status.finishedAt
        questions = status.questions
        questionsLeft = status.questionsLeft
        calls = status.calls
        found = status.found
        waitsFor = status.finishedAt == nil ? status.lastError : nil
        recovered = status.recovered.map {
            Recovered(
                environment: $0.environment.rawValue, transactionId: $0.transactionId, state: $0.state,
                reason: $0.reason)
        }
    }
}
