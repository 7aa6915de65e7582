import AppStore
import Crypto
import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing
import X509

@testable import AppStoreSimulator

@Suite("The state folder")
struct StateDirectoryTests {
    private static let opensslPath = "/usr/bin/openssl"

    @Test("a restart keeps the root, the chain and the keys")
    func restart() throws {
        let first = try Simulator()
        let second = try Simulator(folder: first.folder)
        #expect(try first.assembly.authority.chain.encoded == second.assembly.authority.chain.encoded)
        #expect(
            first.assembly.authority.leafKey.rawRepresentation == second.assembly.authority.leafKey.rawRepresentation)
        #expect(try first.roots() == second.roots())
    }

    @Test("another folder has another root")
    func another() throws {
        let first = try Simulator()
        let second = try Simulator()
        #expect(try first.roots() != second.roots())
    }

    @Test("keys are for their owner only")
    func permissions() throws {
        let simulator = try Simulator()
        let authority = simulator.folder.appendingPathComponent("authority")
        for name in ["root", "intermediate", "leaf"] {
            let path = authority.appendingPathComponent("\(name).key").path
            let permissions = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(permissions == 0o600)
        }
        let folder = try FileManager.default.attributesOfItem(atPath: authority.path)[.posixPermissions] as? Int
        #expect(folder == 0o700)
    }

    @Test("the root on disk, the root over HTTP and the fingerprint agree")
    func root() async throws {
        let simulator = try Simulator()
        let file = try Data(contentsOf: simulator.folder.appendingPathComponent("root.der"))
        let response = try await simulator.request(.get, "/simulator/v1/root")
        #expect(response.headers[.contentType] == "application/pkix-cert")
        #expect(response.json == file)
        let fingerprint = SHA256.hash(data: file).map { String(format: "%02x", $0) }.joined()
        let text = try String(contentsOf: simulator.folder.appendingPathComponent("root.sha256"), encoding: .utf8)
        #expect(text == fingerprint + "\n")
    }

    @Test("a folder that is damaged is refused, not replaced by a new root")
    func damaged() throws {
        let simulator = try Simulator()
        let key = simulator.folder.appendingPathComponent("authority/leaf.key")
        try Data("nonsense".utf8).write(to: key)
        let folder = simulator.folder
        #expect(throws: StateDirectoryError.self) { _ = try Simulator(folder: folder) }
    }

    @Test("a leaf that is about to expire is replaced under the same root")
    func leafRenewal() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("simulator-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let state = try StateDirectory(path: folder.path)
        let start = Date()
        let first = try state.openAuthority(now: start)
        let same = try state.openAuthority(now: start + 4 * 365 * 86_400)
        let renewed = try state.openAuthority(now: start + 5 * 365 * 86_400)
        let kept = try state.openAuthority(now: start + 5 * 365 * 86_400)
        #expect(first.leaf == same.leaf)
        #expect(first.root == renewed.root)
        #expect(first.leaf != renewed.leaf)
        #expect(renewed.leaf == kept.leaf)
    }

    @Test(
        "openssl accepts the chain, also strictly, and only under this root",
        .enabled(if: FileManager.default.isExecutableFile(atPath: opensslPath), "SKIPPED: no openssl command"))
    func openssl() async throws {
        let simulator = try Simulator()
        let authority = simulator.folder.appendingPathComponent("authority")
        for name in ["root", "intermediate", "leaf"] {
            try await expectSuccess(
                ["x509", "-inform", "der", "-in", "\(name).der", "-out", "\(name).pem"], in: authority)
        }
        let chain = ["-untrusted", "intermediate.pem", "leaf.pem"]
        try await expectSuccess(["verify", "-CAfile", "root.pem"] + chain, in: authority)
        try await expectSuccess(
            ["verify", "-x509_strict", "-check_ss_sig", "-CAfile", "root.pem"] + chain, in: authority)
        #expect(try await run(["verify", "-no-CApath", "-no-CAfile"] + chain, in: authority) != 0)
    }

    private func expectSuccess(_ arguments: [String], in folder: URL) async throws {
        #expect(try await run(arguments, in: folder) == 0, "openssl \(arguments.joined(separator: " "))")
    }

    private func run(_ arguments: [String], in folder: URL) async throws -> Int32 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.opensslPath)
        process.arguments = arguments
        process.currentDirectoryURL = folder
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        return try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do {
                try process.run()
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }
}
