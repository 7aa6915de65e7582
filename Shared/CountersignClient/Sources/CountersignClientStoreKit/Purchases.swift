public import CountersignClient
public import Foundation

#if canImport(Observation)
    public import Observation
#endif
#if canImport(Combine)
    public import Combine
#endif

/// An app's purchases, for its screens: set up at launch, told who plays, and told what to buy.
///
/// ```swift
/// let purchases = Purchases(server: server, app: "com.example.game") { account, isRefreshing in try await myToken(isRefreshing) }
/// await purchases.logIn("player-7")
/// await purchases.buy("gems.100")
/// ```
///
/// SwiftUI observes it: as `@Observable` where there is Observation (iOS 17), as an `ObservableObject` below. It is a `PurchaseQueue`
/// over StoreKit 2; ``queue`` has what is not here.
@MainActor
public final class Purchases {
    /// What a screen shows.
    public struct State: Sendable, Equatable {
        /// What is for sale, by price.
        public var products: [StoreProduct] = []
        /// What the player has; nil until something is known.
        public var account: PlayerAccount?
        /// What is paid and not delivered yet.
        public var pending: [PendingPurchase] = []
        /// How the last purchase, restore or update ended.
        public var notice: Notice?
        /// Whether a purchase or a restore is under way.
        public var isBusy = false
        /// Whether this person may pay on this device.
        public var canMakePayments = true
    }

    /// Something to tell the person; the app has the words.
    public enum Notice: Sendable, Hashable {
        /// A purchase that was ordered here ended so.
        case ended(PurchaseResult)
        /// What came by itself.
        case update(PurchaseUpdate)
        /// A restore ended so.
        case restored(RestoreResult)
        /// Something could not be done; `errorDescription` is for people.
        case failed(PurchaseError)
    }

    /// Sets the purchases up, at launch, before anything else.
    ///
    /// - Parameters:
    ///   - server: the address of Countersign.
    ///   - app: the bundle id.
    ///   - token: the JWT of an account, which the app's log-in has; nil where nobody is logged in as that account now.
    public convenience init(
        server: URL, app: String,
        token: @escaping @Sendable (_ account: String, _ isRefreshing: Bool) async throws -> String?
    ) {
        self.init(store: StoreKit2Store(), token: token) { folder in
            QueueConfiguration(server: server, app: app, folder: folder)
        }
    }

    /// The same with a store and a configuration of your own.
    ///
    /// - Parameter configure: makes the configuration with the folder that is the default, in Application Support.
    public convenience init(
        store: any PurchaseStore,
        token: @escaping @Sendable (_ account: String, _ isRefreshing: Bool) async throws -> String?,
        configure: @escaping @Sendable (_ folder: URL) -> QueueConfiguration
    ) {
        self.init {
            let support = try FileManager.default.url(
                for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
            return try await PurchaseQueue.open(
                configure(support.appendingPathComponent("Purchases", isDirectory: true)), store: store,
                transport: URLSessionTransport(), credentials: TokenCredentials(token: token))
        }
    }

    /// The queue, and what it tells from its beginning on.
    private let opening: Task<(queue: PurchaseQueue, updates: AsyncStream<PurchaseUpdate>), any Error>
    private var listening: Task<Void, Never>?
    private var following: Task<Void, Never>?
    private var player: String?
    private var current = State()
    #if canImport(Observation)
        private let registrar: Any?
    #endif
    #if canImport(Combine)
        // Safety: it is made once, and used on the main actor.
        /// Sends before each change.
        public nonisolated(unsafe) let objectWillChange = ObservableObjectPublisher()
    #endif

    /// Over a queue that somebody opens, for tests.
    package init(open: @escaping @Sendable () async throws -> PurchaseQueue) {
        #if canImport(Observation)
            if #available(iOS 17.0, macOS 14.0, tvOS 17.0, watchOS 10.0, *) {
                registrar = ObservationRegistrar()
            } else {
                registrar = nil
            }
        #endif
        opening = Task {
            let queue = try await open()
            let updates = await queue.updates()
            await queue.start()
            return (queue, updates)
        }
        listening = Task { [weak self, opening] in
            do {
                let opened = try await opening.value
                for await update in opened.updates { await self?.take(update, from: opened.queue) }
            } catch {
                self?.fail(error)
            }
        }
    }

    deinit {
        listening?.cancel()
        following?.cancel()
    }

    /// What a screen shows.
    public internal(set) var state: State {
        get {
            noteAccess()
            return current
        }
        set { noteChange { current = newValue } }
    }

    /// Who is logged in, as ``logIn(_:)`` said.
    public var account: String? { player }

    /// The queue itself, once it is open.
    public var queue: PurchaseQueue {
        get async throws { try await opening.value.queue }
    }

