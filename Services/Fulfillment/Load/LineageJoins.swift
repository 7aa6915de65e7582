import Foundation
import Messages
import Persistence
import Postgres
import PurchaseModel

/// Finds lineages that turn out to be one, and makes them one before anything of a batch is matched or decided.
///
/// Apple changes original ids over the years: it signs a transaction anew under another one, there and back again, and it names
/// the subscription whose place another took. Of everything that is asked or written afterwards there is one lineage then.
struct LineageJoins: Sendable {
    /// What says that two lineages are one.
    struct Link: Sendable {
        /// Under the one.
        let statement: Statement
        let other: LineageKey
        let cause: LineageStore.Join.Cause
        /// The order that stands under the other; nil where it is only named.
        var order: OrderKey?

        fileprivate var pair: Set<LineageKey> { [statement.lineage, other] }
    }

    /// That two became one, and what told of it.
    struct Made: Sendable {
        let join: LineageStore.Join
        let transaction: Transaction
        let correlationId: String
    }

    private(set) var made: [Made] = []
    private(set) var conflicts: [OrderStore.NotedConflict] = []
    /// What was held as long as two lineages were two, and is to be settled with the batch.
    private(set) var released: [Statement] = []
    /// Pairs that stay two.
    private var refused: Set<Set<LineageKey>> = []
    private var roundCount = 0

    /// The most rounds of joins for one batch, each by all that was read after the last: what says more then is refused.
    static let roundsMaximum = 20

    /// The links by which statements name two original ids: one transaction id under two, or the one before.
    static func named(
        by statements: [Statement], members: [LineageKey: LineageStore.Member], catalogue: Catalogue
    ) -> [Link] {
        var links: [Link] = []
        var seen: [OrderKey: Statement] = [:]
        for statement in statements where statement.mayJoin(by: catalogue) {
            // A family member's copy may name the purchaser's; and what is another app's is nothing of this one.
            if let previous = statement.previous, !statement.transaction.isFamilyCopy,
                members[previous]?.app ?? statement.transaction.bundleId == statement.transaction.bundleId
            {
                let other = members[previous]?.lineage ?? previous
                links.append(Link(statement: statement, other: other, cause: .previousOriginal))
            }
            if let first = seen[statement.id], first.transaction.bundleId == statement.transaction.bundleId {
                links.append(Link(statement: statement, other: first.lineage, cause: .transaction))
            } else {
                seen[statement.id] = statement
            }
        }
        return links
    }

    /// The links by which transaction ids are known under another original id.
    static func found(
        for statements: [Statement], by matches: [OrderStore.Match], catalogue: Catalogue
    ) -> [Link] {
        matches.compactMap { match in
            let (statement, order) = (statements[match.place], match.order)
            guard match.path == .id, order.app == statement.transaction.bundleId, order.productType != .consumable,
                !order.isUnvouched, order.reason != .environmentMissing, statement.mayJoin(by: catalogue)
            else { return nil }
            return Link(statement: statement, other: order.lineage, cause: .transaction, order: order.key)
        }
    }

    /// Those that say something new.
    func news(_ links: [Link]) -> [Link] {
        links.filter { $0.statement.lineage != $0.other && !refused.contains($0.pair) }
    }

    /// The lineage that a statement is of, by its transaction id, where its original id's stays another; an order's counts
    /// before another statement's.
    static func apart(_ links: [Link]) -> [OrderKey: LineageKey] {
        let apart = links.filter { $0.cause == .transaction && $0.statement.lineage != $0.other }
        return Dictionary(
            (apart.filter { $0.order != nil } + apart.filter { $0.order == nil }).map { ($0.statement.id, $0.other) }
        ) { first, _ in first }
    }

