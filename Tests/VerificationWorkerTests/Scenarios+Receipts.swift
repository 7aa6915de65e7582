import AppStoreServerAPI
import Foundation
import Messages
import NIOHTTP1
import PurchaseModel
import Testing

@testable import AppStore
@testable import VerificationWorker

func receipt(
    _ base64: String, named: String? = nil, attempt: Int = 0, notFound: SubmissionMessage.NotFoundAnswers? = nil,
    receivedAt: Date? = nil
) -> SubmissionMessage {
    SubmissionFixture.make(
        .receipt, base64, named: named, attempt: attempt, receivedAt: receivedAt, notFound: notFound)
}

extension Stage {
    /// The receipt of somebody who bought something, and what that was.
    func purchase(
        _ name: String, _ products: [String] = ["coins.100"]
    ) async throws -> (receipt: String, sold: [Simulator.Sold]) {
        let account = "\(name)-\(UUID().uuidString)"
        var sold: [Simulator.Sold] = []
        for product in products { sold += try await simulator.sell(product, to: account) }
        return (try await simulator.receipt(of: account), sold)
    }

    /// The receipt of a subscription's first month, and the ids of that and of the month after it.
    func renewed() async throws -> (receipt: String, first: String, renewal: String) {
        let account = "renewed-\(UUID().uuidString)"
        let first = try await simulator.subscribe(to: account)
        let proof = try await simulator.receipt(of: account)
        try await simulator.control(.POST, "clock/advance", "{\"by\":\"P40D\"}")
        let status = try await finding(asked(first.transactionId))
        return (proof, first.transactionId, try #require(status.transactions.last).transactionId)
    }

    /// What becomes of an attack on receipts.
    fileprivate func attacked(_ kind: String) async throws -> Finding {
        try await finding(receipt(try await simulator.attack(kind)))
    }
}

/// The rows of `receipt`.
let receiptScenarios: [String: Scenario] = provenReceipts.merging(lackingReceipts) { first, _ in first }
    .merging(refusedReceipts) { first, _ in first }.merging(unreadableReceipts) { first, _ in first }

private let provenReceipts: [String: Scenario] = [
    "receipt: every check holds": { stage in
        let (proof, sold) = try await stage.purchase("one")
        let finding = try await stage.finding(receipt(proof))
        #expect(finding.transactions.map(\.transactionId) == sold.map(\.transactionId))
        #expect(finding.transactions.first?.evidence?.hasPrefix("{\"receipt_attributes\":\"") == true)
        #expect(finding.claims.ids == nil && !finding.claims.areUnproven)
        #expect(finding.transactions.map(\.signedDate) == [finding.proofSignedDate])
        return finding
    },
    "receipt: with one id twice, once cancelled": { stage in
        let finding = try await stage.finding(receipt(try await stage.simulator.attack("receipt_with_id_twice")))
        let cancelled = finding.transactions.filter { $0.revocationDate != nil }
        #expect(cancelled.count == 1)
        #expect(Set(finding.transactions.map(\.transactionId)).count == finding.transactions.count)
        return finding
    },
    "receipt: without purchases": { stage in
        // Somebody bought once, in the sandbox: the production receipt is empty.
        try await stage.simulator.sell(to: "empty", environment: .sandbox)
        let finding = try await stage.finding(receipt(try await stage.simulator.receipt(of: "empty")))
        #expect(finding.transactions.isEmpty)
        return finding
    },
    "receipt: several purchases, none of them named": { stage in
        let (proof, _) = try await stage.purchase("several", ["coins.100", "coins.500"])
        let finding = try await stage.finding(receipt(proof))
        #expect(finding.transactions.count == 2)
        #expect(finding.claims.ids == [])
        return finding
    },
]

private let lackingReceipts: [String: Scenario] = [
    "receipt: lacks the named transaction, and the app has no key": { stage in
        let (proof, _) = try await stage.purchase("lacking")
        let finding = try await stage.finding(receipt(proof, named: "2000000099999999"), Setup(hasKey: false))
        #expect(finding.claims.ids == ["2000000099999999"])
        return finding
    },
    "receipt: lacks the named transaction, which Apple knows": { stage in
        let (proof, sold) = try await stage.purchase("early")
        let later = try await stage.simulator.sellOne()
        let finding = try await stage.finding(receipt(proof, named: later.transactionId))
        #expect(finding.transactions.map(\.transactionId) == sold.map(\.transactionId) + [later.transactionId])
        #expect(finding.claims.ids == [later.transactionId])
        #expect(finding.claims.areUnproven, "anybody could name it beside any receipt")
        let trusting = try await stage.finding(
            receipt(proof, named: later.transactionId), Setup(possession: "number"))
        #expect(trusting.claims.ids == [later.transactionId] && !trusting.claims.areUnproven)
        return finding
    },
    "receipt: lacks the named transaction, but holds others of its lineage": { stage in
        let (proof, first, renewal) = try await stage.renewed()
        let finding = try await stage.finding(receipt(proof, named: renewal))
        #expect(finding.transactions.map(\.transactionId) == [first, renewal])
        #expect(finding.claims.ids == [first] && !finding.claims.areUnproven)
        let trusting = try await stage.finding(receipt(proof, named: renewal), Setup(possession: "number"))
        #expect(trusting.claims.ids == [first, renewal] && !trusting.claims.areUnproven)
        return finding
    },
    "receipt: lacks the named transaction, unknown to Apple, too, not yet believed": { stage in
        let (proof, _) = try await stage.purchase("lacking")
        return try await stage.finding(
            receipt(proof, named: "2000000099999999", attempt: 9, notFound: .init(count: 5, seconds: 600)))
    },
    "receipt: lacks the named transaction, unknown to Apple, too, believed": { stage in
        let (proof, _) = try await stage.purchase("lacking")
        let finding = try await stage.finding(
            receipt(proof, named: "2000000099999999", notFound: SubmissionFixture.believed))
        #expect(finding.claims.ids == ["2000000099999999"])
        return finding
    },
    "receipt: lacks the named transaction, and Apple does not answer": { stage in
        let (proof, _) = try await stage.purchase("lacking")
        try await stage.simulator.misbehave("{\"kind\":\"status\",\"status\":503}")
        return try await stage.finding(receipt(proof, named: "2000000099999999", attempt: 9))
    },
]

private let refusedReceipts: [String: Scenario] = [
    "receipt: neither DER nor base64, or cut off": { try await $0.attacked("receipt_truncated") },
    "receipt: made by Xcode": { try await $0.attacked("receipt_as_xcode_makes") },
    "receipt: more than 4 MiB": { stage in
        try await stage.finding(receipt(String(repeating: "M", count: 8 << 20)))
    },
    "receipt: with a certificate that an operator has denied": { stage in
        let (proof, _) = try await stage.purchase("denied")
        return try await stage.finding(
            receipt(proof), Setup(denied: [try stage.simulator.root(of: "receipt-root")]))
    },
    "receipt: signed over SHA-1, and made after Apple ended that": { stage in
        let (proof, _) = try await stage.purchase("sha1")
        let changed = try DigestChange.changed(proof, to: DigestChange.sha1)
        let endless = try await stage.finding(receipt(changed), Setup(receiptSHA1Until: nil))
        #expect(endless.reason == "signature_invalid", "the digest is another now")
        return try await stage.finding(receipt(changed))
    },
    "receipt: an algorithm that this version does not know": { stage in
        let (proof, _) = try await stage.purchase("algorithm")
        // Anybody can make one of a genuine receipt, and it would never come to an end as unknown.
        let changed = try DigestChange.changed(proof, to: DigestChange.sha512)
        let asked = try await stage.finding(receipt(changed), Setup(receipts: "offline_then_verify_receipt"))
        #expect(asked.name == "rejected" && asked.reason == "algorithm_not_supported")
        return try await stage.finding(receipt(changed))
    },
    "receipt: another root than the pinned one": { try await $0.attacked("receipt_self_made") },
    "receipt: certificates that are no path": { try await $0.attacked("receipt_genuine_authorities_foreign_leaf") },
    "receipt: changed after it was signed": { try await $0.attacked("receipt_edited") },
    "receipt: another app's": { try await $0.attacked("receipt_of_another_app") },
]

private let unreadableReceipts: [String: Scenario] = [
    "receipt: signed well, and not to be read": { try await $0.attacked("receipt_with_date_of_another_type") },
    "receipt: a field that matters is not what it must be": { try await $0.attacked("receipt_with_attribute_twice") },
    "receipt: an environment that nobody knows": { try await $0.attacked("receipt_of_unknown_type") },
    "receipt: a purchase in it cannot be read, and none is named": { stage in
        let proof = try await stage.simulator.attack("receipt_with_unreadable_purchase")
        let finding = try await stage.finding(receipt(proof))
        #expect(!finding.transactions.isEmpty && finding.claims.ids == [])
        let named = try #require(finding.transactions.first).transactionId
        #expect(try await stage.finding(receipt(proof, named: named)).claims.ids == [named])
        return finding
    },
    "receipt: a purchase in it cannot be read, it lacks the named one, and the app has no key": { stage in
        let proof = try await stage.simulator.attack("receipt_with_unreadable_purchase")
        return try await stage.finding(receipt(proof, named: "2000000099999999"), Setup(hasKey: false))
    },
    "receipt: a product type that cannot be read": { stage in
        // Nobody signs such a thing: it is put together from a genuine receipt.
        let (proof, _) = try await stage.purchase("typed")
        return try await stage.withAccess { access in
            let genuine = try access.judge.offline.receipts.receipt(
                Array(proof.utf8), app: AppIdentity(bundleId: SubmissionFixture.app)
            ).get()
            switch OfflineJudge.content(of: genuine.withUnreadableTypes()) {
            case .success: return Finding(.genuine([]))
            case .failure(let refusal): return Finding(refusal.verdict)
            }
        }
    },
]

/// A receipt that says that it is signed over another digest.
private enum DigestChange {
    private static let sha256: [UInt8] = [0x30, 13, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1, 5, 0]
    static let sha512: [UInt8] = [0x30, 13, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 3, 5, 0]
    static let sha1: [UInt8] = [0x30, 9, 6, 5, 0x2B, 0x0E, 3, 2, 0x1A, 5, 0]
    /// The bit of a tag whose content is made of values.
    private static let constructed: UInt8 = 0x20

