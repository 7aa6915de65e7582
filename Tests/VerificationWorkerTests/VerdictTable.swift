import Foundation

/// The table of the page `deploy/site/pages/outcomes.md`: what becomes of every proof.
struct VerdictTable {
    /// A row; `name` is the source and the outcome.
    struct Row: Hashable {
        let name: String
        let verdict: String
        /// Nil for what is genuine.
        let reason: String?
        /// Seconds, where the table says a number.
        let comesBack: Double?
    }

    struct Trouble: Error {
        let what: String
    }

    let rows: [Row]

    init() throws {
        let readme = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../deploy/site/pages/outcomes.md").standardizedFileURL
        let lines = try String(contentsOf: readme, encoding: .utf8).split(
            separator: "\n", omittingEmptySubsequences: false)
        guard let head = lines.firstIndex(where: { $0.hasPrefix("| source | outcome |") }) else {
            throw Trouble(what: "the page has no table of verdicts")
        }
        rows = try lines[(head + 2)...].prefix { $0.hasPrefix("|") }.map { line in
            let cells = line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
                .map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 5 else { throw Trouble(what: "a row has not five cells: \(line)") }
            let reason = cells[3].trimmingCharacters(in: ["`"])
            let seconds = cells[4].hasSuffix(" s") ? Double(cells[4].dropLast(2)) : nil
            return Row(
                name: "\(cells[0]): \(cells[1])", verdict: cells[2], reason: reason.isEmpty ? nil : reason,
                comesBack: seconds)
        }
    }
}
