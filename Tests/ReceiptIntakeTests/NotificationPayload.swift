import Foundation
import HTTPTypes
import HummingbirdTesting
import Testing

@testable import ReceiptIntake

/// Server notifications whose form is right and whose content and signatures are made up.
enum NotificationPayload {
    /// A text that stands in every payload here, and may stand in no log and no answer.
    static let secret = "a-customer-of-ours"

    /// A `signedPayload` with this payload.
    static func sign(_ payload: [String: Any]) throws -> String {
        try sign(JSONSerialization.data(withJSONObject: payload, options: [.sortedKeys]))
    }

    static func sign(_ payload: Data) -> String {
        [Data(#"{"alg":"ES256"}"#.utf8), payload, Data("signature".utf8)].map(Proofs.encode).joined(separator: ".")
    }

    /// A notification about one transaction, as Apple nests it.
    static func renewal(
        app: String = TestIntake.app, originalTransactionId: String = "2000000777", uuid: UUID = UUID()
    ) throws -> String {
        try sign([
            "notificationType": "DID_RENEW", "notificationUUID": uuid.uuidString, "version": "2.0", "note": secret,
            "data": [
                "bundleId": app, "environment": "Production",
                "signedTransactionInfo": Proofs.jws(originalTransactionId: originalTransactionId),
                "signedRenewalInfo": Proofs.jws(originalTransactionId: "2000000778"),
            ],
        ])
    }

    /// The body that Apple posts.
    static func body(_ signedPayload: String) -> String { "{\"signedPayload\":\"\(signedPayload)\"}" }
}

extension TestIntake {
    /// Posts as Apple does: no credentials.
    func notify(_ signedPayload: String, headers: HTTPFields = [:]) async throws -> Answer {
        try await send(
            .post, "/v1/notifications", token: nil, body: NotificationPayload.body(signedPayload), headers: headers)
    }
}
