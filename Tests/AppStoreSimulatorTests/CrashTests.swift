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

    @Test(
        "knows what it restored and shared, and what was refunded of it",
        .enabled(
            if: SimulatorProcess.isThere,
            "SKIPPED: COUNTERSIGN_BIN_DIR is not set; it names the folder of app-store-simulator"))
    func killAfterRestore() async throws {
        struct Shown: Decodable { let purchaseTransactionIds: [String] }
        let state = FileManager.default.temporaryDirectory.appending(path: "crash-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: state, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: state) }
        let game = #""bundleId":"com.example.game""#
        let first = try await SimulatorProcess(in: state)
        _ = try await Self.call(
            first, .PUT, "apps/com.example.game/products/map", #"{"type":"Non-Consumable","isFamilyShareable":true}"#)
        for account in ["mother", "son"] {
            _ = try await Self.call(first, .PUT, "accounts/\(account)", #"{"family":"millers"}"#)
            _ = try await Self.call(first, .PUT, "devices/\(account)s-phone", #"{"account":"\#(account)"}"#)
        }
        let bought = try await Self.ids(first, "sales", "{\(game),\"productId\":\"map\",\"account\":\"mother\"}")[0]
        var ids = [bought]
        ids += try await Self.ids(first, "devices/mothers-phone/restore", "{\(game)}")
        ids += try await Self.ids(first, "transactions/\(bought)/regrant", #"{"count":2}"#)
        let sons = try await Self.ids(first, "devices/sons-phone/restore", "{\(game)}")
        _ = try await Self.call(first, .POST, "transactions/\(ids[1])/refund", "{}")
        try await first.kill()
        let second = try await SimulatorProcess(in: state)
        for id in ids {
            let shown = try await Self.call(second, .GET, "transactions/\(id)", nil)
            #expect(try JSONDecoder().decode(Shown.self, from: shown).purchaseTransactionIds == ids)
            #expect(String(decoding: shown, as: UTF8.self).contains("revocationDate") == (id == ids[1]))
        }
        // Neither what was refunded is restored, nor what was revoked with it.
        #expect(try await Self.ids(second, "devices/mothers-phone/restore", "{\(game)}").isEmpty)
        #expect(try await Self.ids(second, "devices/sons-phone/restore", "{\(game)}").isEmpty)
        let shown = try JSONDecoder().decode(
            Shown.self, from: try await Self.call(second, .GET, "transactions/\(sons[0])", nil))
        #expect(shown.purchaseTransactionIds.count == 2)
        try await second.kill()
    }

    private static let client = HTTPClient.shared

    private static func call(
        _ simulator: SimulatorProcess, _ method: HTTPMethod, _ path: String, _ body: String?
    ) async throws -> Data {
        var request = HTTPClientRequest(url: "\(simulator.addresses.control)/simulator/v1/\(path)")
        request.method = method
        request.body = body.map { .bytes(ByteBuffer(string: $0)) }
        let response = try await client.execute(request, timeout: .seconds(30))
        #expect(response.status == .ok, "\(path)")
        return Data(try await response.body.collect(upTo: 1 << 20).readableBytesView)
    }

    /// The ids of the transactions that an answer to a POST lists.
    private static func ids(_ simulator: SimulatorProcess, _ path: String, _ body: String) async throws -> [String] {
        let answer = try await call(simulator, .POST, path, body)
        return try JSONDecoder().decode(Answer.self, from: answer).transactions.map(\.transactionId)
    }

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
