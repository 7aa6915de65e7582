import Foundation

/// Shows how far something is, on standard error: a bar on a terminal, a line now and then elsewhere.
struct ProgressLine: Sendable {
    private static let barWidth = 24
    private static let terminalInterval = Duration.milliseconds(200)
    private static let plainInterval = Duration.seconds(5)

    let title: String
    let total: Int
    private let isTerminal = isatty(STDERR_FILENO) == 1

    /// Runs the body and shows meanwhile what `state` gives: how many of the total are done, and what else to say.
    func run(_ state: @escaping @Sendable () -> (done: Int, note: String), _ body: () async throws -> Void)
        async rethrows
    {
        let display = Task { [self] in
            while !Task.isCancelled {
                show(state(), isLast: false)
                try? await Task.sleep(for: isTerminal ? Self.terminalInterval : Self.plainInterval)
            }
        }
        defer {
            display.cancel()
            show(state(), isLast: true)
        }
        try await body()
    }

    private func show(_ state: (done: Int, note: String), isLast: Bool) {
        let text = text(done: state.done, note: state.note)
        let line = isTerminal ? "\r\u{1B}[K\(text)\(isLast ? "\n" : "")" : text + "\n"
        FileHandle.standardError.write(Data(line.utf8))
    }

    /// One line of progress.
    func text(done: Int, note: String) -> String {
        guard isTerminal else { return "\(title): \(done) of \(total)\(note.isEmpty ? "" : ", \(note)")" }
        let filled = total == 0 ? Self.barWidth : min(Self.barWidth, done * Self.barWidth / total)
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: Self.barWidth - filled)
        return "\(ToolOutput.padded(title, 8)) \(bar) \(done)/\(total)  \(note)"
    }
}
