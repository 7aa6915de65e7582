import Foundation
import ProcessTesting
import Testing

/// A secured cluster of three brokers, driven by the same script that people use.
struct Cluster: Sendable {
    static let brokers = ["broker-1", "broker-2", "broker-3"]

    /// True when `deploy/test --cluster` has brought one up.
    static var isAvailable: Bool { folder != nil }

    /// What is said where there is none.
    static let skipped = "SKIPPED: no secured cluster; run deploy/test --cluster, or set COUNTERSIGN_TEST_CLUSTER"

    private static var folder: String? { ProcessInfo.processInfo.environment["COUNTERSIGN_TEST_CLUSTER"] }

    /// What `deploy/kafka/cluster env` prints.
    let settings: [String: String]

    init() async throws {
        var settings: [String: String] = [:]
        for line in try await Self.command(["env"]).split(separator: "\n") {
            guard let separator = line.firstIndex(of: "=") else { continue }
            let value = line[line.index(after: separator)...].trimmingCharacters(in: CharacterSet(charactersIn: "'"))
            settings[String(line[..<separator])] = value
        }
        self.settings = settings
    }

    /// Runs a command of the cluster, like `["kill", "broker-2"]`, and returns what it printed.
    @discardableResult
    static func command(_ arguments: [String]) async throws -> String {
        guard let folder else { throw StackFailure("COUNTERSIGN_TEST_CLUSTER is not set") }
        let script = Stack.root.appending(path: "deploy/kafka/cluster").path
        return try await Program(path: script, arguments: ["--dir", folder] + arguments).result()
    }

    /// A setting that must be there.
    func setting(_ name: String) throws -> String {
        guard let value = settings[name] else { throw StackFailure("deploy/kafka/cluster env prints no \(name)") }
        return value
    }

    /// The file by which a process logs in as a user.
    func login(_ user: String) throws -> String {
        try setting("COUNTERSIGN_STACK_KAFKA_PROPERTIES") + "/\(user).properties"
    }

    /// The same, as the library takes it.
    func properties(_ user: String) throws -> [String: String] {
        let text = try String(contentsOf: URL(filePath: try login(user)), encoding: .utf8)
        var properties: [String: String] = [:]
        for line in text.split(separator: "\n") {
            guard let separator = line.firstIndex(of: "=") else { continue }
            properties[String(line[..<separator])] = String(line[line.index(after: separator)...])
        }
        return properties
    }

    /// A way in that must not work.
    enum Trouble: String, CaseIterable, Sendable {
        case wrongPassword = "wrong-password"
        case unknownAuthority = "unknown-ca"
        case expiredCertificate = "expired certificate"
        case noRights = "stranger"

        /// Words of the sentence that `doctor` says.
        var diagnosis: String {
            switch self {
            case .wrongPassword: "refuses the user or the password"
            case .unknownAuthority: "signed by an authority that we do not trust"
            case .expiredCertificate: "certificate has expired"
            case .noRights: "countersign.submissions"
            }
        }

        /// Words of the sentence that a service says in its log and on its admin port.
        var complaint: String {
            switch self {
            case .wrongPassword: "refuses the user or the password"
            case .unknownAuthority, .expiredCertificate: "certificate"
            case .noRights: "authorization failed"
            }
        }
    }

    /// The environment of a process that runs into a trouble.
    func environment(_ trouble: Trouble) throws -> [String: String] {
        guard trouble == .expiredCertificate else {
            return ["COUNTERSIGN_KAFKA_PROPERTIES_FILE": try login(trouble.rawValue)]
        }
        return [
            "COUNTERSIGN_KAFKA_PROPERTIES_FILE": try login("countersign-tool"),
            "COUNTERSIGN_KAFKA_BOOTSTRAP_SERVERS": try setting("COUNTERSIGN_CLUSTER_EXPIRED"),
        ]
    }
}
