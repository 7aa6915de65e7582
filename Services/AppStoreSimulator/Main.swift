import ArgumentParser

/// Plays the App Store on a developer's machine; README.md beside this file says how far.
@main
struct SimulatorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app-store-simulator",
        abstract: "Plays the App Store under a root certificate of its own. For development and tests only.")

    @Option(help: "TCP port to listen on; 0 takes a free one.")
    var port: Int

    @Option(help: "Folder for keys and the next transaction id; root.der and root.sha256 appear in it.")
    var state: String

    @Option(help: "Address to listen on.")
    var host = "127.0.0.1"

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("--port: 0 to 65535") }
    }

    func run() async throws {
        try await Assembly(stateDirectory: state).run(host: host, port: port)
    }
}
