import Foundation
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import ProcessTesting
import Testing
import X509

@testable import AppStoreSimulator

/// Real clients and a real socket.
@Suite("OCSP over a socket")
struct RevocationServerTests {

    /// Serves a bench while `body` runs; it is told the port.
    private func serving<Value: Sendable>(
        _ bench: ForgeryBench, _ body: @escaping @Sendable (Int) async throws -> Value
    ) async throws -> Value {
        let (ports, running) = AsyncStream.makeStream(of: Int.self)
        let application = Application(
            responder: bench.responder, server: try ConnectionServer.make(tls: nil),
            configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in
                running.yield(channel.localAddress?.port ?? 0)
                running.finish()
            }, logger: Logger(label: "ocsp") { _ in SwiftLogNoOpLogHandler() })
        return try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask {
                defer { running.finish() }
                try await application.run()
                return nil
            }
            group.addTask {
                var port: Int?
                for await running in ports { port = running }
                return try await body(try #require(port))
            }
            defer { group.cancelAll() }
            while let value = try await group.next() {
                if let value { return value }
            }
            throw CancellationError()
        }
    }

    @Test("an unreachable responder breaks the connection off and serves the next question")
    func unreachable() async throws {
        let bench = try ForgeryBench()
        let question = try RevocationQuestion(
            certificates: [(bench.authority.leaf, bench.authority.intermediate)]
        ).encoded()
        try await serving(bench) { port in
            let url = "\(RevocationRoutes.address(port: port))/\(Data(question).base64EncodedString())"
            _ = try await bench.request(
                .put, "/simulator/v1/revocation", body: ByteBuffer(string: #"{"responder":"unreachable"}"#))
            await #expect(throws: (any Error).self) { _ = try await ListenerClient.get(url) }
            _ = try await bench.request(
                .put, "/simulator/v1/revocation", body: ByteBuffer(string: #"{"responder":"up"}"#))
            #expect(try await ListenerClient.get(url).status == 200)
        }
        await bench.close()
    }

    @Test(
        "openssl believes the responder: good, then revoked, then unknown",
        .enabled(if: Program.find("openssl") != nil, "SKIPPED: no openssl command"))
    func openssl() async throws {
        let bench = try ForgeryBench()
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocsp-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let authority = bench.authority
        for (name, certificate) in [
            ("root", authority.root), ("intermediate", authority.intermediate), ("leaf", authority.leaf),
        ] {
            let base64 = Data(try CertificateAuthority.encoded(certificate))
                .base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
            let pem = "-----BEGIN CERTIFICATE-----\n\(base64)\n-----END CERTIFICATE-----\n"
            try Data(pem.utf8).write(to: folder.appendingPathComponent("\(name).pem"))
        }
        try await serving(bench) { port in
            func status(_ name: String, issuer: String) async throws -> String {
                try await run(
                    [
                        "ocsp", "-issuer", "\(issuer).pem", "-cert", "\(name).pem", "-CAfile", "root.pem",
                        "-verify_other", "intermediate.pem", "-url", RevocationRoutes.address(port: port),
                    ], in: folder)
            }
            func set(_ body: String) async throws {
                _ = try await bench.request(.put, "/simulator/v1/revocation", body: ByteBuffer(string: body))
            }
            for (name, issuer) in [("leaf", "intermediate"), ("intermediate", "root")] {
                let good = try await status(name, issuer: issuer)
                #expect(good.contains("\(name).pem: good"), "\(good)")
                #expect(good.contains("Response verify OK"), "\(good)")
                #expect(!good.contains("no nonce in response"), "\(good)")
                try await set(#"{"\#(name)":"revoked"}"#)
                let revoked = try await status(name, issuer: issuer)
                #expect(
                    revoked.contains("\(name).pem: revoked") && revoked.contains("Response verify OK"), "\(revoked)")
                try await set(#"{"\#(name)":"unknown"}"#)
                let unknown = try await status(name, issuer: issuer)
                #expect(unknown.contains("\(name).pem: unknown"), "\(unknown)")
            }
            try await set(#"{"responder":"tryLater"}"#)
            let later = try await status("leaf", issuer: "intermediate")
            #expect(later.contains("trylater"), "\(later)")
        }
        await bench.close()
    }

    /// What openssl writes to either output.
    private func run(_ arguments: [String], in folder: URL) async throws -> String {
        try await Program.openssl(arguments, in: folder).output
    }
}
