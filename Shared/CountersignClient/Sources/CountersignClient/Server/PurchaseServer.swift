#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Countersign's intake as a player's app sees it: intents and purchases, with the player's token.
struct PurchaseServer: Sendable {
    let address: URL
    let app: String
    let limits: QueueLimits
    let transport: any ServerTransport
    let credentials: any PlayerCredentials

    /// What came of asking for an intent.
    enum IntentResult: Sendable {
        case opened(UUID)
        /// No network, or a server in trouble.
        case unavailable(String)
        /// The server will not, or nobody is logged in.
        case refused(String)
    }

    /// Asks for the UUID of a purchase.
    func openIntent(account: String, productID: String, reference: String? = nil) async -> IntentResult {
        let body = IntentBody(app: app, account: account, productID: productID, reference: reference)
        switch await send("POST", "v1/intents", body: body, account: account, wait: 0) {
        case .success(let answer):
            guard let intent = try? JSONDecoder().decode(IntentAnswer.self, from: answer.body) else {
                return .unavailable("the answer is no intent")
            }
            return .opened(intent.appAccountToken)
        case .failure(.unavailable(let detail, _)): return .unavailable(detail)
        case .failure(.limited): return .unavailable("too many requests or intents (429)")
        case .failure(let other): return .refused("\(other)")
        }
    }

    /// Posts a proof, or asks about a submission.
    func post(_ order: PostOrder, receipt: Data?) async -> PostResult {
        let result: Result<ServerAnswer, PostFailure>
        if let id = order.submissionID {
            result = await send(
                "GET", "v1/purchases/\(id)", body: String?.none, account: order.account, wait: limits.serverWait)
        } else {
            result = await send(
                "POST", "v1/purchases", body: body(order, receipt), account: order.account, wait: limits.serverWait)
        }
        switch result {
        case .success(let answer): return Self.purchase(answer)
        case .failure(let failure): return .failed(failure)
        }
    }

    private func body(_ order: PostOrder, _ receipt: Data?) -> PurchaseBody {
        let transaction = order.transaction
        var body = PurchaseBody(app: app, account: order.account, environment: transaction.environment?.rawValue)
        switch transaction.proof {
        case .signedTransaction(let text) where text.utf8.count <= QueueLimits.signedTransactionMaximum:
            body.signedTransaction = text
        case .signedTransaction: body.transactionID = transaction.id
        case .receipt:
            body.transactionID = transaction.id
            if !order.isNumberOnly, let receipt, !receipt.isEmpty, receipt.count <= limits.receiptMaximum {
                body.receipt = receipt.base64EncodedString()
            }
        }
        return body
    }

    private static func purchase(_ answer: ServerAnswer) -> PostResult {
        guard let body = try? JSONDecoder().decode(AnswerBody.self, from: answer.body) else {
            return .failed(.unavailable("the answer to a purchase cannot be read (\(answer.status))", retryAfter: nil))
        }
        // Only a final answer lets a transaction be finished, whatever else a body says.
        let isFinish = answer.status == 200 && body.state != "received" && body.finish
        return .answered(
            PurchaseAnswer(
                id: body.id, state: answer.status == 200 ? body.state : "received", isFinish: isFinish,
                reason: body.reason, retryAfter: retryAfter(answer)))
    }

    // MARK: Requests

    func send(
        _ method: String, _ path: String, query: [URLQueryItem] = [], body: (some Encodable)?, account: String,
        wait: Int
    ) async -> Result<ServerAnswer, PostFailure> {
        let bytes: Data?
        do {
            bytes = try body.map { try JSONEncoder().encode($0) }
        } catch {
            return .failure(.refused(problem: "body-unencodable", detail: "\(error)"))
        }
        var detail = ""
        for isRefreshing in [false, true] {
            let token: String?
            do {
                token = try await credentials.token(of: account, isRefreshing: isRefreshing)
            } catch {
                return .failure(.unavailable("no token: \(type(of: error))", retryAfter: nil))
            }
            guard let token else { return .failure(isRefreshing ? .credentialsRefused(detail) : .credentialsMissing) }
            let answer: ServerAnswer
            do {
                answer = try await transport.send(
                    request(method, url(path, query, wait: wait), bytes, token: token, wait: wait))
            } catch {
                return .failure(.unavailable("no answer: \(String(describing: error).prefix(200))", retryAfter: nil))
            }
            let problem = Self.problem(answer)
            // A token that has ended, or that is another account's.
            guard answer.status == 401 || answer.status == 403 else {
                return Self.result(answer, problem, isQuestion: method == "GET")
            }
            detail = "\(answer.status) \(problem.code)"
        }
        return .failure(.credentialsRefused(detail))
    }

