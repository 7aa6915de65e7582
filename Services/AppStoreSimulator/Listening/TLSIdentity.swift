import Crypto
import Foundation
import NIOSSL
import SwiftASN1
import X509

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What a listener shows of itself under TLS: a certificate for its host, signed by a TLS root of ours, and its key.
///
/// The root is kept in the state folder: clients are told to trust `tls-root.pem` once. It has nothing to do with the
/// root that signs payloads, as Apple's two have not.
struct TLSIdentity: Sendable {
    enum FileName {
        /// The certificate that clients trust.
        static let root = "tls-root.pem"
        /// Its key; readable by the owner only.
        static let rootKey = "tls-root.key"
    }

    private enum Lifetime {
        static let day: TimeInterval = 86_400
        static let root: TimeInterval = 25 * 365 * day
        /// Clients refuse servers' certificates that are valid for longer (CA/Browser Forum, ballot SC31); a new one is
        /// made at each start.
        static let server: TimeInterval = 397 * day
    }

    /// The certificate that clients trust, PEM.
    let rootPEM: String
    private let certificate: [UInt8]
    private let key: P256.Signing.PrivateKey

    /// A new certificate for `localhost`, `127.0.0.1`, `::1` and a host; its root is read from a folder, or made there.
    init(host: String, folder: URL, now: Date = Date()) throws {
        let (root, rootKey) = try Self.openRoot(in: folder, now: now)
        key = P256.Signing.PrivateKey()
        let certificate = try Self.makeServer(host: host, key: key, root: root, rootKey: rootKey, now: now)
        self.certificate = try CertificateAuthority.encoded(certificate)
        rootPEM = try root.serializeAsPEM().pemString
    }

    /// NIO's configuration of a server with this identity.
    func serverConfiguration() throws -> TLSConfiguration {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(try NIOSSLCertificate(bytes: certificate, format: .der))],
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(key.derRepresentation), format: .der)))
        configuration.applicationProtocols = ["http/1.1"]
        return configuration
    }

    private static func openRoot(in folder: URL, now: Date) throws -> (Certificate, P256.Signing.PrivateKey) {
        let file = folder.appendingPathComponent(FileName.root)
        let keyFile = folder.appendingPathComponent(FileName.rootKey)
        if FileManager.default.fileExists(atPath: file.path) {
            do {
                let certificate = try Certificate(pemEncoded: String(contentsOf: file, encoding: .utf8))
                let key = try P256.Signing.PrivateKey(pemRepresentation: String(contentsOf: keyFile, encoding: .utf8))
                return (certificate, key)
            } catch {
                throw ListenerError(
                    description: "\(file.path) and its key cannot be read; remove both to start with a new TLS root")
            }
        }
        let key = P256.Signing.PrivateKey()
        let certificate = try makeRoot(key: key, now: now)
        // The key first: a certificate without one, left by a start that was cut short, would be in the way.
        try writeKey(key, to: keyFile)
        try Data(try certificate.serializeAsPEM().pemString.utf8).write(to: file, options: .atomic)
        return (certificate, key)
    }

    private static func writeKey(_ key: P256.Signing.PrivateKey, to file: URL) throws {
        // Made with its permissions, and not given them afterwards: nobody else can open it in between.
        try? FileManager.default.removeItem(at: file)
        guard
            FileManager.default.createFile(
                atPath: file.path, contents: Data(key.pemRepresentation.utf8), attributes: [.posixPermissions: 0o600])
        else { throw ListenerError(description: "cannot write \(file.path)") }
    }

    private static func makeRoot(key: P256.Signing.PrivateKey, now: Date) throws -> Certificate {
        let name = try DistinguishedName {
            CommonName("Countersign Simulated TLS Root")
            OrganizationalUnitName("Not Apple: development only")
            OrganizationName("Countersign")
        }
        let publicKey = Certificate.PublicKey(key.publicKey)
        let extensions = try Certificate.Extensions {
            Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
            Critical(KeyUsage(keyCertSign: true, cRLSign: true))
            SubjectKeyIdentifier(hash: publicKey)
        }
        return try Certificate(
            version: .v3, serialNumber: .init(), publicKey: publicKey, notValidBefore: now - Lifetime.day,
            notValidAfter: now + Lifetime.root, issuer: name, subject: name, signatureAlgorithm: .ecdsaWithSHA256,
            extensions: extensions, issuerPrivateKey: .init(key))
    }

    private static func makeServer(
        host: String, key: P256.Signing.PrivateKey, root: Certificate, rootKey: P256.Signing.PrivateKey, now: Date
    ) throws -> Certificate {
        let publicKey = Certificate.PublicKey(key.publicKey)
        let subject = try DistinguishedName { CommonName(host) }
        let extensions = try Certificate.Extensions {
            Critical(BasicConstraints.notCertificateAuthority)
            Critical(KeyUsage(digitalSignature: true))
            try ExtendedKeyUsage([.serverAuth])
            SubjectAlternativeNames(names(of: host))
            SubjectKeyIdentifier(hash: publicKey)
            AuthorityKeyIdentifier(keyIdentifier: SubjectKeyIdentifier(hash: root.publicKey).keyIdentifier)
        }
        return try Certificate(
            version: .v3, serialNumber: .init(), publicKey: publicKey, notValidBefore: now - Lifetime.day,
            notValidAfter: now + Lifetime.server, issuer: root.subject, subject: subject,
            signatureAlgorithm: .ecdsaWithSHA256, extensions: extensions, issuerPrivateKey: .init(rootKey))
    }

    private static func names(of host: String) -> [GeneralName] {
        var hosts = ["localhost", "127.0.0.1", "::1"]
        if !hosts.contains(host), !["0.0.0.0", "::"].contains(host) { hosts.append(host) }
        return hosts.map { host in
            var bytes = [UInt8](repeating: 0, count: MemoryLayout<in6_addr>.size)
            if inet_pton(AF_INET, host, &bytes) == 1 {
                return .ipAddress(ASN1OctetString(contentBytes: bytes[..<MemoryLayout<in_addr>.size]))
            }
            if inet_pton(AF_INET6, host, &bytes) == 1 {
                return .ipAddress(ASN1OctetString(contentBytes: bytes[...]))
            }
            return .dnsName(host)
        }
    }
}
