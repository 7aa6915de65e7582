import Foundation
import HTTPTypes
import HummingbirdTesting
import Testing

@testable import ReceiptIntake

/// Server notifications that are signed well, by ``SigningStore``; what they say is made up, and what is signed inside is not.
enum NotificationPayload {
    /// A text that stands in every payload here, and may stand in no log and no answer.
    static let secret = "a-customer-of-ours"

    /// A `signedPayload` with this payload, and with a signing date where it has none.
    static func sign(_ payload: [String: Any]) throws -> String {
        let dated = payload.merging(["signedDate": SigningStore.signedDate]) { own, _ in own }
        return try sign(JSONSerialization.data(withJSONObject: dated, options: [.sortedKeys]))
    }

    static func sign(_ payload: Data) throws -> String { try #require(SigningStore.shared).sign(Array(payload)) }

    /// A notification about one transaction, as Apple nests it.
    static func renewal(
        app: String = TestIntake.app, originalTransactionId: String = "2000000777", uuid: UUID = UUID(),
        note: String = ""
    ) throws -> String {
        try sign([
            "notificationType": "DID_RENEW", "notificationUUID": uuid.uuidString, "version": "2.0",
            "note": secret + note,
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
