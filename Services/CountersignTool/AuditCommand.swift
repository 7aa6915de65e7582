import ArgumentParser
import Persistence

/// `countersign audit`: compares orders, owners, entries, balances, subscriptions and events with each other.
struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Checks that orders, owners, ledger, subscriptions and events agree; exits with 1 when they do not.")

    @Flag(help: "Prints JSON.")
    var json = false

    @Option(help: "How many violations of each rule are named.")
    var examples = 20

    func validate() throws {
        guard (0...10_000).contains(examples) else { throw ValidationError("--examples is from 0 to 10000") }
    }

    func run() async throws {
        try await failingPlainly {
            let report = try await ToolSettings.load().withDatabase { pool in
                try await ConsistencyCheck(pool: pool).run(examplesMaximum: examples)
            }
            print(json ? try ToolOutput.json(report) : Self.text(report))
            guard report.isClean else { throw ExitCode.failure }
        }
    }

    /// The report as a person reads it.
    static func text(_ report: ConsistencyCheck.Report) -> String {
        var lines = report.counts.sorted { $0.key < $1.key }.map { "\(ToolOutput.padded($0.key, 24)) \($0.value)" }
        lines.append("")
        for rule in report.rules {
            lines.append("\(rule.violations == 0 ? "ok    " : "BROKEN") \(rule.sentence)")
            lines += rule.examples.map { "         \($0)" }
            let unnamed = rule.violations - Int64(rule.examples.count)
            if unnamed > 0 { lines.append("         and \(unnamed) more") }
        }
        lines.append("")
        let broken = report.rules.count { $0.violations > 0 }
        lines.append(
            broken == 0 ? "clean: every rule holds" : "not clean: \(broken) of \(report.rules.count) rules broken")
        return lines.joined(separator: "\n")
    }
}