    /// Says who plays from now on; nil for nobody.
    public func logIn(_ account: String?) async {
        player = account
        following?.cancel()
        state.account = nil
        do {
            let queue = try await queue
            // Calls that waited for the queue go on in no order: the newest one says who plays.
            guard account == player else { return }
            guard let account else { return await queue.logOut() }
            await queue.logIn(account)
            state.canMakePayments = await queue.canMakePayments()
            following = Task { [weak self] in
                for await known in await queue.account(account) { self?.show(known) }
            }
            state.pending = await queue.pending()
        } catch {
            fail(error)
        }
    }

    /// Asks the App Store for names and prices.
    ///
    /// - Parameter ids: a list of the app's, or of its server's.
    public func load(_ ids: Set<String>) async {
        do {
            state.products = try await queue.products(ids)
        } catch {
            fail(error)
        }
    }

    /// Buys a product for who is logged in as this is called.
    ///
    /// - Parameter reference: your own number of the order, which comes back in the server's events and answers.
    /// - Returns: what came of it, as ``State/notice`` says, too; nil where it failed.
    @discardableResult
    public func buy(
        _ productID: String, quantity: Int = 1, offer: SubscriptionOffer? = nil, reference: String? = nil
    ) async -> PurchaseResult? {
        await buy(productID, for: player, quantity: quantity, offer: offer, reference: reference)
    }

    func buy(
        _ productID: String, for buyer: String?, quantity: Int = 1, offer: SubscriptionOffer? = nil,
        reference: String? = nil
    ) async -> PurchaseResult? {
        await busy { queue in
            guard let buyer else { throw PurchaseError(.accountRequired, "nobody is logged in") }
            let result = try await queue.purchase(
                productID, for: buyer, quantity: quantity, offer: offer, reference: reference)
            return (result, .ended(result))
        }
    }

    /// The button that App Review asks for, where something lasts.
    ///
    /// - Returns: what the server said of each transaction; nil where it failed, or the person cancelled.
    @discardableResult
    public func restore() async -> RestoreResult? {
        await restore(for: player)
    }

    func restore(for asker: String?) async -> RestoreResult? {
        await busy { queue in
            guard let asker else { throw PurchaseError(.accountRequired, "nobody is logged in") }
            let result = try await queue.restore(for: asker)
            return (result, .restored(result))
        }
    }

    /// Tries a purchase that waits again at once.
    public func retry(_ transactionID: String) async {
        do {
            try await queue.retry(transactionID: transactionID)
        } catch {
            fail(error)
        }
    }

    /// The app came to the foreground, or protected data became available.
    public func enterForeground() async {
        guard let queue = try? await queue else { return }
        await queue.enterForeground()
        state.pending = await queue.pending()
    }

    /// Whether the player has an entitlement, as far as this device knows: no request is made.
    public func has(_ entitlement: String) -> Bool {
        state.account?.has(entitlement) ?? false
    }

    // MARK: Inside

    private func busy<Value: Sendable>(
        _ body: @Sendable (PurchaseQueue) async throws -> (Value, Notice)
    ) async -> Value? {
        state.isBusy = true
        defer { state.isBusy = false }
        do {
            let queue = try await queue
            let (value, notice) = try await body(queue)
            state.notice = notice
            state.pending = await queue.pending()
            return value
        } catch is CancellationError {
            state.notice = nil
        } catch {
            fail(error)
        }
        return nil
    }

    private func take(_ update: PurchaseUpdate, from queue: PurchaseQueue) async {
        state.notice = .update(update)
        state.pending = await queue.pending()
    }

    private func show(_ account: PlayerAccount) {
        if account.account == player { state.account = account }
    }

    private func fail(_ error: any Error) {
        let known = error as? PurchaseError
        state.notice = .failed(known ?? PurchaseError(.storeFailed, String(String(describing: error).prefix(500))))
    }

    private func noteAccess() {
        #if canImport(Observation)
            if #available(iOS 17.0, macOS 14.0, tvOS 17.0, watchOS 10.0, *) {
                (registrar as? ObservationRegistrar)?.access(self, keyPath: \.state)
            }
        #endif
    }

    private func noteChange(_ change: () -> Void) {
        #if canImport(Combine)
            objectWillChange.send()
        #endif
        #if canImport(Observation)
            if #available(iOS 17.0, macOS 14.0, tvOS 17.0, watchOS 10.0, *),
                let registrar = registrar as? ObservationRegistrar
            {
                return registrar.withMutation(of: self, keyPath: \.state, change)
            }
        #endif
        change()
    }
}

#if canImport(Observation)
    @available(iOS 17.0, macOS 14.0, tvOS 17.0, watchOS 10.0, *)
    extension Purchases: Observable {}
#endif
#if canImport(Combine)
    extension Purchases: ObservableObject {}
#endif

/// A log-in that is a closure.
private struct TokenCredentials: PlayerCredentials {
    let token: @Sendable (String, Bool) async throws -> String?

    func token(of account: String, isRefreshing: Bool) async throws -> String? {
        try await token(account, isRefreshing)
    }
}
