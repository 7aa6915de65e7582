import Foundation
import Hummingbird
import Logging
import ServiceLifecycle

/// Everything that a running simulator consists of, made in this order.
struct Assembly {
    /// What a simulator is told when it starts.
    struct Options {
        var stateDirectory: String
        /// Where it listens; nil for one whose routers are called without a socket.
        var host = "127.0.0.1"
        var ports: ListenerPorts?
    }

    let options: Options
    let authority: CertificateAuthority
    let receipts: ReceiptAuthority
    let store: Store
    let timeline: Timeline
    let faults: FaultBook
    /// The control API's.
    let router: Router<BasicRequestContext>
    let production: Router<BasicRequestContext>
    let sandbox: Router<BasicRequestContext>
    private let state: StateDirectory
    /// What has to be closed at the end.
    let resources: Resources
    private let logger: Logger

    /// Opens the state folder; afterwards the roots are in it.
    ///
    /// - Parameters:
    ///   - clock: the store's time.
    ///   - receipts: signs receipts instead of what the folder keeps: making RSA keys takes a second.
    init(
        _ options: Options, clock: VirtualClock = VirtualClock(), receipts: ReceiptAuthority? = nil,
        logger: Logger = Logger(label: "app-store-simulator")
    ) throws {
        self.options = options
        self.logger = logger
        state = try StateDirectory(path: options.stateDirectory)
        authority = try state.openAuthority(
            now: Date(),
            ocspURL: options.ports.map {
                RevocationRoutes.address(host: options.host, port: $0.control)
            })
        self.receipts = try receipts ?? ReceiptAuthorityDirectory(url: state.url).open(now: Date())
        let signer = try PayloadSigner(chain: authority.chain)
        let store = try Store(file: state.journal, signer: signer, clock: clock)
        self.store = store
        faults = FaultBook(realNow: { store.clock.realNow })
        let sender = NotificationSender(store: store, faults: faults)
        resources = Resources(sender: sender, store: store)
        timeline = Timeline(store: store, logger: logger) { await sender.deliver($0) }
        let parts = RouterParts(
            store: store, timeline: timeline, signer: signer, authority: authority, receipts: self.receipts,
            faults: faults, limiter: RateLimiter(clock: clock), demands: VerifyReceiptDemands())
        router = try parts.control(
            addresses: options.ports.map {
                ListenerAddresses(host: options.host, ports: $0)
            })
        production = parts.host(.production)
        sandbox = parts.host(.sandbox)
    }

    /// Serves until SIGTERM or SIGINT, then answers what is in hand and returns.
    func run() async throws {
        guard let ports = options.ports else { return }
        let listeners = Listeners(
            host: options.host, ports: ports,
            routers: .init(control: router, production: production, sandbox: sandbox), folder: state.url, logger: logger
        )
        do {
            try await listeners.run(with: [timeline])
        } catch {
            await resources.close()
            throw error
        }
        await resources.close()
    }

    /// Connections and the store.
    struct Resources: Sendable {
        let sender: NotificationSender
        let store: Store

        /// Closes them; nothing may be asked of the simulator afterwards.
        func close() async {
            await sender.shutdown()
            await store.close()
        }
    }
}
