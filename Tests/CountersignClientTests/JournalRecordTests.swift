import Foundation
import StoreTesting
import Testing

@testable import CountersignClient

@Suite("Records of the journal")
struct JournalRecordTests {
    static let intent = UUID()
    static let signed = StoreTransaction(
        id: "2000000123456789", originalID: "2000000000000001", productID: "gems.100", quantity: 3,
        accountToken: intent, environment: .sandbox, origin: .renewal, isRevoked: true,
        proof: .signedTransaction("aaa.bbb.ccc"))
    static let plain = StoreTransaction(id: "1", productID: "pro", proof: .receipt)
    static let key = PurchaseKey(id: "1", isRevoked: false)
    static let records: [JournalRecord] = [
        .intent(PurchaseIntent(id: intent, account: "anna \"\u{e9}\n", productID: "gems.100", isKnownToServer: true)),
        .intent(PurchaseIntent(id: intent, account: "a", productID: "p", isKnownToServer: false, state: .paid("7"))),
        .intent(
            PurchaseIntent(
                id: intent, account: "a", productID: "p", isKnownToServer: true, reference: "order \"1\"",
                state: .pending)),
        .intentEnded(intent, .cancelled), .intentEnded(intent, .pending), .intentEnded(intent, .open),
        .paid(signed, intent: intent, buyer: .account("anna")), .paid(plain, intent: nil, buyer: .named),
        .paid(plain, intent: nil, buyer: .doubtful), .paid(plain, intent: nil, buyer: .unknown),
        .claimed(key, account: "anna"), .answered(key), .finished(PurchaseKey(id: "1", isRevoked: true)),
    ]

    @Test("every record reads back as it was written", arguments: records)
    func roundTrip(record: JournalRecord) throws {
        #expect(JournalRecord(payload: try record.payload()) == record)
    }

    @Test("fields that a later version added are ignored, and kinds that it added are kept byte by byte")
    func laterVersion() throws {
        let further = #"{"kind":"finished","transaction":"1","colour":"red"}"#
        #expect(JournalRecord(payload: Array(further.utf8)) == .finished(Self.key))
        for text in [
            #"{"kind":"gifted","transaction":"1","to":"ben"}"#, #"{"kind":"paid","transaction":"1"}"#,
            #"{"kind":"paid","transaction":"1","product":"p","buyer":"somebody"}"#,
            #"{"kind":"intent","intent":"\#(Self.intent)","account":"a","product":"p","state":"frozen"}"#,
        ] {
            let record = try #require(JournalRecord(payload: Array(text.utf8)))
            #expect(record == .unknown(Array(text.utf8)))
            #expect(try record.payload() == Array(text.utf8))
        }
    }

    @Test("what is no record is none")
    func none() {
        for text in ["", "null", "[]", "{}", #"{"kind":7}"#, "\u{0}"] {
            #expect(JournalRecord(payload: Array(text.utf8)) == nil)
        }
    }

    @Test("a journal's records lead to the machine that wrote them")
    func replay() {
        var machine = QueueMachine(limits: QueueLimits())
        for record in Self.records + [.unknown([1])] { machine.replay(record) }
        var again = QueueMachine(limits: QueueLimits())
        for record in machine.records { again.replay(record) }
        #expect(again.records == machine.records)
        #expect(again.pending == machine.pending)
        #expect(again.intents.all == machine.intents.all)
    }
}
