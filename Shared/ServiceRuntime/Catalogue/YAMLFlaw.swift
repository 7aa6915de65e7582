import Yams

/// What makes a text no YAML, and where; with nothing of the text itself, which an error of Yams repeats whole.
struct YAMLFlaw {
    /// Counted from 1; nil where it concerns the whole text.
    let line: Int?
    /// A sentence.
    let problem: String

    init(_ error: any Error) {
        switch error as? YamlError {
        case .scanner(_, let problem, let mark, _)?, .parser(_, let problem, let mark, _)?,
            .composer(_, let problem, let mark, _)?:
            line = mark.line
            self.problem = "it is not YAML: \(problem)"
        case .duplicatedKeysInMapping(let names, let context)?:
            line = context.mark.line
            let keys = names.map { "`\($0)`" }.joined(separator: ", ")
            problem = "it is not YAML: \(keys) of one mapping stands there more than once"
        case .reader(let problem, _, _, _)?:
            line = nil
            self.problem = "it is not YAML: \(problem)"
        default:
            line = nil
            problem = "it is not YAML"
        }
    }
}
