import ArgumentParser
import Persistence

/// `countersign submissions retry`: has settled submissions judged again.
struct SubmissionsRetryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Judges rejected or parked submissions again, and records who asked for it and why.",
        discussion: """
            Use it after a change of settings: a wrong bundle id, a refused sandbox, a product that was missing in the \
            catalogue. Fulfilled submissions are left alone, and nothing is granted twice. It works in transactions of \
            1,000, so an interrupted command has done a part.
            """)

    @Argument(help: "Ids of submissions.")
    var submissions: [String] = []

    @Flag(help: "All that are parked.")
    var parked = false

    @Option(help: "All that were rejected for this reason, such as sandbox_refused.")
    var rejectedReason: String?

    @OptionGroup var audit: AuditOptions

    @Option(help: "The maximum number of submissions.")
    var limit = 10_000

    @OptionGroup var printing: PrintingOptions

    /// What was set back, for programs.
    struct Report: Encodable, Sendable {
        let redriven: [SubmissionStore.Redriven]
        /// Of those that were named: unknown, fulfilled already, or of a forgotten account.
        let leftAlone: [String]
    }

    func validate() throws {
        guard [!submissions.isEmpty, parked, rejectedReason != nil].count(where: { $0 }) == 1 else {
            throw ValidationError("name submissions, or --parked, or --rejected-reason: exactly one of these")
        }
        guard (1...1_000_000).contains(limit) else { throw ValidationError("--limit is from 1 to 1000000") }
    }

    func run() async throws {
        try await failingPlainly {
            let selection = selection
            let (line, reason, limit) = (ProgressLine(), audit.reason, limit)
            let actor = audit.who
            let isJSON = printing.json
            var all: [SubmissionStore.Redriven] = []
            try await ToolSettings.load().withDatabase { pool in
                defer { line.end() }
                let batches = SubmissionStore(pool: pool)
                    .redriveBatches(selection, reason: reason, actor: actor, limit: limit)
                for try await redriven in batches {
                    line.end()
                    if !isJSON { for one in redriven { print("\(one.id) was \(one.previousState), is due now") } }
                    all += redriven
                    line.show("\(all.count) redriven")
                }
            }
            let missed = Set(submissions).subtracting(all.map(\.id)).sorted()
            try ToolOutput.answer(
                Report(redriven: all, leftAlone: missed), json: isJSON, "\(all.count) redriven")
            guard missed.isEmpty else {
                throw ToolFailure(
                    "unknown, fulfilled already, or of a forgotten account, left alone: \(missed.joined(separator: " "))"
                )
            }
        }
    }

    private var selection: SubmissionStore.Selection {
        if parked { return .parked }
        if let rejectedReason { return .rejected(reason: rejectedReason) }
        return .ids(submissions)
    }
}
