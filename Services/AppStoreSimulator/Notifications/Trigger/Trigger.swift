import Foundation
import HTTPTypes

/// A notification that somebody asked for, with what is needed so that it comes about.
///
/// It is played as it would happen: a REFUND is of something that was bought, and its buyer's app hears of the purchase
/// too. What takes time is played in the past and signed now.
struct Trigger: Sendable {
    enum Limit {
        /// Fields that are replaced.
        static let overrides = 100
        /// Rehearsals until a play ends now: calendar months differ.
        static let rehearsals = 6
        /// How far from now a play may end, milliseconds: purchases are dated in whole seconds.
        static let precision: Int64 = 1_000
        /// Notifications of one play.
        static let notifications = 100
    }

    private let kind: TriggerKind
    private let overrides: [OrderedJSON.Field]
    private let bundleId: String
    private let environment: StoreEnvironment
    private let account: String?

    /// Checks what was asked for.
    ///
    /// - Parameters:
    ///   - overrides: values by their paths in the payload.
    ///   - isForced: lets types and subtypes pass that Apple does not have; they are put on a ONE_TIME_CHARGE.
    /// - Throws: a ``Problem`` that names the field.
    init(
        type: String, subtype: String?, bundleId: String?, environment: StoreEnvironment, account: String?,
        overrides: [OrderedJSON.Field], isForced: Bool
    ) throws(Problem) {
        let kinds = TriggerKind.kinds(of: type)
        let exact = subtype == nil ? kinds.first { $0.subtype == nil } ?? kinds.first : nil
        let named = kinds.first { $0.subtype?.rawValue == subtype }
        var overrides = overrides
        if let kind = exact ?? (subtype == nil ? nil : named) {
            self.kind = kind
        } else {
            try FieldCheck.require(isForced, Self.refusal(of: type, kinds))
            guard let stand = kinds.first ?? TriggerKind.kinds(of: NotificationType.oneTimeCharge.rawValue).first else {
                throw Problem(.internalServerError, "there are no triggers")
            }
            kind = stand
            overrides.insert(.init(name: "notificationType", value: .string(type)), at: 0)
            if let subtype { overrides.insert(.init(name: "subtype", value: .string(subtype)), at: 1) }
        }
        try FieldCheck.require(overrides.count <= Limit.overrides, "override: at most \(Limit.overrides) fields")
        for field in overrides where !isForced && field.name == "notificationType" {
            try FieldCheck.require(
                field.value.string.flatMap(NotificationType.init(rawValue:)) != nil,
                "override: notificationType: Apple has no such type; with \"force\":true it is sent all the same")
        }
        try FieldCheck.identifier(bundleId ?? TriggerScene.sampleBundleId, "bundleId")
        if let account { try FieldCheck.identifier(account, "account") }
        self.overrides = overrides
        self.bundleId = bundleId ?? TriggerScene.sampleBundleId
        self.environment = environment
        self.account = account
    }

    private static func refusal(of type: String, _ kinds: [TriggerKind]) -> String {
        let hint = "with \"force\":true it is sent all the same"
        if kinds.isEmpty {
            let types = NotificationType.allCases.map(\.rawValue).joined(separator: ", ")
            return "notificationType: one of \(types); \(hint)"
        }
        let subtypes = kinds.map { $0.subtype?.rawValue ?? "none" }.joined(separator: ", ")
        return "subtype: of \(type): \(subtypes); \(hint)"
    }

    /// Plays it.
    ///
    /// - Returns: the notifications that came about, in order; what was asked for is among the last.
    func perform(in state: inout StoreState, now: Int64) throws -> [NotificationRecord] {
        let scene = TriggerScene(
            bundleId: bundleId, environment: environment,
            accountId: account ?? "trigger-\(UUID().uuidString.prefix(8).lowercased())",
            isNamedAccount: account != nil, now: now)
        state.prepareTrigger(kind.need, bundleId: bundleId)
        let duration = try duration(in: state, scene)
        let before = state.newestNotification
        _ = try kind.play(&state, scene, now - duration)
        var rows = state.notificationsInOrder(bundleId: bundleId, after: before, limit: Limit.notifications)
        guard let target = rows.lastIndex(where: isTarget) else {
            throw Problem(.conflict, "account: its subscription does not lead to that now; name another")
        }
        for index in rows.indices where duration > 0 || (index == target && !overrides.isEmpty) {
            rows[index] = try rewritten(rows[index], isTarget: index == target, state: state, now: now)
            state.put(rows[index])
        }
        // They changed now, for those who ask what is new.
        for id in Set(rows.compactMap(\.originalTransactionId)) where duration > 0 {
            for transaction in state.lineages[id, default: []].compactMap({ state.transactions[$0] }) {
                state.put(transaction, now: now)
            }
        }
        return rows
    }

    private func isTarget(_ row: NotificationRecord) -> Bool {
        row.notificationType == kind.type.rawValue && row.subtype == kind.subtype?.rawValue
    }

    /// How long the play takes, found by playing it in an empty store; milliseconds.
    private func duration(in state: StoreState, _ scene: TriggerScene) throws -> Int64 {
        var scene = scene
        scene.isNamedAccount = false
        var stage = StoreState(signer: state.signer)
        state.apps[bundleId].map { stage.put($0) }
        state.accounts[scene.accountId].map { stage.put($0) }
        for product in state.products.rows.values where product.bundleId == bundleId { stage.put(product) }
        var duration: Int64 = 0
        var shortest: Int64?
        for _ in 0..<Limit.rehearsals {
            var rehearsal = stage
            let excess = try kind.play(&rehearsal, scene, scene.now - duration) - scene.now
            if excess <= 0 { shortest = min(shortest ?? duration, duration) }
            if (-Limit.precision...0).contains(excess) { return duration }
            // Whole seconds, like the dates of purchases: what is lost of a second would change with every rehearsal.
            duration += (excess > 0 ? excess + Limit.precision - 1 : excess) / Limit.precision * Limit.precision
        }
        guard let shortest else { throw Problem(.internalServerError, "the play does not come to an end") }
        return shortest
    }

    /// Signs a notification anew: now, and with what was asked to be replaced.
    private func rewritten(
        _ row: NotificationRecord, isTarget: Bool, state: StoreState, now: Int64
    ) throws -> NotificationRecord {
        guard var document = DecodedNotification.document(of: row.signedPayload) else { return row }
        var row = row
        Self.date(&document, now)
        for field in isTarget ? overrides : [] {
            let path = field.name.split(separator: ".", omittingEmptySubsequences: false)
            guard !path.contains(""), document.set(field.value, at: path[...]) else {
                throw Problem(.badRequest, "override: no way leads to \(field.name)")
            }
        }
        row.signedPayload = try DecodedNotification.sign(document, by: state.signer)
        row.notificationType = document["notificationType"]?.string ?? row.notificationType
        row.subtype = document["subtype"]?.string
        row.createdDate = now
        if row.nextAttemptDate != nil { row.nextAttemptDate = now }
        return row
    }

    /// Says everywhere that it was signed at an instant.
    private static func date(_ document: inout OrderedJSON, _ now: Int64) {
        document["signedDate"] = .literal(String(now))
        for container in ["data", "appData"] {
            guard var content = document[container] else { continue }
            for name in DecodedNotification.signedFields {
                guard var inner = content[name] else { continue }
                for date in ["signedDate", "receiptCreationDate"] where inner[date] != nil {
                    inner[date] = .literal(String(now))
                }
                content[name] = inner
            }
            document[container] = content
        }
    }
}
