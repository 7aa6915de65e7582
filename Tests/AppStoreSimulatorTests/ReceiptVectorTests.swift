import Foundation
import Testing
import VectorTesting

@testable import AppStoreSimulator

@Suite(
    "Receipts beside Apple's",
    .enabled(if: ReceiptVectors.areAvailable, Comment(rawValue: Vectors.skipped)))
struct ReceiptVectorTests {
    @Test("ours have the attributes of a genuine one, with the same ASN.1 types", arguments: ReceiptVectors.genuine)
    func sameShape(_ name: String) throws {
        let genuine = try #require(ReceiptShape(receipt: try ReceiptVectors.receipt(name)))
        let isMac = genuine.attributes[20] == nil
        let environment: StoreEnvironment =
            genuine.values[0] == AttributeSet.encoded(.utf8("Production")) ? .production : .sandbox
        let contents = ReceiptEncodingTests.contents(environment, platform: isMac ? "macOS" : "iOS")
        let authority = try ReceiptShop.receipts.get()
        let ours = try #require(ReceiptShape(receipt: try authority.receipt(contents)))
        #expect(ours.attributes == genuine.attributes)
        // 8 is empty in the sandbox, 20 always.
        for type in [8, 20] as [Int64] where genuine.values[type]?.count == 2 {
            #expect(ours.values[type] == genuine.values[type])
        }
        for (productType, purchases) in genuine.purchases {
            let oursOfType = try #require(ours.purchases[productType])
            // Those of before 2021 have no 1722, those of before 2016 no 1719; ours has an offer and a refund besides.
            let expected = try #require(
                oursOfType.first { $0[1721] == nil && $0[1712]?.hasSuffix("empty") == true }
                    ?? oursOfType.first { $0[1721] == nil })
            for purchase in purchases {
                for (type, kind) in purchase where type != 1712 { #expect(expected[type] == kind, "\(type)") }
                #expect(purchase[1712] == "v1 22 empty")
                #expect(Set(expected.keys).subtracting(purchase.keys).isSubset(of: [1719, 1722]))
            }
        }
    }

    @Test("a genuine one is not ours", arguments: ReceiptVectors.genuine)
    func notOurs(_ name: String) throws {
        let receipt = try ReceiptVectors.receipt(name)
        guard case .notAuthentic = try ReceiptShop.receipts.get().reader.read(receipt) else {
            Issue.record("read as something else")
            return
        }
    }
}
