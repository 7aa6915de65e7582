import AppStore
import Foundation
import Testing
import VectorTesting

/// Receipts that Apple signed between 2015 and 2025 must verify, under Apple's root, and say what the index says.
@Suite("Receipt vectors", .enabled(if: Vectors.areAvailable, Comment(rawValue: Vectors.skipped)))
struct ReceiptVectorTests {
    private let verifier = ReceiptVerifier(roots: .appleRoot)

    private func app(_ vector: ReceiptVectors.Vector) -> AppIdentity {
        AppIdentity(bundleId: vector.expected.bundleId)
    }

    @Test("the index lists as many as it did when these tests were written, of both digests")
    func nothingIsMissing() {
        #expect(ReceiptVectors.genuine.count >= 14)
        #expect(ReceiptVectors.xcode.count >= 3)
        #expect(Set(ReceiptVectors.genuine.flatMap(\.digest)) == ["sha1", "sha256"])
        #expect(ReceiptVectors.genuine.map(\.expected.inAppCount).max() == 187)
    }

    @Test("a receipt verifies and says what the index says", arguments: ReceiptVectors.genuine)
    func receipt(_ vector: ReceiptVectors.Vector) throws {
        let expected = vector.expected
        let receipt = try verifier.receipt(try vector.base64, app: app(vector)).get()
        #expect(receipt.type.rawValue == expected.receiptType)
        #expect(receipt.environment == (expected.receiptType == "Production" ? .production : .sandbox))
        #expect(receipt.bundleId == expected.bundleId)
        #expect(receipt.applicationVersion == expected.appVersion)
        #expect(receipt.originalApplicationVersion == expected.originalAppVersion)
        #expect(receipt.creationDate == (try ReceiptVectors.date(expected.creationDate)))
        #expect(receipt.expirationDate == nil)
        #expect(receipt.originalPurchaseDate != nil)
        #expect(receipt.deviceHash.count == 20)
        #expect(!receipt.opaqueValue.isEmpty)
        #expect(receipt.unreadableAttributes == [])
        #expect(receipt.purchases.count == expected.inAppCount)
        let types = receipt.attributes.map(\.type) + (receipt.purchases.isEmpty ? [] : [17])
        #expect(types.sorted() == expected.fieldTypes)
        #expect(
            receipt.unknownAttributes.map(\.type).sorted() == expected.fieldTypes.filter { Self.unknown.contains($0) })
    }

    /// What Apple's table does not name.
    private static let unknown: Set<Int64> = [6, 7, 8, 9, 10, 11, 13, 14, 20, 25]

    @Test("every purchase is there, with every field", arguments: ReceiptVectors.genuine)
    func purchases(_ vector: ReceiptVectors.Vector) throws {
        let receipt = try verifier.receipt(try vector.base64, app: app(vector)).get()
        #expect(receipt.purchases.count == vector.expected.inApp.count)
        for expected in vector.expected.inApp {
            let purchase = try #require(receipt.purchase(transactionId: expected.transactionId))
            #expect(purchase.quantity == expected.quantity)
            #expect(purchase.productId == expected.productId)
            #expect(purchase.originalTransactionId == expected.originalTransactionId)
            #expect(purchase.purchaseDate == (try ReceiptVectors.date(expected.purchaseDate)))
            #expect(purchase.originalPurchaseDate == (try ReceiptVectors.date(expected.originalPurchaseDate)))
            #expect(purchase.expiresDate == (try ReceiptVectors.date(expected.expiresDate)))
            #expect(purchase.cancellationDate == (try ReceiptVectors.date(expected.cancellationDate)))
            #expect(purchase.productType?.rawValue == expected.itemType)
            #expect(purchase.productItemId == expected.productItemId)
            #expect(purchase.webOrderLineItemId.flatMap { Int64($0) } ?? 0 == expected.webOrderLineItemId)
            #expect(purchase.isTrialPeriod == expected.isTrial.map { $0 == 1 })
            #expect(purchase.isInIntroOfferPeriod == expected.isIntro.map { $0 == 1 })
            #expect(purchase.promotionalOfferId == nil)
            #expect(purchase.unreadableAttributes == [])
            #expect(purchase.attributes.count >= 12)
            #expect(purchase.unknownAttributes.allSatisfy { $0.value.count == 2 || $0.type == 1722 })
        }
        #expect(receipt.purchase(transactionId: "1") == nil)
    }

    @Test("DER, base64, and base64 in lines say the same", arguments: ReceiptVectors.genuine)
    func forms(_ vector: ReceiptVectors.Vector) throws {
        let fromText = try verifier.receipt(try vector.base64, app: app(vector)).get()
        let der = try vector.der
        #expect(try verifier.receipt(der, app: app(vector)).get() == fromText)
        for options in [Data.Base64EncodingOptions.lineLength64Characters, .lineLength76Characters] {
            let lines = [UInt8](Data(der).base64EncodedData(options: options))
            #expect(try verifier.receipt(lines, app: app(vector)).get() == fromText)
        }
    }

    @Test("none of them is later than the day on which SHA-1 ended, which Apple announced for 2025-01-24")
    func sha1Ended() throws {
        let strict = ReceiptVerifier(roots: .appleRoot, sha1Until: ReceiptVerifier.sha1Ended)
        var dates: [String: [String]] = [:]
        for vector in ReceiptVectors.genuine {
            _ = try strict.receipt(try vector.base64, app: app(vector)).get()
            for digest in vector.digest { dates[digest, default: []].append(vector.expected.creationDate) }
        }
        #expect(dates["sha1"]?.max()?.prefix(10) == "2023-03-31")
        #expect(dates["sha256"]?.min()?.prefix(10) == "2023-08-28")
        let tooEarly = ReceiptVerifier(
            roots: .appleRoot, sha1Until: try ReceiptVectors.date("2023-03-31T07:13:23Z"))
        let refused = try ReceiptVectors.genuine.filter {
            rejection(tooEarly.receipt(try $0.base64, app: app($0))) == .sha1Ended
        }
        #expect(refused.map(\.expected.creationDate) == ["2023-03-31T07:13:23Z"])
    }

    @Test("all of their chains have expired by the end of 2026, none of them when they were made")
    func certificatesExpire() throws {
        for vector in ReceiptVectors.genuine {
            let receipt = try verifier.receipt(try vector.base64, app: app(vector)).get()
            #expect(receipt.certificatesExpire > receipt.creationDate)
            #expect(receipt.certificatesExpire < Date(timeIntervalSince1970: 1_798_761_600), "\(vector)")
        }
    }

    @Test("a chain is judged once for all receipts that it signed")
    func chains() throws {
        for _ in 0..<2 {
            for vector in ReceiptVectors.genuine { _ = try verifier.receipt(try vector.base64, app: app(vector)).get() }
        }
        #expect((2...8).contains(verifier.chainsCached))
    }

    @Test("receipts of Xcode are refused as such", arguments: ReceiptVectors.xcode)
    func xcode(_ vector: ReceiptVectors.Vector) throws {
        #expect(rejection(verifier.receipt(try vector.base64, app: app(vector))) == .receiptXcode)
        #expect(rejection(verifier.receipt(try vector.der, app: app(vector))) == .receiptXcode)
    }

    @Test("a receipt is no other app's, and not another root's", arguments: ReceiptVectors.genuine)
    func others(_ vector: ReceiptVectors.Vector) throws {
        let receipt = try vector.base64
        for bundleId in ["com.example", "", vector.expected.bundleId.uppercased(), vector.expected.bundleId + " "] {
            let rejected = rejection(verifier.receipt(receipt, app: AppIdentity(bundleId: bundleId)))
            #expect(rejected == .bundleMismatch, "\(bundleId)")
        }
        let other = ReceiptVerifier(roots: .appleRootG3)
        #expect(rejection(other.receipt(receipt, app: app(vector))) == .rootNotTrusted)
        #expect(other.chainsCached == 0)
    }

    @Test("a byte changed anywhere is refused, or changes nothing that the receipt says", .timeLimit(.minutes(3)))
    func flips() throws {
        for (index, vector) in ReceiptVectors.genuine.filter({ $0.expected.inAppCount < 60 }).enumerated() {
            let der = try vector.der
            let genuine = try verifier.receipt(der, app: app(vector)).get()
            var harmless = 0
            for position in stride(from: index % 7, to: der.count, by: 7) {
                var changed = der
                changed[position] ^= 1 << UInt8(position / 7 % 8)
                guard case .success(let receipt) = verifier.receipt(changed, app: app(vector)) else { continue }
                harmless += 1
                #expect(receipt == genuine, "byte \(position) of \(vector)")
            }
            // Version numbers and the list of digests, which nobody signs and nothing depends on.
            #expect(harmless < 16, "\(vector)")
        }
    }

    @Test("a receipt that was cut short is refused", arguments: ReceiptVectors.genuine)
    func truncations(_ vector: ReceiptVectors.Vector) throws {
        let der = try vector.der
        for count in stride(from: 0, to: der.count, by: max(1, der.count / 500)) {
            let code = rejection(verifier.receipt(Array(der.prefix(count)), app: app(vector)))
            #expect(code == .notAReceipt, "\(count) bytes")
        }
        #expect(rejection(verifier.receipt(der + [0], app: app(vector))) == .notAReceipt)
    }
}
