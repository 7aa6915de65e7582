import Foundation
import Messages
import Postgres
import PurchaseModel

/// What accounts are told of a merge: what they lost by it, since their last event said otherwise.
///
/// That two orders are one is not told: who has what was bought once has it still. What was granted twice is told when it
/// is corrected.
enum MergedEvents {
    /// Writes the events; they are due at once, to whichever service looks first.
    ///
    /// - Throws: `PostgresError`; `EncodingError`, which no event of ours causes.
    static func write(
        of merged: [MergedOrder], revoked: MergedGrants.Revoked, on connection: PostgresConnection
    ) async throws {
        let lost = Dictionary(grouping: revoked.lost, by: \.key)
        let drafts = merged.flatMap { Self.drafts(of: $0, lost: lost[$0.key] ?? [], revoked.subscriptions[$0.key]) }
        guard !drafts.isEmpty else { return }
        let numbers = try await reserveNumbers(for: drafts, on: connection)
        try await insert(zip(drafts, numbers).map(event), on: connection)
    }

    private struct Draft {
        let type: String
        let order: MergedOrder
        let customer: Customer
        let payload: PurchaseEvent.Payload
    }

    private static func drafts(
        of order: MergedOrder, lost: [MergedGrants.Revoked.Lost], _ subscription: MergedGrants.Revoked.Subscription?
    ) -> [Draft] {
        var customers = Set(lost.map(\.customer))
        if let account = order.account {
            customers.insert(
                Customer(environment: order.key.environment, app: order.purchase.first.app, account: account))
        }
        return customers.sorted().flatMap { customer -> [Draft] in
            let lost = lost.filter { $0.customer == customer }
            let names = lost.flatMap(\.entitlements)
            let payload = PurchaseEvent.Payload(
                transaction: order.transaction, state: order.state, reason: order.reason, entitlements: names)
            var drafts: [Draft] = []
            if order.isRevokedByMerging {
                let type =
                    order.transaction.isFamilyRevoke ? PurchaseEvent.familyRevoked : PurchaseEvent.refundGranted
                drafts.append(Draft(type: type, order: order, customer: customer, payload: payload))
            } else if lost.contains(where: \.isConsent) {
                drafts.append(
                    Draft(type: PurchaseEvent.consentRescinded, order: order, customer: customer, payload: payload))
            }
            if let subscription {
                drafts.append(
                    Draft(
                        type: PurchaseEvent.subscriptionRevoked, order: order, customer: customer,
                        payload: PurchaseEvent.Payload(
                            transaction: order.transaction, entitlements: names, subscription: subscription.after,
                            previousSubscription: subscription.before)))
            }
            return drafts
        }
    }

    /// The number of each draft among the events of its account.
    private static func reserveNumbers(
        for drafts: [Draft], on connection: PostgresConnection
    ) async throws -> [Int64] {
        let counts = Dictionary(grouping: drafts, by: \.customer).mapValues { Int64($0.count) }
        let list = counts.sorted { $0.key < $1.key }
        let result = try await connection.query(
            """
            INSERT INTO account_sequences AS known (environment, app, account, last_sequence)
            SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::int8[])
            ON CONFLICT (account, app, environment)
                DO UPDATE SET last_sequence = known.last_sequence + excluded.last_sequence
            RETURNING environment, app, account, last_sequence
            """,
            [
                .textArray(list.map(\.key.environment.rawValue)), .textArray(list.map(\.key.app)),
                .textArray(list.map(\.key.account.text)), .int8Array(list.map(\.value)),
            ])
        var last: [Customer: Int64] = [:]
        for row in result.rows {
            let customer = try row.customer()
            last[customer] = try row.decode("last_sequence", as: Int64.self) - (counts[customer] ?? 0)
        }
        return drafts.map { draft in
            last[draft.customer, default: 0] += 1
            return last[draft.customer, default: 0]
        }
    }

    private static func event(_ draft: Draft, number: Int64) -> PurchaseEvent {
        let now = Date()
        return PurchaseEvent(
            id: EventIdentifier.event(at: now), type: draft.type, timestamp: now,
            environment: draft.customer.environment, app: draft.customer.app,
            customer: PurchaseEvent.Customer(
                id: draft.customer.account.text, sequence: number, token: draft.order.transaction.appAccountToken),
            correlationId: draft.order.correlationId, data: draft.payload)
    }

    private static func insert(_ events: [PurchaseEvent], on connection: PostgresConnection) async throws {
        _ = try await connection.query(
            """
            INSERT INTO events (id, type, environment, app, account, sequence, transaction_id, partition_key, body, due_at)
            SELECT *, now() FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::int8[],
                $7::text[], $8::text[], $9::text[])
            """,
            [
                .textArray(events.map(\.id)), .textArray(events.map(\.type)),
                .textArray(events.map(\.environment.rawValue)), .textArray(events.map(\.app)),
                .textArray(events.map(\.customer?.id)), .int8Array(events.map(\.customer?.sequence)),
                .textArray(events.map(\.data.transaction?.transactionId)), .textArray(events.map(\.customer?.id)),
                .textArray(try events.map { String(decoding: try MessageCoding.encode($0), as: UTF8.self) }),
            ])
    }
}
