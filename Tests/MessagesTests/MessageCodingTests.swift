import Foundation
import Messages
import PurchaseModel
import Testing

@Suite("Messages read back as they were written")
struct MessageCodingTests {
    private func verdict(_ verdict: Verdict) -> VerdictMessage {
        VerdictMessage(
            submissionId: "sub_1", app: "com.example.game", account: "player", correlationId: "req_1", attempt: 2,
            verdict: verdict)
    }

    private var transaction: Transaction {
        var transaction = Transaction(
            environment: .sandbox, transactionId: "2", originalTransactionId: "1", bundleId: "com.example.game",
            productId: "gems.100", productType: .consumable, quantity: 2,
            purchaseDate: Date(timeIntervalSince1970: 1_700_000_000.123),
            signedDate: Date(timeIntervalSince1970: 1_700_000_001))
        transaction.appAccountToken = UUID()
        transaction.priceMilliunits = 1990
        transaction.evidence = #"{"a":"\u0001"}"#
        return transaction
    }

    @Test func `every verdict`() throws {
        for value in [
            Verdict.genuine([transaction]), .rejected(ReasonCode(rawValue: "signature_invalid"), detail: "no"),
            .unknown(.appUnknown, retryAfterSeconds: 1.5),
        ] {
            let message = verdict(value)
            let bytes = try MessageCoding.encode(message)
            let read = try MessageCoding.decode(VerdictMessage.self, from: bytes)
            #expect(try MessageCoding.encode(read) == bytes)
            #expect(read.submissionId == "sub_1")
        }
    }

    @Test func `what a verdict claims, and whether more follows`() throws {
        var message = verdict(.genuine([transaction]))
        message.claims = ["2", "9"]
        message.isPartial = true
        let bytes = try MessageCoding.encode(message)
        let read = try MessageCoding.decode(VerdictMessage.self, from: bytes)
        #expect(try MessageCoding.encode(read) == bytes)
        #expect(read.claims.ids == ["2", "9"] && read.isPartial)
        #expect(read.claims.contains("2") && !read.claims.contains("1"))
        message.claims = []
        let unnamed = try MessageCoding.decode(VerdictMessage.self, from: try MessageCoding.encode(message))
        #expect(unnamed.claims.ids?.isEmpty == true, "no claim is not the same as a claim of all")
        #expect(!unnamed.claims.contains("2"))
    }

    @Test func `whether a claim is proven, and when the proof was signed`() throws {
        var message = verdict(.genuine([transaction]))
        let plain = String(decoding: try MessageCoding.encode(message), as: UTF8.self)
        #expect(!plain.contains("claims_unproven") && !plain.contains("proof_signed_at"))
        message.claims.areUnproven = true
        message.proofSignedDate = Date(timeIntervalSince1970: 1_600_000_000)
        let bytes = try MessageCoding.encode(message)
        let read = try MessageCoding.decode(VerdictMessage.self, from: bytes)
        #expect(try MessageCoding.encode(read) == bytes)
        #expect(read.claims.areUnproven && read.proofSignedDate == message.proofSignedDate)
    }

