import AppStore
import Foundation
import ServiceRuntime
import Testing

@testable import ReceiptIntake

@Suite("Whether a notification is the App Store's, before anything is written down")
struct NotificationSignatureTests {
    private let store: SigningStore
    private let roots: TrustedRoots

    init() throws {
        store = try #require(SigningStore.shared)
        roots = try TrustedRoots(fingerprints: [store.root])
    }

    /// Of junk that has the form of a notification, each time another.
    private func junk() throws -> String {
        let stranger = try SigningStore()
        return try stranger.sign(Array(#"{"data":{"bundleId":"a"},"signedDate":\#(SigningStore.signedDate)}"#.utf8))
    }

    /// What became of it, in a word.
    private func outcome(_ text: String, _ signatures: NotificationSignatures) async -> String {
        switch await signatures.read(text) {
        case .success(let notification): notification.app
        case .failure(.malformed): "malformed"
        case .failure(.nameless): "nameless"
        case .failure(.busy): "busy"
        case .failure(.notGenuine(let rejection)): rejection.code.rawValue
        }
    }

    @Test("a genuine one is read, whatever else its header says; what is edited, a stranger's or unsigned is not")
    func judges() async throws {
        let signatures = NotificationSignatures(roots: roots)
        defer { signatures.stop() }
        let strict = NotificationSignatures(roots: .appleRootG3)
        defer { strict.stop() }
        let genuine = try NotificationPayload.renewal()
        #expect(await outcome(genuine, signatures) == TestIntake.app)
        let other = try store.signUnderAnotherHeader(
            Array(#"{"data":{"bundleId":"b"},"signedDate":\#(SigningStore.signedDate)}"#.utf8))
        #expect(await outcome(other, signatures) == "b")
        #expect(await outcome(String(genuine.dropLast(8)) + "AAAAAAAA", signatures) == "signature_invalid")
        #expect(try await outcome(junk(), signatures) == "root_not_trusted")
        #expect(await outcome(Proofs.fresh(), signatures) == "certificate_count")
        #expect(await outcome("a.b", signatures) == "malformed")
        #expect(try await outcome(NotificationPayload.sign(["a": 1]), signatures) == "nameless")
        let strange = try NotificationPayload.sign(["newKind": ["bundleId": "c"]])
        #expect(await outcome(strange, signatures) == "c")
        #expect(
            await outcome(genuine, strict) == "root_not_trusted", "a settings file without the root")
    }

    @Test("a chain that an operator denies is refused, also when its header is told from elsewhere; a restart reads it")
    func denied() async throws {
        let signatures = NotificationSignatures(roots: try roots.denying([store.root]))
        defer { signatures.stop() }
        let genuine = try NotificationPayload.renewal()
        #expect(await outcome(genuine, signatures) == "certificate_denied")
        await signatures.learn([store.header])
        #expect(await outcome(genuine, signatures) == "certificate_denied")

        let settings = ["postgres.url": "postgresql://a@b/c", "kafka.bootstrap_servers": "a:1", "apps.file": "x"]
        func configured(_ denied: String) throws -> Configuration {
            try Configuration(SettingReader(settings.merging(["trusted.denied_certificates": denied]) { $1 }))
        }
        #expect(try configured("").roots == .appleRootG3)
        #expect(try configured(store.root).roots == .appleRootG3.denying([store.root]))
        let refusal = #expect(throws: SettingError.self) { try configured("\(store.root),tomorrow") }
        #expect(
            refusal?.description.contains("COUNTERSIGN_TRUSTED_DENIED_CERTIFICATES") == true
                && refusal?.description.contains("SHA-256") == true)
    }

    @Test("chains that nobody knows use up a share of their own, and known ones are still read; they may be learnt")
    func shares() async throws {
        let signatures = NotificationSignatures(
            roots: roots, known: ProcessorShare(1, saved: .seconds(60)),
            unknown: ProcessorShare(0, saved: .nanoseconds(1)))
        defer { signatures.stop() }
        #expect(try await outcome(junk(), signatures) == "root_not_trusted", "the first takes more than there is")
        #expect(try await outcome(junk(), signatures) == "busy")
        let genuine = try NotificationPayload.renewal()
        #expect(await outcome(genuine, signatures) == "busy", "its chain was not seen")
        await signatures.learn([store.header])
        for _ in 0..<100 { #expect(await outcome(genuine, signatures) == TestIntake.app) }
        #expect(try await outcome(junk(), signatures) == "busy", "and others still are not")
        #expect(await outcome("a.b", signatures) == "busy", "whatever has no header that is known")

        let none = NotificationSignatures(roots: roots, known: ProcessorShare(0, saved: .zero))
        defer { none.stop() }
        await none.learn([store.header])
        #expect(await outcome(genuine, none) == "busy")
    }

    @Test("a header without a chain, or with a stranger's, is not learnt")
    func learnsNoStrangers() async throws {
        let verifier = SignedDataVerifier(roots: roots)
        #expect(!verifier.learn(header: Array("e30".utf8)))
        #expect(!verifier.learn(header: Array("%".utf8)))
        #expect(!verifier.learn(header: try SigningStore().header))
        #expect(verifier.chainsCached == 0)
        #expect(!verifier.knows(header: store.header))
        #expect(verifier.learn(header: store.header) && verifier.learn(header: store.header))
        #expect(verifier.chainsCached == 1 && verifier.knows(header: store.header))
        #expect(!verifier.knows(header: Array(store.header.dropLast())))
    }
}

@Suite("A share of a processor")
struct ProcessorShareTests {
    @Test("is refilled by time, saved up to its limit, and may be overdrawn once")
    func refills() {
        let start = ContinuousClock.now
        var share = ProcessorShare(0.25, saved: .milliseconds(100), now: start)
        func isLeft(after time: Duration) -> Bool { share.isLeft(at: start + time) }
        #expect(isLeft(after: .zero))
        share.spend(.milliseconds(150))
        #expect(!isLeft(after: .zero))
        #expect(!isLeft(after: .milliseconds(200)), "the debt is paid first")
        #expect(isLeft(after: .milliseconds(204)))
        #expect(isLeft(after: .seconds(3_600)))
        share.spend(.milliseconds(100))
        #expect(!isLeft(after: .seconds(3_600)), "an hour saves no more than the limit")
    }
}
