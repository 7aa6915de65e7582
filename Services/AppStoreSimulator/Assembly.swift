import Foundation
import Hummingbird
import Logging

/// Everything that a running simulator consists of, made in this order.
struct Assembly {
    let authority: CertificateAuthority
    let identifiers: TransactionIdentifiers
    let router: Router<BasicRequestContext>

    /// Opens the state folder; afterwards `root.der` and `root.sha256` are in it.
    init(stateDirectory path: String) throws {
        let state = try StateDirectory(path: path)
        let now = Date()
        authority = try state.openAuthority(now: now)
        identifiers = TransactionIdentifiers(file: state.nextTransactionId)
        router = Routes(
            desk: SalesDesk(signer: try PayloadSigner(chain: authority.chain), identifiers: identifiers),
            workshop: try ForgeryWorkshop(authority: authority, now: now),
            root: try CertificateAuthority.encoded(authority.root)
        ).makeRouter()
    }

    /// Serves until SIGTERM or SIGINT, then answers what is in hand and returns.
    func run(host: String, port: Int) async throws {
        let logger = Logger(label: "app-store-simulator")
        let application = Application(
            router: router, configuration: .init(address: .hostname(host, port: port), serverName: nil), logger: logger)
        defer { identifiers.stop() }
        try await application.runService()
    }
}
