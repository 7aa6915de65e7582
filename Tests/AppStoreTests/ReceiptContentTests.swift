import AppStore
import Foundation
import Testing

@testable import AppStoreSimulator

/// What a receipt says, with a signature that is good: the simulator's.
@Suite("Receipts and their content")
struct ReceiptContentTests {
    private let bench: ReceiptBench

    init() throws { bench = try #require(ReceiptBench.shared) }

    /// A content of these attributes and the ones that every receipt has; a number given here replaces those.
    private func content(_ changes: [(Int64, AttributeSet.Value?)]) -> [UInt8] {
        var attributes: [(Int64, AttributeSet.Value)] = [
            (0, .utf8("Production")), (2, .utf8("com.example.game")), (12, .ia5("2026-09-21T14:13:20Z")),
        ]
        attributes.removeAll { attribute in changes.contains { $0.0 == attribute.0 } }
        var set = AttributeSet(capacity: 512)
        for (type, value) in attributes { set.add(type, value) }
        for case (let type, let value?) in changes { set.add(type, value) }
        return set.encoded()
    }

    private func code(_ changes: (Int64, AttributeSet.Value?)...) throws -> RejectionCode? {
        try bench.rejectionOfContent(content(changes))
    }

    private func purchase(_ changes: (Int64, AttributeSet.Value?)...) -> AttributeSet.Value {
        var attributes: [(Int64, AttributeSet.Value)] = [
            (1701, .integer(1)), (1702, .utf8("coins")), (1703, .utf8("7")), (1704, .ia5("2026-01-01T00:00:00Z")),
            (1705, .utf8("6")),
        ]
        attributes.removeAll { attribute in changes.contains { $0.0 == attribute.0 } }
        var set = AttributeSet(capacity: 512)
        for (type, value) in attributes { set.add(type, value) }
        for case (let type, let value?) in changes { set.add(type, value) }
        return .raw(set.encoded())
    }

    /// How many can be read of a purchase and a good one beside it; the others must be counted.
    private func readable(_ purchase: AttributeSet.Value) throws -> Int {
        let good = self.purchase((1703, .utf8("8")))
        let receipt = try bench.authority.signer.sign(content([(17, good), (17, purchase)]))
        let read = try bench.verifier.receipt(receipt, app: ReceiptBench.app).get()
        #expect(read.purchase(transactionId: "8") != nil)
        #expect(read.purchases.count + read.unreadablePurchases == 2)
        return read.purchases.count
    }

    @Test("an id that stands there twice, once not to be read, is not listed: that may be its cancellation")
    func unreadableTwin() throws {
        let twin = purchase((1712, .integer(7)))
        let receipt = try bench.authority.signer.sign(
            content([(17, purchase((1703, .utf8("8")))), (17, purchase()), (17, twin)]))
        let read = try bench.verifier.receipt(receipt, app: ReceiptBench.app).get()
        #expect(read.purchases.map(\.transactionId) == ["8"] && read.unreadablePurchases == 1)
    }

    @Test(
        "the simulator's receipts are good under its own root, not under Apple's", arguments: StoreEnvironment.allCases)
    func simulator(_ environment: StoreEnvironment) throws {
        let contents = try ReceiptBench.contents(purchases: 40) { $0.environment = environment }
        let encoded = try bench.authority.receipt(contents)
        let receipt = try bench.verifier.receipt(encoded, app: ReceiptBench.app).get()
        #expect(receipt.environment == (environment == .production ? .production : .sandbox))
        #expect(receipt.creationDate == ReceiptBench.now)
        #expect(receipt.appItemId == 497_799_835)
        #expect(receipt.downloadId == 30_015_324_719_813)
        #expect(receipt.versionExternalIdentifier == 813_293_765)
        #expect(receipt.originalPurchaseDate == ReceiptBench.now - 1)
        #expect(Set(receipt.purchases.map(\.transactionId)) == Set(contents.inAppPurchases.map(\.transactionId)))
        let purchase = try #require(receipt.purchase(transactionId: "2000000000001007"))
        #expect(purchase.quantity == 2)
        #expect(purchase.originalPurchaseDate == ReceiptBench.now - 2)
        #expect(purchase.expiresDate == ReceiptBench.now + 3)
        #expect(purchase.cancellationDate == ReceiptBench.now + 1)
        #expect(purchase.productType == .autoRenewableSubscription)
        #expect(purchase.productItemId == 77)
        #expect(purchase.webOrderLineItemId == "88")
        #expect(purchase.isTrialPeriod == true)
        #expect(purchase.isInIntroOfferPeriod == false)
        #expect(purchase.promotionalOfferId == "spring")
        let apple = ReceiptVerifier(roots: .appleRoot)
        #expect(rejection(apple.receipt(encoded, app: ReceiptBench.app)) == .rootNotTrusted)
        let indefinite = BERText.indefinite(encoded)
        #expect(rejection(bench.verifier.receipt(indefinite, app: ReceiptBench.app)) == .receiptXcode)
    }

    @Test("a receipt without purchases is genuine, and a purchase that is not in it is not found")
    func noPurchases() throws {
        let encoded = try bench.authority.receipt(try ReceiptBench.contents(purchases: 0))
        let receipt = try bench.verifier.receipt(encoded, app: ReceiptBench.app).get()
        #expect(receipt.purchases == [])
        #expect(receipt.purchase(transactionId: "2000000000001007") == nil)
    }

    @Test("an edited content is refused, whatever was edited")
    func edited() throws {
        let encoded = try bench.authority.receipt(try ReceiptBench.contents())
        for (text, other) in [
            ("com.example.game", "com.example.gbme"), ("coins.100", "coins.999"),
            ("2000000000001001", "2000000000001009"),
        ] {
            let range = try #require(Data(encoded).range(of: Data(text.utf8)))
            var edited = encoded
            edited.replaceSubrange(range, with: Array(other.utf8))
            let app = AppIdentity(bundleId: text.hasPrefix("com") ? other : "com.example.game")
            #expect(rejection(bench.verifier.receipt(edited, app: app)) == .signatureInvalid)
        }
    }

    @Test("receipt types tell the environment; Xcode's and unknown ones are refused")
    func types() throws {
        #expect(try code() == nil)
        for type in ["Production", "ProductionVPP", "ProductionSandbox", "ProductionVPPSandbox"] {
            let receipt = try bench.authority.signer.sign(content([(0, .utf8(type))]))
            let environment = try bench.verifier.receipt(receipt, app: ReceiptBench.app).get().environment
            #expect(environment == (type.hasSuffix("Sandbox") ? .sandbox : .production))
        }
        #expect(try code((0, .utf8("Xcode"))) == .receiptXcode)
        #expect(try code((0, .utf8("production"))) == .environmentUnknown)
        #expect(try code((0, nil)) == .fieldMissing)
        #expect(try code((0, .utf8(""))) == .fieldMissing)
        #expect(try code((0, .integer(1))) == .fieldInvalid)
    }

    @Test("the bundle id is compared by its bytes")
    func bundleIds() throws {
        #expect(try code((2, nil)) == .fieldMissing)
        #expect(try code((2, .utf8("com.example.Game"))) == .bundleMismatch)
        #expect(try code((2, .raw([0x0C, 2, 0xC3, 0x28]))) == .fieldInvalid)
        let kelvin = try bench.authority.signer.sign(content([(2, .utf8("com.example.\u{212A}"))]))
        let latin = AppIdentity(bundleId: "com.example.K")
        #expect(rejection(bench.verifier.receipt(kelvin, app: latin)) == .bundleMismatch)
    }

    @Test("a receipt must say when it was made")
    func creationDates() throws {
        let values: [AttributeSet.Value?] = [nil, .ia5(""), .ia5("yesterday"), .integer(1), .raw([])]
        for value in values {
            #expect(try code((12, value)) == .payloadUnreadable)
        }
        #expect(try code((12, .ia5("2014-01-01T00:00:00Z"))) == .certificateExpired)
        #expect(try code((12, .ia5("2099-01-01T00:00:00Z"))) == .certificateExpired)
    }

    @Test("what cannot be read is told apart from a forgery by its signature")
    func unreadable() throws {
        func code(_ attributes: [UInt8], _ change: (inout ReceiptBench.Recipe) throws -> Void) throws -> RejectionCode?
        {
            var recipe = try bench.recipe()
            try change(&recipe)
            return rejection(
                bench.verifier.receipt(try ReceiptBench.sign(attributes, recipe), app: ReceiptBench.app))
        }
        let cases: [([UInt8], RejectionCode)] = [
            (content([(12, nil)]), .signedDateMissing), (content([(12, .integer(1))]), .payloadInvalid),
            ([], .payloadInvalid),
        ]
        for (attributes, unsigned) in cases {
            #expect(try code(attributes) { _ in } == .payloadUnreadable)
            #expect(try code(attributes) { $0.key = bench.other.leaf.key } == unsigned)
            let theirs = try code(attributes) { recipe in
                recipe.key = bench.other.leaf.key
                recipe.signer = bench.other.leaf.certificate
                recipe.certificates = try ReceiptBench.chain(bench.other)
            }
            #expect(theirs == unsigned)
        }
    }

    @Test("what stands in a receipt twice is nobody's to choose")
    func duplicates() throws {
        #expect(try code((2, .utf8("com.example.game")), (2, .utf8("com.example.other"))) == .fieldInvalid)
        #expect(try readable(purchase((1703, .utf8("7")), (1703, .utf8("9")))) == 1)
        #expect(try code((99, .integer(1)), (99, .integer(2))) == nil)
    }

    @Test("a purchase needs what says who bought what, or it is not listed; the rest may be unreadable")
    func purchaseFields() throws {
        #expect(try readable(purchase()) == 2)
        for missing in [Int64(1702), 1703, 1704, 1705] {
            #expect(try readable(purchase((missing, nil))) == 1, "\(missing)")
            #expect(try readable(purchase((missing, .raw([5, 0])))) == 1, "\(missing)")
        }
        for strict in [Int64(1701), 1708, 1712] {
            #expect(try readable(purchase((strict, .utf8("x")))) == 1, "\(strict)")
        }
        #expect(try readable(purchase((1701, .integer(0)))) == 1)
        #expect(try readable(.raw([1, 2, 3])) == 1)
        let odd = purchase((1713, .utf8("no")), (1707, .raw([])), (1799, .utf8("new")))
        let receipt = try bench.authority.signer.sign(content([(17, odd), (98, .utf8("newer")), (18, .integer(3))]))
        let read = try bench.verifier.receipt(receipt, app: ReceiptBench.app).get()
        #expect(read.unreadableAttributes == [18])
        #expect(read.unknownAttributes.map(\.type) == [98])
        #expect(read.unknownAttributes.first?.value.elementsEqual([0x0C, 5] + Array("newer".utf8)) == true)
        let purchase = try #require(read.purchase(transactionId: "7"))
        #expect(Set(purchase.unreadableAttributes) == [1707, 1713])
        #expect(purchase.isTrialPeriod == nil)
        #expect(purchase.unknownAttributes.map(\.type) == [1799])
    }

    @Test("sizes and counts have limits")
    func limits() throws {
        let encoded = try bench.authority.receipt(try ReceiptBench.contents(purchases: 20))
        func code(_ limits: ReceiptLimits, _ receipt: [UInt8]) -> RejectionCode? {
            rejection(ReceiptVerifier(roots: bench.roots, limits: limits).receipt(receipt, app: ReceiptBench.app))
        }
        let base64 = Array(Data(encoded).base64EncodedString().utf8)
        for receipt in [encoded, base64] {
            #expect(code(ReceiptLimits(receiptBytesMaximum: encoded.count), receipt) == nil)
            #expect(code(ReceiptLimits(receiptBytesMaximum: encoded.count - 1), receipt) == .payloadTooLarge)
        }
        #expect(code(ReceiptLimits(purchasesMaximum: 20), encoded) == nil)
        #expect(code(ReceiptLimits(purchasesMaximum: 19), encoded) == .payloadTooLarge)
        #expect(code(ReceiptLimits(certificatesMaximum: 2), encoded) == .certificateCount)
    }

    @Test("what is no receipt is called that")
    func noReceipts() throws {
        let nonsense: [[UInt8]] = [
            [], [0x30], Array("{}".utf8), Array("MIIB".utf8), Array("M===".utf8), [0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF],
            [0x30, 0x88, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], [0x30, 0x00], [0x30, 0x03, 0x06, 0x01, 0x00],
            [UInt8](repeating: 0x30, count: 10_000), Array("eyJhbGciOiJFUzI1NiJ9.e30.AA".utf8),
        ]
        for bytes in nonsense {
            #expect(
                rejection(bench.verifier.receipt(bytes, app: ReceiptBench.app)) == .notAReceipt, "\(bytes.prefix(12))")
        }
    }
}
