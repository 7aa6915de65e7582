import StoreTesting
import Testing

@testable import CountersignClient

@Suite("The app's own number of an order", .timeLimit(.minutes(1)))
struct OrderReferenceTests {
    @Test("it is in the report of the purchase, also where the app was killed in between")
    func reports() async throws {
        let phone = FakePhone()
        let first = try await phone.launch(as: "anna")
        let result = try await first.purchase("gems.100", for: "anna", reference: "order 1")
        guard case .settled(let report) = result else { throw FakeStoreError.failed }
        #expect(report.reference == "order 1" && report.outcome == .granted)

        await phone.apple.selling { await phone.server.set(.unreachable) }
        let buying = Task { try await first.purchase("gems.100", for: "anna", reference: "order 2") }
        await phone.time.waitForSleepers(2)
        #expect(await first.pending().map(\.reference) == ["order 2"])
        await first.stop()
        _ = try await buying.value
        await phone.server.set(.works)
        let second = try await phone.open()
        let updates = await second.updates()
        await second.start()
        #expect(await second.pending().map(\.reference) == ["order 2"])
        await second.logIn("anna")
        await phone.apple.waitForFinished(2)
        await second.settle()
        await second.stop()
        let reports = await updates.all().compactMap {
            if case .report(let report) = $0, report.isFinished { report } else { nil }
        }
        #expect(reports.map(\.reference) == ["order 2"] && reports.map(\.occasion) == [.recovered])
    }

    @Test("who else brings the purchase does not learn it")
    func another() async throws {
        let phone = FakePhone()
        let queue = try await phone.launch(as: "anna")
        let updates = await queue.updates()
        await phone.apple.selling { await queue.logIn("ben") }
        _ = try await queue.purchase("gems.100", for: "anna", reference: "order 1")
        await phone.apple.waitForFinished(1)
        await queue.settle()
        await queue.stop()
        let told = await updates.all()
        #expect(await phone.server.owners.values.elementsEqual(["anna"]))
        for case .report(let report) in told where report.account == "ben" { #expect(report.reference == nil) }
        for case .paid(let report) in told where report.account == "ben" { #expect(report.reference == nil) }
    }

    @Test(
        "one that the server would refuse is refused before anything is asked or paid",
        arguments: ["", "a\nb", "a\u{0}", "a\u{2028}b", String(repeating: "a", count: 256)])
    func refused(_ reference: String) async throws {
        let phone = FakePhone()
        let queue = try await phone.launch(as: "anna")
        let error = await #expect(throws: PurchaseError.self) {
            try await queue.purchase("gems.100", for: "anna", reference: reference)
        }
        #expect(error?.code == .orderInvalid && error?.isNothingPaid == true)
        #expect(await phone.server.requestCount == 0)
        await queue.stop()
    }

    @Test("255 characters are taken", arguments: [String(repeating: "\u{e9}", count: 255), "#10042 \"a\\b\""])
    func taken(_ reference: String) { #expect(PurchaseQueue.isReference(reference)) }
}
