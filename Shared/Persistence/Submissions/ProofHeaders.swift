import Foundation
import Messages
package import Postgres
import PurchaseModel
import Synchronization

/// The headers that are kept once, in the table `proof_headers`, and left out of the proofs that are written.
///
/// The header of what Apple signs is its chain of certificates: 4.4 kB of a signed transaction's 5, and the same in all that
/// Apple signs for a year or two. Only the header of a proof that was verified is kept: anybody can post another, and
/// rows are never removed.
package final class ProofHeaders: Sendable {
    /// The longest header that is kept, with the dot behind it, in bytes.
    package static let bytesMaximum = 16 << 10
    /// The most rows of the table: some thousand years of Apple's certificates.
    package static let rowsMaximum = 1_000
    /// The newest rows that are known here; each is compared with every proof.
    package static let knownMaximum = 32
    /// The most headers that are remembered until somebody asks whether a proof with them was verified.
    package static let candidatesMaximum = 32
    /// The most proofs that are remembered of each, half of them the first: under load the newest have no outcome yet.
    package static let candidateProofsMaximum = 8
    /// What refuses a row whose header is not in the table.
    static let constraint = "submission_proofs_are_whole"

    /// How a proof is written: as it is, or without its header.
    struct Stored {
        var proof: String?
        var header: [UInt8]?
        var rest: String?
    }

    private struct Known: Sendable {
        let fingerprint: [UInt8]
        /// With the dot that follows it.
        let text: [UInt8]

        func begins(_ proof: UnsafeBufferPointer<UInt8>) -> Bool {
            guard proof.count > text.count, let start = proof.baseAddress else { return false }
            return text.withUnsafeBytes { text in text.baseAddress.map { memcmp(start, $0, text.count) == 0 } ?? false }
        }
    }

    private struct State {
        var known: [Known] = []
        /// Ids of submissions that were written whole, by their header.
        var candidates: [String: [String]] = [:]
    }

    private let state = Mutex(State())

    /// Knows none.
    package init() {}

    /// The headers' parts of proofs that were verified, at most ``knownMaximum``.
    package var known: [[UInt8]] { state.withLock { $0.known.map { Array($0.text.dropLast()) } } }

    /// How a proof is to be written.
    func stored(_ proof: String) -> Stored {
        var proof = proof
        let known = state.withLock { $0.known }
        let found = proof.withUTF8 { text in known.first { $0.begins(text) } }
        guard let found else { return Stored(proof: proof) }
        let start = proof.utf8.index(proof.startIndex, offsetBy: found.text.count)
        return Stored(header: found.fingerprint, rest: String(proof[start...]))
    }

    /// Remembers the headers of new submissions that were written whole.
    func note(_ messages: [SubmissionMessage]) {
        for message in messages where message.kind == .signedTransaction {
            guard let dot = message.proof.utf8.firstIndex(of: UInt8(ascii: ".")) else { continue }
            let header = String(message.proof[..<dot])
            guard !header.isEmpty, header.utf8.count < Self.bytesMaximum else { continue }
            state.withLock { state in
                guard state.candidates[header] != nil || state.candidates.count < Self.candidatesMaximum else { return }
                var ids = state.candidates[header, default: []]
                if ids.count == Self.candidateProofsMaximum { ids.remove(at: ids.count / 2) }
                state.candidates[header] = ids + [message.submissionId]
            }
        }
    }

    /// Knows none from now on, until the next ``refresh(from:)``.
    func forget() {
        state.withLock { $0.known = [] }
    }

    /// Keeps the headers of proofs that were verified since the last time, and learns what other processes have kept.
    ///
    /// - Throws: `PostgresError`; what was known stays known.
    package func refresh(from pool: PostgresPool) async throws {
        let candidates = state.withLock { state in
            defer { state.candidates = [:] }
            return state.candidates.values.flatMap { $0 }
        }
        if !candidates.isEmpty { try await Self.keep(verified: candidates, in: pool) }
        let result = try await pool.query(
            "SELECT fingerprint, header AS text FROM proof_headers ORDER BY created_at DESC, fingerprint LIMIT \(Self.knownMaximum)"
        )
        let known = try result.map { (fingerprint: [UInt8], header: String) in
            Known(fingerprint: fingerprint, text: Array(header.utf8) + [UInt8(ascii: ".")])
        }
        state.withLock { $0.known = known }
    }

    /// Keeps the headers of those of these submissions that were fulfilled: their proofs were verified.
    private static func keep(verified ids: [String], in pool: PostgresPool) async throws {
        _ = try await pool.query(
            """
            INSERT INTO proof_headers (fingerprint, header)
            SELECT DISTINCT sha256(convert_to(header, 'UTF8')), header
            FROM (
                SELECT split_part(p.proof, '.', 1) AS header FROM submissions s
                JOIN submission_proofs p ON p.received_at = s.proof_at AND p.submission_id = s.id
                WHERE s.id = ANY(\(ids)) AND s.state = 'fulfilled' AND s.kind = 'signed_transaction' AND p.proof IS NOT NULL
            ) AS verified
            WHERE octet_length(header) BETWEEN 1 AND \(bytesMaximum - 1)
                AND (SELECT count(*) FROM proof_headers) < \(rowsMaximum)
            ON CONFLICT (fingerprint) DO NOTHING
            """)
    }
}