    @Test func `a verdict that says no more claims everything and is whole`() throws {
        let text =
            #"{"submission_id":"s","app":"a","account":"b","correlation_id":"c","attempt":0,"verdict":"genuine","#
        let read = try MessageCoding.decode(VerdictMessage.self, from: Array((text + #""transactions":[]}"#).utf8))
        #expect(read.claims.ids == nil && !read.isPartial && read.claims.contains("anything"))
        #expect(!read.claims.areUnproven && read.proofSignedDate == nil)
    }

    @Test func `a test purchase is told in outcomes and events, and absent elsewhere`() throws {
        var bought = transaction
        bought.testPurchase = .appReview
        let outcome = TransactionOutcome(bought, state: .granted, reason: nil)
        let bytes = try MessageCoding.encode(outcome)
        #expect(String(decoding: bytes, as: UTF8.self).contains(#""test_purchase":"app_review""#))
        #expect(try MessageCoding.decode(TransactionOutcome.self, from: bytes).testPurchase == .appReview)
        let paid = try MessageCoding.encode(TransactionOutcome(transaction, state: .granted, reason: nil))
        #expect(!String(decoding: paid, as: UTF8.self).contains("test_purchase"))
        #expect(try MessageCoding.decode(TransactionOutcome.self, from: paid).testPurchase == nil)
        let decision = OrderDecision.decide(bought, owner: .account(Account(stored: "player")), product: nil)
        let payload = PurchaseEvent.Payload(bought, decision)
        #expect(payload.transaction?.testPurchase == .appReview && payload.transaction?.evidence == nil)
    }

    @Test func `dates keep their milliseconds`() throws {
        let text = MessageCoding.text(Date(timeIntervalSince1970: 1_700_000_000.123))
        #expect(text == "2023-11-14T22:13:20.123Z")
        for milliseconds in stride(from: 1_636_370_960_000, to: 1_636_370_961_000, by: 7) {
            let date = Date(timeIntervalSince1970: Double(milliseconds) / 1000)
            let read = try #require(MessageCoding.date(MessageCoding.text(date)))
            #expect(Int((read.timeIntervalSince1970 * 1000).rounded()) == milliseconds)
        }
    }

    @Test func `unknown fields are ignored, a fourth verdict is not`() throws {
        let known = #"{"submission_id":"s","app":"a","account":"b","correlation_id":"c","attempt":0,"new":1,"#
        let rejected = known + #""verdict":"rejected","reason":"r","detail":""}"#
        #expect(
            try MessageCoding.decode(VerdictMessage.self, from: Array(rejected.utf8)).verdict
                == .rejected(ReasonCode(rawValue: "r"), detail: ""))
        #expect(throws: DecodingError.self) {
            try MessageCoding.decode(VerdictMessage.self, from: Array((known + #""verdict":"perhaps"}"#).utf8))
        }
    }

    @Test func `hostile bytes are errors`() {
        for text in ["", "{", "[]", "null", "{\"submission_id\":1}", String(repeating: "[", count: 100_000)] {
            #expect(throws: (any Error).self) {
                try MessageCoding.decode(VerdictMessage.self, from: Array(text.utf8))
            }
        }
    }

    @Test func `a CloudEvent survives its headers`() throws {
        let event = CloudEvent(
            id: "1", type: "t.v1", source: "s", time: Date(timeIntervalSince1970: 5), subject: "x",
            traceParent: "00-a-b-01", key: "k", data: [1])
        #expect(CloudEvent(headers: event.headers(carryingKey: false), key: "k", data: [1]) == event)
        let carrying = event.headers(carryingKey: true)
        #expect(carrying.contains { $0 == (name: "ce_partitionkey", value: "k") })
        #expect(CloudEvent(headers: carrying, key: "", data: [1]) == event, "the record has no key, the header has it")
        #expect(CloudEvent(headers: carrying, key: "other", data: [1]) == event, "the header counts first")
        #expect(!event.headers(carryingKey: false).contains { $0.name == "ce_partitionkey" })
        #expect(CloudEvent(headers: [(name: "ce_id", value: "1")], key: "", data: []) == nil)
    }

    @Test func `only events and lookups are keyed, and every topic is either`() {
        let keyed = Topics.partitionsByDefault.map(\.name).filter(Topics.isKeyed)
        #expect(Set(keyed) == [Topics.events, Topics.lookups])
        #expect(Topics.withFewPartitions == [Topics.settlements, Topics.deadLetters])
    }

    @Test func `event ids sort by time and are unique`() {
        let early = EventIdentifier.event(at: Date(timeIntervalSince1970: 1))
        let late = EventIdentifier.event(at: Date(timeIntervalSince1970: 2))
        #expect(early < late)
        #expect(early.count == 36)
        #expect(!early.contains("."))
        let many = (0..<10_000).map { _ in EventIdentifier.event(at: Date(timeIntervalSince1970: 3)) }
        #expect(Set(many).count == many.count)
    }
}
