import Crypto
import CryptoExtras
import Foundation
import ProcessTesting
import SwiftASN1
import Testing
import X509

@testable import AppStoreSimulator

@Suite("Receipt authority")
struct ReceiptAuthorityTests {
    private static func temporaryFolder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("receipt-authority-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    private static func kind(_ reading: ReceiptReader.Reading) -> String {
        switch reading {
        case .malformed: "malformed"
        case .notAuthentic: "not authentic"
        case .contents: "contents"
        }
    }

    @Test("it is kept: after a restart its receipts are still good, and its keys are its owner's only")
    func kept() throws {
        let folder = try Self.temporaryFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let directory = ReceiptAuthorityDirectory(url: folder)
        let first = try directory.open(now: Date())
        let receipt = try first.receipt(ReceiptEncodingTests.contents(.sandbox))
        let second = try directory.open(now: Date())
        #expect(try second.encodedRoot == first.encodedRoot)
        #expect(Self.kind(second.reader.read(receipt)) == "contents")
        for name in ["root.key", "intermediate.key", "leaf.key"] {
            let path = folder.appendingPathComponent("receipt-authority/\(name)").path
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }
        let root = try Data(contentsOf: folder.appendingPathComponent("receipt-root.der"))
        #expect([UInt8](root) == (try first.encodedRoot))
        let fingerprint = try String(contentsOf: folder.appendingPathComponent("receipt-root.sha256"), encoding: .utf8)
        #expect(fingerprint == (try CertificateAuthority.fingerprint(of: first.root.certificate)) + "\n")
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(left == ["receipt-authority", "receipt-root.der", "receipt-root.sha256"])
    }

    @Test("a folder that is damaged says what to do")
    func damaged() throws {
        let folder = try Self.temporaryFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let authority = folder.appendingPathComponent("receipt-authority")
        try FileManager.default.createDirectory(at: authority, withIntermediateDirectories: true)
        #expect { try ReceiptAuthorityDirectory(url: folder).open(now: Date()) } throws: { error in
            "\(error)".contains("remove it")
        }
    }

    @Test("its certificates say whose they are and what they are for, and are valid from 2015 on")
    func certificates() throws {
        let authority = try ReceiptShop.receipts.get()
        let ten: TimeInterval = 10 * 366 * 86_400
        for member in [authority.root, authority.intermediate, authority.leaf] {
            #expect("\(member.certificate.subject)".contains("Not Apple: development only"))
            #expect(member.certificate.notValidBefore == Date(timeIntervalSince1970: 1_420_070_400))
            #expect(member.certificate.notValidAfter > Date() + ten)
            #expect(member.certificate.signatureAlgorithm == .sha256WithRSAEncryption)
            #expect(member.key.keySizeInBits == 2_048)
        }
        #expect(authority.intermediate.certificate.extensions[oid: CertificateAuthority.intermediateMarker] != nil)
        #expect(authority.leaf.certificate.extensions[oid: CertificateAuthority.leafMarker] != nil)
    }

    @Test("one changed bit anywhere makes a receipt malformed or not authentic")
    func tampered() throws {
        let authority = try ReceiptShop.receipts.get()
        let receipt = try authority.receipt(ReceiptEncodingTests.contents(.production))
        #expect(Self.kind(authority.reader.read(receipt)) == "contents")
        let certificate = try ReceiptAuthority.encoded(authority.leaf.certificate)
        let start = try #require(receipt.firstRange(of: certificate)?.lowerBound)
        let content = try #require(receipt.firstRange(of: Array("com.example.game".utf8))?.lowerBound)
        for index in [content, start + 100, receipt.count - 1, receipt.count - 256] {
            var changed = receipt
            changed[index] ^= 1
            #expect(Self.kind(authority.reader.read(changed)) == "not authentic", "byte \(index)")
        }
        for index in [0, 6, receipt.count - 258] {
            var changed = receipt
            changed[index] ^= 0x40
            #expect(Self.kind(authority.reader.read(changed)) == "malformed", "byte \(index)")
        }
        for count in [0, 1, 2, 100, receipt.count - 1] {
            #expect(Self.kind(authority.reader.read(Array(receipt[..<count]))) == "malformed")
        }
        #expect(Self.kind(authority.reader.read(receipt + [0])) == "malformed")
    }

    @Test("base64 that is none is malformed", arguments: ["", "?", "AAAA", "AAA", "not base64 at all"])
    func noBase64(_ text: String) throws {
        #expect(Self.kind(try ReceiptShop.receipts.get().reader.read(base64: text)) == "malformed")
    }

    @Test(
        "openssl accepts a receipt and finds the payload",
        .enabled(if: Program.find("openssl") != nil, "SKIPPED: there is no openssl on the PATH"))
    func openssl() async throws {
        let folder = try Self.temporaryFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let authority = try ReceiptShop.receipts.get()
        let payload = ReceiptEncodingTests.contents(.production, purchases: 200).encoded()
        let receipt = folder.appendingPathComponent("receipt.der")
        let root = folder.appendingPathComponent("root.pem")
        let found = folder.appendingPathComponent("payload.der")
        try Data(try authority.signer.sign(payload)).write(to: receipt)
        try Data(try authority.root.certificate.serializeAsPEM().pemString.utf8).write(to: root)
        let arguments = [
            "cms", "-verify", "-inform", "DER", "-in", receipt.path, "-CAfile", root.path, "-purpose", "any", "-out",
            found.path,
        ]
        let verified = try await Program.openssl(arguments)
        #expect(verified.isGood, "\(verified.output)")
        #expect([UInt8](try Data(contentsOf: found)) == payload)
        let parsed = try await Program.openssl(["asn1parse", "-inform", "DER", "-in", found.path])
        #expect(parsed.isGood, "\(parsed.output)")
    }
}
