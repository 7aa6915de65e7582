import Foundation
import ServerTesting
import Synchronization
import Testing

@testable import AppStoreSimulator

@Suite("Notifications: sending")
struct NotificationSenderTests {
    @Test("a notification arrives, signed, with what is signed in it")
    func arrives() async throws {
        let receiver = try await NotificationReceiver()
        try await NotificationDesk.with(url: receiver.url + "/hook?a=1") { desk in
            let id = try await desk.buyCoins()
            try await desk.send()
            let received = try #require(receiver.requests.first)
            #expect(receiver.requests.count == 1)
            #expect(received.head.hasPrefix("POST /hook?a=1 HTTP/1.1"))
            #expect(received.head.lowercased().contains("content-type: application/json"))
            #expect(received.head.lowercased().contains("user-agent: countersign-app-store-simulator"))
            let payload = try desk.verified(try #require(received.signedPayload))
            #expect(payload["notificationType"]?.string == "ONE_TIME_CHARGE")
            let transaction = try desk.verified(try #require(payload.at("data.signedTransactionInfo")?.string))
            #expect(transaction["transactionId"]?.string == id)
            let row = try #require(await desk.notifications().first)
            #expect(row.attempts.map(\.sendAttemptResult) == ["SUCCESS"])
            #expect(row.attempts.first?.attemptDate == desk.store.clock.now)
            #expect(row.nextAttemptDate == nil)
        }
        await receiver.stop()
    }

    @Test("a status that is neither success nor an error of 400 or 500 fails, and is not tried again")
    func otherStatus() async throws {
        let receiver = try await NotificationReceiver { _, _ in .status(207) }
        try await NotificationDesk.with(url: receiver.url) { desk in
            try await desk.buyCoins()
            try await desk.advance(hours: 1_000)
            let row = try #require(await desk.notifications().first)
            #expect(row.attempts.map(\.sendAttemptResult) == ["UNSUCCESSFUL_HTTP_RESPONSE_CODE"])
        }
        await receiver.stop()
    }

    static let results: [(NotificationReceiver.Answer, SendAttemptResult)] = [
        (.close, .noResponse), (.hang, .timedOut), (.reset, .socketIssue),
        (.text("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc", closes: true), .prematureClose),
        (.text("what?\r\n\r\n", closes: true), .invalidResponse),
        (.status(307, headers: [("location", "/")]), .circularRedirect),
        (.status(200, headers: [("content-type", "text/plain; charset=klingon")]), .unsupportedCharset),
        (.status(200, headers: [("content-type", "text/plain; charset=\"UTF-8\"")]), .success),
        (.status(204), .success), (.status(503), .unsuccessfulStatus),
    ]

    @Test("what the server does is told as Apple tells it", arguments: results)
    func result(_ reply: NotificationReceiver.Answer, _ expected: SendAttemptResult) async throws {
        let receiver = try await NotificationReceiver { _, _ in reply }
        let timeout: Duration = expected == .timedOut ? .milliseconds(200) : .seconds(20)
        try await NotificationDesk.with(url: receiver.url, timeout: timeout) { desk in
            try await desk.buyCoins()
            try await desk.send()
            let row = try #require(await desk.notifications().first)
            #expect(row.attempts.map(\.sendAttemptResult) == [expected.rawValue])
            #expect((row.nextAttemptDate == nil) == (expected == .success))
        }
        await receiver.stop()
    }

    @Test("nobody listens, and TLS that is none")
    func unreachable() async throws {
        let receiver = try await NotificationReceiver()
        let secure = receiver.url.replacing("http://", with: "https://")
        try await NotificationDesk.with(url: secure) { desk in
            try await desk.buyCoins()
            try await desk.send()
            #expect(await desk.notifications().first?.attempts.first?.sendAttemptResult == "TLS_ISSUE")
        }
        await receiver.stop()
        try await NotificationDesk.with(url: receiver.url) { desk in
            try await desk.buyCoins()
            try await desk.send()
            #expect(await desk.notifications().first?.attempts.first?.sendAttemptResult == "SOCKET_ISSUE")
        }
    }

    @Test("a redirect is followed with the payload")
    func redirect() async throws {
        let receiver = try await NotificationReceiver { number, _ in
            number == 0 ? .status(308, headers: [("location", "/moved")]) : .status(200)
        }
        try await NotificationDesk.with(url: receiver.url) { desk in
            try await desk.buyCoins()
            try await desk.send()
            #expect(await desk.notifications().first?.hasArrived == true)
            #expect(receiver.requests.last?.head.hasPrefix("POST /moved") == true)
            #expect(receiver.requests.last?.signedPayload != nil)
        }
        await receiver.stop()
    }

    @Test("faults lose, repeat and shuffle; a repeat is not an attempt of its own")
    func faults() async throws {
        let receiver = try await NotificationReceiver()
        let book = FaultBook()
        try book.add(rules: [], notifications: NotificationFaults(duplicateShare: 1))
        try await NotificationDesk.with(url: receiver.url, faults: book) { desk in
            try await desk.buyCoins()
            try await desk.send()
            #expect(receiver.requests.count == 2)
            #expect(await desk.notifications().first?.attempts.count == 1)

            try book.add(rules: [], notifications: NotificationFaults(dropShare: 1))
            try await desk.buyCoins()
            try await desk.send()
            #expect(receiver.requests.count == 2)
            #expect(await desk.notifications().last?.attempts.map(\.sendAttemptResult) == ["NO_RESPONSE"])

            try book.add(rules: [], notifications: NotificationFaults(outOfOrder: true, seed: 7))
            for account in ["a", "b", "c", "d"] { try await desk.buyCoins(account: account) }
            try await desk.send()
            let sent = receiver.requests.dropFirst(2).compactMap(\.signedPayload)
            let rows = await desk.notifications().suffix(4).map(\.signedPayload)
            #expect(Set(sent) == Set(rows))
            #expect(sent != rows)
        }
        await receiver.stop()
    }

    @Test("many go out at the same time, and what is about one lineage in its order")
    func many() async throws {
        let receiver = try await NotificationReceiver()
        try await NotificationDesk.with(url: receiver.url) { desk in
            try await desk.store.change { state, now in
                for account in 0..<40 {
                    let outcome = try state.buy(
                        Purchase(
                            bundleId: NotificationDesk.bundleId, productId: "\(NotificationDesk.bundleId).coins",
                            environment: .production, accountId: "account \(account)"), now: now)
                    let id = outcome.transaction?.transactionId ?? ""
                    state.notify(.consumptionRequest, transactionId: id, reason: "OTHER", now: now)
                    state.notify(.refundDeclined, transactionId: id, now: now)
                }
            }
            try await desk.send()
            let rows = await desk.notifications()
            #expect(rows.count == 120)
            #expect(rows.allSatisfy { $0.hasArrived })
            let arrived = receiver.requests.compactMap(\.signedPayload)
            for lineage in Dictionary(grouping: rows, by: \.originalTransactionId).values {
                let payloads = lineage.map(\.signedPayload)
                #expect(arrived.filter(payloads.contains) == payloads)
            }
        }
        await receiver.stop()
    }
}
