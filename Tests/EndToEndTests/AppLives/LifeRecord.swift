import CountersignClient
import Foundation

/// What really happened in the life of an app, noted where it happened and not where the queue says so.
actor LifeRecord {
    /// Who pressed buy last; a payment sheet is theirs.
    var presser = ""
    private var pressers: [UUID: String] = [:]
    /// The transactions of which an answer said `finish: true`.
    private var mayBeFinished: Set<String> = []
    private var transactions: [String: String] = [:]
    /// What must not happen.
    private(set) var violations: [String] = []
    /// Transactions that Apple gave back the money for.
    private(set) var refunded: Set<String> = []

    func press(_ account: String) {
        presser = account
    }

    /// A payment sheet opens.
    func open(_ order: StoreOrder) {
        guard let token = order.accountToken else {
            violations.append("a payment sheet without a token")
            return
        }
        pressers[token] = presser
    }

    func buyer(of transaction: StoreTransaction) -> String? {
        transaction.accountToken.flatMap { pressers[$0] }
    }

    func refund(_ id: String) {
        refunded.insert(id)
    }

    /// The server answered, whether the app hears of it or not.
    func answered(_ request: ServerRequest, _ answer: ServerAnswer) {
        guard request.url.path.contains("/v1/purchases"),
            let body = try? JSONDecoder().decode(Answer.self, from: answer.body)
        else { return }
        if let id = Self.transactionID(of: request) { transactions[body.id] = id }
        if answer.status == 200, body.finish, let id = transactions[body.id] { mayBeFinished.insert(id) }
    }

    /// The app finishes a transaction.
    func finished(_ id: String) {
        if !mayBeFinished.contains(id) { violations.append("\(id) was finished before the server said so") }
    }

    private struct Answer: Decodable {
        let id: String
        let finish: Bool
    }

    private struct Payload: Decodable {
        let transactionId: String
    }

    /// The transaction that a post is about; nil for a question.
    private static func transactionID(of request: ServerRequest) -> String? {
        guard let body = request.body, let fields = try? JSONDecoder().decode([String: String].self, from: body) else {
            return nil
        }
        if let id = fields["transaction_id"] { return id }
        let parts = fields["signed_transaction"]?.split(separator: ".") ?? []
        guard parts.count == 3, let payload = Data(base64URL: String(parts[1])) else { return nil }
        return (try? JSONDecoder().decode(Payload.self, from: payload))?.transactionId
    }
}
