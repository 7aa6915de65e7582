import Foundation

/// Requests that somebody sends without a pause (`Tests/Load/flood.py`).
enum Flood {
    /// Connections that send without a pause.
    static let connections = 8

    /// One of the requests, which are sent by turns; `{n}` and `{proof}` are different in each.
    struct Request: Encodable {
        let method: String
        let path: String
        let token: String
        var body = ""
    }

    /// Runs a body during a flood.
    ///
    /// - Returns: how many requests were answered with each status.
    static func during(
        _ requests: [Request], to address: String, _ body: () async throws -> Void
    ) async throws -> [Int: Int] {
        let input = try JSONEncoder().encode(requests) + Data("\n".utf8)
        let output = try await BesideProcess.run(
            "flood.py", try BesideProcess.place(of: address) + ["\(connections)"], input: input, begins: false
        ) { _ in try await body() }
        let statuses = try JSONDecoder().decode([String: Int].self, from: Data(output.utf8))
        return Dictionary(uniqueKeysWithValues: statuses.map { (Int($0.key) ?? 0, $0.value) })
    }
}
