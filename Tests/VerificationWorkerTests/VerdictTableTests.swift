import Testing

@testable import VerificationWorker

/// What is played for one row of the table; the finding must be what the row says.
typealias Scenario = @Sendable (Stage) async throws -> Finding

@Suite("Every row of the table of verdicts")
struct VerdictTableTests {
    static let scenarios: [String: Scenario] = [
        transactionScenarios, receiptScenarios, verifyReceiptScenarios, serverAPIScenarios, revocationScenarios,
        otherScenarios, notificationScenarios, orderScenarios, renewalScenarios, expiredScenarios,
        statusScenarios,
    ].reduce(into: [:]) { all, some in all.merge(some) { first, _ in first } }

    @Test("Each row has a scenario, and each scenario a row")
    func theyMatch() throws {
        let rows = try VerdictTable().rows.map(\.name)
        #expect(rows.count > 100)
        #expect(Set(rows).count == rows.count, "a row stands there twice")
        #expect(Set(rows).subtracting(Self.scenarios.keys).sorted() == [], "rows without a scenario")
        #expect(Set(Self.scenarios.keys).subtracting(rows).sorted() == [], "scenarios without a row")
    }

    @Test("Each row says what happens", .enabled(if: Simulator.isThere, Simulator.missing))
    func theyHold() async throws {
        let rows = try VerdictTable().rows
        try await Stage.run { stage in
            for row in rows {
                guard let scenario = Self.scenarios[row.name] else { continue }
                try await stage.simulator.behave()
                let finding: Finding
                do {
                    finding = try await scenario(stage)
                } catch {
                    Issue.record(error, "\(row.name)")
                    continue
                }
                #expect(finding.name == row.verdict, "\(row.name): \(finding.reason ?? "")")
                #expect(finding.reason == row.reason, "\(row.name)")
                if let seconds = row.comesBack { #expect(finding.retryAfterSeconds == seconds, "\(row.name)") }
                if row.verdict == "unknown" { #expect(finding.retryAfterSeconds ?? 0 > 0, "\(row.name)") }
            }
        }
    }
}
