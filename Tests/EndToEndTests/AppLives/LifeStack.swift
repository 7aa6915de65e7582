import AsyncHTTPClient
import Foundation

/// Where lives take place.
struct LifeStack: Sendable {
    /// Nothing but the app tells the server of this app's purchases.
    static let app = "com.example.game"

    let client: IntakeClient
    let transport: HTTPClientTransport
    let intake: URL
    let secret: String
    /// Keeps the accounts of several runs apart.
    let run = "\(UInt32.random(in: 0...UInt32.max))"
    let folder = FileManager.default.temporaryDirectory.appending(path: "lives-\(UUID().uuidString)")

    init(_ stack: Stack, _ client: IntakeClient, _ transport: HTTPClientTransport) throws {
        self.client = client
        self.transport = transport
        guard let url = URL(string: client.intake) else { throw StackFailure("\(client.intake) is no URL") }
        intake = url
        secret = try stack.setting("COUNTERSIGN_JWT_SECRET")
    }
}

/// Runs a body where lives can take place, with connections enough for all of them.
func withLifeStack(_ body: (LifeStack, Stack, Database) async throws -> Void) async throws {
    try await withStack { stack, client, database in
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
        let http = HTTPClient(configuration: configuration)
        do {
            let place = try LifeStack(stack, client, HTTPClientTransport(client: http))
            try await body(place, stack, database)
            try? FileManager.default.removeItem(at: place.folder)
        } catch {
            try await http.shutdown()
            throw error
        }
        try await http.shutdown()
    }
}
