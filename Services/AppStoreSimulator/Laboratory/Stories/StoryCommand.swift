import ArgumentParser
import Foundation

/// `app-store-simulator story`: plays stories at the simulator, and says whether they come out as they tell.
struct StoryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "story", abstract: "Plays YAML stories with expectations in the App Store simulator.",
        discussion: "Tests/Stories holds the stories that ship, and the README of their format.",
        subcommands: [StoryRunCommand.self, StoryCheckCommand.self])
}

/// `app-store-simulator story check`: reads stories without playing them.
struct StoryCheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Checks stories and reports mistakes with their lines; plays nothing.")

    @Argument(help: "Files with stories.") var files: [String]
    @Flag(help: "Prints JSON.") var json = false

    /// A story that can be played, for programs.
    struct Report: Encodable {
        let file: String
        let name: String
        let steps: Int
    }

    func run() async throws {
        try await failingPlainly {
            let stories = StoryFiles.read(files)
            let reports = stories.good.map { Report(file: $0.file, name: $0.story.name, steps: $0.story.steps.count) }
            if json {
                print(try ToolOutput.json(["stories": reports]))
            } else {
                for report in reports { print("✓ \(report.file): \(report.name), \(report.steps) steps") }
            }
            try stories.complain()
        }
    }
}

/// `app-store-simulator story run`: plays stories one after the other, for they share the simulator's clock.
struct StoryRunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Plays stories step by step; exits with 1 if an expectation fails.",
        discussion: """
            Each run takes a bundle id and accounts of its own. With --backend, a story that talks to the backend keeps
            its bundle id, by which the backend knows the app; without, those steps are skipped and reported so.
            """)

    /// What shells say of a command that Ctrl-C ended.
    private static let interrupted: Int32 = 130

    @Argument(help: "Files with stories.") var files: [String]
    @Option(help: "The simulator's address. Default: COUNTERSIGN_SIMULATOR_URL, or \(ControlClient.defaultBase).")
    var simulator: String?
    @Option(help: "The backend under test: intake's address.") var backend: String?
    @Option(help: "Where the backend takes server notifications; without it they are kept and not sent.")
    var notificationUrl: String?
    @OptionGroup var credentials: CredentialOptions
    @Flag(help: "Goes on after a failed step.") var keepGoing = false
    @Flag(help: "Prints one JSON report instead of the steps.") var json = false

    func run() async throws {
        try await failingPlainly {
            let stories = StoryFiles.read(files)
            try stories.complain()
            let base = try ControlClient.base(simulator)
            let played = try await HTTPCaller.with(connections: 8, retriesConnecting: false) { http in
                // Interrupted, the simulator is still left as it was found.
                try await Interruption.run { try await play(stories.good, http: http, base: base) }
            }
            guard let reports = played else { throw ExitCode(Self.interrupted) }
            if json { print(try ToolOutput.json(["stories": reports])) }
            let failed = reports.filter { !$0.passed }
            guard failed.isEmpty else {
                if !json { print("✗ \(failed.count) of \(reports.count) stories failed") }
                throw ExitCode.failure
            }
        }
    }

    private func play(
        _ stories: [(file: String, story: Story)], http: HTTPCaller, base: String
    ) async throws -> [StoryReport] {
        var stage = StoryRunner.Stage(
            control: ControlClient(http: http, base: base), backend: try backend(http), keepsGoing: keepGoing)
        if !json { stage.show = { print($0) } }
        var reports: [StoryReport] = []
        for (file, story) in stories {
            try Task.checkCancellation()
            reports.append(try await StoryRunner.run(story, file: file, on: stage))
        }
        return reports
    }

    private func backend(_ http: HTTPCaller) throws -> StoryBackend? {
        guard let backend else { return nil }
        return StoryBackend(
            http: http, base: try LaboratorySettings.address(backend, of: "--backend"),
            notificationURL: notificationUrl, credentials: try credentials.source())
    }
}

/// The stories of some files, and what is wrong with the others.
struct StoryFiles {
    private(set) var good: [(file: String, story: Story)] = []
    /// `FILE:LINE: what is wrong`.
    private(set) var complaints: [String] = []

    static func read(_ files: [String]) -> StoryFiles {
        var result = StoryFiles()
        for file in files {
            do {
                result.good.append((file, try StoryParser.parse(file: file)))
            } catch let failure as StoryParser.Failure {
                result.complaints += failure.problems.map { "\(file):\($0.line): \($0.message)" }
            } catch {
                result.complaints.append("\(error)")
            }
        }
        return result
    }

    /// - Throws: `ToolFailure` with every complaint.
    func complain() throws {
        if !complaints.isEmpty { throw ToolFailure(complaints.joined(separator: "\n")) }
    }
}