    static func changed(_ proof: String, to digest: [UInt8]) throws -> String {
        let der = try #require(Data(base64Encoded: proof))
        let other = Data(changed([UInt8](der), to: digest)).base64EncodedString()
        #expect(other != proof)
        return other
    }

    private static func changed(_ bytes: [UInt8], to digest: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var walk = DERWalk(bytes)
        while !walk.isAtEnd {
            guard let element = walk.next() else { return bytes }
            let whole = Array(bytes[element.whole])
            if whole == sha256 {
                result += digest
            } else if element.tag & constructed != 0 {
                let content = changed(Array(bytes[element.content]), to: digest)
                result += [element.tag] + length(content.count) + content
            } else {
                result += whole
            }
        }
        return result
    }

    private static func length(_ count: Int) -> [UInt8] {
        if count < 0x80 { return [UInt8(count)] }
        let size = withUnsafeBytes(of: count.bigEndian) { Array($0.drop { $0 == 0 }) }
        return [0x80 | UInt8(size.count)] + size
    }
}

extension AppReceipt {
    /// The same, as if the types of its products could not be read.
    fileprivate func withUnreadableTypes() -> AppReceipt {
        AppReceipt(
            type: type, environment: environment, bundleId: bundleId, applicationVersion: applicationVersion,
            originalApplicationVersion: originalApplicationVersion, creationDate: creationDate,
            certificatesExpire: certificatesExpire, expirationDate: expirationDate,
            originalPurchaseDate: originalPurchaseDate, appItemId: appItemId, downloadId: downloadId,
            versionExternalIdentifier: versionExternalIdentifier, opaqueValue: opaqueValue, deviceHash: deviceHash,
            purchases: purchases.map { purchase in
                Purchase(
                    quantity: purchase.quantity, productId: purchase.productId, transactionId: purchase.transactionId,
                    originalTransactionId: purchase.originalTransactionId, purchaseDate: purchase.purchaseDate,
                    originalPurchaseDate: purchase.originalPurchaseDate, expiresDate: purchase.expiresDate,
                    cancellationDate: purchase.cancellationDate, productType: nil,
                    productItemId: purchase.productItemId, webOrderLineItemId: purchase.webOrderLineItemId,
                    isTrialPeriod: purchase.isTrialPeriod, isInIntroOfferPeriod: purchase.isInIntroOfferPeriod,
                    promotionalOfferId: purchase.promotionalOfferId, unreadableAttributes: [1_707],
                    encoded: purchase.encoded)
            }, unreadablePurchases: unreadablePurchases, unreadableAttributes: unreadableAttributes, encoded: encoded)
    }
}
