import Foundation
import Messages

/// A server notification of Apple's as it is posted: the outside of it, which nobody has verified yet.
///
/// What is read inside decides which app it is put down for and which partition it takes, and nothing else: the
/// verification workers check the signature, and that the app is the one that Apple signed.
/// Source: developer.apple.com/documentation/appstoreservernotifications/responsebodyv2decodedpayload.
struct ServerNotification: Sendable {
    enum Limit {
        /// The largest payload in bytes: what `SignedDataLimits` of the module AppStore has; Apple's largest have 19 kB.
        static let bytesMaximum = 256 << 10
    }

    /// The `signedPayload`: never to be logged.
    let jws: PostedJWS
    /// The bundle id that it says it is about.
    let app: String
    /// What keeps its lineage in one partition; nil where it says nothing of use.
    let partitionKey: String?

    /// Reads a `signedPayload`; nil when it is no such form, or says of no app that it is about it.
    init?(_ text: String) {
        guard let jws = PostedJWS(text, bytesMaximum: Limit.bytesMaximum),
            let payload = jws.payload,
            let peeked = try? MessageCoding.decode(
                Payload.self, from: payload, nestingDepthMaximum: JSONBody.nestingMaximum, keepsUnreadable: true),
            let app = peeked.app
        else { return nil }
        self.jws = jws
        self.app = app
        partitionKey = peeked.originalTransactionId ?? peeked.uuid
    }

    private struct Inside: Decodable {
        let bundleId: String
    }

    /// What is read of the payload: a field of another type is a field that is absent.
    private struct Payload: Decodable {
        /// Apple's four contents, of which a notification has one.
        private static let contents = ["data", "summary", "externalPurchaseToken", "appData"].map(
            Name.init(stringValue:))

        let app: String?
        let originalTransactionId: String?
        let uuid: String?

        struct Name: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }

            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }

        enum ContentKey: String, CodingKey {
            case bundleId, signedTransactionInfo, signedRenewalInfo
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Name.self)
            // Apple has added contents twice: one that nobody knows here names its app, too, and a newer version reads it.
            let contents = (Self.contents + container.allKeys).compactMap {
                try? container.nestedContainer(keyedBy: ContentKey.self, forKey: $0)
            }
            func text(_ key: ContentKey) -> String? {
                for content in contents {
                    if let text = try? content.decode(String.self, forKey: key) { return text }
                }
                return nil
            }
            // Apple leaves it out of one in a million; then the transaction inside says whose it is.
            app =
                text(.bundleId)
                ?? text(.signedTransactionInfo).flatMap { PostedJWS($0)?.payload }.flatMap {
                    try? MessageCoding.decode(
                        Inside.self, from: $0, nestingDepthMaximum: JSONBody.nestingMaximum, keepsUnreadable: true
                    ).bundleId
                }
            originalTransactionId =
                [text(.signedTransactionInfo), text(.signedRenewalInfo)].lazy
                .compactMap { $0.flatMap { PostedJWS($0) } }.compactMap(PartitionKey.originalTransactionId).first
            uuid = (try? container.decode(String.self, forKey: Name(stringValue: "notificationUUID")))
                .flatMap(UUID.init(uuidString:))?.uuidString.lowercased()
        }
    }
}
