import Crypto
import CryptoExtras
import Foundation
import SwiftASN1
import X509

/// Keeps a ``ReceiptAuthority`` in a state folder, so that receipts stay good after a restart.
///
/// `receipt-authority/` appears by one rename when it is complete, so a start that was cut short leaves nothing half done.
struct ReceiptAuthorityDirectory: Sendable {
    private enum Name {
        static let authority = "receipt-authority"
        static let rootCertificate = "receipt-root.der"
        static let rootFingerprint = "receipt-root.sha256"
        static let members = ["root", "intermediate", "leaf"]
    }

    /// The state folder, which exists.
    let url: URL

    /// The authority that is kept here, or a new one; writes the root and its fingerprint for others to trust.
    func open(now: Date) throws -> ReceiptAuthority {
        let folder = url.appendingPathComponent(Name.authority)
        let authority: ReceiptAuthority
        if FileManager.default.fileExists(atPath: folder.path) {
            authority = try Self.load(from: folder)
        } else {
            authority = try ReceiptAuthority(now: now)
            let partial = url.appendingPathComponent("\(Name.authority).\(UUID().uuidString)")
            try FileManager.default.createDirectory(
                at: partial, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            let members = [authority.root, authority.intermediate, authority.leaf]
            for (name, member) in zip(Name.members, members) { try Self.write(member, as: name, in: partial) }
            try FileManager.default.moveItem(at: partial, to: folder)
        }
        try Data(try authority.encodedRoot)
            .write(to: url.appendingPathComponent(Name.rootCertificate), options: .atomic)
        let fingerprint = try CertificateAuthority.fingerprint(of: authority.root.certificate)
        try Data("\(fingerprint)\n".utf8)
            .write(to: url.appendingPathComponent(Name.rootFingerprint), options: .atomic)
        return authority
    }

    private static func write(_ member: ReceiptAuthority.Member, as name: String, in folder: URL) throws {
        let keyFile = folder.appendingPathComponent("\(name).key")
        // Made with its permissions, and not given them afterwards: nobody else can open it in between.
        guard
            FileManager.default.createFile(
                atPath: keyFile.path, contents: Data(member.key.pemRepresentation.utf8),
                attributes: [.posixPermissions: 0o600])
        else { throw StateDirectoryError(description: "cannot write \(keyFile.path)") }
        try Data(try ReceiptAuthority.encoded(member.certificate))
            .write(to: folder.appendingPathComponent("\(name).der"), options: .atomic)
    }

    private static func load(from folder: URL) throws -> ReceiptAuthority {
        do {
            let members = try Name.members.map { name in
                let certificate = try Data(contentsOf: folder.appendingPathComponent("\(name).der"))
                let key = try String(contentsOf: folder.appendingPathComponent("\(name).key"), encoding: .utf8)
                return ReceiptAuthority.Member(
                    certificate: try Certificate(derEncoded: [UInt8](certificate)),
                    key: try _RSA.Signing.PrivateKey(pemRepresentation: key))
            }
            return try ReceiptAuthority(root: members[0], intermediate: members[1], leaf: members[2])
        } catch {
            throw StateDirectoryError(description: "\(folder.path) cannot be read; remove it to start with a new root")
        }
    }
}
