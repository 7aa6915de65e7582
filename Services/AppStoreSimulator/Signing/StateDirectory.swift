import Crypto
import Foundation
import SwiftASN1
import X509

/// The folder that makes a simulator the same one after a restart: its keys, and the store.
///
/// `authority/` appears by one rename when it is complete, so a start that was cut short leaves nothing half done.
struct StateDirectory: Sendable {
    /// Leaf and intermediate are reissued when either has less time left than the clock may be ahead, and 30 days: so a
    /// long-lived folder stays usable.
    private static let remainingMinimum = TimeInterval(VirtualClock.Limit.ahead / 1_000) + 30 * 86_400

    private enum Name {
        static let authority = "authority"
        static let rootCertificate = "root.der"
        static let rootFingerprint = "root.sha256"
    }

    let url: URL

    /// Opens the folder, and makes it when it is missing.
    init(path: String) throws {
        url = URL(fileURLWithPath: path, isDirectory: true)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    /// The store's journal.
    var journal: URL { url.appendingPathComponent("store.journal") }

    /// The authority that is kept here, or a new one; writes the root and its fingerprint for others to trust.
    ///
    /// Intermediate and leaf are issued anew, with the same names and keys, when they expire too soon or name another OCSP
    /// responder; the root never changes.
    ///
    /// - Parameters:
    ///   - now: our own time, not the store's.
    ///   - ocspURL: what the certificates name as their OCSP responder; nil leaves them as they are.
    func openAuthority(now: Date, ocspURL: String? = nil) throws -> CertificateAuthority {
        let folder = url.appendingPathComponent(Name.authority)
        var authority: CertificateAuthority
        if FileManager.default.fileExists(atPath: folder.path) {
            authority = try Self.load(from: folder)
            if Self.mustReissue(authority, now: now, ocspURL: ocspURL) {
                authority = try authority.reissued(now: now, ocspURL: ocspURL ?? authority.ocspURL)
                // The keys are the same, so it does not matter if only one of the two files gets written.
                try Self.write(authority.intermediate, as: "intermediate", in: folder)
                try Self.write(authority.leaf, as: "leaf", in: folder)
            }
        } else {
            authority = try CertificateAuthority(now: now, ocspURL: ocspURL)
            let partial = url.appendingPathComponent("\(Name.authority).\(UUID().uuidString)")
            try FileManager.default.createDirectory(
                at: partial, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            try Self.store(authority, in: partial)
            try FileManager.default.moveItem(at: partial, to: folder)
        }
        let root = try CertificateAuthority.encoded(authority.root)
        try Data(root).write(to: url.appendingPathComponent(Name.rootCertificate), options: .atomic)
        try Data((try CertificateAuthority.fingerprint(of: authority.root) + "\n").utf8)
            .write(to: url.appendingPathComponent(Name.rootFingerprint), options: .atomic)
        return authority
    }

    private static func mustReissue(_ authority: CertificateAuthority, now: Date, ocspURL: String?) -> Bool {
        [authority.intermediate, authority.leaf].contains { certificate in
            certificate.notValidAfter < now + remainingMinimum || certificate.notValidBefore > Validity.from
                || (ocspURL != nil && CertificateAuthority.ocspURL(of: certificate) != ocspURL)
        }
    }

    private static func store(_ authority: CertificateAuthority, in folder: URL) throws {
        try write(authority.root, key: authority.rootKey.pemRepresentation, as: "root", in: folder)
        try write(
            authority.intermediate, key: authority.intermediateKey.pemRepresentation, as: "intermediate", in: folder)
        try write(authority.leaf, key: authority.leafKey.pemRepresentation, as: "leaf", in: folder)
    }

    private static func write(_ certificate: Certificate, key: String, as name: String, in folder: URL) throws {
        let keyFile = folder.appendingPathComponent("\(name).key")
        // Made with its permissions, and not given them afterwards: nobody else can open it in between.
        try? FileManager.default.removeItem(at: keyFile)
        guard
            FileManager.default.createFile(
                atPath: keyFile.path, contents: Data(key.utf8), attributes: [.posixPermissions: 0o600])
        else { throw StateDirectoryError(description: "cannot write \(keyFile.path)") }
        try write(certificate, as: name, in: folder)
    }

    private static func write(_ certificate: Certificate, as name: String, in folder: URL) throws {
        try Data(try CertificateAuthority.encoded(certificate))
            .write(to: folder.appendingPathComponent("\(name).der"), options: .atomic)
    }

    private static func load(from folder: URL) throws -> CertificateAuthority {
        func certificate(_ name: String) throws -> Certificate {
            try Certificate(derEncoded: [UInt8](try Data(contentsOf: folder.appendingPathComponent("\(name).der"))))
        }
        func key(_ name: String) throws -> String {
            try String(contentsOf: folder.appendingPathComponent("\(name).key"), encoding: .utf8)
        }
        do {
            return CertificateAuthority(
                root: try certificate("root"),
                rootKey: try P384.Signing.PrivateKey(pemRepresentation: try key("root")),
                intermediate: try certificate("intermediate"),
                intermediateKey: try P384.Signing.PrivateKey(pemRepresentation: try key("intermediate")),
                leaf: try certificate("leaf"),
                leafKey: try P256.Signing.PrivateKey(pemRepresentation: try key("leaf")))
        } catch {
            throw StateDirectoryError(description: "\(folder.path) cannot be read; remove it to start with a new root")
        }
    }
}

/// A state folder that cannot be used; `description` says what to do.
struct StateDirectoryError: Error, CustomStringConvertible {
    let description: String
}
