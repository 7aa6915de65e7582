import AppStore
import Foundation
import Testing

@testable import AppStoreSimulator

/// The simulator's attacks on whoever receives notifications.
@Suite("Attacks with notifications")
struct NotificationAttackTests {
    static let codes: [String: RejectionCode?] = [
        "notification_unsigned": .notAJWS, "notification_self_made": .rootNotTrusted,
        "notification_edited": .signatureInvalid, "notification_xcode": .rootNotTrusted,
        "transaction_as_notification": .notANotification, "notification_of_another_app": .bundleMismatch,
        "notification_of_another_number": .appAppleIdMismatch,
        "nested_transaction_of_another_app": .nestedBundleMismatch,
        "nested_transaction_of_sandbox": .nestedEnvironmentMismatch,
        "nested_transaction_self_made": .rootNotTrusted, "nested_renewal_info_of_another": .renewalInfoMismatch,
        // Genuine: whether it is about a customer of ours, or came before, is not to be seen in it.
        "notification_about_nobody": nil, "notification_replayed": nil,
    ]

    @Test("each is refused with its code, or is genuine")
    func all() async throws {
        let authority = try #require(SimulatedStore.shared).authority
        let signer = try PayloadSigner(chain: authority.chain)
        let store = try Store(file: nil, signer: signer, clock: VirtualClock())
        let body = #"{"kind":"x","bundleId":"com.example.game","productId":"coins.100"}"#
        let request = try JSONDecoder().decode(ForgeryRequest.self, from: Data(body.utf8))
        let material = AttackMaterial(
            store: store, signer: signer, request: request, purchase: try request.purchase(),
            workshop: try ForgeryWorkshop(authority: authority), receipts: try ReceiptAuthority(now: Date()))
        let attacks = Attack.notifications + Attack.nested
        #expect(Set(attacks.map(\.kind)) == Set(Self.codes.keys))
        let app = AppIdentity(bundleId: "com.example.game", appAppleId: try await material.app().appAppleId)
        for attack in attacks {
            let verifier = SignedDataVerifier(roots: try #require(SimulatedStore.shared).roots)
            for artefact in try await attack.make(material) {
                let code = rejection(verifier.notification(Array(artefact.value.utf8), app: app))
                #expect(code == Self.codes[attack.kind] ?? nil, "\(attack.kind)")
            }
        }
        await store.close()
    }
}
