import CertificateRevocation
import Foundation
import Logging
import Messages
import NIOHTTP1
import Persistence
import PersistenceTesting
import Postgres
import Testing

@testable import VerificationWorker

@Suite(
    "Revocations that are kept",
    .enabled(
        if: TestDatabase.url != nil && Simulator.isThere,
        "SKIPPED: COUNTERSIGN_TEST_POSTGRES or COUNTERSIGN_BIN_DIR is not set"))
struct StoredRevocationTests {
    private func revocations(_ pool: PostgresPool) -> StoredRevocations {
        StoredRevocations(store: RevokedCertificateStore(pool: pool), attention: AttentionLog(logger: Stage.quiet))
    }

    @Test("what one worker learns all know, also those that ask nobody, and after a restart; a person takes it back")
    func sharedAndKept() async throws {
        try await TestDatabase.with { pool in
            try await Stage.run { stage in
                let sold = try await stage.simulator.sellOne()
                let submission = SubmissionFixture.make(.signedTransaction, sold.signedTransaction)
                let told = try await stage.simulator.notification("DID_RENEW")
                let (first, other) = (revocations(pool), revocations(pool))
                await other.ready()
                #expect(try await stage.finding(submission, Setup(revoked: other.known)).name == "genuine")

                // One learns it and writes it down.
                try await stage.simulator.control(.PUT, "revocation", "{\"leaf\":\"revoked\"}")
                await first.ready()
                let asking = Setup(asksAboutRevocation: true, revoked: first.known)
                #expect(try await stage.finding(submission, asking).reason == "certificate_revoked")
                try await first.look()
                let store = RevokedCertificateStore(pool: pool)
                #expect(try await store.all().count == 1)
                #expect(try await store.summary()?.count == 1)

                // Another that was there before, one that has just started; the responder is silent, says good, or is not asked.
                try await other.look()
                let restarted = revocations(pool)
                await restarted.ready()
                for known in [other.known, restarted.known] {
                    for change in ["{\"responder\":\"unreachable\"}", "{\"leaf\":\"good\",\"responder\":\"up\"}"] {
                        try await stage.simulator.control(.PUT, "revocation", change)
                        for asks in [true, false] {
                            let setup = Setup(asksAboutRevocation: asks, revoked: known)
                            #expect(try await stage.finding(submission, setup).reason == "certificate_revoked")
                            let finding = try await stage.finding(notified(told.signedPayload), setup)
                            #expect(finding.reason == "certificate_revoked")
                        }
                    }
                }

                // A repetition changes nothing; a person takes it back.
                try await first.look()
                #expect(try await store.all().count == 1)
                _ = try await pool.query("DELETE FROM revoked_certificates")
                for revocations in [first, restarted] {
                    try await revocations.look()
                    let setup = Setup(asksAboutRevocation: true, revoked: revocations.known)
                    #expect(try await stage.finding(submission, setup).name == "genuine")
                }
            }
        }
    }

    @Test("while the database rests nothing waits for it for long, and what is learnt is written when it is back")
    func databaseRests() async throws {
        try await TestDatabase.with { pool in
            try await Stage.run { stage in
                // Nobody listens at port 1.
                let away = PostgresPool(
                    configuration: try PostgresConfiguration(url: "postgresql://nobody@127.0.0.1:1/none"),
                    logger: Stage.quiet)
                let resting = revocations(away)
                await resting.ready()
                await #expect(throws: PostgresError.self) { try await resting.look() }
                await away.close()

                _ = try await pool.query("ALTER TABLE revoked_certificates RENAME TO elsewhere")
                let waiting = revocations(pool)
                await waiting.ready()
                let sold = try await stage.simulator.sellOne()
                try await stage.simulator.control(.PUT, "revocation", "{\"leaf\":\"revoked\"}")
                let setup = Setup(asksAboutRevocation: true, revoked: waiting.known)
                let submission = SubmissionFixture.make(.signedTransaction, sold.signedTransaction)
                #expect(try await stage.finding(submission, setup).reason == "certificate_revoked")
                await #expect(throws: PostgresError.self) { try await waiting.look() }
                #expect(try await stage.finding(submission, setup).reason == "certificate_revoked")
                _ = try await pool.query("ALTER TABLE elsewhere RENAME TO revoked_certificates")
                try await waiting.look()
                #expect(try await RevokedCertificateStore(pool: pool).all().count == 1)
            }
        }
    }
}
