import ArgumentParser
import Persistence

/// `countersign books check`: compares orders, owners, entries, balances, subscriptions and events with each other.
struct BooksCheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Checks that orders, owners, ledger, subscriptions and events agree; exits with 2 if they do not.",
        discussion: """
            All rules read one snapshot of the database. Large tables are read in parts of some seconds each; on a \
            terminal a line shows the progress. With --rule you can run rules one by one, for example at night; each \
            run then has a snapshot of its own.
            """)

    @Option(
        help: "The name of a rule; may be repeated. Default: all rules.",
        completion: .list(ConsistencyCheck.ruleNames.map(\.name)))
    var rule: [String] = []

    @Flag(help: "Prints the rules' names and texts, and checks nothing.")
    var rules = false

    @OptionGroup var printing: PrintingOptions

    @Flag(help: "Prints how long each rule took, in how many parts.")
    var times = false

    @Option(help: "How many violations of each rule are shown.")
    var examples = 20

    func validate() throws {
        guard (0...10_000).contains(examples) else { throw ValidationError("--examples is from 0 to 10000") }
        let names = Set(ConsistencyCheck.ruleNames.map(\.name))
        if let unknown = rule.first(where: { !names.contains($0) }) {
            throw ValidationError("there is no rule \(unknown); --rules prints their names")
        }
    }

    func run() async throws {
        try await failingPlainly {
            guard !rules else { return print(try listed()) }
            let (line, names, examples) = (ProgressLine(), rule.isEmpty ? nil : Set(rule), examples)
            let report = try await ToolSettings.load().withDatabase { pool in
                defer { line.end() }
                return try await ConsistencyCheck(pool: pool).run(rules: names, examplesMaximum: examples) { progress in
                    line.show(Self.text(progress))
                }
            }
            try printing.answer(report, Self.text(report, hasTimes: times))
            guard report.isClean else { throw ToolExit.found }
        }
    }

    private func listed() throws -> String {
        let known = ConsistencyCheck.ruleNames
        if printing.json { return try ToolOutput.json(known.map { ["name": $0.name, "sentence": $0.sentence] }) }
        let width = known.map(\.name.count).max() ?? 0
        return known.map { "\(ToolOutput.padded($0.name, width))  \($0.sentence)" }.joined(separator: "\n")
    }

    private static func time(of rule: ConsistencyCheck.RuleResult) -> String {
        let (all, longest) = (
            ToolOutput.number(rule.seconds, digits: 1), ToolOutput.number(rule.longestSeconds, digits: 1)
        )
        return rule.parts == 1
            ? "\(rule.name): \(all) s" : "\(rule.name): \(all) s in \(rule.parts) parts, the longest \(longest) s"
    }

    /// How far it is.
    static func text(_ progress: ConsistencyCheck.Progress) -> String {
        let part = progress.parts > 1 ? ", part \(progress.part) of \(progress.parts)" : ""
        return "\(progress.number) of \(progress.count): \(progress.name)\(part)"
    }

    /// The report as a person reads it.
    static func text(_ report: ConsistencyCheck.Report, hasTimes: Bool = false) -> String {
        var lines = report.counts.sorted { $0.key < $1.key }.map { "\(ToolOutput.padded($0.key, 24)) \($0.value)" }
        if !lines.isEmpty { lines.append("") }
        for rule in report.rules {
            lines.append("\(rule.violations == 0 ? "ok    " : "BROKEN") \(rule.sentence)")
            if hasTimes { lines.append("         \(time(of: rule))") }
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
