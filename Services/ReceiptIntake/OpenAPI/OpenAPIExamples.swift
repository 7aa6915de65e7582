/// Examples of what is sent and answered, beside every schema that a request or an answer has.
///
/// A route's description names a schema; the examples of that schema stand beside it by themselves. Tests hold each against
/// its schema, and want one for every body.
enum OpenAPIExamples {
    /// One value of a schema.
    struct Example: Sendable {
        /// The schema that it is of.
        let schema: String
        /// The name in the document.
        let name: String
        /// What it shows; a sentence without an end.
        let summary: String
        /// The value in JSON.
        let json: String

        /// Makes an example; the name is the schema's where it has but one.
        init(_ schema: String, _ name: String? = nil, summary: String, _ json: String) {
            self.schema = schema
            self.name = name ?? schema
            self.summary = summary
            self.json = json
        }
    }

    /// Of every schema.
    static let all: [Example] = purchases + accounts + backend + endpoints + events + sweeps + problems

    /// The part `examples` of the document's components, in YAML.
    static let yaml: String =
        "  examples:\n"
        + all.map { example in
            let lines = example.json.split(separator: "\n").map { "        \($0)\n" }.joined()
            return "    \(example.name):\n      summary: \(example.summary)\n      value:\n\(lines)"
        }.joined()

    /// The text with the examples of each schema below the line of a media type that names it.
    static func besideSchemas(of text: String) -> String {
        let names = Dictionary(grouping: all, by: \.schema).mapValues { $0.map(\.name) }
        var isMediaType = false
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line -> String in
            defer { isMediaType = line.hasSuffix("json:") }
            guard isMediaType,
                let match = line.wholeMatch(of: /( +)schema: \{ \$ref: '#\/components\/schemas\/(\w+)' \}/),
                let names = names[String(match.2)]
            else { return String(line) }
            let examples = names.map { "\($0): { $ref: '#/components/examples/\($0)' }" }.joined(separator: ", ")
            return "\(line)\n\(match.1)examples: { \(examples) }"
        }
        return lines.joined(separator: "\n")
    }
}
