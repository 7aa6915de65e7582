/// Collects what is wrong with a story while it is read, so that a person mends it in one go.
struct StoryReader {
    /// More than these nobody reads.
    private static let problemsMaximum = 50

    private(set) var problems: [StoryProblem] = []

    mutating func report(_ line: Int, _ message: String) {
        if problems.count < Self.problemsMaximum { problems.append(StoryProblem(line: line, message: message)) }
    }

    /// The lines of a mapping, of which only these keys are allowed; nil allows all.
    mutating func entries(_ node: StoryNode, of what: String, allowed: [String]?) -> [StoryNode.Entry] {
        guard let entries = node.entries else {
            report(node.line, "\(what) must be a mapping\(allowed.map { " with \(Self.choice($0))" } ?? "")")
            return []
        }
        guard let allowed else { return entries }
        return entries.filter { entry in
            if allowed.contains(entry.key) { return true }
            report(entry.line, "\(what) has no \"\(entry.key)\"; allowed: \(Self.choice(allowed))")
            return false
        }
    }

    mutating func list(_ node: StoryNode, of what: String, maximum: Int) -> [StoryNode] {
        guard let list = node.list else {
            report(node.line, "\(what) must be a list")
            return []
        }
        if list.count > maximum { report(node.line, "\(what): at most \(maximum), not \(list.count)") }
        return Array(list.prefix(maximum))
    }

    mutating func text(_ node: StoryNode, of what: String) -> String {
        switch node.value {
        case .text(let text) where !text.isEmpty: return text
        case .whole(let number): return String(number)
        default:
            report(node.line, "\(what) must be a text")
            return ""
        }
    }

    mutating func whole(_ node: StoryNode, of what: String, in range: ClosedRange<Int>) -> Int {
        if let number = node.value.whole.flatMap(Int.init(exactly:)), range.contains(number) {
            return number
        }
        report(node.line, "\(what) must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        return range.lowerBound
    }

    mutating func flag(_ node: StoryNode, of what: String) -> Bool {
        if let flag = node.value.flag { return flag }
        report(node.line, "\(what) must be true or false")
        return false
    }

    /// A name that steps may refer to: letters, digits, `-` and `_`, not too long.
    mutating func name(_ text: String, line: Int, of what: String) -> String {
        let isFine =
            !text.isEmpty && text.count <= Story.Limit.name
            && text.unicodeScalars.allSatisfy {
                $0.isASCII
                    && ($0.properties.isAlphabetic || $0.properties.numericType != nil
                        || "-_".unicodeScalars.contains($0))
            }
        if !isFine { report(line, "\(what): a name has letters, digits, - and _, at most \(Story.Limit.name)") }
        return text
    }

    /// `a, b or c`.
    static func choice(_ words: [String]) -> String {
        guard words.count > 1, let last = words.last else { return words.first ?? "nothing" }
        return words.dropLast().joined(separator: ", ") + " or " + last
    }
}
