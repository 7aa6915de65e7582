import Foundation
import Logging
import Messages
import Metrics
import Persistence
import Postgres
import PurchaseModel
import ServiceRuntime

/// Reads and locks all that decides about a batch, each thing once.
struct LoadBatch: Sendable {
    /// Verdicts without their submission that a batch names in the log; further ones are only counted.
    static let linesPerBatch = 10

    let logger: Logger
    /// As of ``Statement/all(in:canBeAsked:deviceDelay:)``.
    var canBeAsked: @Sendable (String) -> Bool = { _ in false }
    var deviceDelay = Statement.deviceDelayDefault
    /// What time it is: limits are counted, and entitlements are in force, by it.
    var now: @Sendable () -> Date = { Date() }

    /// The verdicts whose submissions are there: one without its row grants nothing, since nothing says who posted it.
    ///
    /// A signed transaction that is fulfilled, and comes again, is dropped before anything else is read of it: the same text
    /// says the same, and all of it was granted.
    ///
    /// A name whose account is being forgotten is given nothing until that has its pseudonym: what is posted by it is deferred.
    ///
    /// - Throws: `PostgresError`.
    func judged(
        _ verdicts: [VerdictMessage], on connection: PostgresConnection
    ) async throws -> (judged: [Judged], deferredIds: [String]) {
        let rows = try await SubmissionStore.rows(of: Array(Set(verdicts.map(\.submissionId))), on: connection)
        var repeatedCount = 0
        var deferredIds: Set<String> = []
        let judged = verdicts.enumerated().compactMap { place, verdict -> Judged? in
            guard let row = rows[verdict.submissionId] else { return nil }
            if row.kind == .signedTransaction, row.state == .fulfilled {
                repeatedCount += 1
                return nil
            }
            if row.isDeferred {
                deferredIds.insert(verdict.submissionId)
                return nil
            }
            return Judged(verdict, row: row, place: place)
        }
        if repeatedCount > 0 { Counter(label: "countersign_verdicts_repeated_total").increment(by: repeatedCount) }
        let missing = verdicts.filter { rows[$0.submissionId] == nil }
        if !missing.isEmpty { tell(of: missing) }
        return (judged, deferredIds.sorted())
    }

    private func tell(of missing: [VerdictMessage]) {
        Counter(label: "countersign_verdicts_without_submission_total").increment(by: missing.count)
        for verdict in missing.prefix(Self.linesPerBatch) {
            logger.error(
                "a verdict without its submission grants nothing",
                metadata: .fields([
                    .submission: "\(verdict.submissionId)", .app: "\(verdict.app)",
                    .correlation: "\(verdict.correlationId)",
                ]))
        }
    }

    /// What decides about the verdicts, with what may change locked.
    ///
    /// - Throws: `PostgresError`.
    func locked(
        _ verdicts: [Judged], by catalogue: Catalogue, on connection: PostgresConnection
    ) async throws -> Loaded {
        var joins = LineageJoins()
        // Each time lineages become one, or are known to stay two, as all are after so many rounds: so it ends.
        while true {
            if let loaded = try await load(verdicts, &joins, by: catalogue, on: connection) { return loaded }
        }
    }

    /// - Returns: nil where lineages turned out to be one: all that was read is to be read again.
    private func load(
        _ verdicts: [Judged], _ joins: inout LineageJoins, by catalogue: Catalogue,
        on connection: PostgresConnection
    ) async throws -> Loaded? {
        var loaded = Loaded(catalogue: catalogue, now: now())
        var statements = Statement.all(in: verdicts, canBeAsked: canBeAsked, deviceDelay: deviceDelay) + joins.released
        loaded.members = try await LineageStore.members(
            among: Set(
                statements.filter { $0.transaction.productType != .consumable }
                    .flatMap { [$0.lineage, $0.previous].compactMap(\.self) }
                    + verdicts.flatMap { $0.verdict.renewals.map(\.lineage) }), on: connection)
        guard !statements.isEmpty else { return loaded }
        statements = statements.map { $0.resolved(by: loaded.members) }
        let links = LineageJoins.named(by: statements, members: loaded.members, catalogue: catalogue)
        let news = joins.news(links)
        guard news.isEmpty else {
            try await joins.join(news, on: connection)
            return nil
        }
        return try await load(statements, linked: links, loaded, &joins, on: connection)
    }

