import Foundation
import Testing

@testable import ReceiptIntake

@Suite("What intake reads in a server notification that nobody has verified")
struct NotificationShapeTests {
    private static let uuid = "8F0E2D5A-0000-4000-8000-00000000000A"

    private func read(_ payload: [String: Any]) throws -> ServerNotification? {
        ServerNotification(try NotificationPayload.sign(payload))
    }

    @Test("the app is found in each of Apple's four contents")
    func apps() throws {
        for content in ["data", "summary", "externalPurchaseToken", "appData"] {
            let found = try read(["notificationUUID": Self.uuid, content: ["bundleId": "com.example.game"]])
            #expect(found?.app == "com.example.game", "\(content)")
        }
    }

    @Test("in a content that nobody knows the app and the lineage are found, after those in Apple's four")
    func newKind() throws {
        let transaction = Proofs.jws(originalTransactionId: "2000000001")
        let strange: [String: Any] = ["bundleId": "com.example.game", "signedTransactionInfo": transaction]
        let found = try read(["notificationType": "SOMETHING_NEW", "aKind": 7, "newKind": strange])
        #expect(found?.app == "com.example.game" && found?.partitionKey == "2000000001")
        #expect(try read(["aKind": strange, "summary": ["bundleId": "b"]])?.app == "b")
    }

    @Test("a lineage keeps its partition, by the transaction, else by the renewal; else it is the notification's id")
    func partitions() throws {
        let transaction = Proofs.jws(originalTransactionId: "2000000001")
        let renewal = Proofs.jws(originalTransactionId: "2000000002")
        let letters = Proofs.jws(originalTransactionId: "20a")
        func key(_ data: [String: Any], uuid: Any = Self.uuid) throws -> String? {
            try #require(try read(["notificationUUID": uuid, "data": data.merging(["bundleId": "a"]) { $1 }]))
                .partitionKey
        }
        #expect(
            try key(["signedTransactionInfo": transaction, "signedRenewalInfo": renewal]) == "2000000001")
        #expect(try key(["signedRenewalInfo": renewal]) == "2000000002")
        #expect(try key(["signedTransactionInfo": letters, "signedRenewalInfo": renewal]) == "2000000002")
        #expect(try key(["signedTransactionInfo": 7, "signedRenewalInfo": renewal]) == "2000000002")
        #expect(try key(["signedTransactionInfo": "no.jws"]) == Self.uuid.lowercased())
        #expect(try key([:]) == Self.uuid.lowercased())
        for uuid: Any in ["none", 7, NSNull(), String(repeating: "x", count: 10_000)] {
            #expect(try key([:], uuid: uuid) == nil)
        }
    }

    @Test("what names no app outside is of the app of the transaction inside")
    func appInside() throws {
        func transaction(_ payload: String) -> String { "e30.\(Proofs.encode(Data(payload.utf8))).c2ln" }
        let inside = transaction("{\"bundleId\":\"com.example.game\"}")
        #expect(try read(["data": ["signedTransactionInfo": inside]])?.app == "com.example.game")
        #expect(try read(["data": ["signedTransactionInfo": inside, "bundleId": "outside"]])?.app == "outside")
        for payload in ["{}", "{\"bundleId\":7}", "[]", "x"] {
            #expect(try read(["data": ["signedTransactionInfo": transaction(payload)]]) == nil, "\(payload)")
        }
    }

    @Test("what names no app in a place that Apple has for it is no notification")
    func nameless() throws {
        let payloads: [[String: Any]] = [
            [:], ["bundleId": "a"], ["data": ["bundleid": "a"]], ["data": ["bundleId": 7]],
            ["data": ["bundleId": NSNull()]],
            ["data": "a"], ["data": [["bundleId": "a"]]], ["data": NSNull()],
            ["newKind": ["inside": ["bundleId": "a"]]],
        ]
        for payload in payloads { #expect(try read(payload) == nil, "\(payload)") }
        #expect(try read(["data": "a", "summary": ["bundleId": "b"]])?.app == "b", "one that cannot be read is absent")
    }

    @Test(
        "hostile payloads are no notifications",
        arguments: [
            "null", "[]", "7", "\"text\"", "{", "{\"data\":{\"bundleId\":\"a\"", String(repeating: "[", count: 40_000),
            String(repeating: "{\"data\":", count: 9_000), "\u{FF}\u{FE}",
        ])
    func hostile(payload: String) throws {
        #expect(ServerNotification(try NotificationPayload.sign(Data(payload.utf8))) == nil)
    }

    @Test("a strange value of a field that nobody asks for turns none away")
    func strange() throws {
        let nested = String(repeating: "[", count: 20) + String(repeating: "]", count: 20)
        let payload = #"{"data":{"bundleId":"a","x":\#(nested)}}"#
        #expect(ServerNotification(try NotificationPayload.sign(Data(payload.utf8)))?.app == "a")
    }

    @Test("a payload of invalid UTF-8, and texts that are no JWS, are no notifications")
    func malformed() throws {
        #expect(ServerNotification(try NotificationPayload.sign(Data([0x7B, 0xFF, 0xC0, 0x7D]))) == nil)
        for text in ["", ".", "..", "a.b.c", "e30.e30", "e30.e30.c2ln.c2ln", "e30.e3 0.c2ln", "e30.e30=.c2ln"] {
            #expect(ServerNotification(text) == nil, "\(text)")
        }
    }

    @Test("256 KiB are taken, and a character more is not")
    func size() throws {
        let short = try NotificationPayload.renewal()
        func padded(to count: Int) -> String { short + String(repeating: "A", count: count - short.utf8.count) }
        #expect(ServerNotification(padded(to: ServerNotification.Limit.bytesMaximum)) != nil)
        #expect(ServerNotification(padded(to: ServerNotification.Limit.bytesMaximum + 1)) == nil)
        #expect(ServerNotification.Limit.bytesMaximum == 256 * 1024)
    }
}
