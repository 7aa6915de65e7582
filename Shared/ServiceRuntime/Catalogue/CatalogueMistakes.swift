/// Everything that is wrong with a catalogue, as far as it could be read.
struct CatalogueMistakes: Error, CustomStringConvertible {
    /// Mistakes that are told; whoever mends these may look again.
    static let toldMaximum = 20

    /// One mistake.
    struct Mistake: Sendable, Hashable {
        /// Counted from 1; nil where it concerns the whole file.
        let line: Int?
        let problem: String
    }

    var mistakes: [Mistake] = []

    mutating func add(_ line: Int?, _ problem: String) {
        mistakes.append(Mistake(line: line, problem: problem))
    }

    /// In a sentence each, by line.
    var description: String {
        let sorted = mistakes.sorted { ($0.line ?? 0) < ($1.line ?? 0) }
        var told = sorted.prefix(Self.toldMaximum).map { mistake in
            mistake.line.map { "line \($0): \(mistake.problem)" } ?? mistake.problem
        }
        if sorted.count > Self.toldMaximum { told.append("and \(sorted.count - Self.toldMaximum) more") }
        return told.joined(separator: "; ")
    }
}
