import Foundation
import Testing

@testable import AppStoreSimulator

/// A report counts what happened, and calls a run failed for each of the reasons that matter.
@Suite struct LoadReportTests {
    private func purchase(
        _ state: String?, reason: String? = nil, outcome: Double? = nil, proof: LoadProofKind = .signedTransaction
    ) -> LoadReport.Purchase {
        var purchase = LoadReport.Purchase(
            transactionId: "2000", originalTransactionId: "2000", account: "player-1", proof: proof)
        purchase.submissionId = state == nil ? nil : "sub_1"
        purchase.state = state
        purchase.reason = reason
        purchase.acceptedMilliseconds = state == nil ? nil : 5
        purchase.outcomeMilliseconds = outcome
        return purchase
    }

    private func report(
        _ purchases: [LoadReport.Purchase], forgeries: [LoadReport.Forgery] = [], mismatchedIds: Int = 0
    ) -> LoadReport {
        LoadReport(
            app: "com.example.game", product: "gems.100", environment: "Sandbox", seed: 1,
            startedAt: "2026-01-01T00:00:00.000Z", sent: purchases.count + forgeries.count, duplicates: 0, retries: 3,
            mismatchedIds: mismatchedIds, statuses: ["200": 2, "503": 3], postingSeconds: 2, settlingSeconds: 4,
            purchases: purchases, forgeries: forgeries)
    }

    private func forgery(_ state: String?, reason: String?) -> LoadReport.Forgery {
        var forgery = LoadReport.Forgery(kind: "edited_payload", expectedReason: "signature_invalid", account: "p")
        forgery.state = state
        forgery.reason = reason
        return forgery
    }

    @Test func percentilesAreMeasuredValues() throws {
        let percentiles = try #require(Percentiles((1...200).map(Double.init).shuffled()))
        #expect(percentiles.p50 == 100 && percentiles.p95 == 190 && percentiles.p99 == 198 && percentiles.max == 200)
        let single = try #require(Percentiles([7]))
        #expect(single.p50 == 7 && single.p99 == 7 && single.count == 1)
        #expect(Percentiles([]) == nil)
    }

    @Test func textTellsOutcomesLatenciesAndRates() {
        let text = report(
            [
                purchase("fulfilled", outcome: 10), purchase("fulfilled", outcome: 30),
                purchase("rejected", reason: "sandbox_refused", outcome: 20),
            ], forgeries: [forgery("rejected", reason: "signature_invalid"), forgery("rejected", reason: "other")]
        ).text
        #expect(text.contains("settled                           3 of 3 purchases"))
        #expect(text.contains("  fulfilled                       2"))
        #expect(text.contains("  rejected: sandbox_refused       1"))
        #expect(text.contains("2 of 2 refused, 1 for the expected reason"))
        #expect(text.contains("200: 2, 503: 3"))
        #expect(text.contains("p50 20.0 ms, p95 30.0 ms, p99 30.0 ms, max 30.0 ms"))
        #expect(text.contains("2.5 posted/s over 2.0 s, 0.8 settled/s"))
        #expect(text.hasSuffix("good: every genuine purchase has an outcome"))
    }

    @Test func eachKindOfProofIsReportedByItself() throws {
        let report = report([
            purchase("fulfilled", outcome: 10), purchase("fulfilled", outcome: 30, proof: .receipt),
            purchase("rejected", reason: "receipt_revoked", outcome: 20, proof: .receipt),
            purchase("received", proof: .transactionId),
        ])
        #expect(report.byProof.map(\.kind) == [.signedTransaction, .receipt, .transactionId])
        #expect(report.byProof.map(\.result.settled) == [1, 2, 0])
        #expect(report.text.contains("as receipt                        2 of 2 purchases settled\n  fulfilled "))
        #expect(report.text.contains("as transaction_id                 0 of 1 purchases settled\n  received "))
        #expect(report.text.contains("  outcome                         p50 20.0 ms, p95 30.0 ms"))
        struct Document: Decodable {
            struct Kind: Decodable {
                let purchases: Int
                let outcomes: [String: Int]
            }
            let byProof: [String: Kind]

            enum CodingKeys: String, CodingKey { case byProof = "by_proof" }
        }
        let document = try JSONDecoder().decode(Document.self, from: Data(try report.json().utf8))
        #expect(document.byProof["receipt"]?.outcomes == ["fulfilled": 1, "rejected: receipt_revoked": 1])
        #expect(document.byProof["transaction_id"]?.purchases == 1)
    }

    @Test func oneKindOfProofNeedsNoPartOfItsOwn() {
        #expect(!report([purchase("fulfilled", outcome: 10)]).text.contains("as signed_transaction"))
    }

    @Test func genuinePurchaseWithoutOutcomeFailsTheRun() {
        let report = report([purchase("fulfilled", outcome: 1), purchase("received"), purchase(nil)])
        #expect(report.failures == ["2 genuine purchases have no outcome"])
        #expect(report.text.hasSuffix("FAILED: 2 genuine purchases have no outcome"))
        #expect(report.outcomes == ["fulfilled": 1, "received": 1, "not accepted": 1])
    }

    @Test func forgeryTakenForGenuineAndAnotherIdFailTheRun() {
        let report = report(
            [purchase("fulfilled", outcome: 1)],
            forgeries: [forgery("fulfilled", reason: nil), forgery("parked", reason: nil), forgery(nil, reason: nil)],
            mismatchedIds: 1)
        #expect(report.failures == ["2 forgeries were taken for genuine", "1 duplicates got another submission id"])
    }

    @Test("a forgery that intake refuses for its shape is refused for the expected reason, and no other refusal is")
    func refusalsAtTheDoor() {
        func refused(_ expected: String, _ status: Int, _ code: String) -> LoadReport.Forgery {
            let body = #"{"type":"/problems/\#(code)","code":"\#(code)","title":"No","detail":"It is none."}"#
            var forgery = LoadReport.Forgery(kind: "four_parts", expectedReason: expected, account: "p")
            forgery.note(
                IntakeClient.interpret(HTTPCaller.Answer(status: status, retryAfter: nil, body: Data(body.utf8))))
            return forgery
        }
        let shapeless = refused("not_a_jws", 422, "proof-malformed")
        let text = report([], forgeries: [shapeless]).text
        #expect(text.contains("1 of 1 refused, 1 for the expected reason (1 by intake, for their shape)\nHTTP"))
        for other in [
            refused("not_a_jws", 401, "authentication-failed"), refused("signature_invalid", 422, "proof-malformed"),
        ] {
            let text = report([], forgeries: [other]).text
            #expect(text.contains("1 of 1 refused, 0 for the expected reason\n  four_parts: "))
        }
    }

    @Test func jsonNamesEveryTransactionWithItsAccount() throws {
        struct Document: Decodable {
            let purchases: [Purchase]
            let accepted: Int
            let failures: [String]
            let outcomes: [String: Int]

            struct Purchase: Decodable {
                let transactionId: String
                let account: String

                enum CodingKeys: String, CodingKey {
                    case account
                    case transactionId = "transaction_id"
                }
            }
        }
        let json = try report([purchase("fulfilled", outcome: 1)]).json()
        let document = try JSONDecoder().decode(Document.self, from: Data(json.utf8))
        #expect(document.purchases.map(\.transactionId) == ["2000"])
        #expect(document.purchases.map(\.account) == ["player-1"])
        #expect(document.accepted == 1 && document.failures.isEmpty && document.outcomes == ["fulfilled": 1])
    }
}
