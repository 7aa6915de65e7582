import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Testing

@testable import AppStoreSimulator

/// The real executable, killed while it sells.
@Suite("A simulator that is killed")
struct CrashTests {
    private static let folder = ProcessInfo.processInfo.environment["COUNTERSIGN_BIN_DIR"]

    private struct Answer: Decodable, Sendable {
        struct Transaction: Decodable, Sendable { let transactionId: String }
        let transactions: [Transaction]
    }

    @Test(
        "knows everything that it answered, and gives no id twice",
        .enabled(
            if: folder != nil, "SKIPPED: COUNTERSIGN_BIN_DIR is not set; it names the folder of app-store-simulator"))
    func kill() async throws {
        let state = FileManager.default.temporaryDirectory.appending(path: "crash-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: state, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: state) }
        var known: Set<String> = []
        for round in 0..<3 {
            let simulator = try await Running(state: state)
            let (answered, seller) = AsyncStream.makeStream(of: [String].self)
            let control = simulator.control
            let sales = Task {
                // Until nobody answers any more.
                while let ids = try? await Self.sell(control) { seller.yield(ids) }
                seller.finish()
            }
            var count = 0
            for await ids in answered {
                count += 1
                #expect(known.isDisjoint(with: ids), "round \(round)")
                known.formUnion(ids)
                if count == 20 { simulator.kill() }
            }
            await sales.value
            await simulator.ended()
            #expect(count >= 20)
        }
        let simulator = try await Running(state: state)
        for id in known {
            let response = try await Self.client.execute(
                HTTPClientRequest(url: "\(simulator.control)/simulator/v1/transactions/\(id)"), timeout: .seconds(30))
            #expect(response.status == .ok, "\(id)")
        }
        simulator.kill()
        await simulator.ended()
    }

    private static let client = HTTPClient.shared

    private static func sell(_ control: String) async throws -> [String] {
        var request = HTTPClientRequest(url: "\(control)/simulator/v1/sales")
        request.method = .POST
        request.body = .bytes(
            ByteBuffer(string: #"{"bundleId":"com.example.game","productId":"gems","type":"Consumable","count":5}"#))
        let response = try await client.execute(request, timeout: .seconds(30))
        let body = try await response.body.collect(upTo: 1 << 20)
        return try JSONDecoder().decode(Answer.self, from: Data(body.readableBytesView)).transactions.map(
            \.transactionId)
    }

    /// A running simulator.
    private struct Running {
        private struct NotReady: Error {}

        let control: String
        private let process = Process()
        private let ends: AsyncStream<Void>

        init(state: URL) async throws {
            let file = state.appending(path: ListenerAddresses.fileName)
            // The one before left it when it was killed.
            try? FileManager.default.removeItem(at: file)
            let (ends, end) = AsyncStream<Void>.makeStream()
            self.ends = ends
            process.executableURL = URL(filePath: (CrashTests.folder ?? "") + "/app-store-simulator")
            process.arguments = ["--port", "0", "--state", state.path]
            process.standardInput = FileHandle.nullDevice
            process.standardOutput = FileHandle.nullDevice
            process.standardError = FileHandle.nullDevice
            process.terminationHandler = { _ in end.finish() }
            try process.run()
            let deadline = ContinuousClock.now + .seconds(60)
            while true {
                if let data = try? Data(contentsOf: file),
                    let addresses = try? JSONDecoder().decode(ListenerAddresses.self, from: data)
                {
                    control = addresses.control
                    return
                }
                guard process.isRunning, ContinuousClock.now < deadline else { throw NotReady() }
                // Another process makes the file; there is no signal to wait for.
                try await Task.sleep(for: .milliseconds(20))
            }
        }

        func kill() {
            Foundation.kill(process.processIdentifier, SIGKILL)
        }

        func ended() async {
            for await _ in ends {}
        }
    }
}
