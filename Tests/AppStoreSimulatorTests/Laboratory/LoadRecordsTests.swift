import Testing

@testable import AppStoreSimulator

/// Many tasks tell the same purchase's story; it is kept without contradictions.
@Suite struct LoadRecordsTests {
    private let records = LoadRecords(
        purchases: [LoadReport.Purchase(transactionId: "1", originalTransactionId: "1", account: "player-1")],
        forgeries: [])

    private func answer(_ state: String, id: String = "sub_1") -> IntakeClient.Purchase {
        IntakeClient.Purchase(id: id, state: state, finish: state != "received", reason: nil)
    }

    @Test func anOutcomeIsNotTakenBackByALateDuplicate() {
        records.begin(0)
        records.update(0, with: answer("fulfilled"))
        records.update(0, with: answer("received"))
        records.fail(0, problem: "503")
        #expect(records.purchases[0].state == "fulfilled")
        #expect(records.purchases[0].problem == nil)
        #expect(records.counts.accepted == 1 && records.counts.settled == 1)
    }

    @Test func aDuplicateWithAnotherIdIsNoticed() {
        records.begin(0)
        records.update(0, with: answer("received"))
        records.update(0, with: answer("received"))
        #expect(records.counts.mismatchedIds == 0)
        records.update(0, with: answer("received", id: "sub_2"))
        #expect(records.counts.mismatchedIds == 1)
        #expect(records.purchases[0].submissionId == "sub_1")
    }

    @Test func answersAreCountedByStatus() {
        records.note(.purchase(answer("received")))
        records.note(.purchase(answer("fulfilled")))
        records.note(.tryAgain(status: nil, after: nil, problem: ""))
        records.note(.tryAgain(status: 503, after: nil, problem: ""))
        records.note(.refused(status: 422, problem: "", code: nil))
        #expect(records.counts.statuses == ["202": 1, "200": 1, "unreachable": 1, "503": 1, "422": 1])
    }

    @Test func anOutcomeThatAPostLearnsAfterAQuestionDidIsTheQuestions() {
        records.begin(0)
        records.note(.purchase(answer("received")), of: .purchase(0))
        records.note(.tryAgain(status: 503, after: nil, problem: "503"), of: .purchase(0))
        #expect(records.purchases[0].problem == "503")
        records.note(.purchase(answer("fulfilled")), of: .purchase(0))
        records.note(.purchase(answer("fulfilled")), of: .purchase(0))
        let purchase = records.purchases[0]
        #expect(purchase.problem == nil && records.counts.settled == 1)
    }
}
