import AppStore
import Foundation
import VectorTesting

@testable import AppStoreSimulator

/// A good payload of which mutants are made, and for whom it is good.
struct MutationBase: Sendable {
    /// What it is taken for: the call of the verifier, under the name that `judge.py` knows it by.
    enum Kind: String, Sendable, CaseIterable, Encodable {
        case transaction
        case renewalInfo
        case notification
        case appTransaction
    }

    let name: String
    let kind: Kind
    let jws: [UInt8]
    let app: AppIdentity
    /// The environment that Apple's library is asked for first.
    let environment: SignedDataEnvironment
    /// The subscription to which a renewal info must belong.
    let originalTransactionId: String
    /// The JSON as it was signed.
    let payload: String
    /// Whether the simulator signed it, so that a changed one can be signed too.
    let isSimulated: Bool

    /// What stands between the dots, as text.
    var parts: [String] {
        String(decoding: jws, as: UTF8.self).split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    }
}

/// A payload that differs from a good one, or is taken for something else.
struct Mutant: Sendable {
    /// How it was made.
    enum Family: String, Sendable, CaseIterable {
        /// The good payload itself.
        case untouched
        /// The good payload of one kind, taken for another.
        case otherKind
        /// A byte of the text was changed, and nothing signed anew.
        case text
        /// The text was cut, joined or spelled in another way, and nothing signed anew.
        case spelling
        /// The signature's numbers were changed.
        case signature
        /// A byte of a certificate was changed; signed by the simulator's leaf.
        case certificateByte
        /// Certificates stand in another order, are missing, or are spelled in another way; signed by the leaf.
        case certificateList
        /// The leaf or the intermediate was issued anew, with one thing changed.
        case chain
        /// The chain begins or ends close to the signing.
        case validity
        /// The header's JSON was changed; signed.
        case header
        /// A field of the payload was changed; signed.
        case field
        /// The payload's JSON is written in another way; signed.
        case json
        /// A byte of the payload's JSON was changed; signed.
        case jsonByte
        /// What is nested in a notification was changed; the notification is signed.
        case nested
    }

    let base: MutationBase
    let family: Family
    /// What was changed, for whoever reads a failure.
    let what: String
    let jws: [UInt8]
    /// What it is taken for.
    let kind: MutationBase.Kind

    init(_ base: MutationBase, _ family: Family, _ what: String, _ jws: [UInt8], as kind: MutationBase.Kind? = nil) {
        self.base = base
        self.family = family
        self.what = what
        self.jws = jws
        self.kind = kind ?? base.kind
    }
}

extension MutationBase {
    /// Everything genuine of the index.
    static func genuine() throws -> [MutationBase] {
        try Vectors.genuine.map { vector in
            let jws = try vector.jws
            let payload = try payloadText(of: jws)
            let fields = try JSONSerialization.jsonObject(with: Data(payload.utf8)) as? [String: Any] ?? [:]
            let inner = (fields["data"] ?? fields["summary"]) as? [String: Any] ?? fields
            let kind: Kind =
                switch vector.kind {
                case "transaction": .transaction
                case "renewal-info": .renewalInfo
                default: .notification
                }
            return MutationBase(
                name: vector.name, kind: kind, jws: jws,
                app: AppIdentity(
                    bundleId: inner["bundleId"] as? String ?? "com.example.game",
                    appAppleId: (inner["appAppleId"] as? NSNumber)?.int64Value ?? 1),
                environment: SignedDataEnvironment(rawValue: inner["environment"] as? String ?? "Production"),
                originalTransactionId: fields["originalTransactionId"] as? String ?? "1", payload: payload,
                isSimulated: false)
        }
    }

    /// One of each kind that the simulator signs, in both environments.
    static func simulated(_ store: SimulatedStore) throws -> [MutationBase] {
        let milliseconds = NotificationDraft.milliseconds
        let subscription = SimulatedStore.payload([
            "environment": "\"Sandbox\"", "type": "\"Auto-Renewable Subscription\"",
            "expiresDate": "\(milliseconds + 1_000)", "revocationDate": "\(milliseconds)", "price": "9990",
            "currency": "\"EUR\"", "isUpgraded": "true", "offerType": "1",
            "appAccountToken": "\"207262da-1ac8-4e0a-a399-5aa62a82800f\"",
        ])
        var quiet = NotificationDraft(store: store, type: "TEST")
        quiet.transaction = nil
        quiet.renewalInfo = nil
        let sandboxApp: [String: String?] = ["receiptType": "\"Sandbox\"", "appAppleId": nil]
        let signed: [(String, Kind, [UInt8])] = [
            ("consumable", .transaction, try store.sign(SimulatedStore.payload())),
            ("subscription", .transaction, try store.sign(subscription)),
            ("renewal info", .renewalInfo, try store.sign(NotificationDraft.renewalInfo())),
            ("download", .appTransaction, try store.sign(NotificationDraft.appTransaction())),
            ("sandbox download", .appTransaction, try store.sign(NotificationDraft.appTransaction(sandboxApp))),
            ("renewal", .notification, try NotificationDraft(store: store).signed()),
            ("test", .notification, try quiet.signed()),
            ("summary", .notification, try NotificationDraft(store: store, kind: "summary").signed()),
            ("token", .notification, try NotificationDraft(store: store, kind: "externalPurchaseToken").signed()),
            ("refund request", .notification, try NotificationDraft(store: store, kind: "appData").signed()),
        ]
        return try signed.map { name, kind, jws in
            let payload = try payloadText(of: jws)
            return MutationBase(
                name: name, kind: kind, jws: jws, app: NotificationDraft.app,
                environment: payload.contains("\"Sandbox\"") ? .sandbox : .production,
                originalTransactionId: "2000000000000001", payload: payload, isSimulated: true)
        }
    }

    /// The JSON that a compact form carries.
    private static func payloadText(of jws: [UInt8]) throws -> String {
        let parts = jws.split(separator: UInt8(ascii: "."))
        guard parts.count == 3, let payload = MutationText.decoded(parts[1]) else {
            throw CocoaError(.coderReadCorrupt)
        }
        return String(decoding: payload, as: UTF8.self)
    }
}

/// Reading and writing compact forms, apart from the verifier's own code.
enum MutationText {
    /// Base64url without padding; nil when it is not.
    static func decoded(_ text: some Sequence<UInt8>) -> [UInt8]? {
        var letters = String(decoding: Array(text), as: UTF8.self)
            .replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        while letters.utf8.count % 4 != 0 { letters += "=" }
        return Data(base64Encoded: letters).map { [UInt8]($0) }
    }

    /// A text with something put into it.
    static func inserting(_ text: String, into other: String, at position: Int) -> String {
        let index = other.utf8.index(other.utf8.startIndex, offsetBy: min(position, other.utf8.count))
        return String(other[..<index]) + text + String(other[index...])
    }
}
