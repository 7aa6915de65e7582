import PurchaseModel
import Testing

@testable import CountersignTool
@testable import Persistence

/// Where an older system's word and the books differ.
@Suite("Comparing an import")
struct ShadowComparisonTests {
    private static let product = Catalogue.Product(
        id: "gems.100", type: .consumable, items: [Catalogue.ItemGrant(item: "gem", amount: 100)], entitlements: [])

    private func row(
        _ change: (inout ImportStore.Claim) -> Void = { _ in }, account: String? = "alice",
        submission: SubmissionState = .fulfilled, order: ImportStore.Compared.Order? = Self.order()
    ) -> ImportStore.Compared {
        var claim = ImportStore.Claim()
        claim.productId = "gems.100"
        claim.quantity = 2
        claim.items = ["gem": 200]
        change(&claim)
        return ImportStore.Compared(
            line: 7, account: account.map { Account(stored: $0) }, claim: claim, submissionState: submission,
            submissionReason: submission == .fulfilled ? nil : ReasonCode(rawValue: "signature_invalid"), order: order)
    }

    private static func order(
        _ state: OrderState = .granted, account: String? = "alice", isShared: Bool = false, quantity: Int32 = 2
    ) -> ImportStore.Compared.Order {
        ImportStore.Compared.Order(
            key: OrderKey(environment: .production, transactionId: "1"), state: state,
            reason: state == .parked ? .unclaimed : nil, account: account.map { Account(stored: $0) },
            isShared: isShared, productId: "gems.100", quantity: quantity)
    }

    private func kinds(_ row: ImportStore.Compared) -> [Difference.Kind] {
        ShadowComparison.differences(row, product: Self.product).map(\.kind)
    }

    @Test func `what both say is no difference`() {
        #expect(kinds(row()) == [])
        #expect(kinds(row { $0 = ImportStore.Claim() }) == [])
        #expect(kinds(row(account: "bob", order: Self.order(isShared: true))) == [])
        #expect(kinds(row { $0.items = ["gem": 200, "dust": 0] }) == [])
        #expect(kinds(row { $0.isGranted = false }.with(submission: .rejected, order: nil)) == [])
    }

    @Test func `each difference has its name`() {
        #expect(kinds(row(submission: .rejected, order: nil)) == [.notGenuineHere])
        #expect(kinds(row(submission: .received, order: nil)) == [.undecidedHere])
        #expect(kinds(row(submission: .parked, order: nil)) == [.inDoubtHere])
        #expect(kinds(row(order: Self.order(.parked, account: nil))) == [.inDoubtHere])
        #expect(kinds(row(order: Self.order(.revoked))) == [.takenBackByApple])
        #expect(kinds(row(account: "bob")) == [.anotherAccount])
        #expect(kinds(row { $0.isGranted = false }) == [.notGrantedThere])
        #expect(kinds(row { $0.productId = "gems.500" }) == [.anotherProduct])
        #expect(kinds(row { $0.quantity = 1 }) == [.anotherQuantity])
        #expect(kinds(row { $0.items = ["gem": 100] }) == [.anotherAmount])
        #expect(
            kinds(row({ ($0.productId, $0.items) = ("x", ["gem": 1]) }, account: "bob"))
                == [.anotherAccount, .anotherProduct, .anotherAmount])
    }
}

extension ImportStore.Compared {
    fileprivate func with(submission: SubmissionState, order: Order?) -> ImportStore.Compared {
        ImportStore.Compared(
            line: line, account: account, claim: claim, submissionState: submission, submissionReason: nil, order: order
        )
    }
}