    /// Makes lineages one, as far as it is clear whose they are then; the others are told.
    ///
    /// - Throws: `PostgresError`.
    mutating func join(_ links: [Link], on connection: PostgresConnection) async throws {
        roundCount += 1
        guard roundCount <= Self.roundsMaximum else {
            for link in links { refuse(link, isOfApp: true) }
            return
        }
        let apps = links.flatMap { link in link.pair.map { ($0, link.statement.transaction.bundleId) } }
        var lineages = try await LineageStore.lock(
            Dictionary(apps) { first, _ in first }, isJoining: true, on: connection)
        var replaced: [LineageKey: LineageKey] = [:]
        func own(_ key: LineageKey) -> LineageKey { replaced[key].map(own) ?? key }
        for link in links {
            let (app, keys) = (link.statement.transaction.bundleId, (own(link.other), own(link.statement.lineage)))
            guard keys.0 != keys.1 else { continue }
            guard let other = lineages[keys.0], let one = lineages[keys.1], other.app == app, one.app == app,
                let (into, from) = Self.direction(other, one)
            else {
                refuse(link, isOfApp: lineages[keys.0]?.app == app && lineages[keys.1]?.app == app)
                continue
            }
            let verdict = link.statement.judged.verdict
            let join = LineageStore.Join(
                into: into.key, from: from.key, app: app, cause: link.cause,
                transactionId: link.statement.transaction.transactionId, submissionId: verdict.submissionId,
                loser: from.owner == into.owner ? nil : from.owner, owner: into.owner)
            try await LineageStore.join(join, on: connection)
            made.append(
                Made(join: join, transaction: link.statement.transaction, correlationId: verdict.correlationId))
            try await release(in: into.key, link, on: connection)
            replaced[from.key] = into.key
            lineages.merge(try await LineageStore.lock([into.key: app], on: connection)) { $1 }
        }
    }

    private mutating func release(
        in lineage: LineageKey, _ link: Link, on connection: PostgresConnection
    ) async throws {
        let parked = try await OrderStore.takeParked(
            in: lineage, app: link.statement.transaction.bundleId, on: connection)
        try await WaitingSubmissionStore.move(parked.map { ($0.parked, $0.order) }, on: connection)
        released += parked.map { parked in
            Statement(
                transaction: parked.statement, environment: lineage.environment, judged: link.statement.judged,
                isClaimed: false)
        }
    }

    private mutating func refuse(_ link: Link, isOfApp: Bool) {
        refused.insert(link.pair)
        guard isOfApp else { return }
        let statement = link.statement
        conflicts.append(
            OrderStore.NotedConflict(
                environment: statement.environment, transactionId: statement.transaction.transactionId,
                app: statement.transaction.bundleId,
                orderId: link.order?.transactionId ?? link.other.originalTransactionId, cause: .twoOwners,
                submissionId: statement.judged.verdict.submissionId))
    }

    /// Which of two becomes the other: the one of nobody; of two accounts the one whose token is older.
    ///
    /// - Parameter known: the one that was known before.
    /// - Returns: nil where two accounts have them and no token decides.
    static func direction(_ known: Lineage, _ other: Lineage) -> (into: Lineage, from: Lineage)? {
        guard let owner = known.owner else {
            return other.owner == nil && (known.isStored || !other.isStored) ? (known, other) : (other, known)
        }
        guard let second = other.owner, second != owner else { return (known, other) }
        let isOther = other.token != nil && (known.token == nil || isNewer(other, than: known))
        let (into, from) = isOther ? (other, known) : (known, other)
        // The first token of what was moved on purpose is the one that it always had.
        let wasMoved = from.token == nil && (from.cause == .transfer || from.cause == .operator)
        return into.token == nil || wasMoved ? nil : (into, from)
    }

    private static func isNewer(_ one: Lineage, than other: Lineage) -> Bool {
        let ages = [one, other].map { lineage in
            [lineage.tokenPurchaseDate, lineage.tokenSignedDate].map { $0?.milliseconds ?? .min }
        }
        guard ages[0] == ages[1] else { return ages[1].lexicographicallyPrecedes(ages[0]) }
        return (one.token?.uuidString ?? "") > (other.token?.uuidString ?? "")
    }
}
