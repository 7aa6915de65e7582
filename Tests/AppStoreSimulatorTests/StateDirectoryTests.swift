import AppStore
import Crypto
import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import ProcessTesting
import Testing
import X509

@testable import AppStoreSimulator

@Suite("The state folder")
struct StateDirectoryTests {

    @Test("a restart keeps the root, the chain and the keys")
    func restart() throws {
        let first = try Simulator()
        let second = try Simulator(folder: first.folder)
        #expect(try first.assembly.authority.chain.encoded == second.assembly.authority.chain.encoded)
        #expect(
            first.assembly.authority.leafKey.rawRepresentation == second.assembly.authority.leafKey.rawRepresentation)
        #expect(try first.roots() == second.roots())
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

    @Test("certificates that expire before the clock may are reissued under the same root and keys")
    func renewal() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("simulator-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let state = try StateDirectory(path: folder.path)
        let year: TimeInterval = 365 * 86_400
        let start = Date()
        let first = try state.openAuthority(now: start)
        let same = try state.openAuthority(now: start + year)
        let renewed = try state.openAuthority(now: start + 2 * year)
        let kept = try state.openAuthority(now: start + 2 * year)
        #expect(first.leaf == same.leaf && first.intermediate == same.intermediate)
        #expect(first.root == renewed.root)
        #expect(first.leaf != renewed.leaf && first.intermediate != renewed.intermediate)
        #expect(first.leaf.publicKey == renewed.leaf.publicKey)
        #expect(first.leafKey.rawRepresentation == renewed.leafKey.rawRepresentation)
        #expect(first.intermediate.publicKey == renewed.intermediate.publicKey)
        #expect(renewed.leaf == kept.leaf && renewed.intermediate == kept.intermediate)
        #expect(renewed.leaf.notValidAfter > start + 10 * year)
    }

    @Test("another OCSP responder makes another leaf and intermediate, and no other root")
    func responder() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("simulator-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let state = try StateDirectory(path: folder.path)
        let url = RevocationRoutes.address(port: 8099)
        let first = try state.openAuthority(now: Date())
        let named = try state.openAuthority(now: Date(), ocspURL: url)
        let same = try state.openAuthority(now: Date(), ocspURL: url)
        let moved = try state.openAuthority(now: Date(), ocspURL: RevocationRoutes.address(port: 9099))
        let kept = try state.openAuthority(now: Date())
        #expect(first.ocspURL == nil)
        for authority in [named, same, moved, kept] {
            #expect(authority.root == first.root)
            #expect(authority.intermediate.subject == first.intermediate.subject)
            #expect(authority.intermediate.publicKey == first.intermediate.publicKey)
            #expect(authority.leafKey.rawRepresentation == first.leafKey.rawRepresentation)
            #expect(CertificateAuthority.ocspURL(of: authority.root) == nil)
        }
        #expect(named.ocspURL == "http://127.0.0.1:8099/simulator/ocsp")
        #expect(CertificateAuthority.ocspURL(of: named.intermediate) == named.ocspURL)
        #expect(named.leaf == same.leaf && named.leaf != moved.leaf && moved.leaf == kept.leaf)
        #expect(moved.ocspURL == "http://127.0.0.1:9099/simulator/ocsp")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.appendingPathComponent("authority").path)
        #expect(files.count == 6)
    }

    @Test(
        "openssl accepts the chain, also strictly, and only under this root",
        .enabled(if: Program.find("openssl") != nil, "SKIPPED: no openssl command"))
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
        try await Program.openssl(arguments, in: folder).status
    }
}
