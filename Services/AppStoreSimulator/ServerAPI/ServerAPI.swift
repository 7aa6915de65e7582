import Hummingbird

/// The App Store Server API of one environment (apple-facts C1 to C5); each group of its calls has a file of its own.
struct ServerAPI: Sendable {
    enum Limit {
        /// Transactions or notifications of one page; Apple's number.
        static let page = 20
    }

    let store: Store
    let environment: StoreEnvironment
    let signer: PayloadSigner
    let limiter: RateLimiter
    let signatures: SignatureCache
    private let gate: TokenGate

    /// - Parameter limiter: the same for both environments: it is set at one place.
    init(store: Store, environment: StoreEnvironment, signer: PayloadSigner, limiter: RateLimiter) {
        self.store = store
        self.environment = environment
        self.signer = signer
        self.limiter = limiter
        signatures = SignatureCache(signer: signer)
        gate = TokenGate(store: store, environment: environment)
    }

    /// The group at `/inApps` whose routes only apps with a good token reach.
    func makeGroup(on router: Router<BasicRequestContext>) -> RouterGroup<ServerAPIContext> {
        router.group("inApps", context: ServerAPIContext.self)
            .add(middleware: APIErrorMiddleware())
            .add(middleware: GateMiddleware(gate: gate))
    }

    /// Adds every call.
    func addRoutes(to group: RouterGroup<ServerAPIContext>) {
        addTransactionRoutes(to: group)
        addHistoryRoutes(to: group)
        addSubscriptionStatusRoutes(to: group)
        addConsumptionRoutes(to: group)
        addAppAccountTokenRoutes(to: group)
        addExtensionRoutes(to: group)
        addMassExtensionRoutes(to: group)
        addNotificationRoutes(to: group)
    }

    /// The group for one call that Apple limits.
    func limited(
        _ group: RouterGroup<ServerAPIContext>, _ call: RateLimitedCall
    ) -> RouterGroup<ServerAPIContext> {
        group.group().add(middleware: RateLimitMiddleware(limiter: limiter, call: call, environment: environment))
    }
}
