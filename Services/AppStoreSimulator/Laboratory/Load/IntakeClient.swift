import Foundation
import NIOHTTP1

/// What a load needs of intake.
protocol LoadIntake: Sendable {
    /// Posts a proof for an account.
    ///
    /// - Parameter wait: how long intake may wait for the outcome, in seconds.
    func post(_ proof: LoadProof, account: String, wait: Int) async -> IntakeClient.Reply

    /// Asks what became of a submission.
    ///
    /// - Parameter wait: how long intake may wait for the outcome, in seconds.
    func fetch(_ id: String, account: String, wait: Int) async -> IntakeClient.Reply
}

/// Posts proofs to intake and asks for outcomes, as an app or its backend does.
struct IntakeClient: LoadIntake {
    /// How much longer than its wait an answer may take.
    private static let answerAllowance = Duration.seconds(15)
    /// The longest `Retry-After` that is obeyed to the letter.
    private static let retryAfterMaximum = Duration.seconds(15)

    let http: HTTPCaller
    let base: String
    let app: String
    let credentials: LoadCredentials

    /// What intake says of a submission; other fields are not looked at.
    struct Purchase: Decodable, Sendable {
        let id: String
        let state: String
        let finish: Bool
        let reason: String?

        var isSettled: Bool { state != "received" }
    }

    /// What an attempt led to.
    enum Reply: Sendable {
        /// Accepted; settled or not.
        case purchase(Purchase)
        /// Nothing is decided; the same is to be sent again, after a pause if one was asked for.
        case tryAgain(status: Int?, after: Duration?, problem: String)
        /// Intake does not want it, and will not want it next time either; the code is the problem's.
        case refused(status: Int, problem: String, code: String?)
    }

    func post(_ proof: LoadProof, account: String, wait: Int) async -> Reply {
        var fields = proof.fields
        fields["app"] = app
        if credentials.isServerKey { fields["account"] = account }
        let body = Data(JSONValue.map(fields.mapValues(JSONValue.text)).json.utf8)
        let url = "\(base)/v1/purchases\(Self.query(wait))"
        return await reply(wait) { timeout in
            try await http.call(
                .POST, url, json: body, headers: credentials.headers(account: account), timeout: timeout)
        }
    }

    func fetch(_ id: String, account: String, wait: Int) async -> Reply {
        let url = "\(base)/v1/purchases/\(id)\(Self.query(wait))"
        return await reply(wait) { timeout in
            try await http.call(.GET, url, headers: credentials.headers(account: account), timeout: timeout)
        }
    }

    private static func query(_ wait: Int) -> String {
        wait > 0 ? "?wait=\(wait)" : ""
    }

    private func reply(_ wait: Int, _ request: (Duration) async throws -> HTTPCaller.Answer) async -> Reply {
        let answer: HTTPCaller.Answer
        do {
            answer = try await request(.seconds(wait) + Self.answerAllowance)
        } catch {
            return .tryAgain(status: nil, after: nil, problem: "unreachable: \(error)")
        }
        return Self.interpret(answer)
    }

    /// What an answer means.
    static func interpret(_ answer: HTTPCaller.Answer) -> Reply {
        if answer.isSuccess {
            if let purchase = try? JSONDecoder().decode(Purchase.self, from: answer.body) { return .purchase(purchase) }
            return .tryAgain(status: answer.status, after: nil, problem: "the answer is not a purchase")
        }
        let document = JSONValue(json: answer.body)
        let problem = "\(answer.status) \(document?["detail"]?.text ?? document?["title"]?.text ?? "")"
        // 408, 425 and 429 ask for another attempt; so does every fault on intake's side.
        if [408, 425, 429].contains(answer.status) || answer.status >= 500 {
            return .tryAgain(
                status: answer.status, after: answer.retryAfter.map { min($0, retryAfterMaximum) }, problem: problem)
        }
        return .refused(
            status: answer.status, problem: problem,
            code: document?["code"]?.text)
    }
}
