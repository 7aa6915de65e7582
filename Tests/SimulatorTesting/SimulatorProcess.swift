import AsyncHTTPClient
public import Foundation
import NIOCore
public import NIOHTTP1
public import ProcessTesting

/// The real simulator as a process of its own.
public struct SimulatorProcess: Sendable {
    private static let path = Program.built("app-store-simulator")
    /// Whether the executable was built, and `COUNTERSIGN_BIN_DIR` names its folder.
    public static let isThere = path != nil

    private enum Limit {
        static let call = TimeAmount.seconds(60)
        static let answer = 64 << 20
    }

    /// Where it listens.
    public struct Addresses: Decodable, Sendable {
        /// The control API: a URL without a slash at its end.
        public let control: String
        /// The host of the production environment.
        public let production: String
        /// The host of the sandbox.
        public let sandbox: String
    }

    /// An answer that nobody looks at.
    public struct Anything: Decodable, Sendable {}

    /// Where its three listeners are.
    public let addresses: Addresses
    /// Where it keeps its state.
    public let folder: URL
    /// The process itself.
    public let running: RunningProgram

    /// Starts one with what a folder has, which exists; it is killed when nobody has it any more.
    public init(in folder: URL) async throws {
        guard let path = Self.path else { throw Program.Failure(description: "there is no app-store-simulator") }
        let file = folder.appending(path: "addresses.json")
        // One that was killed left it.
        try? FileManager.default.removeItem(at: file)
        running = try Program(
            path: path,
            arguments: ["--port", "0", "--production-port", "0", "--sandbox-port", "0", "--state", folder.path]
        ).start()
        addresses = try await running.ready {
            guard let data = try? Data(contentsOf: file) else { return nil }
            return try JSONDecoder().decode(Addresses.self, from: data)
        }
        self.folder = folder
    }

    /// Runs the body with one that begins empty, and ends it afterwards.
    public static func run(_ body: (SimulatorProcess) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "simulator-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let simulator = try await SimulatorProcess(in: folder)
        do {
            try await body(simulator)
        } catch {
            try await simulator.kill()
            throw error
        }
        try await simulator.kill()
    }

    /// kill -9, and waits until the process is gone.
    public func kill() async throws {
        running.kill()
        _ = try await running.ended()
    }

    /// Calls the control API, which must succeed.
    @discardableResult
    public func control<Value: Decodable>(
        _ method: HTTPMethod, _ path: String, _ json: String? = nil, as type: Value.Type = Anything.self
    ) async throws -> Value {
        try JSONDecoder().decode(type, from: try await bytes(method, path, json))
    }

    /// Calls the control API, which must succeed; the body of its answer.
    public func bytes(_ method: HTTPMethod, _ path: String, _ json: String? = nil) async throws -> Data {
        var request = HTTPClientRequest(url: "\(addresses.control)/simulator/v1/\(path)")
        request.method = method
        if let json { request.body = .bytes(ByteBuffer(string: json)) }
        let response = try await HTTPClient.shared.execute(request, timeout: Limit.call)
        let body = try await response.body.collect(upTo: Limit.answer)
        guard response.status == .ok || response.status == .created else {
            throw Program.Failure(description: "\(method) \(path): \(response.status) \(String(buffer: body))")
        }
        return Data(body.readableBytesView)
    }
}