    /// - Parameter links: those that the statements name themselves, all of them known.
    private func load(
        _ statements: [Statement], linked links: [LineageJoins.Link], _ begun: Loaded, _ joins: inout LineageJoins,
        on connection: PostgresConnection
    ) async throws -> Loaded? {
        var (statements, loaded) = (statements, begun)
        let catalogue = begun.catalogue
        loaded.cutOvers = try await CutOverStore.all(on: connection)
        let named = Set(statements.compactMap(\.transaction.appToken))
        loaded.tokens = try await AccountTokenStore.accounts(of: named, on: connection)
        // Lineages first: who holds one is alone with its orders, and with the ids of their purchases.
        loaded.lineages = try await lineages(of: statements, by: catalogue, on: connection)
        for made in joins.made { loaded.lineages[made.join.into]?.joinedBy = made.correlationId }
        // Somebody may have registered one since, and bound a lineage by it.
        let bound = named.filter { token in
            loaded.tokens[token] == nil
                && loaded.lineages.values.contains { $0.token == token.token && $0.app == token.app }
        }
        loaded.tokens.merge(try await AccountTokenStore.accounts(of: bound, on: connection)) { first, _ in first }
        Self.voidTokens(in: &statements, &loaded) { [lineages = loaded.lineages] _, statement in
            lineages[statement.lineage]?.voidsToken(of: statement.transaction) ?? false
        }
        var matches = try await self.matches(of: statements, &loaded, on: connection)
        let found = LineageJoins.found(for: statements, by: matches, catalogue: catalogue)
        let news = joins.news(found)
        guard news.isEmpty else {
            try await joins.join(news, on: connection)
            return nil
        }
        let apart = LineageJoins.apart(links + found)
        if !apart.isEmpty {
            statements = statements.map { statement in apart[statement.id].map(statement.under) ?? statement }
            let further = try await lineages(of: statements, by: catalogue, on: connection)
            loaded.lineages.merge(further) { first, _ in first }
            matches = try await self.matches(of: statements, &loaded, on: connection)
        }
        // What has no lineage says it by its order.
        let forgotten = Set(
            matches.filter { $0.path == .id && $0.order.account?.isPseudonym ?? false && $0.order.token == nil }
                .filter { $0.order.productType == .consumable }.map(\.place))
        Self.voidTokens(in: &statements, &loaded) { place, _ in forgotten.contains(place) }
        let matching = PurchaseMatching(statements, matches: matches, catalogue: catalogue)
        loaded.purchases = matching.purchases
        loaded.conflicts = matching.conflicts + joins.conflicts
        loaded.joins = joins.made
        loaded.released = Set(joins.released.map(\.id))
        loaded.foreign = matching.foreign
        loaded.evidence = Self.evidence(of: matching.purchases, in: loaded.lineages)
        try await lockOrders(&loaded, named: named, on: connection)
        return loaded
    }

    private func matches(
        of statements: [Statement], _ loaded: inout Loaded, on connection: PostgresConnection
    ) async throws -> [OrderStore.Match] {
        loaded.bodies = try TransactionBodies(of: statements.map(\.transaction))
        let all = statements.map { (environment: $0.environment, transaction: $0.transaction) }
        try await OrderStore.lockLineItems(of: all, on: connection)
        return try await OrderStore.matches(of: all, loaded.bodies, on: connection)
    }

    /// Takes tokens of forgotten accounts out of statements, and notes whose submissions had them.
    private static func voidTokens(
        in statements: inout [Statement], _ loaded: inout Loaded, where isVoid: (Int, Statement) -> Bool
    ) {
        for (place, statement) in statements.enumerated()
        where statement.transaction.appAccountToken != nil && isVoid(place, statement) {
            statements[place] = statement.withoutToken
            loaded.voided.insert(statement.judged.verdict.submissionId)
        }
    }

    /// Locks the orders that may change, and reads what is known of lineages that may.
    ///
    /// - Parameter named: the tokens that the batch names, which were looked for already.
    private func lockOrders(
        _ loaded: inout Loaded, named: Set<AppToken>, on connection: PostgresConnection
    ) async throws {
        let concerned = loaded.lineages.filter { key, lineage in
            LineageConcern.needsOrders(lineage, loaded.evidence[key] ?? [], tokens: loaded.tokens)
        }
        let keys = loaded.purchases.filter(\.needsOrder).compactMap(\.stored?.key)
        let orders = try await OrderStore.lock(Array(Set(keys)), lineages: concerned.map(\.key), on: connection)
        loaded.orders = Dictionary(orders.map { ($0.key, $0) }) { first, _ in first }
        loaded.histories = try await Self.histories(
            of: concerned.map(\.key), evidence: loaded.evidence, orders: orders, now: loaded.now, on: connection)
        // What is stored may have a token that the batch does not name, as a receipt does not: it counts all the same. One
        // that the batch names and that was registered since is left to whoever looks for parked orders: which orders are
        // locked was decided without it.
        let further = Set(
            orders.filter { !$0.wasGranted }.compactMap { order in
                order.token.map { AppToken(app: order.app, token: $0) }
            }
        ).subtracting(named)
        loaded.tokens.merge(try await AccountTokenStore.accounts(of: further, on: connection)) { first, _ in first }
    }

    static func histories(
        of lineages: [LineageKey], evidence: [LineageKey: [LineageEvidence]], orders: [StoredOrder], now: Date,
        on connection: PostgresConnection
    ) async throws -> [LineageKey: LineageHistory] {
        let claimants = lineages.flatMap { evidence[$0] ?? [] }.compactMap(\.evidence?.claimant)
        // Of lineages without any order there is nothing to know.
        let byLineage = Dictionary(grouping: orders.filter { $0.productType != .consumable }, by: \.lineage)
        var histories = try await LineageHistoryStore.histories(
            of: lineages.filter { byLineage[$0] != nil }, claimedBy: Set(claimants), now: now, on: connection)
        for lineage in lineages {
            histories[lineage]?.orders = (byLineage[lineage] ?? []).filter { !$0.isUnvouched }
        }
        return histories
    }

