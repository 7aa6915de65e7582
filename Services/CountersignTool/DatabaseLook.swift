import ArgumentParser
import Persistence
import Postgres

/// Whether an answer is for people or for programs.
struct PrintingOptions: ParsableArguments {
    @Flag(help: "Prints JSON.") var json = false

    /// Prints the answer on standard output.
    ///
    /// - Throws: `EncodingError`.
    func answer(_ value: some Encodable, _ text: @autoclosure () -> String) throws {
        try ToolOutput.answer(value, json: json, text())
    }
}

/// Who acts by hand and why, for the audit log.
struct AuditOptions: ParsableArguments {
    @Option(help: "Why, for the audit log.") var reason: String
    @Option(help: "Who, for the audit log; the user of the session by default.") var actor: String?

    /// Who acts: the user of the session where no option says it.
    var who: String { actor ?? ToolActor.sessionUser }

    func validate() throws {
        guard !reason.allSatisfy(\.isWhitespace) else { throw ValidationError("--reason says why, in a sentence") }
    }
}

/// The same for a command that only says what it would do until somebody says `--yes`.
struct ConfirmedOptions: ParsableArguments {
    @Flag(help: "Acts; without it the command only says what it would act on.") var yes = false
    @Option(help: "Why, for the audit log; needed with --yes.") var reason: String?
    @Option(help: "Who, for the audit log; the user of the session by default.") var actor: String?

    /// Who acts: the user of the session where no option says it.
    var who: String { actor ?? ToolActor.sessionUser }

    func validate() throws {
        guard !yes || reason?.allSatisfy(\.isWhitespace) == false else {
            throw ValidationError("--yes needs --reason, which says why, in a sentence")
        }
    }
}

/// A command that reads the database, and prints what it finds: it says what it reads, and how a person reads that.
protocol DatabaseLook: AsyncParsableCommand {
    associatedtype Answer: Encodable, Sendable

    var printing: PrintingOptions { get }

    /// - Throws: `ToolFailure` where there is nothing to print, `PostgresError`.
    func look(_ pool: PostgresPool) async throws -> Answer

    func text(_ answer: Answer) -> String

    /// Whether a person has to see something of it: the command then ends with 2.
    func needsSomebody(_ answer: Answer) -> Bool
}

extension DatabaseLook {
    func needsSomebody(_ answer: Answer) -> Bool { false }

    func run() async throws {
        try await failingPlainly {
            let answer = try await answer()
            try printing.answer(answer, text(answer))
            guard !needsSomebody(answer) else { throw ToolExit.found }
        }
    }

    /// A function of its own, since the optimizer crashes on throwing async calls in a closure in a closure.
    @inline(never)
    private func answer() async throws -> Answer {
        let command = self
        return try await ToolSettings.load().withDatabase { pool in try await command.look(pool) }
    }
}
