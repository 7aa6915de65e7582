import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import ProcessTesting
import SimulatorTesting
import Testing

@testable import AppStoreSimulator

/// The real executable, killed while it sells.
@Suite("A simulator that is killed")
struct CrashTests {
    private struct Answer: Decodable, Sendable {
        struct Transaction: Decodable, Sendable { let transactionId: String }
        let transactions: [Transaction]
    }

    @Test(
        "knows everything that it answered, and gives no id twice",
        .enabled(
            if: SimulatorProcess.isThere,
            "SKIPPED: COUNTERSIGN_BIN_DIR is not set; it names the folder of app-store-simulator"))
    func kill() async throws {
        let state = FileManager.default.temporaryDirectory.appending(path: "crash-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: state, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: state) }
        var known: Set<String> = []
        for round in 0..<3 {
            let simulator = try await SimulatorProcess(in: state)
            let (answered, seller) = AsyncStream.makeStream(of: [String].self)
            let control = simulator.addresses.control
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
                if count == 20 { simulator.running.kill() }
            }
            await sales.value
            _ = try await simulator.running.ended()
            #expect(count >= 20)
        }
        let simulator = try await SimulatorProcess(in: state)
        for id in known {
            let response = try await Self.client.execute(
                HTTPClientRequest(url: "\(simulator.addresses.control)/simulator/v1/transactions/\(id)"),
                timeout: .seconds(30))
            #expect(response.status == .ok, "\(id)")
        }
        try await simulator.kill()
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
}
