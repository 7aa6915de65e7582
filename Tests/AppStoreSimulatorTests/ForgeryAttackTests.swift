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
}
