import Hummingbird

/// What the three routers are made of.
struct RouterParts {
    let store: Store
    let timeline: Timeline
    let signer: PayloadSigner
    let authority: CertificateAuthority
    let receipts: ReceiptAuthority
    let faults: FaultBook
    let limiter: RateLimiter
    let demands: VerifyReceiptDemands

    /// The control API, and the OCSP responder that certificates name.
    func control(addresses: ListenerAddresses?) throws -> Router<BasicRequestContext> {
        let (router, group) = Routes(
            root: try CertificateAuthority.encoded(authority.root), receiptRoot: [UInt8](try receipts.encodedRoot),
            addresses: addresses
        ).makeRouter()
        AppRoutes(store: store).addRoutes(to: group)
        AccountRoutes(store: store, signer: signer).addRoutes(to: group)
        ClockRoutes(store: store, timeline: timeline).addRoutes(to: group)
        SaleRoutes(store: store, signer: signer).addRoutes(to: group)
        TransactionRoutes(store: store, signer: signer).addRoutes(to: group)
        LifecycleRoutes(store: store, signer: signer).addRoutes(to: group)
        RestoreRoutes(store: store, signer: signer).addRoutes(to: group)
        NotificationRoutes(store: store).addRoutes(to: group)
        ReceiptRoutes(store: store, receipts: receipts).addRoutes(to: group)
        VerifyReceiptRoutes(demands: demands).addRoutes(to: group)
        ServerAPIControlRoutes(store: store, limiter: limiter).addRoutes(to: group)
        FaultRoutes(book: faults).addRoutes(to: group)
        ForgeryRoutes(
            store: store, signer: signer, workshop: try ForgeryWorkshop(authority: authority), receipts: receipts
        ).addRoutes(to: group)
        let revocation = RevocationRoutes(authority: authority, clock: store.clock)
        revocation.addRoutes(to: group)
        revocation.addResponder(to: router)
        return router
    }

    /// One of Apple's two hosts.
    func host(_ environment: StoreEnvironment) -> Router<BasicRequestContext> {
        let router = Router(context: BasicRequestContext.self)
        router.add(middleware: FaultMiddleware(book: faults, environment: environment))
        let api = ServerAPI(store: store, environment: environment, signer: signer, limiter: limiter)
        let group = api.makeGroup(on: router)
        api.addRoutes(to: group)
        VerifyReceipt(store: store, environment: environment, receipts: receipts, demands: demands)
            .addRoutes(to: router)
        return router
    }
}
