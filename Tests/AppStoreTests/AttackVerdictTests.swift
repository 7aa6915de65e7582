import AppStore
import Foundation
import Testing

@testable import AppStoreSimulator

/// What our verifiers say of everything in the simulator's `attacks`, one thing at a time.
///
/// An attack whose every part is genuine is for the services to see through: as a replay, a stranger's, a sandbox's.
@Suite("Attacks, one payload at a time")
struct AttackVerdictTests {
    /// The codes of an attack's parts, in the order in which they are posted; nil for what is genuine.
    static let codes: [String: [RejectionCode?]] = [
        "replay_of_victims_token": [nil], "replay_without_token": [nil, nil], "thousand_times": [nil],
        "signed_again": [nil, nil, nil], "refund_undone_by_older_signature": [nil, nil, nil],
        "family_copy_posted_by_buyer": [nil, nil], "expired_subscription": [nil],
        "sandbox_as_production": [nil], "backdated_under_expired_leaf": [nil], "missing_environment": [nil],
        "unreadable_token": [nil],
        "signed_tomorrow": [nil, nil], "huge_transaction": [.payloadTooLarge],
        "renewal_info_of_another": [nil, .renewalInfoMismatch],
        "receipt_of_another_app": [.bundleMismatch], "receipt_of_sandbox": [nil],
        "receipt_edited": [.signatureInvalid], "receipt_self_made": [.rootNotTrusted],
        "receipt_genuine_authorities_foreign_leaf": [.chainInvalid],
        "receipt_genuine_certificates_foreign_key": [.signatureInvalid],
        "receipt_as_xcode_makes": [.receiptXcode], "receipt_spelled_otherwise": [nil, .receiptXcode],
        "receipt_truncated": [.notAReceipt], "receipt_thousand_times": [nil],
        "receipt_and_transaction": [nil, nil], "missing_bundle_id": [.bundleIdMissing],
        "receipt_with_id_twice": [nil], "receipt_of_unknown_type": [.environmentUnknown],
        "receipt_with_attribute_twice": [.fieldInvalid], "receipt_with_date_of_another_type": [.payloadUnreadable],
        "receipt_with_unreadable_purchase": [nil],
        "notification_unsigned": [.notAJWS], "notification_self_made": [.rootNotTrusted],
        "notification_edited": [.signatureInvalid], "notification_xcode": [.rootNotTrusted],
        "transaction_as_notification": [.notANotification], "notification_of_another_app": [.bundleMismatch],
        "notification_of_another_number": [.appAppleIdMismatch],
        "nested_transaction_of_another_app": [.nestedBundleMismatch],
        "nested_transaction_of_sandbox": [.nestedEnvironmentMismatch],
        "nested_transaction_self_made": [.rootNotTrusted], "nested_renewal_info_of_another": [.renewalInfoMismatch],
        // Genuine: whether it is about a customer of ours, or came before, is not to be seen in it.
        "notification_about_nobody": [nil], "notification_replayed": [nil],
    ]

    @Test("each part is refused with its code, or is genuine")
    func all() async throws {
        #expect(Set(Attack.all.map(\.kind)) == Set(Self.codes.keys))
        let simulated = try #require(SimulatedStore.shared)
        let bench = try #require(ReceiptBench.shared)
        let signer = try PayloadSigner(chain: simulated.authority.chain)
        let store = try Store(file: nil, signer: signer, clock: VirtualClock())
        let body = #"{"kind":"x","bundleId":"com.example.game","productId":"coins.100"}"#
        let request = try JSONDecoder().decode(ForgeryRequest.self, from: Data(body.utf8))
        let material = AttackMaterial(
            store: store, signer: signer, request: request, purchase: try request.purchase(),
            workshop: try ForgeryWorkshop(authority: simulated.authority), receipts: bench.authority)
        let app = AppIdentity(bundleId: "com.example.game", appAppleId: try await material.app().appAppleId)
        let judges = Judges(app: app, payloads: simulated.verifier, receipts: bench.verifier)
        for attack in Attack.all {
            let artefacts = try await attack.make(material)
            #expect(judges.codes(artefacts) == Self.codes[attack.kind], "\(attack.kind)")
        }
        await store.close()
    }

    /// Verifiers that see everything, so that their memory of good chains is tried too.
    private struct Judges {
        let app: AppIdentity
        let payloads: SignedDataVerifier
        let receipts: ReceiptVerifier

        func codes(_ artefacts: [Attack.Artefact]) -> [RejectionCode?] {
            var original = ""
            return artefacts.map { artefact in
                let bytes = Array(artefact.value.utf8)
                switch artefact.kind {
                case .transaction:
                    let result = payloads.transaction(bytes, app: app)
                    if case .success(let transaction) = result { original = transaction.originalTransactionId }
                    return rejection(result)
                case .renewalInfo: return rejection(payloads.renewalInfo(bytes, originalTransactionId: original))
                case .notification: return rejection(payloads.notification(bytes, app: app))
                case .receipt: return rejection(receipts.receipt(bytes, app: app))
                }
            }
        }
    }
}