    func request(_ method: String, _ url: URL, _ body: Data?, token: String, wait: Int) -> ServerRequest {
        var headers = ["authorization": "Bearer \(token)", "accept": "application/json"]
        if body != nil { headers["content-type"] = "application/json" }
        return ServerRequest(
            method: method, url: url, headers: headers, body: body,
            timeout: Double(wait) + limits.requestTime, answerMaximum: QueueLimits.answerMaximum)
    }

    /// - Parameter path: percent-encoded where it has to be.
    func url(_ path: String, _ query: [URLQueryItem], wait: Int) -> URL {
        guard var parts = URLComponents(url: address, resolvingAgainstBaseURL: false) else { return address }
        let base = parts.percentEncodedPath
        parts.percentEncodedPath = (base.hasSuffix("/") ? base : base + "/") + path
        let items = query + (wait > 0 ? [URLQueryItem(name: "wait", value: "\(wait)")] : [])
        if !items.isEmpty { parts.queryItems = items }
        return parts.url ?? address
    }

    private static func result(
        _ answer: ServerAnswer, _ problem: (code: String, detail: String), isQuestion: Bool
    ) -> Result<ServerAnswer, PostFailure> {
        switch answer.status {
        case 200...202: .success(answer)
        case 404 where isQuestion && problem.code == "not-found": .failure(.submissionUnknown)
        case 429: .failure(.limited(retryAfter: retryAfter(answer)))
        case 400, 413, 415, 422: .failure(.refused(problem: problem.code, detail: problem.detail))
        // Everything else, redirects and pages of a proxy too, says nothing about the purchase.
        default: .failure(.unavailable("\(answer.status) \(problem.code)", retryAfter: retryAfter(answer)))
        }
    }

    /// Seconds; a date is not read, since this device's clock may be wrong.
    private static func retryAfter(_ answer: ServerAnswer) -> Double? {
        answer.headers["retry-after"].flatMap(Int.init).map { Double(max($0, 0)) }
    }

    private static func problem(_ answer: ServerAnswer) -> (code: String, detail: String) {
        guard answer.status >= 400,
            let document = try? JSONDecoder().decode(ProblemBody.self, from: answer.body)
        else { return ("status-\(answer.status)", "no problem document") }
        return (document.code, document.detail ?? document.title ?? "")
    }
}

private struct IntentBody: Encodable {
    let app: String
    let account: String
    let productID: String
    let reference: String?

    enum CodingKeys: String, CodingKey {
        case app, account, reference
        case productID = "product_id"
    }
}

private struct IntentAnswer: Decodable {
    let appAccountToken: UUID

    enum CodingKeys: String, CodingKey {
        case appAccountToken = "app_account_token"
    }
}

private struct PurchaseBody: Encodable {
    let app: String
    // The server refuses it where the token is another account's.
    let account: String
    var signedTransaction: String?
    var receipt: String?
    var transactionID: String?
    var environment: String?

    init(app: String, account: String, environment: String?) {
        self.app = app
        self.account = account
        self.environment = environment
    }

    enum CodingKeys: String, CodingKey {
        case app, account, receipt, environment
        case signedTransaction = "signed_transaction"
        case transactionID = "transaction_id"
    }
}

private struct AnswerBody: Decodable {
    let id: String
    let state: String
    let finish: Bool
    let reason: String?
}

private struct ProblemBody: Decodable {
    let code: String
    let title: String?
    let detail: String?
}
