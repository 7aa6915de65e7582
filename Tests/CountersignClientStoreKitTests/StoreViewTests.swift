import CountersignClientStoreKit
import Foundation
import StoreKit
import StoreKitTesting
import Testing

/// StoreKit's own views open the sheet themselves; the queue gives the options before, and takes what came of it.
@Suite("StoreKit's own views, offers and sheets", .timeLimit(.minutes(1)))
struct StoreViewTests {
    /// What a `StoreView` does when its button is pressed.
    private func press(_ product: Product, _ queue: PurchaseQueue, as buyer: String) async throws -> PurchaseResult {
        let options = await queue.options(for: product, buyer: buyer)
        let result: Result<Product.PurchaseResult, any Error>
        do {
            result = .success(try await product.purchase(options: options))
        } catch {
            result = .failure(error)
        }
        return try await queue.take(result, of: product)
    }

    @Test("the purchase carries the intent's token, and is the buyer's, posted and finished as any other")
    func token() async throws {
        let phone = Phone(.storeKit2)
        try await phone.device.run {
            let queue = try await phone.launch(as: "anna")
            let gems = try #require(try await Product.products(for: [Shelf.gems]).first)
            guard case .settled(let report) = try await press(gems, queue, as: "anna") else {
                throw TestFailure("open")
            }
            #expect(report.outcome == .granted && report.occasion == .bought)
            #expect(phone.device.sales.first?.token != nil)
            await phone.settle(queue)
            #expect(await phone.server.owners == [report.transactionID: "anna"])
            #expect(phone.device.unfinishedIDs.isEmpty)
            await phone.kill(queue)
        }
    }

    @Test("without the server there is no token, and the journal alone knows the buyer: no other log-in gets it")
    func away() async throws {
        let phone = Phone(.storeKit2)
        try await phone.device.run {
            let queue = try await phone.launch(as: "anna")
            await phone.server.goDown(true)
            let gems = try #require(try await Product.products(for: [Shelf.gems]).first)
            let options = await queue.options(for: gems, buyer: "anna")
            #expect(options.isEmpty)
            _ = try await gems.purchase(options: options)
            // The app ends before the view says what came of it.
            await phone.kill(queue)
            await phone.server.goDown(false)
            let next = try await phone.launch(as: "ben")
            await phone.settle(next)
            #expect(await phone.server.posts.isEmpty)
            await next.logIn("anna")
            await phone.settle(next)
            #expect(await phone.server.owners.values.sorted() == ["anna"])
            await phone.kill(next)
        }
    }

    @Test("what ends without a purchase ends, and an error after paying leaves the order open")
    func ends() async throws {
        let phone = Phone(.storeKit2)
        try await phone.device.run {
            let queue = try await phone.launch(as: "anna")
            let gems = try #require(try await Product.products(for: [Shelf.gems]).first)
            let ways: [(DeviceFaults, PurchaseResult)] = [
                (.isCancelled, .cancelled), (.cancelsByError, .cancelled), (.asksForApproval, .pending),
            ]
            for (fault, expected) in ways {
                phone.device.misbehave(fault)
                #expect(try await press(gems, queue, as: "anna") == expected)
            }
            phone.device.misbehave(.failsAfterPaying)
            await #expect {
                try await press(gems, queue, as: "anna")
            } throws: {
                ($0 as? CountersignClient.PurchaseError)?.code == .storeFailed
            }
            phone.device.misbehave([])
            phone.device.approve()
            await queue.enterForeground()
            await phone.server.waitForPosts(2)
            await phone.settle(queue)
            #expect(await phone.server.owners.values.sorted() == ["anna", "anna"])
            #expect(await queue.options(for: gems, buyer: "ben").isEmpty, "Ben is not logged in")
            await phone.kill(queue)
        }
    }

    @Test("a win-back offer that was chosen in the App Store reaches the sheet; one that is not there opens none")
    func winBack() async throws {
        let phone = Phone(.storeKit2)
        try await phone.device.run {
            let store = StoreKit2Store()
            let queue = try await phone.open(over: store)
            await queue.start()
            await queue.logIn("anna")
            let choices = store.promotedPurchases()
            await phone.device.waitForIntentListener()
            phone.device.promote(Shelf.pass, offerID: "welcome-back")
            let choice = try #require(await choices.first { _ in true })
            _ = try await queue.purchase(choice.productID, for: "anna", offer: choice.offer)
            let token = try #require(phone.device.sales.first?.token)
            let pass = try await store.product(Shelf.pass)
            let offer = try #require(pass.subscription?.winBackOffers.first)
            #expect(phone.device.log.sheets == [[.appAccountToken(token), .winBackOffer(offer)]])
            await #expect {
                try await queue.purchase(Shelf.pass, for: "anna", offer: .winBack("none"))
            } throws: {
                ($0 as? CountersignClient.PurchaseError)?.code == .orderInvalid
            }
            #expect(phone.device.log.sheets.count == 1)
            await phone.kill(queue)
        }
    }

    @Test("each purchase may have a sheet of its own")
    func confirm() async throws {
        let phone = Phone(.storeKit2)
        try await phone.device.run {
            let queue = try await phone.open(
                over: StoreKit2Store { _, _ in throw TestFailure("the store's own sheet") })
            await queue.start()
            await queue.logIn("anna")
            let result = try await queue.purchase(Shelf.gems, for: "anna") { product, options in
                try await product.purchase(options: options)
            }
            guard case .settled(let report) = result else { throw TestFailure("open") }
            #expect(report.outcome == .granted)
            await #expect(throws: CountersignClient.PurchaseError.self) {
                try await queue.purchase(Shelf.gems, for: "anna")
            }
            #expect(phone.device.log.sheets.count == 1)
            await phone.kill(queue)
        }
    }
}
