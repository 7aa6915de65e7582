import CountersignClientStoreKit
import StoreKitTesting
import Testing

@testable import ExampleApp

@Suite("The example app", .timeLimit(.minutes(1)))
@MainActor
struct ExampleAppTests {
    @Test(
        "shows prices, sells, says what came of it, and delivers what was bought before", arguments: Interface.allCases)
    func life(interface: Interface) async throws {
        let phone = Phone(interface)
        try await phone.device.run {
            phone.device.bring(Shelf.castle)
            let queue = try await phone.open()
            let shop = Shop(queue: queue)
            let (grants, granted) = AsyncStream.makeStream(of: String.self)
            shop.onGranted = { granted.yield($0.productID) }
            var delivered = grants.makeAsyncIterator()
            // What was said: another purchase's news may come right after it.
            var said: [String] = []
            shop.onChange = { state in if let message = state.message { said.append(message) } }
            await shop.start()
            #expect(shop.state.products.map(\.id) == [Shelf.gems, Shelf.pass, Shelf.castle], "by price")
            await shop.buy(Shelf.gems)
            #expect(said.contains { $0.contains("log in") })
            await shop.logIn("anna")
            #expect(await delivered.next() == Shelf.castle, "bought before the launch")
            await shop.buy(Shelf.gems)
            #expect(said.contains("Thank you. You have it."))
            #expect(await delivered.next() == Shelf.gems)
            phone.device.misbehave(.isCancelled)
            await shop.buy(Shelf.gems)
            #expect(shop.state.message == nil && !shop.state.isBusy)
            phone.device.misbehave(.refusesPassword)
            await shop.restore()
            phone.device.misbehave([])
            await shop.restore()
            #expect(said.contains("1 of 1 restored."))
            await phone.settle(queue)
            await shop.enterForeground()
            #expect(shop.state.pending.isEmpty && phone.device.unfinishedIDs.isEmpty)
            #expect(await phone.server.granted.count == phone.device.sales.count)
            await phone.kill(queue)
        }
    }
}
