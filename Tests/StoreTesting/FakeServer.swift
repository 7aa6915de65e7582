package import CountersignClient
package import Foundation

/// A server that answers as Countersign's intake does, for tests of the queue alone.
///
/// Its tokens are `token-of-ACCOUNT`. It knows Apple's side of a transaction from the stores that it is given.
package actor FakeServer: ServerTransport {
    /// What it does with the next requests.
    package enum Mode: Sendable, Hashable {
        case works
        /// No answer, and nothing was done.
        case unreachable
        /// It is done, and the answer is lost.
        case losesAnswers
        /// This status, with `Retry-After` where a number is given.
        case status(Int, retryAfter: Int?)
        /// Purchases are accepted, and their outcome is not there yet.
        case isSlow
    }

    /// A purchase as it was posted.
    package struct Post: Sendable, Hashable {
        package let account: String
        package let transactionID: String?
        package let isSigned: Bool
        package let isReceipt: Bool
    }

    private let stores: [FakeAppStore]
    private var mode = Mode.works
    private var intents: [UUID: String] = [:]
    private var submissions: [String: Post] = [:]
    private var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

    /// Whose each transaction is.
    package private(set) var owners: [String: String] = [:]
    /// How often each was granted.
    package private(set) var grants: [String: Int] = [:]
    /// Every request that came, answered or not.
    package private(set) var requestCount = 0
    /// Every purchase that was posted and looked at.
    package private(set) var posts: [Post] = []
    /// Transactions that are refused as not genuine.
    package var forged: Set<String> = []
    /// Accounts whose tokens are refused.
    package var refusedAccounts: Set<String> = []

    package init(_ stores: FakeAppStore...) {
        self.stores = stores
    }

    /// Changes what it does.
    package func set(_ mode: Mode) {
        self.mode = mode
    }

    /// Refuses a transaction as not genuine.
    package func refuse(_ transactionID: String) {
        forged.insert(transactionID)
    }

    /// Refuses an account's token, or takes it again.
    package func refuse(account: String, _ isRefused: Bool) {
        if isRefused { refusedAccounts.insert(account) } else { refusedAccounts.remove(account) }
    }

    /// Says whose a token is, as an intent of another device.
    package func register(_ token: UUID, account: String) {
        intents[token] = account
    }

    /// Waits until so many requests have come since the start.
    package func waitForRequests(_ count: Int) async {
        guard requestCount < count else { return }
        await withCheckedContinuation { watchers.append((count, $0)) }
    }

    package func send(_ request: ServerRequest) async throws -> ServerAnswer {
        requestCount += 1
        let mode = mode
        defer {
            for watcher in watchers where watcher.count <= requestCount { watcher.continuation.resume() }
            watchers.removeAll { $0.count <= requestCount }
        }
        switch mode {
        case .unreachable: throw FakeStoreError.failed
        case .status(let status, let retryAfter):
            return ServerAnswer(status: status, headers: retryAfter.map { ["retry-after": "\($0)"] } ?? [:])
        case .works, .losesAnswers, .isSlow: break
        }
        let answer = try await answer(to: request, isSlow: mode == .isSlow)
        if mode == .losesAnswers { throw FakeStoreError.failed }
        return answer
    }

    private func answer(to request: ServerRequest, isSlow: Bool) async throws -> ServerAnswer {
        let bearer = request.headers["authorization"] ?? ""
        guard bearer.hasPrefix("Bearer token-of-") else { return Self.problem(401, "authentication-failed") }
        let account = String(bearer.dropFirst("Bearer token-of-".count))
        guard !refusedAccounts.contains(account) else { return Self.problem(401, "authentication-failed") }
        if request.method == "GET" {
            guard let post = submissions[request.url.lastPathComponent], post.account == account else {
                return Self.problem(404, "not-found")
            }
            return try await settle(post, isSlow: isSlow)
        }
        let body = try JSONDecoder().decode([String: String].self, from: request.body ?? Data())
        if let named = body["account"], named != account { return Self.problem(403, "account-forbidden") }
        if request.url.lastPathComponent == "intents" {
            let id = UUID()
            intents[id] = account
            return Self.answer(201, ["app_account_token": id.uuidString.lowercased()])
        }
        let signed = body["signed_transaction"].flatMap(PlainSeller.transactionID)
        let post = Post(
            account: account, transactionID: signed ?? body["transaction_id"], isSigned: signed != nil,
            isReceipt: body["receipt"] != nil)
        posts.append(post)
        return try await settle(post, isSlow: isSlow)
    }

    private func settle(_ post: Post, isSlow: Bool) async throws -> ServerAnswer {
        guard let id = post.transactionID else { return Self.problem(422, "proof-malformed") }
        let submission = "sub_\(post.account)_\(id)_\(post.isSigned)_\(post.isReceipt)"
        submissions[submission] = post
        if isSlow { return Self.purchase(202, submission, "received", isFinish: false, retryAfter: 2) }
        if forged.contains(id) {
            return Self.purchase(200, submission, "rejected", isFinish: false, reason: "signature_invalid")
        }
        let isProven = post.isSigned || post.isReceipt
        let token = post.isReceipt ? nil : try await transaction(id)?.accountToken
        if let token, let owner = intents[token] {
            grant(id, to: owner)
        } else if token != nil {
            return Self.purchase(200, submission, "parked", isFinish: true, reason: "account_token_unknown")
        } else if isProven {
            grant(id, to: post.account)
        }
        if owners[id] == post.account { return Self.purchase(200, submission, "fulfilled", isFinish: true) }
        return isProven
            ? Self.purchase(200, submission, "rejected", isFinish: true, reason: "belongs_to_another_account")
            : Self.purchase(200, submission, "parked", isFinish: false, reason: "possession_unproven")
    }

    private func grant(_ id: String, to account: String) {
        guard owners[id] == nil else { return }
        owners[id] = account
        grants[id, default: 0] += 1
    }

    /// What Apple knows of a transaction.
    private func transaction(_ id: String) async throws -> StoreTransaction? {
        for store in stores {
            if let found = await store.sold.first(where: { $0.id == id }) { return found }
        }
        return nil
    }

    private static func purchase(
        _ status: Int, _ id: String, _ state: String, isFinish: Bool, reason: String? = nil, retryAfter: Int? = nil
    ) -> ServerAnswer {
        var fields = "\"id\":\"\(id)\",\"state\":\"\(state)\",\"finish\":\(isFinish),\"transactions\":[]"
        if let reason { fields += ",\"reason\":\"\(reason)\"" }
        return ServerAnswer(
            status: status, headers: retryAfter.map { ["retry-after": "\($0)"] } ?? [:],
            body: Data("{\(fields)}".utf8))
    }

    private static func answer(_ status: Int, _ fields: [String: String]) -> ServerAnswer {
        ServerAnswer(status: status, body: (try? JSONEncoder().encode(fields)) ?? Data())
    }

    private static func problem(_ status: Int, _ code: String) -> ServerAnswer {
        answer(status, ["type": "/problems/\(code)", "code": code, "title": code])
    }
}

/// A log-in with tokens that ``FakeServer`` takes, for the accounts that it knows.
package struct FakeLogIn: PlayerCredentials {
    private let accounts: Set<String>

    package init(_ accounts: Set<String>) {
        self.accounts = accounts
    }

    package func token(of account: String, isRefreshing: Bool) async throws -> String? {
        accounts.contains(account) ? "token-of-\(account)" : nil
    }
}
