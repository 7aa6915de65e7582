import Foundation
import Messages
import PurchaseModel
import ServiceRuntime
import Testing

@testable import VerificationWorker

/// Whose the purchases of a receipt are when it, or verifyReceipt's answer about it, has some that cannot be read.
@Suite("Receipts with entries that cannot be read")
struct ReceiptContentTests {
    private let app: AppsFile.App

    init() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "apps-\(UUID().uuidString).yaml")
        try Data("apps: [{ bundle_id: \(SubmissionFixture.app) }]".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        app = try #require(try AppsFile.load(path: file.path).apps[SubmissionFixture.app])
    }

    private func finding(
        _ transactions: [Transaction], named: String? = nil, mayHide: Bool = true
    ) -> Finding {
        let content = ReceiptContent(environment: .production, transactions: transactions, mayHide: mayHide)
        return content.finding(for: SubmissionFixture.make(.receipt, "cmVjZWlwdA==", named: named), of: app)
    }

    @Test("One lineage that can be read is not known to be the only one: nobody claims it until it is named")
    func single() {
        let only = [Transaction.fixture("10"), .fixture("11", of: "10")]
        #expect(finding(only, mayHide: false).claims.ids == nil)
        #expect(finding(only).claims.ids == [])
        #expect(finding(only).name == "genuine", "what can be read is recorded")
        #expect(finding(only, named: "11").claims.ids == ["10", "11"])
    }

    @Test("A receipt of which nothing can be read is not called empty: nothing is known of it yet")
    func unreadable() {
        #expect(finding([], mayHide: false).name == "genuine")
        #expect(finding([]).name == "unknown")
        #expect(finding([]).reason == "receipt_entry_unreadable")
    }

    @Test(
        "A named transaction that it lacks may be one of those: where Apple cannot be asked, nothing is known of it yet"
    )
    func lacking() {
        func finding(named: String, mayHide: Bool) -> Finding {
            ReceiptContent(environment: .production, transactions: [.fixture("10")], mayHide: mayHide).findingUnasked(
                for: SubmissionFixture.make(.receipt, "cmVjZWlwdA==", named: named), of: app)
        }
        #expect(finding(named: "20", mayHide: true).reason == "receipt_entry_unreadable")
        #expect(finding(named: "20", mayHide: true).retryAfterSeconds == RetryTime.unreadable)
        #expect(finding(named: "20", mayHide: false).claims.ids == ["20"])
        #expect(finding(named: "10", mayHide: true).claims.ids == ["10"])
    }

    @Test("What verifyReceipt can read of the same receipt was in it all along; what it adds was not")
    func readByApple() {
        var content = ReceiptContent(environment: .production, transactions: [.fixture("10")], mayHide: true)
        content.update(
            by: ReceiptContent(
                environment: .production, transactions: [.fixture("10"), .fixture("20"), .fixture("30")],
                added: [Array("30".utf8)]))
        #expect(content.transactions.map(\.transactionId) == ["10", "20", "30"])
        #expect(content.added == [Array("30".utf8)])
        #expect(!content.mayHide)
    }
}
