import AppStore
import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing

@testable import AppStoreSimulator

@Suite("Attacks")
struct ForgeryAttackTests {
    private typealias Artefact = ForgeryBench.Attacked.Artefact

    private let app = AppIdentity(bundleId: "com.example.game")
    private let bench: ForgeryBench
    private let verifier: SignedDataVerifier

    init() throws {
        bench = try ForgeryBench()
        verifier = SignedDataVerifier(roots: try bench.roots())
    }

    private func attack(_ kind: String, _ more: String = "") async throws -> [Artefact] {
        let body = #"{"kind":"\#(kind)","bundleId":"com.example.game","productId":"coins.100"\#(more)}"#
        return try await bench.post("attacks", body, as: ForgeryBench.Attacked.self).artefacts
    }

    private func transactions(_ kind: String, _ more: String = "") async throws -> [SignedTransaction] {
        try await attack(kind, more).filter { $0.type == "transaction" }.map {
            try verifier.transaction(Array($0.value.utf8), app: app).get()
        }
    }

    /// The payload of a notification, unchecked, and of its data.
    private func fields(_ artefact: Artefact) throws -> (payload: PayloadText, data: PayloadText) {
        let part = String(artefact.value.split(separator: ".")[1])
        let payload = PayloadText(String(decoding: try #require(Base64URL.decode(part)), as: UTF8.self))
        return (payload, PayloadText(payload["data"] ?? "{}"))
    }

    private func nested(_ artefact: Artefact) throws -> [UInt8] {
        Array(try #require(try fields(artefact).data["signedTransactionInfo"]).utf8.dropFirst().dropLast())
    }

    @Test("every attack is made, with something to post")
    func all() async throws {
        for attack in Attack.all {
            let artefacts = try await self.attack(attack.kind)
            #expect(!artefacts.isEmpty, "\(attack.kind)")
            #expect(artefacts.allSatisfy { !$0.value.isEmpty && ($0.times ?? 1) >= 1 }, "\(attack.kind)")
        }
        await bench.close()
    }

    @Test("replays are genuine, and the store knows what they are about")
    func replays() async throws {
        let token = UUID()
        let victim = try await transactions(
            "replay_of_victims_token", #","appAccountToken":"\#(token.uuidString)""#)
        #expect(victim.map(\.appAccountToken) == [token])
        #expect(try await transactions("replay_of_victims_token").allSatisfy { $0.appAccountToken != nil })
        let twice = try await transactions("replay_without_token")
        #expect(twice.count == 2 && Set(twice.map(\.transactionId)).count == 1)
        #expect(try await attack("thousand_times").map(\.times) == [1_000])

        let again = try await transactions("signed_again")
        #expect(Set(again.map(\.transactionId)).count == 1 && Set(again.map(\.signedDate)).count == 3)
        let id = again[0].transactionId
        #expect(await bench.store.read { $0.transactions[id] != nil })

        let refunded = try await transactions("refund_undone_by_older_signature")
        #expect(refunded.map { $0.revocationDate != nil } == [false, true, false])
        #expect(refunded[0].signedDate < refunded[1].signedDate)
        let shared = try await transactions("family_copy_posted_by_buyer")
        #expect(shared.map(\.inAppOwnershipType) == [.purchased, .familyShared])
        #expect(shared[0].transactionId != shared[1].transactionId)
        let expired = try #require(try await transactions("expired_subscription").first)
        #expect(try #require(expired.expiresDate) < Date() - 300 * 86_400)
        await bench.close()
    }

    @Test("lies are signed well")
    func lies() async throws {
        #expect(try await transactions("sandbox_as_production").map(\.environment) == [.sandbox])
        #expect(try await transactions("missing_environment").map(\.environment) == [nil])
        let backdated = try #require(try await transactions("backdated_under_expired_leaf").first)
        #expect(backdated.certificatesExpire < Date() - 10 * 365 * 86_400)
        #expect(backdated.signedDate < backdated.certificatesExpire)
        #expect(await bench.store.read { $0.transactions[backdated.transactionId] } == nil)
        #expect(try await transactions("unreadable_token").map(\.unreadableFields) == [["appAccountToken"]])
        let tomorrow = try await transactions("signed_tomorrow")
        #expect(tomorrow[0].signedDate > tomorrow[1].signedDate + 80_000)
        let huge = try #require(try await attack("huge_transaction").first)
        #expect(rejectionCode(verifier.payload(Array(huge.value.utf8))) == "payload_too_large")
        let renewal = try await attack("renewal_info_of_another")
        #expect(renewal.map(\.type) == ["transaction", "renewalInfo"])
        _ = try verifier.payload(Array(renewal[1].value.utf8)).get()
        await bench.close()
    }

    @Test(
        "forged notifications are refused by their signature",
        arguments: [
            ("notification_unsigned", "not_a_jws"), ("notification_self_made", "root_not_trusted"),
            ("notification_edited", "signature_invalid"), ("notification_xcode", "root_not_trusted"),
        ])
    func forgedNotifications(_ kind: String, _ code: String) async throws {
        let artefacts = try await attack(kind)
        #expect(artefacts.map(\.type) == ["notification"])
        #expect(rejectionCode(verifier.payload(Array(artefacts[0].value.utf8))) == code)
        #expect(try fields(artefacts[0]).payload["notificationType"] == "\"REFUND\"")
        await bench.close()
    }

    @Test("other notifications are signed well and wrong inside")
    func nestedNotifications() async throws {
        func notification(_ kind: String) async throws -> Artefact {
            let artefact = try #require(try await attack(kind).first)
            _ = try verifier.payload(Array(artefact.value.utf8)).get()
            return artefact
        }
        let otherApp = try await notification("nested_transaction_of_another_app")
        #expect(try fields(otherApp).data["bundleId"] == "\"com.example.game\"")
        #expect(rejectionCode(verifier.transaction(try nested(otherApp), app: app)) == "bundle_mismatch")
        let sandbox = try await notification("nested_transaction_of_sandbox")
        #expect(try fields(sandbox).data["environment"] == "\"Production\"")
        #expect(try verifier.transaction(try nested(sandbox), app: app).get().environment == .sandbox)
        let selfMade = try await notification("nested_transaction_self_made")
        #expect(rejectionCode(verifier.transaction(try nested(selfMade), app: app)) == "root_not_trusted")
        let other = try await notification("notification_of_another_app")
        #expect(try fields(other).data["bundleId"] == "\"com.example.game.other\"")
        let number = try fields(try await notification("notification_of_another_number")).data["appAppleId"]
        let genuine = await bench.store.read { $0.apps["com.example.game"]?.appAppleId }
        #expect(number != genuine.map(String.init))
        let renewal = try fields(try await notification("nested_renewal_info_of_another")).data
        #expect(renewal["signedRenewalInfo"] != nil)
        for kind in ["notification_about_nobody", "notification_replayed"] {
            #expect(try fields(try await notification(kind)).payload["notificationType"] == "\"REFUND\"")
        }
        await bench.close()
    }

    @Test("receipts are as they are described")
    func receipts() async throws {
        func reading(_ kind: String, _ index: Int = 0) async throws -> ReceiptReader.Reading {
            let artefacts = try await attack(kind).filter { $0.type == "receipt" }
            return bench.receipts.reader.read(base64: artefacts[index].value)
        }
        func contents(_ kind: String) async throws -> ReceiptContents? {
            if case .contents(let contents) = try await reading(kind) { contents } else { nil }
        }
        #expect(try await contents("receipt_of_another_app")?.bundleId == "com.example.game.other")
        #expect(try await contents("receipt_of_sandbox")?.environment == .sandbox)
        #expect(try await contents("receipt_thousand_times")?.inAppPurchases.count == 1)
        let pair = try await attack("receipt_and_transaction")
        let transaction = try verifier.transaction(Array(pair[0].value.utf8), app: app).get()
        guard case .contents(let same) = bench.receipts.reader.read(base64: pair[1].value) else {
            Issue.record("the receipt cannot be read")
            return
        }
        #expect(same.inAppPurchases.map(\.transactionId) == [transaction.transactionId])
        for kind in [
            "receipt_edited", "receipt_self_made", "receipt_genuine_authorities_foreign_leaf",
            "receipt_genuine_certificates_foreign_key",
        ] {
            guard case .notAuthentic = try await reading(kind) else {
                Issue.record("\(kind) is not refused for its signature")
                continue
            }
        }
        for kind in ["receipt_truncated", "receipt_as_xcode_makes"] {
            guard case .malformed = try await reading(kind) else {
                Issue.record("\(kind) is not malformed")
                continue
            }
        }
        await bench.close()
    }
}
