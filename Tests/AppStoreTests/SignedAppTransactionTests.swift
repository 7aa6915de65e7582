import AppStore
import Foundation
import Testing

@testable import AppStoreSimulator

@Suite("Signed app transactions")
struct SignedAppTransactionTests {
    private let store: SimulatedStore

    init() throws { store = try #require(SimulatedStore.shared) }

    private func verified(
        _ payload: String, app: AppIdentity = NotificationDraft.app
    ) throws -> Result<SignedAppTransaction, SignedDataRejection> {
        store.verifier.appTransaction(try store.sign(payload), app: app)
    }

    private func code(_ changes: [String: String?]) throws -> RejectionCode? {
        rejection(try verified(NotificationDraft.appTransaction(changes)))
    }

    @Test("every field that Apple documents is read")
    func everyField() throws {
        let nonce = UUID()
        let transaction = try verified(
            NotificationDraft.appTransaction([
                "versionExternalIdentifier": "512", "preorderDate": "1000", "deviceVerification": "\"AAAA\"",
                "deviceVerificationNonce": "\"\(nonce.uuidString)\"",
            ])
        ).get()
        #expect(transaction.receiptType == .production)
        #expect(transaction.bundleId == "com.example.game" && transaction.appAppleId == 1_234_567_890)
        #expect(transaction.applicationVersion == "7" && transaction.versionExternalIdentifier == 512)
        #expect(milliseconds(transaction.receiptCreationDate) == Double(NotificationDraft.milliseconds))
        #expect(transaction.originalPurchaseDate == Date(timeIntervalSince1970: 1_600_000_000))
        #expect(transaction.originalApplicationVersion == "1")
        #expect(transaction.preorderDate == Date(timeIntervalSince1970: 1))
        #expect(transaction.appTransactionId == "704897469903383919")
        #expect(transaction.originalPlatform == .iOS)
        #expect(transaction.deviceVerification == "AAAA" && transaction.deviceVerificationNonce == nonce)
        #expect(transaction.unknownFields == [])
        #expect(transaction.unreadableFields == [])
    }

    @Test("it is tied to one device")
    func device() throws {
        let device = UUID()
        let download = DownloadRecord(
            bundleId: "com.example.game", accountId: "a", environment: .sandbox, appTransactionId: "1",
            originalPurchaseDate: 1_000, originalApplicationVersion: "1", originalPlatform: "iOS",
            consentRescinded: false)
        var state = StoreState(signer: try PayloadSigner(chain: store.authority.chain))
        let record = state.ensureApp("com.example.game")
        func transaction(_ device: DeviceRecord?) throws -> SignedAppTransaction {
            let payload = download.appTransaction(
                app: record, device: device, signedDate: NotificationDraft.milliseconds)
            return try verified(payload).get()
        }
        let tied = try transaction(
            DeviceRecord(id: "d", accountId: "a", vendorIdentifier: device.uuidString))
        #expect(tied.isFor(deviceIdentifier: device))
        #expect(!tied.isFor(deviceIdentifier: UUID()))
        #expect(!(try transaction(nil)).isFor(deviceIdentifier: device))
        #expect(tied.unknownFields == [])
    }

    @Test("the device check is Apple's: of both UUIDs in lower case, whatever the spelling")
    func deviceVerification() throws {
        // SHA-384 of both UUIDs in lower case, from `printf '%s%s' NONCE DEVICE | openssl dgst -sha384 -binary | base64`.
        let transaction = try verified(
            NotificationDraft.appTransaction([
                "deviceVerificationNonce": "\"48C8B92D-CE0D-4229-BEDF-E61B4F9CFC92\"",
                "deviceVerification": "\"NmBQoQK7eh5aiy8WCGBeqnlQ/wiYLjRxYl1i+x1RRABlAISaFR98WpZztLbwlrpt\"",
            ])
        ).get()
        let device = try #require(UUID(uuidString: "7E3FB20B-4CDB-47CC-936D-99D65F608138"))
        #expect(transaction.isFor(deviceIdentifier: device))
        let broken = try verified(
            NotificationDraft.appTransaction([
                "deviceVerificationNonce": "\"48c8b92d-ce0d-4229-bedf-e61b4f9cfc92\"", "deviceVerification": "\"?\"",
            ])
        ).get()
        #expect(!broken.isFor(deviceIdentifier: device))
    }

    @Test("whose it is and since when is never guessed")
    func strict() throws {
        #expect(try code([:]) == nil)
        #expect(try code(["receiptType": nil]) == .notAnAppTransaction)
        #expect(try code(["bundleId": nil]) == .fieldMissing)
        #expect(try code(["receiptCreationDate": nil]) == .payloadUnreadable)
        #expect(try code(["receiptCreationDate": "\"now\""]) == .payloadUnreadable)
        #expect(try code(["receiptCreationDate": "0"]) == .certificateExpired)
        #expect(try code(["originalPurchaseDate": "\"then\""]) == .fieldInvalid)
        #expect(try code(["originalApplicationVersion": "1"]) == .fieldInvalid)
        #expect(try code(["bundleId": "\"com.example.Game\""]) == .bundleMismatch)
        #expect(try code(["receiptType": "\"Xcode\""]) == .environmentXcode)
        #expect(try code(["receiptType": "\"LocalTesting\""]) == .environmentLocalTesting)
        #expect(try code(["receiptType": "\"ProductionVPP\""]) == .environmentUnknown)
        #expect(try code(["appAppleId": "7"]) == .appAppleIdMismatch)
        #expect(try code(["appAppleId": nil]) == .appAppleIdMismatch)
        #expect(try code(["appAppleId": nil, "receiptType": "\"Sandbox\""]) == nil)
        #expect(rejection(try verified(SimulatedStore.payload())) == .notAnAppTransaction)
    }
}