    /// Locks the lineages, and makes those that are not there; consumables have none.
    private func lineages(
        of statements: [Statement], by catalogue: Catalogue, on connection: PostgresConnection
    ) async throws -> [LineageKey: Lineage] {
        var typed = Set(statements.filter { $0.transaction.hasLineage(by: catalogue) }.map(\.lineage))
        // Another transaction of the same lineage may say what it is.
        let untyped = Set(statements.filter { $0.transaction.isOfUnknownType(by: catalogue) }.map(\.lineage))
        typed.formUnion(try await LineageStore.known(untyped.subtracting(typed), on: connection))
        let apps = Dictionary(
            statements.filter { typed.contains($0.lineage) }.map { ($0.lineage, $0.transaction.bundleId) }
        ) { first, _ in first }
        return try await LineageStore.lock(apps, on: connection)
    }

    /// What the verdicts bring about each lineage, one for each verdict, in the order they came.
    static func evidence(
        of purchases: [PurchaseStatements], in lineages: [LineageKey: Lineage]
    ) -> [LineageKey: [LineageEvidence]] {
        var evidence: [LineageKey: [Int: LineageEvidence]] = [:]
        for purchase in purchases where purchase.conflict == nil {
            for statement in purchase.statements where lineages[statement.lineage] != nil {
                // What names no environment may be a sandbox's, and says nothing of a lineage in production.
                // Nor does what nobody vouches for, neither by its token nor by who posted it.
                guard statement.transaction.productType != .consumable, statement.transaction.isVouchedFor,
                    purchase.knowsEnvironment(of: statement)
                else { continue }
                let verdict = statement.judged.verdict
                var entry =
                    evidence[statement.lineage]?[statement.judged.place]
                    ?? LineageEvidence(
                        statements: [], evidence: nil, submissionId: verdict.submissionId,
                        correlationId: verdict.correlationId, proofSignedDate: verdict.proofSignedDate)
                entry.statements.append(
                    LineageEvidence.Statement(
                        transaction: statement.transaction,
                        order: purchase.stored.flatMap { $0.isUnvouched ? nil : $0 }, isClaimed: statement.isClaimed))
                if statement.isClaimed { entry.evidence = statement.judged.evidence }
                evidence[statement.lineage, default: [:]][statement.judged.place] = entry
            }
        }
        return evidence.mapValues { byPlace in byPlace.sorted { $0.key < $1.key }.map(\.value) }
    }
}

/// Whether more must be known of a lineage than its row.
enum LineageConcern {
    /// - Returns: true where it may go to another account, or where orders of it may wait for what is brought now.
    static func needsOrders(
        _ lineage: Lineage, _ evidence: [LineageEvidence], tokens: [AppToken: Account]
    ) -> Bool {
        let claimants = evidence.compactMap(\.evidence?.claimant)
        let statements = evidence.flatMap(\.statements)
        let named = statements.compactMap { $0.transaction.appToken.flatMap { tokens[$0] } }
        // Orders of a lineage that is made now may have come while nobody knew that it is one.
        guard let owner = lineage.owner else { return !claimants.isEmpty || !named.isEmpty }
        guard lineage.isStored else { return true }
        if lineage.openSince != nil || lineage.joinedBy != nil { return true }
        if statements.contains(where: { mayBePaidAnew($0) }) { return true }
        if statements.contains(where: { statement in
            statement.transaction.appToken.map { tokens[$0] != nil && $0.token != lineage.token } ?? false
        }) {
            return true
        }
        return !Set(claimants + named).subtracting([owner]).isEmpty
    }

    /// Whether a period may have been paid for by another account after the subscription had lapsed.
    private static func mayBePaidAnew(_ statement: LineageEvidence.Statement) -> Bool {
        let transaction = statement.transaction
        return transaction.isAutoRenewable && transaction.appAccountToken == nil && statement.order?.account == nil
            && transaction.transactionReason != "RENEWAL"
    }
}

extension Transaction {
    /// Whether it belongs to a lineage that has an owner: everything that is not used up.
    ///
    /// Where neither Apple nor the catalogue says what it is, it may be a consumable.
    func hasLineage(by catalogue: Catalogue) -> Bool {
        productType.hasLineage(
            orElse: productType == .unstated ? catalogue.product(app: bundleId, id: productId)?.type : nil)
    }

    /// Whether neither Apple nor the catalogue says what it is.
    func isOfUnknownType(by catalogue: Catalogue) -> Bool {
        productType == .unstated && catalogue.product(app: bundleId, id: productId) == nil
    }
}

extension ProductType {
    /// Whether transactions of this type belong to a lineage.
    ///
    /// - Parameter other: the catalogue's type, which counts where Apple says nothing.
    func hasLineage(orElse other: ProductType?) -> Bool {
        guard self == .unstated else { return self != .consumable }
        return other.map { $0 != .consumable } ?? false
    }
}
