import Foundation

/// Connections that say nothing, go on no further, or drip: `Tests/Load/idle_connections.py`.
enum HostileConnections {
    /// Keeps so many open while a body runs.
    ///
    /// - Parameter token: A player's, with which each sends a request byte by byte (slow-loris); nil for those that send nothing more.
    /// - Returns: how many the server had not closed by then.
    static func during(
        _ count: Int, to address: String, token: String? = nil, _ body: (_ opened: Int) async throws -> Void
    ) async throws -> Int {
        let output = try await BesideProcess.run(
            "idle_connections.py",
            try BesideProcess.place(of: address) + ["\(count)"] + (token == nil ? [] : ["--slowly"]),
            input: Data((token.map { $0 + "\n" } ?? "").utf8), begins: true
        ) { begun in
            try await body(try number(after: "opened ", in: begun))
        }
        return try number(after: "open ", in: output)
    }

    private static func number(after word: String, in text: String) throws -> Int {
        let line = text.split(separator: "\n").first { $0.hasPrefix(word) }
        guard let line, let number = Int(line.dropFirst(word.count)) else {
            throw StackFailure("idle_connections.py said: \(text)")
        }
        return number
    }
}
