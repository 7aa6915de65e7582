import ArgumentParser
import Foundation
import ServiceRuntime

/// The exit codes that are neither 0 nor a usage error's 64; the table is in `deploy/site/pages/tool.md`.
enum ToolExit {
    /// It could not be done, or looked at.
    static let failed = ExitCode.failure
    /// It was looked at, and something was found that a person has to see.
    static let found = ExitCode(2)
    /// It was asked for and goes on by itself: it was not over when the command's time was.
    static let underWay = ExitCode(3)
}

/// Something that ends the command: one sentence for the person at the terminal, and an exit code.
struct ToolFailure: Error, CustomStringConvertible {
    /// What is wrong and, where that is known, what to do.
    let description: String
    let exitCode: ExitCode

    init(_ description: String, exitCode: ExitCode = ToolExit.failed) {
        self.description = description
        self.exitCode = exitCode
    }
}

extension AsyncParsableCommand {
    /// Runs the body; whatever it throws becomes one sentence.
    ///
    /// - Throws: `ToolFailure`, or an exit code or a usage error as they are.
    func failingPlainly(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let error as ExitCode {
            throw error
        } catch let error as ValidationError {
            throw error
        } catch let error as ToolFailure where error.exitCode == ToolExit.failed {
            throw error
        } catch let error as ToolFailure {
            // ArgumentParser ends with 1 for every error, and says nothing for an exit code.
            ToolOutput.note("Error: \(error)")
            throw error.exitCode
        } catch let error as SettingError where error.code == .missing {
            throw ToolFailure(
                "\(error) The tool reads the services' variables: `set -a; . countersign.env; set +a` takes them from a file."
            )
        } catch {
            throw ToolFailure("\(error)")
        }
    }
}
