import ArgumentParser

/// `app-store-simulator serve`: plays the App Store until it is stopped; `deploy/site/pages/simulator.md` says how far.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Plays the App Store until SIGTERM or SIGINT.")

    @Option(help: "TCP port of the control API; 0 takes a free one.")
    var port: Int

    @Option(help: "TCP port of Apple's production host; the one after --port, or a free one, when left out.")
    var productionPort: Int?

    @Option(help: "TCP port of Apple's sandbox host; the second after --port, or a free one, when left out.")
    var sandboxPort: Int?

    @Option(help: "Folder for keys and the store; root.der, receipt-root.der and addresses.json appear in it.")
    var state: String

    @Option(help: "Address to listen on.")
    var host = "127.0.0.1"

    func run() async throws {
        let ports = try ListenerPorts(host: host, control: port, production: productionPort, sandbox: sandboxPort)
        let options = Assembly.Options(
            stateDirectory: state, host: host, ports: ports)
        try await Assembly(options).run()
    }
}
