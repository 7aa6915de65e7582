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
            await shop.buy(Shelf.gems, for: shop.account)
            #expect(said.contains { $0.contains("log in") })
            await shop.logIn("anna")
            #expect(await delivered.next() == Shelf.castle, "bought before the launch")
            await shop.buy(Shelf.gems, for: shop.account)
            #expect(said.contains("Thank you. You have it."))
            #expect(await delivered.next() == Shelf.gems)
            phone.device.misbehave(.isCancelled)
            await shop.buy(Shelf.gems, for: shop.account)
            #expect(shop.state.message == nil && !shop.state.isBusy)
            // Else the gems may be among what is restored.
            await phone.settle(queue)
            phone.device.misbehave(.refusesPassword)
            await shop.restore(for: shop.account)
            phone.device.misbehave([])
            await shop.restore(for: shop.account)
            #expect(said.contains("1 of 1 restored."))
            await phone.settle(queue)
            await shop.enterForeground()
            #expect(shop.state.pending.isEmpty && phone.device.unfinishedIDs.isEmpty)
            #expect(await phone.server.granted.count == phone.device.sales.count)
            await phone.kill(queue)
        }
    }

    @Test("what was chosen in the App Store waits for a log-in, is bought once, and is that player's")
    func promoted() async throws {
        let phone = Phone(.storeKit1)
        try await phone.device.run {
            let queue = try await phone.open()
            let shop = Shop(queue: queue)
            await shop.start()
            for _ in 0..<2 { await shop.buyPromoted(PromotedPurchase(productID: Shelf.gems)) }
            #expect(shop.state.message?.contains("log in") == true)
            #expect(phone.device.sales.isEmpty)
            await shop.logIn("anna")
            await phone.settle(queue)
            #expect(phone.device.sales.count == 1)
            #expect(await phone.server.owners.values.sorted() == ["anna"])
            await shop.logOut()
            await shop.logIn("ben")
            #expect(phone.device.sales.count == 1, "it was bought")
            // The button was pressed while anna's name was shown.
            await shop.buy(Shelf.gems, for: "anna")
            #expect(shop.state.message?.contains("Another player") == true)
            await shop.restore(for: "anna")
            #expect(shop.state.message?.contains("Another player") == true)
            await shop.logOut()
            await shop.buy(Shelf.gems, for: shop.account)
            #expect(phone.device.sales.count == 1)
            await phone.kill(queue)
        }
    }
}
