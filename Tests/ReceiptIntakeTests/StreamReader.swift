/// Reads a stream of server-sent events from a socket, as it comes.
struct StreamReader: Sendable {
    private let client: RawClient

    /// Opens a stream.
    ///
    /// - Parameter reads: whether it takes what is sent.
    static func open(
        _ path: String, port: Int, token: String, headers: String = "", reads: Bool = true
    ) async throws -> StreamReader {
        let client = try await RawClient.connect(port: port, reads: reads)
        try await client.send(
            """
            GET \(path) HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer \(token)\r
            accept: text/event-stream\r\n\(headers)\r\n
            """)
        return StreamReader(client: client)
    }

    /// What came, as text with the marks of its chunks.
    var text: String { client.text }

    /// The status of the answer, once its head is there.
    func status() async -> String {
        await client.wait { $0.contains("\r\n") }
        return text.split(separator: " ").dropFirst().first.map(String.init) ?? ""
    }

    /// The ids of events that came, once there are so many.
    func events(_ count: Int) async -> [String] {
        await client.wait { Self.lines($0, "data: {").count >= count }
        return Self.lines(text, "data: {").compactMap { line in
            line.firstMatch(of: #/"id":"(evt_[0-9a-f]+)","schema/#).map { String($0.1) }
        }
    }

    /// Cursors that came.
    var cursors: [String] { Self.lines(text, "id: ").map { String($0.dropFirst(4)) } }

    private static func lines(_ text: String, _ prefix: String) -> [String] {
        // A chunk's size ends in both, which Swift takes for one character; the last line may not be whole.
        text.replacing("\r\n", with: "\n").split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            .map(String.init).filter { $0.hasPrefix(prefix) }
    }

    /// Returns once something is there.
    func has(_ part: String) async -> Bool { await client.has(part) }

    /// Returns when the server has closed the connection.
    func closed() async throws { try await client.closed() }

    func close() async throws {
        client.close()
        try await client.closed()
    }
}
