import ChanceTesting
import Foundation
import Messages
import PurchaseModel

/// Makes a history: first what is true when, then who says what of it.
struct HistoryBuilder {
    /// How it can be known whose a lineage is.
    enum Owner: CaseIterable {
        /// The player posts it, and Apple's data has no token.
        case poster
        /// A registered token names the player, and nobody posts it.
        case token
        /// Both, and they agree.
        case posterAndToken
        /// Nobody posts it, and there is no token.
        case nobody
        /// A token that nobody registered, and nobody posts it.
        case strangeToken

        var isPosted: Bool { self == .poster || self == .posterAndToken }
    }

    /// What becomes of a transaction at an instant.
    struct Change {
        let date: Date
        /// The transaction id that Apple names in it, where other ids of the purchase may go on as if nothing was.
        var named: String?
        let make: (inout Transaction) -> Void
    }

    /// One line of purchases with one original transaction id, and its buyer.
    struct Lineage {
        let originalId: String
        let player: Int
        let owner: Owner
        let environment: StoreEnvironment
        let isFamily: Bool
        var token: UUID?
    }

    let prefix: String
    var chance: SplitMix
    private(set) var acts: [History.Act] = []
    private(set) var registered: [UUID: String] = [:]
    private var playerTokens: [UUID] = []
    private var number = 0
    /// As they were bought, and what became of them, by transaction id.
    private var transactions: [String: Transaction] = [:]
    private var changes: [String: [Change]] = [:]
    /// The further transaction ids of a purchase, by its first.
    var copies: [String: [Copy]] = [:]
    /// What is true of the next renewal from an instant on, by original transaction id; oldest first.
    private var renewals: [String: [(date: Date, value: RenewalStatement)]] = [:]
    private var lineages: [String: Lineage] = [:]
    /// Transaction ids in the order of their purchase, to be the same for the same seed.
    private var ids: [String] = []

    init(seed: UInt64, prefix: String) {
        self.prefix = prefix
        chance = SplitMix(seed: seed)
        for account in History.accounts {
            let token = uuid()
            playerTokens.append(token)
            registered[token] = account
        }
    }

    // MARK: Chance

    mutating func isChosen(_ probability: Double) -> Bool { Double.random(in: 0..<1, using: &chance) < probability }

    mutating func seconds(_ range: ClosedRange<Int>) -> TimeInterval { Double(Int.random(in: range, using: &chance)) }

    mutating func days(_ range: ClosedRange<Int>) -> TimeInterval {
        Double(Int.random(in: range, using: &chance)) * History.day + seconds(0...3_000)
    }

