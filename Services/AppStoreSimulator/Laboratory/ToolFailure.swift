import ArgumentParser

/// Something that ends a laboratory command: one sentence for the person at the terminal, and exit code 1.
struct ToolFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

extension AsyncParsableCommand {
    /// Runs the body; an error whose type says nothing to the parser of arguments becomes a `ToolFailure`.
    ///
    /// - Throws: `ToolFailure`, or an exit code or a usage error as they are.
    func failingPlainly(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch  where error is ExitCode || error is ValidationError || error is ToolFailure {
            throw error
        } catch {
            throw ToolFailure("\(error)")
        }
    }
}
