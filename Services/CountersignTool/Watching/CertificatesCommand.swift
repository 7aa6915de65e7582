import ArgumentParser
import Foundation
import Persistence
import Postgres

/// `countersign certificates`: certificates of Apple's that are held for revoked.
struct CertificatesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "certificates",
        abstract: "Shows the certificates that are stored as revoked, and the chains that signed purchases.",
        subcommands: [List.self, Trust.self, Chains.self])

    /// `countersign certificates list`.
    struct List: DatabaseLook {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Lists certificates that Apple's OCSP responder reported as revoked.")

        @OptionGroup var printing: PrintingOptions

        func look(_ pool: PostgresPool) async throws -> [RevokedCertificateStore.Listed] {
            try await RevokedCertificateStore(pool: pool).list()
        }

        func text(_ rows: [RevokedCertificateStore.Listed]) -> String {
            guard !rows.isEmpty else { return "no certificate is held for revoked" }
            return rows.map { row in
                "\(row.sha256)  revoked \(row.revokedAt.formatted(.iso8601)), learnt \(row.learntAt.formatted(.iso8601))"
                    + (row.reason.map { ", reason \($0) of RFC 5280" } ?? "")
            }.joined(separator: "\n")
        }
    }

    /// `countersign certificates trust`.
    struct Trust: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "trust",
            abstract: "Removes a certificate from the revoked ones; its OCSP responder is asked again.",
            discussion: """
                It takes effect within 30 s. If the responder reports the certificate as revoked again, it is added \
                again. Submissions that were rejected meanwhile: `countersign submissions retry --rejected-reason \
                certificate_revoked`.
                """)

        @Argument(help: "The SHA-256 of the certificate, 64 hexadecimal digits.") var sha256: String
        @OptionGroup var audit: AuditOptions
        @OptionGroup var printing: PrintingOptions

        func validate() throws {
            guard sha256.count == 64, sha256.allSatisfy(\.isHexDigit) else {
                throw ValidationError(
                    "a SHA-256 is 64 hexadecimal digits, as `countersign certificates list` prints them")
            }
        }

        /// What was done, for programs.
        struct Report: Encodable, Sendable {
            let sha256: String
            let auditId: Int64
        }

        func run() async throws {
            try await failingPlainly {
                let (sha256, reason, actor) = (sha256.lowercased(), audit.reason, audit.who)
                let audit = try await ToolSettings.load().withDatabase { pool in
                    try await RevokedCertificateStore(pool: pool).remove(sha256, actor: actor, reason: reason)
                }
                guard let audit else { throw ToolFailure("\(sha256) is not among those that are held for revoked") }
                try printing.answer(
                    Report(sha256: sha256, auditId: audit),
                    "\(sha256) is taken out, and asked about anew within 30 s; audit \(audit)")
            }
        }
    }
}
