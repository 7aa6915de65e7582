import ArgumentParser

/// Something that ends the command: one sentence for the person at the terminal, and exit code 1.
struct ToolFailure: Error, CustomStringConvertible {
    /// What is wrong and, where that is known, what to do.
    let description: String

    init(_ description: String) {
        self.description = description
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
        } catch let error as ToolFailure {
            throw error
        } catch {
            throw ToolFailure("\(error)")
        }
    }
}