    private mutating func uuid() -> UUID {
        let (high, low) = (chance.next(), chance.next())
        func byte(_ word: UInt64, _ place: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: word >> (place * 8)) }
        return UUID(
            uuid: (
                byte(high, 0), byte(high, 1), byte(high, 2), byte(high, 3), byte(high, 4), byte(high, 5), byte(high, 6),
                byte(high, 7), byte(low, 0), byte(low, 1), byte(low, 2), byte(low, 3), byte(low, 4), byte(low, 5),
                byte(low, 6), byte(low, 7)
            ))
    }

    mutating func newId() -> String {
        number += 1
        return "\(prefix)\(String(number + 1_000))"
    }

    // MARK: What is true

    mutating func newLineage(isFamily: Bool = false, like other: Lineage? = nil) -> Lineage {
        let player = Int.random(in: History.accounts.indices, using: &chance)
        let owner = Owner.allCases.randomElement(using: &chance) ?? .poster
        var token: UUID?
        switch owner {
        case .poster, .nobody: token = nil
        case .token, .posterAndToken: token = playerTokens[player]
        case .strangeToken: token = uuid()
        }
        let environment: StoreEnvironment = other?.environment ?? (isChosen(0.1) ? .sandbox : .production)
        let lineage = Lineage(
            originalId: newId(), player: player, owner: owner, environment: environment, isFamily: isFamily,
            token: token)
        lineages[lineage.originalId] = lineage
        return lineage
    }

    /// Another player's token from now on, as after a change of plan from another account of the game.
    mutating func passOn(_ lineage: inout Lineage) {
        lineage.token = playerTokens[(lineage.player + 1) % playerTokens.count]
    }

    /// A purchase as Apple's server keeps it.
    func purchase(_ lineage: Lineage, id: String, product: String, at date: Date) -> Transaction {
        let type = HistoryProducts.type(of: product)
        var transaction = Transaction(
            environment: lineage.environment, transactionId: id, originalTransactionId: lineage.originalId,
            bundleId: History.app(prefix), productId: product, productType: type, quantity: 1, purchaseDate: date,
            signedDate: date)
        transaction.originalPurchaseDate = transactions[lineage.originalId]?.purchaseDate ?? date
        transaction.ownership = lineage.isFamily ? "FAMILY_SHARED" : "PURCHASED"
        transaction.priceMilliunits = lineage.isFamily ? 0 : 4_990
        transaction.currency = "EUR"
        transaction.storefront = "DEU"
        transaction.appAccountToken = lineage.token
        transaction.appTransactionId = appTransactionId(lineage.player)
        if type == .autoRenewable {
            transaction.subscriptionGroupId = "group"
            transaction.transactionReason = id == lineage.originalId ? "PURCHASE" : "RENEWAL"
        }
        return transaction
    }

    func appTransactionId(_ player: Int) -> String { "\(prefix)app\(player)" }

    /// Keeps a purchase, and has Apple and the player tell of it.
    mutating func record(_ transaction: Transaction, renewal: RenewalStatement? = nil, as type: String) {
        ids.append(transaction.transactionId)
        transactions[transaction.transactionId] = transaction
        if let renewal { record(renewal, at: transaction.purchaseDate) }
        copyPerhaps(transaction)
        tell(transaction.transactionId, at: transaction.purchaseDate, as: type)
    }

    /// Changes a purchase from an instant on; changes need not come in the order of their dates.
    mutating func change(
        _ id: String, at date: Date, as type: String, _ make: @escaping (inout Transaction) -> Void
    ) {
        changes[id, default: []].append(Change(date: date, make: make))
        tell(id, at: date, as: type)
    }

    /// The same where Apple names one of the purchase's ids, as of a refund.
    mutating func changeOne(
        _ id: String, at date: Date, as type: String, _ make: @escaping (inout Transaction) -> Void
    ) {
        let named = anyId(of: id, at: date)
        changes[id, default: []].append(Change(date: date, named: named, make: make))
        tell(id, at: date, as: type, naming: named)
    }

    mutating func record(_ renewal: RenewalStatement, at date: Date) {
        renewals[renewal.originalTransactionId, default: []].append((date, renewal))
    }

    // MARK: Who says it

    /// What Apple signs about a transaction at an instant; `before` leaves out what changes at that very instant.
    private func signed(_ id: String, at date: Date, before isBefore: Bool = false) -> Transaction? {
        let first = Self.firstId(of: id)
        guard var transaction = transactions[first], transaction.purchaseDate <= date else { return nil }
        let copy = copies[first]?.first { $0.id == id }
        let made = (changes[first] ?? []).enumerated().filter {
            (isBefore ? $0.element.date < date : $0.element.date <= date) && isSeen($0.element, by: id, copy)
        }
        for change in made.sorted(by: { ($0.element.date, $0.offset) < ($1.element.date, $1.offset) }) {
            change.element.make(&transaction)
        }
        copy?.apply(to: &transaction)
        transaction.signedDate = date
        transaction.evidence =
            #"{"transactionId":"\#(id)","signedDate":\#(Int(date.timeIntervalSince1970)),"#
            + #""revoked":\#(transaction.revocationDate != nil)}"#
        return transaction
    }

    private func signedRenewal(_ originalId: String, at date: Date) -> RenewalStatement? {
        guard var renewal = renewals[originalId]?.last(where: { $0.date <= date })?.value else { return nil }
        renewal.signedDate = date
        renewal.evidence = #"{"signedDate":\#(Int(date.timeIntervalSince1970))}"#
        return renewal
    }

    /// Notifications, posts and later copies of one change.
    ///
    /// - Parameter named: the transaction id in the notification of the change itself; nil for any of the purchase's.
    mutating func tell(_ id: String, at date: Date, as type: String, naming named: String? = nil) {
        guard let lineage = transactions[id].flatMap({ lineages[$0.originalTransactionId] }) else { return }
        if isChosen(0.85) {
            let date = date.addingTimeInterval(seconds(0...4))
            notify(named ?? anyId(of: id, at: date), lineage, at: date, as: type)
        }
        if lineage.owner.isPosted, isChosen(0.5) {
            let date = date.addingTimeInterval(seconds(0...90))
            post(anyId(of: id, at: date), lineage, at: date)
        }
        // Apple's clock has milliseconds, and two statements may have the same one.
        if isChosen(0.04) { notify(named ?? anyId(of: id, at: date), lineage, at: date, before: true, as: type) }
        if isChosen(0.25) {
            let date = date.addingTimeInterval(days(0...40))
            notify(anyId(of: id, at: date), lineage, at: date, as: "DID_RENEW")
        }
        if lineage.owner.isPosted, isChosen(0.2) {
            let date = date.addingTimeInterval(days(0...40))
            post(anyId(of: id, at: date), lineage, at: date)
        }
    }

    mutating func notify(
        _ id: String, _ lineage: Lineage, at date: Date, before isBefore: Bool = false, as type: String
    ) {
        guard let transaction = signed(id, at: date, before: isBefore) else { return }
        let renewal = isChosen(0.9) ? signedRenewal(lineage.originalId, at: date) : nil
        acts.append(
            History.Act(
                date: date, poster: nil, kind: .serverNotification, transactions: [transaction], claims: [],
                renewals: renewal.map { [$0] } ?? [], consents: [], notification: type, parts: 1))
    }

    mutating func post(_ id: String, _ lineage: Lineage, at date: Date) {
        guard let transaction = signed(id, at: date) else { return }
        acts.append(
            History.Act(
                date: date, poster: History.accounts[lineage.player], kind: .signedTransaction,
                transactions: [transaction], claims: nil, renewals: [], consents: [], notification: nil, parts: 1))
    }

    /// Receipts that players posted: everything of theirs by then, of which they claim one lineage.
    mutating func addReceipts() {
        for player in History.accounts.indices {
            for _ in 0..<Int.random(in: 0...4, using: &chance) { addReceipt(of: player) }
        }
    }

    private mutating func addReceipt(of player: Int) {
        let date = History.start.addingTimeInterval(days(5...239))
        let environment: StoreEnvironment = isChosen(0.1) ? .sandbox : .production
        let hasLineItems = isChosen(0.5)
        let held = ids.flatMap { allIds(of: $0, at: date) }.compactMap { id in
            receiptEntry(id, of: player, environment, at: date, hasLineItems: hasLineItems)
        }
        guard !held.isEmpty else { return }
        let claimable = held.map(\.originalTransactionId).filter { lineages[$0]?.owner.isPosted == true }
        let claimed = claimable.randomElement(using: &chance)
        acts.append(
            History.Act(
                date: date, poster: History.accounts[player], kind: .receipt, transactions: held,
                claims: held.filter { $0.originalTransactionId == claimed }.map(\.transactionId), renewals: [],
                consents: [], notification: nil, parts: held.count > 4 && isChosen(0.3) ? 2 : 1))
    }

    /// A transaction as a receipt has it; consumables leave it after a few days.
    private func receiptEntry(
        _ id: String, of player: Int, _ environment: StoreEnvironment, at date: Date, hasLineItems: Bool
    ) -> Transaction? {
        guard let signed = signed(id, at: date), let lineage = lineages[signed.originalTransactionId],
            lineage.player == player, lineage.environment == environment,
            signed.productType != .consumable || date.timeIntervalSince(signed.purchaseDate) < 5 * History.day
        else { return nil }
        var entry = Transaction(
            environment: environment, transactionId: id, originalTransactionId: signed.originalTransactionId,
            bundleId: signed.bundleId, productId: signed.productId, productType: .unstated,
            quantity: signed.quantity, purchaseDate: signed.purchaseDate, signedDate: date)
        entry.originalPurchaseDate = signed.originalPurchaseDate
        entry.expiresDate = signed.expiresDate
        entry.revocationDate = signed.revocationDate
        if hasLineItems { entry.webOrderLineItemId = signed.webOrderLineItemId }
        return entry
    }

    /// Guardians who withdraw consent; seldom, since it ends everything before it.
    mutating func addConsents() {
        for player in History.accounts.indices where isChosen(0.2) {
            for _ in 0..<Int.random(in: 1...2, using: &chance) {
                let date = History.start.addingTimeInterval(days(60...200))
                let consent = RescindedConsent(
                    environment: .production, bundleId: History.app(prefix),
                    appTransactionId: appTransactionId(player), signedDate: date)
                acts.append(
                    History.Act(
                        date: date, poster: nil, kind: .serverNotification, transactions: [], claims: [],
                        renewals: [], consents: [consent], notification: "RESCIND_CONSENT", parts: 1))
            }
        }
    }
}
