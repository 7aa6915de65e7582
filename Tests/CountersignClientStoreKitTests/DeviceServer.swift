import CountersignClient
import Foundation

/// A server that answers as Countersign does to what a ``FakeDevice`` has, with `token-of-ACCOUNT` for tokens.
actor DeviceServer: ServerTransport {
    private var intents: [UUID: String] = [:]
    private var isDown = false
    private var isDownForPurchases = false
    private var refusals = 0
    private var accountReaders: [AsyncStream<Void>.Continuation] = []
    private var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    /// Whose each transaction is.
    private(set) var owners: [String: String] = [:]
    /// The transactions that were granted, in order; one that is there twice was granted twice.
    private(set) var granted: [String] = []
    /// The purchases that were posted: whose, by what proof, which transaction.
    private(set) var posts: [String] = [] {
        didSet {
            for watcher in postWatchers where watcher.count <= posts.count { watcher.continuation.resume() }
            postWatchers.removeAll { $0.count <= posts.count }
        }
    }
    private var postWatchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    /// The account tokens that offers were signed for.
    private(set) var signedTokens: [String] = []

    /// Goes away, altogether or for purchases alone, or comes back.
    func goDown(_ isDown: Bool, purchasesOnly: Bool = false) {
        self.isDown = isDown && !purchasesOnly
        isDownForPurchases = purchasesOnly
    }

    /// Waits until so many purchases found nobody.
    func waitForRefusals(_ count: Int) async {
        guard refusals < count else { return }
        await withCheckedContinuation { watchers.append((count, $0)) }
    }

    /// Waits until so many purchases were posted.
    func waitForPosts(_ count: Int) async {
        guard posts.count < count else { return }
        await withCheckedContinuation { postWatchers.append((count, $0)) }
    }

    /// Whose intent a token is.
    func buyer(of token: UUID?) -> String? { token.flatMap { intents[$0] } }

    /// Says whose a token is, as an intent of another device.
    func register(_ token: UUID, account: String) { intents[token] = account }

    func send(_ request: ServerRequest) async throws -> ServerAnswer {
        guard !isDown else { throw URLError(.notConnectedToInternet) }
        let account = String((request.headers["authorization"] ?? "").dropFirst("Bearer token-of-".count))
        let body = try JSONDecoder().decode([String: String].self, from: request.body ?? Data("{}".utf8))
        if request.url.path.contains("/accounts/") { return try await self.account(request) }
        switch request.url.lastPathComponent {
        case "intents":
            let id = UUID()
            intents[id] = account
            return Self.answer(201, ["app_account_token": id.uuidString.lowercased()])
        case "offer-signatures":
            signedTokens.append(body["app_account_token"] ?? "")
            return ServerAnswer(status: 200, body: Data(Self.signedOffer(body["offer_id"] ?? "").utf8))
        default:
            guard !isDownForPurchases else {
                refusals += 1
                for watcher in watchers where watcher.count <= refusals { watcher.continuation.resume() }
                watchers.removeAll { $0.count <= refusals }
                throw URLError(.notConnectedToInternet)
            }
            return purchase(body, account)
        }
    }

    /// What an account has; waits for `at_least` until the request is cancelled.
    private func account(_ request: ServerRequest) async throws -> ServerAnswer {
        let name = request.url.lastPathComponent
        let items = URLComponents(url: request.url, resolvingAgainstBaseURL: false)?.queryItems ?? []
        let atLeast = items.first { $0.name == "at_least" }?.value.flatMap(Int.init) ?? 0
        let (changes, change) = AsyncStream.makeStream(of: Void.self)
        accountReaders.append(change)
        var version: Int { owners.values.count { $0 == name } }
        var iterator = changes.makeAsyncIterator()
        while version < atLeast {
            guard await iterator.next() != nil else { throw CancellationError() }
        }
        let rights = version == 0 ? "" : #"{"entitlement":"first","transaction_id":"1","active":true}"#
        return ServerAnswer(
            status: 200,
            body: Data(
                #"{"account":"\#(name)","version":\#(version),"balances":[],"entitlements":[\#(rights)]}"#.utf8))
    }

    private func purchase(_ body: [String: String], _ account: String) -> ServerAnswer {
        if let jws = body["signed_transaction"] {
            let fields = Self.payload(jws)
            let id = fields["transactionId"] as? String ?? ""
            posts.append("\(account) signed \(id)")
            let token = (fields["appAccountToken"] as? String).flatMap(UUID.init(uuidString:))
            return settle(id, account, owner: token.flatMap { intents[$0] } ?? account)
        }
        let id = body["transaction_id"] ?? ""
        let receipt = body["receipt"].flatMap { Data(base64Encoded: $0) }.map { String(decoding: $0, as: UTF8.self) }
        let isInside = receipt?.split(separator: "\n").contains { $0.hasPrefix("\(id) ") } == true
        posts.append("\(account) \(isInside ? "receipt" : "number") \(id)")
        if isInside || owners[id] == account { return settle(id, account, owner: account) }
        return Self.purchase(id, "parked", isFinish: false, reason: "possession_unproven")
    }

    private func settle(_ id: String, _ account: String, owner: String) -> ServerAnswer {
        if owners[id] == nil {
            owners[id] = owner
            granted.append(id)
            for reader in accountReaders { reader.yield() }
        }
        return owners[id] == account
            ? Self.purchase(id, "fulfilled", isFinish: true)
            : Self.purchase(id, "rejected", isFinish: true, reason: "belongs_to_another_account")
    }

    private static func payload(_ jws: String) -> [String: Any] {
        let parts = jws.split(separator: ".")
        guard parts.count == 3 else { return [:] }
        var text = String(parts[1]).replacing("-", with: "+").replacing("_", with: "/")
        while text.utf8.count % 4 != 0 { text += "=" }
        guard let data = Data(base64Encoded: text) else { return [:] }
        return (try? JSONSerialization.jsonObject(with: data) as? [String: Any]) ?? [:]
    }

    private static func purchase(
        _ id: String, _ state: String, isFinish: Bool, reason: String? = nil
    ) -> ServerAnswer {
        let reason = reason.map { ",\"reason\":\"\($0)\"" } ?? ""
        return ServerAnswer(
            status: 200,
            body: Data("{\"id\":\"sub_\(id)\",\"state\":\"\(state)\",\"finish\":\(isFinish)\(reason)}".utf8))
    }

    private static func answer(_ status: Int, _ fields: [String: String]) -> ServerAnswer {
        ServerAnswer(status: status, body: (try? JSONEncoder().encode(fields)) ?? Data())
    }

    private static func signedOffer(_ id: String) -> String {
        """
        {"app":"com.example.game","product_id":"pass.month","offer_id":"\(id)","key_id":"KEY","nonce":
        "b3c1f0a8-0000-4000-8000-000000000001","timestamp":1767225600123,"signature":"MEUCIQ==","jws":"a.b.c",
        "expires_at":"2026-01-02T00:00:00.123Z"}
        """
    }
}
