import ArgumentParser
import Foundation

/// Asks the person at the terminal.
///
/// Questions go to standard error: standard output is the command's answer.
enum Terminal {
    /// Whether somebody is there to answer.
    static var isInteractive: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1 }

    /// What an option says; otherwise what a person answers; otherwise it is a usage error.
    ///
    /// - Parameter option: its name, such as `--kafka`.
    static func required(_ value: String?, _ option: String, _ question: String) throws -> String {
        if let value { return value }
        guard isInteractive else { throw ValidationError("\(option) is missing") }
        while true {
            guard let answer = ask(question) else { throw ValidationError("\(option) is missing") }
            if !answer.isEmpty { return answer }
        }
    }

    /// What an option says; otherwise what a person answers, nil for an empty line; nil where nobody is there.
    static func optional(_ value: String?, _ question: String) -> String? {
        if let value { return value }
        guard isInteractive, let answer = ask("\(question) (Enter: none)"), !answer.isEmpty else { return nil }
        return answer
    }

    /// A secret that a person types unseen; nil for an empty line, or where nobody is there.
    static func secret(_ question: String) -> String? {
        guard isInteractive else { return nil }
        var settings = termios()
        guard tcgetattr(STDIN_FILENO, &settings) == 0 else { return nil }
        var silent = settings
        silent.c_lflag &= ~tcflag_t(ECHO)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
        defer {
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
            write("\n")
        }
        return ask("\(question) (Enter: none; not shown)").flatMap { $0.isEmpty ? nil : $0 }
    }

    private static func ask(_ question: String) -> String? {
        write("\(question): ")
        return readLine()?.trimmingCharacters(in: .whitespaces)
    }

    private static func write(_ text: String) {
        FileHandle.standardError.write(Data(text.utf8))
    }
}
