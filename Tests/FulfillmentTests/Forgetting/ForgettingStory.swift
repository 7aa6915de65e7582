import Foundation
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment

/// A player's whole life in the database, beside two others', as the services write it.
struct ForgettingStory: Sendable {
    static let anotherApp = "com.example.other"
    let bench: Bench
    /// Who is forgotten.
    let name: String
    let token: UUID
    let intent: UUID
    /// Ben's, who shares and restores with her.
    let bensToken: UUID

    var account: Account { Account(stored: name) }

    /// The story could not be told.
    struct Unwritten: Error {}

    static let products = Catalogue([
        Bench.app: [
            Catalogue.Product(
                id: "gems.100", type: .consumable, items: [Catalogue.ItemGrant(item: "gem", amount: 100)],
                entitlements: []),
            Catalogue.Product(
                id: "pro", type: .nonConsumable, items: [Catalogue.ItemGrant(item: "gem", amount: 7)],
                entitlements: ["pro"], restore: RestoreRule(policy: .transfer)),
            Catalogue.Product(
                id: "suite", type: .nonConsumable, items: [], entitlements: ["suite"],
                restore: RestoreRule(policy: .share)),
            Catalogue.Product(
                id: "vip", type: .autoRenewable, items: [Catalogue.ItemGrant(item: "gem", amount: 10)],
                entitlements: ["vip"]),
        ]
    ])

