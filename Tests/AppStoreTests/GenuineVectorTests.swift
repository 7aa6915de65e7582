import AppStore
import Foundation
import Testing
import VectorTesting

/// What Apple signed must verify, under Apple's root, and say what it says.
@Suite("Genuine vectors", .enabled(if: Vectors.areAvailable, Comment(rawValue: Vectors.skipped)))
struct GenuineVectorTests {
    private let verifier = SignedDataVerifier(roots: .appleRootG3)

    @Test("the index lists as many as it did when these tests were written")
    func nothingIsMissing() {
        #expect(Vectors.genuine.count >= 21)
        #expect(Vectors.genuineTransactions.count >= 8)
    }

    @Test("a transaction verifies and says what the index says", arguments: Vectors.genuineTransactions)
    func transaction(_ vector: Vectors.Vector) throws {
        let expected = vector.expected
        let app = AppIdentity(bundleId: try #require(expected.bundleId))
        let transaction = try verifier.transaction(try vector.jws, app: app).get()

        #expect(transaction.bundleId == expected.bundleId)
        #expect(transaction.productId == expected.productId)
        #expect(transaction.transactionId == expected.transactionId)
        #expect(transaction.originalTransactionId == expected.originalTransactionId)
        #expect(transaction.type.rawValue == expected.type)
        #expect(transaction.environment?.rawValue == expected.environment)
        #expect(milliseconds(transaction.signedDate) == expected.signedDate)
        #expect(milliseconds(transaction.purchaseDate) == expected.purchaseDate)
        #expect(milliseconds(transaction.expiresDate) == expected.expiresDate)
        #expect(milliseconds(transaction.revocationDate) == expected.revocationDate)
        #expect(transaction.revocationReason?.rawValue == expected.revocationReason)
        #expect(transaction.offerType?.rawValue == expected.offerType)
        #expect(transaction.price == expected.price)
        #expect(transaction.currency == expected.currency)
        #expect(transaction.storefront == expected.storefront)
        #expect(transaction.quantity == 1)
        #expect(transaction.inAppOwnershipType == .purchased)
        #expect(transaction.unknownFields == [])
        #expect(transaction.unreadableFields == [])
    }

    @Test("a transaction keeps the bytes that were signed", arguments: Vectors.genuineTransactions)
    func payloadBytes(_ vector: Vectors.Vector) throws {
        let jws = try vector.jws
        let payload = try verifier.payload(jws).get()
        var text = String(decoding: jws.split(separator: UInt8(ascii: "."))[1], as: UTF8.self)
            .replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        text += String(repeating: "=", count: (4 - text.count % 4) % 4)
        #expect(Data(payload.bytes) == Data(base64Encoded: text))
    }

    @Test("every field of a modern transaction is read")
    func allFields() throws {
        let vector = try #require(Vectors.genuineTransactions.first { $0.name.hasSuffix("ff63a2.jws") })
        let app = AppIdentity(bundleId: "com.loki-project.loki-messenger", appAppleId: 1_470_168_868)
        let transaction = try verifier.transaction(try vector.jws, app: app).get()
        #expect(transaction.webOrderLineItemId == "2000000114930653")
        #expect(transaction.subscriptionGroupIdentifier == "21752814")
        #expect(milliseconds(transaction.originalPurchaseDate) == 1_759_301_833_000)
        #expect(transaction.transactionReason == .purchase)
        #expect(transaction.storefrontId == "143460")
        #expect(transaction.appTransactionId == "704897469903383919")
        #expect(transaction.revocationReason == .other)
    }

    @Test("an account token is read as a UUID")
    func accountToken() throws {
        let vector = try #require(Vectors.genuineTransactions.first { $0.name.hasSuffix("0cd9c8.jws") })
        let app = AppIdentity(bundleId: "Com.VoiceRecording.Telephone")
        let transaction = try verifier.transaction(try vector.jws, app: app).get()
        #expect(transaction.appAccountToken == UUID(uuidString: "207262DA-1AC8-4E0A-A399-5AA62A82800F"))
    }

    @Test("whatever Apple signed verifies as a payload, from the cache as well", arguments: Vectors.genuine)
    func payload(_ vector: Vectors.Vector) throws {
        let jws = try vector.jws
        for _ in 0..<2 {
            let payload = try verifier.payload(jws).get()
            let said = try JSONDecoder().decode(Vectors.Expected.self, from: Data(payload.bytes))
            #expect(milliseconds(payload.signedDate) == vector.expected.signedDate)
            #expect(said.originalTransactionId == vector.expected.originalTransactionId)
            #expect(said.notificationType == vector.expected.notificationType)
            #expect(said.notificationUUID == vector.expected.notificationUUID)
        }
        #expect(verifier.chainsCached == 1)
    }

    @Test(
        "renewal infos and notifications are genuine but no transactions",
        arguments: Vectors.genuine.filter { $0.kind != "transaction" })
    func notATransaction(_ vector: Vectors.Vector) throws {
        let app = AppIdentity(bundleId: vector.expected.bundleId ?? "com.example")
        #expect(rejection(verifier.transaction(try vector.jws, app: app)) == .notATransaction)
    }

    @Test("a transaction of another app is refused, also when only the case differs")
    func otherApp() throws {
        let vector = try #require(Vectors.genuineTransactions.first { $0.name.hasSuffix("0cd9c8.jws") })
        for bundleId in ["com.voicerecording.telephone", "Com.VoiceRecording.Telephone2", "", "*"] {
            let result = verifier.transaction(try vector.jws, app: AppIdentity(bundleId: bundleId))
            #expect(rejection(result) == .bundleMismatch)
        }
    }

    @Test("nothing of Apple's verifies when another root is trusted", arguments: Vectors.genuine)
    func otherRoot(_ vector: Vectors.Vector) throws {
        let roots = try TrustedRoots(fingerprints: [String(repeating: "0", count: 64)])
        #expect(rejection(SignedDataVerifier(roots: roots).payload(try vector.jws)) == .rootNotTrusted)
    }

    @Test("a genuine transaction with any one bit of its signature or payload changed is refused")
    func bitFlips() throws {
        let vector = try #require(Vectors.genuineTransactions.first)
        let jws = try vector.jws
        _ = try verifier.payload(jws).get()
        let firstDot = try #require(jws.firstIndex(of: UInt8(ascii: ".")))
        for position in stride(from: firstDot + 1, to: jws.count, by: 7) where jws[position] != UInt8(ascii: ".") {
            var changed = jws
            changed[position] = jws[position] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(throws: SignedDataRejection.self) { try verifier.payload(changed).get() }
        }
    }
}

/// The code of a refusal; nil when there was none.
func rejection<Success>(_ result: Result<Success, SignedDataRejection>) -> RejectionCode? {
    if case .failure(let rejection) = result { rejection.code } else { nil }
}

func milliseconds(_ date: Date?) -> Double? {
    date.map { ($0.timeIntervalSince1970 * 1_000).rounded() }
}
