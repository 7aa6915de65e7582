import HTTPTypes
import Hummingbird

/// `POST transactions/{id}/sign`: a transaction as somebody has it signed, with fields replaced, added and removed.
///
/// Nothing is kept unless the body says so: so is what a device shows whose data is old. What is kept Apple's servers
/// say, too, from then on.
struct SignRoute: Sendable {
    let store: Store
    let signer: PayloadSigner

    /// The body; each object is a merge patch (RFC 7396).
    private struct Body: Decodable, Sendable {
        var fields: JSONField?
        /// Of the subscription's renewal info, which is signed only where this is given.
        var renewalInfo: JSONField?
        /// Of a notification with both inside; it is sent where this is given.
        var notification: JSONField?
        var keep: Bool?
    }

    func addRoute(to group: RouterGroup<BasicRequestContext>) {
        group.post("transactions/{id}/sign") { request, context in
            let id = try context.parameters.require("id")
            return try await answer(id, try await ControlBody.decode(Body.self, from: request))
        }
    }

    @inline(never)
    private func answer(_ id: String, _ body: Body) async throws -> Response {
        let signer = signer
        let text = try await store.change { state, now in
            _ = try state.transactions.required(id, "transaction")
            if body.keep == true { try state.keepSigns(id, body.fields?.text, body.renewalInfo?.text, now: now) }
            var transaction = try state.transactions.required(id, "transaction")
            transaction.signs = merged(transaction.signs, body.fields?.text)
            let payload = transaction.payload(signedDate: now)
            var json = JSONText()
            json.add("transactionId", id)
            json.add("transaction", json: payload)
            json.add("signedTransaction", try signer.sign(payload))
            var renewalInfo: String?
            if let patch = body.renewalInfo {
                renewalInfo = try state.renewalInfo(of: transaction, patch.text, now: now)
                json.add("signedRenewalInfo", try renewalInfo.map(signer.sign))
            }
            if let patch = body.notification {
                let row = try state.notifyAnew(
                    id, transaction: payload, renewalInfo: renewalInfo, patch: patch.text, now: now)
                json.add("notification", json: row.description)
            }
            return json.object
        }
        return ControlAnswer.json(text)
    }
}

/// What two merge patches do, one after the other; JSON.
///
/// A patch that removes a field stays one that does so: it is no patch of the first.
private func merged(_ first: String?, _ second: String?) -> String? {
    guard let second else { return first }
    guard let first, case .object(let fields)? = OrderedJSON(second), var both = OrderedJSON(first) else {
        return second
    }
    for field in fields { both[field.name] = field.value }
    return both.text
}

extension StoreState {
    /// Lets Apple's servers say so from now on.
    fileprivate mutating func keepSigns(
        _ id: String, _ transactionPatch: String?, _ renewalInfoPatch: String?, now: Int64
    ) throws {
        guard var transaction = transactions[id] else { return }
        transaction.signs = merged(transaction.signs, transactionPatch)
        put(transaction, now: now)
        guard let renewalInfoPatch else { return }
        var subscription = try subscription(transaction.originalTransactionId, now: now)
        subscription.signs = merged(subscription.signs, renewalInfoPatch)
        put(subscription)
    }

    /// The renewal info of a transaction's subscription with a patch applied; JSON.
    fileprivate mutating func renewalInfo(
        of transaction: TransactionRecord, _ patch: String, now: Int64
    ) throws -> String {
        var subscription = try subscription(transaction.originalTransactionId, now: now)
        subscription.signs = merged(subscription.signs, patch)
        return subscription.renewalInfo(in: self, signedDate: now)
    }

    /// Tells of a transaction in a notification that says what it is made to say.
    ///
    /// - Parameters:
    ///   - transaction: what it says of the transaction; JSON.
    ///   - renewalInfo: what it says of the subscription instead of what the store knows; JSON.
    ///   - patch: of the whole notification, whose signed parts are open in it.
    /// - Throws: a ``Problem`` where the app keeps no notifications, or the patch names no type.
    fileprivate mutating func notifyAnew(
        _ id: String, transaction: String, renewalInfo: String?, patch: String, now: Int64
    ) throws -> NotificationRecord {
        guard let patch = OrderedJSON(patch), let type = patch["notificationType"]?.string else {
            throw Problem(.badRequest, "notification: notificationType: missing")
        }
        let before = newestNotification
        notify(.oneTimeCharge, transactionId: id, now: now)
        guard let bundleId = transactions[id]?.bundleId,
            var row = notificationsInOrder(bundleId: bundleId, after: before, limit: 1).first,
            var document = DecodedNotification.document(of: row.signedPayload), var data = document["data"]
        else { throw Problem(.conflict, "notification: the app keeps none") }
        data["signedTransactionInfo"] = OrderedJSON(transaction)
        if let renewalInfo { data["signedRenewalInfo"] = OrderedJSON(renewalInfo) }
        document["data"] = data
        document = document.merging(patch)
        row.signedPayload = try DecodedNotification.sign(document, by: signer)
        row.notificationType = type
        row.subtype = document["subtype"]?.string
        put(row)
        return row
    }
}