    /// Writes it, on a database of its own.
    static func with(_ name: String, _ body: (ForgettingStory, _ url: String) async throws -> Void) async throws {
        try await TestDatabase.withAddress { pool, url in
            var bench = Bench(pool: pool)
            bench.products = products
            bench.now = { Bench.day(15) }
            let token = try await bench.token(of: name)
            let opening = try await IntentStore(pool: pool).open(
                UUID(), app: Bench.app, account: name, productId: "gems.100",
                reference: #"order "1\2" of \#(name)"#, limit: 10)
            guard case .opened(let intent) = opening else { throw Unwritten() }
            let story = ForgettingStory(
                bench: bench, name: name, token: token, intent: intent.id, bensToken: try await bench.token(of: "ben"))
            try await story.write()
            try await body(story, url)
        }
    }

    private func write() async throws {
        try await buy()
        try await importLine()
        try await share()
        try await waitAndFail()
        try await othersLive()
        try await spendAndAdjust()
        try await askApple()
        try await look()
        try await tell()
    }

    // MARK: What is posted

    /// What Apple signs: a header, a payload with the token, a signature.
    static func signedText(_ payload: String) -> String {
        func part(_ text: String) -> String {
            Data(text.utf8).base64EncodedString().replacingOccurrences(of: "+", with: "-")
                .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
        }
        return [part(#"{"alg":"ES256","x5c":["MIIB"]}"#), part(payload), part("signature \(UUID())")].joined(
            separator: ".")
    }

    private static func payload(_ transactions: [Transaction]) -> String {
        let tokens = transactions.compactMap { $0.appAccountToken?.uuidString.lowercased() }
        return
            #"{"transactionId":"\#(transactions.first?.transactionId ?? "")","appAccountToken":"\#(tokens.first ?? "")"}"#
    }

    /// The verdict on what an account, or Apple, posts; the row has a proof in which the token stands.
    func verdict(
        _ id: String, _ verdict: Verdict, by account: String, kind: ProofKind = .signedTransaction
    ) async throws -> VerdictMessage {
        var transactions: [Transaction] = []
        if case .genuine(let genuine) = verdict { transactions = genuine }
        var proof = Self.signedText(Self.payload(transactions))
        if account.isEmpty {
            proof = Self.signedText(#"{"notificationType":"DID_RENEW","data":{"signedTransactionInfo":"\#(proof)"}}"#)
        }
        let isPlain = account.utf8.allSatisfy { $0 == 0x2D || (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) }
        let correlation = isPlain && !account.isEmpty ? "req-\(account)-\(id)" : "req_\(id)"
        let message = SubmissionMessage(
            submissionId: id, app: Bench.app, account: account, kind: account.isEmpty ? .serverNotification : kind,
            proof: proof, attempt: 0, correlationId: correlation)
        let key = transactions.first?.originalTransactionId ?? account
        _ = try await SubmissionStore(pool: bench.pool).accept(
            [SubmissionStore.NewSubmission(message: message, partitionKey: key)], lease: .seconds(30))
        var verdict = VerdictMessage(
            submissionId: id, app: Bench.app, account: account, correlationId: correlation, attempt: 0, verdict: verdict
        )
        if account.isEmpty {
            verdict.notification = VerdictMessage.NotificationKind(type: "DID_RENEW", subtype: nil, uuid: id)
        }
        return verdict
    }

    func post(_ id: String, _ transactions: Transaction..., by account: String) async throws {
        let signed = bench.signatures.resigned(transactions)
        try await bench.settle([try await verdict(id, .genuine(signed), by: account)])
    }

    func notify(_ id: String, _ transactions: Transaction..., renewals: [RenewalStatement] = []) async throws {
        var message = try await verdict(id, .genuine(transactions), by: "")
        message.renewals = renewals
        try await bench.settle([message])
    }

    // MARK: What she does

    /// What Apple signs of it, with the text that it signed.
    static func signed(_ id: String, product: String, token: UUID?) -> Transaction {
        var transaction = Bench.signed(id, product: product, token: token)
        transaction.productType = product == "gems.100" || product == "hat" ? .consumable : .nonConsumable
        transaction.evidence =
            #"{"transactionId":"\#(id)","appAccountToken":"\#(token?.uuidString.lowercased() ?? "")"}"#
        return transaction
    }

    static func season(_ number: Int, lineage: String = "v", token: UUID?, reason: String) -> Transaction {
        var season = Bench.season(number, lineage: lineage, token: token)
        season.transactionReason = reason
        return season
    }

    static func refunded(_ transaction: Transaction, at day: Double) -> Transaction {
        var refunded = transaction
        refunded.revocationDate = Bench.day(day)
        refunded.signedDate = Bench.day(day)
        return refunded
    }

    private func buy() async throws {
        try await post("s-gems", Self.signed("g1", product: "gems.100", token: token), by: name)
        try await post("s-intent", Self.signed("g2", product: "gems.100", token: intent), by: name)
        try await notify("n-refund", Self.refunded(Self.signed("g2", product: "gems.100", token: intent), at: 3))
        try await post("s-vip", Self.season(1, token: token, reason: "PURCHASE"), by: name)
        var renewal = RenewalStatement(
            environment: .production, originalTransactionId: "v1", productId: "vip", signedDate: Bench.day(4))
        renewal.appAccountToken = token
        renewal.evidence = #"{"appAccountToken":"\#(token.uuidString.lowercased())"}"#
        renewal.willRenew = true
        try await notify("n-vip", Self.season(1, token: token, reason: "PURCHASE"), renewals: [renewal])
    }

    /// What an older system said of something that the account posted.
    private func importLine() async throws {
        let store = ImportStore(pool: bench.pool)
        let begun = try await store.begin(
            app: Bench.app, source: "grants.csv", fingerprint: [1], actor: "ada", reason: "moving")
        var claim = ImportStore.Claim()
        (claim.transactionId, claim.items) = ("g1", ["gem": 100])
        let line = ImportStore.Line(number: 2, content: .posted(submissionId: "s-gems", claim))
        #expect(try await store.record([line], through: 2, of: begun.id, after: 0, isLast: true))
    }

    private func share() async throws {
        // Hers goes to Ben, whose proof has her token; Ben's goes to her.
        try await post("s-pro", Self.signed("p1", product: "pro", token: token), by: name)
        try await post("s-pro-ben", Self.signed("p1", product: "pro", token: token), by: "ben")
        try await post("s-pro2-ben", Self.signed("p2", product: "pro", token: bensToken), by: "ben")
        try await post("s-pro2", Self.signed("p2", product: "pro", token: bensToken), by: name)
        try await post("s-pro3", Self.signed("p3", product: "pro", token: token), by: name)
        // Each shares what the other has.
        try await post("s-suite", Self.signed("f1", product: "suite", token: nil), by: name)
        try await post("s-suite-ben", Self.signed("f1", product: "suite", token: nil), by: "ben")
        try await post("s-suite2-ben", Self.signed("f2", product: "suite", token: nil), by: "ben")
        try await post("s-suite2", Self.signed("f2", product: "suite", token: nil), by: name)
    }

    private func waitAndFail() async throws {
        try await post("s-hat", Self.signed("h1", product: "hat", token: token), by: name)
        let forged = Verdict.rejected(ReasonCode(rawValue: "signature_invalid"), detail: "the signature is another's")
        try await bench.settle([try await verdict("s-forged", forged, by: name)])
        _ = try await SubmissionStore(pool: bench.pool).redrive(
            .ids(["s-forged"]), reason: "\(name) asked", actor: "eve", limit: 1)
        try await bench.settle([try await verdict("s-forged", forged, by: name)])
        // Apple tells of it first, and an operator says that it is hers.
        try await notify("n-letter", Self.signed("c1", product: "gems.100", token: nil))
        _ = try await OperatorClaimStore(pool: bench.pool).claim(
            environment: .production, transactionId: "c1", account: name, actor: "eve", reason: "a letter of \(name)")
        #expect(try await bench.grantParked() >= 1)
    }

    private func othersLive() async throws {
        try await post("s-ben", Self.signed("b1", product: "gems.100", token: bensToken), by: "ben")
        try await post("s-carol", Self.signed("carol1", product: "gems.100", token: nil), by: "carol")
        try await post("s-carols", Self.season(1, lineage: "carol-v", token: nil, reason: "PURCHASE"), by: "carol")
        _ = try await AccountTokenStore(pool: bench.pool).register(app: Self.anotherApp, token: UUID(), account: name)
        try await adjust(name, app: Self.anotherApp, reason: "a gift")
        try await adjust("carol", app: Bench.app, reason: "for \(name), who could not wait")
    }

    private func adjust(_ account: String, app: String, reason: String) async throws {
        let adjusted = try await LedgerStore.adjust(
            environment: .production, app: app, account: Account(stored: account),
            items: [Catalogue.ItemGrant(item: "dust", amount: 5)], actor: "eve", reason: reason, pool: bench.pool)
        guard case .adjusted = adjusted else { throw Unwritten() }
    }

    private func spendAndAdjust() async throws {
        try await adjust(name, app: Bench.app, reason: "\(name) wrote")
        for account in [name, "carol"] {
            let spent = try await SpendStore(pool: bench.pool).spend(
                SpendStore.Request(
                    customer: Customer(environment: .production, app: Bench.app, account: Account(stored: account)),
                    key: "sword of \(account)", sha256: "a hash with \(account) in it",
                    items: [Catalogue.ItemGrant(item: "gem", amount: 30)], reference: "sword of \(account)"))
            guard case .spent = spent else { throw Unwritten() }
        }
    }

    /// Apple asks about a purchase of hers, and is told; of another it is about to be told, and whose that is.
    private func askApple() async throws {
        _ = try await AccountConsentStore(pool: bench.pool).set(true, app: Bench.app, account: account)
        let orders = ["g1", "h1"].map { OrderKey(environment: .production, transactionId: $0) }
        let token = token
        try await bench.pool.withTransaction { connection in
            _ = try await AppleCallStore.ask(
                orders.map {
                    AppleCallStore.Request(
                        order: $0, transactionId: $0.transactionId, app: Bench.app, requestedAt: Date(), reason: "OTHER"
                    )
                }, on: connection)
            try await AppleCallStore.queue(
                orders.map {
                    AppleCallStore.NewCall(
                        kind: .accountToken, order: $0, transactionId: $0.transactionId, app: Bench.app, token: token)
                }, delay: .zero, on: connection)
        }
        try await bench.answerRefundRequests()
        let store = AppleCallStore(pool: bench.pool)
        for kind in [AppleCallStore.Kind.consumption, .accountToken] {
            let due = try await store.claim(kind, apps: [Bench.app], limit: 1, lease: .seconds(60))
            try await store.record(due.map { AppleCallStore.Outcome(id: $0.id, .done) })
        }
    }

    /// Somebody of the studio looks at her, at Carol, and at the other app's account of this name.
    private func look() async throws {
        for (account, app) in [(account, Bench.app), (Account(stored: "carol"), Bench.app), (account, Self.anotherApp)]
        {
            try await ViewStore(pool: bench.pool).write(
                .init(
                    app: app, actor: "eve by key console", route: "GET /v1/accounts/{id}", requestId: "req-look",
                    subjects: [.init(environment: .production, account: account)]))
        }
    }

    /// Webhooks: of each account's first events one is delivered, one failed and echoed, one waits.
    private func tell() async throws {
        while try await EventPositionStore(pool: bench.pool).number().isMoreDue {}
        let events = try await bench.answers("SELECT id FROM events ORDER BY id")
        let store = DeliveryStore(pool: bench.pool)
        try await EndpointStore(pool: bench.pool).register(["shop"])
        _ = try await store.takeOver(
            eventIds: events, deliveries: events.map { .init(eventId: $0, endpointId: "shop", body: nil) },
            lease: .seconds(30))
        let hers = try await bench.pool.query(
            "SELECT id FROM events WHERE account = $1 AND app = $2 ORDER BY sequence", [.text(name), .text(Bench.app)])
        let ids: [String] = try hers.rows.prefix(2).map { try $0.decode("id") }
        let attempt = DeliveryStore.Attempt(
            number: 1, beganAt: Date(), duration: .milliseconds(5), answer: "no player \(name)")
        try await store.record([
            .init(eventId: ids[0], endpointId: "shop", result: .delivered(status: 200), attempt: nil),
            .init(
                eventId: ids[1], endpointId: "shop",
                result: .retry(status: 500, error: "answered 500: no player \(name)", after: .seconds(60)),
                attempt: attempt),
        ])
    }

    // MARK: Forgetting

    /// Asks, and has it carried out as fulfillment does.
    func forget(rowsMaximum: Int = ForgettingStore.Limit.rows) async throws {
        _ = try await ask()
        #expect(try await goOn(rowsMaximum: rowsMaximum) == .finished)
    }

    func ask() async throws -> ForgetRequestStore.Status {
        try await ForgetRequestStore(pool: bench.pool).ask(
            app: Bench.app, account: account, actor: "eve", reason: "\(name) asked for it")
    }

    /// Another process takes the request, whatever became of the one that had it.
    func goOn(rowsMaximum: Int = ForgettingStore.Limit.rows) async throws -> ForgettingStore.Progress? {
        try await bench.pool.withConnection { connection in
            try await connection.executeScript("UPDATE forget_requests SET due_at = now() WHERE due_at IS NOT NULL")
        }
        let due = try await ForgetRequestStore(pool: bench.pool).claimDue(limit: 1, lease: .seconds(60))
        guard let request = due.first else { return nil }
        return try await ForgettingStore(pool: bench.pool, rowsMaximum: rowsMaximum).advance(request)
    }

    /// What she became, by the audit log.
    func pseudonym() async throws -> Account {
        let lines = try await bench.answers("SELECT subject FROM audit_log WHERE action = 'forget' ORDER BY id DESC")
        return Account(stored: String(try #require(lines.first?.split(separator: " ").last)))
    }

    /// Nothing of her is left, but in the other app, in any encoding.
    func expectNoTrace(_ url: String? = nil, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let dump = try await TableDump(bench.pool)
        let places = dump.places(of: name).filter { !$0.contains(Self.anotherApp) }
        #expect(places.isEmpty, sourceLocation: sourceLocation)
        for token in [token, intent] {
            #expect(dump.places(of: token.uuidString).isEmpty, sourceLocation: sourceLocation)
        }
        guard let url, let text = try await PostgresDump.text(url) else { return }
        let lines = text.split(separator: "\n").filter { !$0.contains(Self.anotherApp) }.map(String.init)
        #expect(lines.count > 100, "the dump has rows", sourceLocation: sourceLocation)
        for wanted in [name, token.uuidString, intent.uuidString] {
            #expect(!lines.contains { TableDump.holds($0, wanted) }, sourceLocation: sourceLocation)
        }
    }
}
