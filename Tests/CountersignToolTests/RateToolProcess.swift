import Foundation
import PersistenceTesting
import Postgres
import ProcessTesting
import Synchronization
import Testing

/// `countersign` as a process of its own, at a test's database.
struct ToolProcess: Sendable {
    private static let path = Program.built("countersign")

    /// Whether the tool and a database are there.
    static let isReady = TestDatabase.url != nil && path != nil
    static let missing: Comment = "SKIPPED: COUNTERSIGN_BIN_DIR or COUNTERSIGN_TEST_POSTGRES is not set"

    /// `host:port` of a broker, for the commands that want one.
    static let broker = ProcessInfo.processInfo.environment["COUNTERSIGN_TEST_KAFKA"]

    /// How a run ended.
    struct Ended: Sendable {
        let status: Int32
        let output: String
        let errors: String

        var lines: [String] { output.split(separator: "\n").map(String.init) }
        func json() throws -> [String: Any] {
            try #require(try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any])
        }
    }

    private let url: String

    /// A tool at the database of a pool.
    init(_ pool: PostgresPool) async throws {
        let name = try await pool.query("SELECT current_database()::text AS name").rows[0]
            .decode("name", as: String.self)
        var components = try #require(TestDatabase.url.flatMap(URLComponents.init(string:)))
        components.path = "/" + name
        url = try #require(components.string)
    }

    /// The same tool at another address.
    func at(_ url: String) -> ToolProcess { ToolProcess(url: url) }

    private init(url: String) { self.url = url }

    /// Runs a command to its end; the database is the only thing that it is told.
    func run(_ arguments: String...) async throws -> Ended {
        try await run(arguments)
    }

    /// Runs a command to its end.
    ///
    /// - Parameter variables: what it is told beside the database.
    func run(_ arguments: [String], variables: [String: String] = [:]) async throws -> Ended {
        let environment = ["COUNTERSIGN_POSTGRES_URL": url, "USER": "tester", "PATH": "/usr/bin:/bin"]
        let ended = try await Program(
            path: try #require(Self.path), arguments: arguments, environment: environment.merging(variables) { $1 },
            inheritsEnvironment: false, output: .apart
        ).run()
        return Ended(status: ended.status, output: ended.output, errors: ended.errors)
    }
}
