import ConsoleFiles
import Foundation
import Yams

/// A language that the console speaks.
enum Language: String, CaseIterable, Sendable {
    case en, zh, ko

    /// What it calls itself.
    var name: String {
        switch self {
        case .en: "English"
        case .zh: "中文"
        case .ko: "한국어"
        }
    }
}

/// Every sentence of the console, by key, of one language: `Files/texts.<language>.yaml`.
struct Texts: Sendable {
    let language: Language
    private let texts: [String: String]

    init(language: Language, texts: [String: String]) { (self.language, self.texts) = (language, texts) }

    /// Reads the texts of all languages.
    ///
    /// - Throws: `YamlError`: a file that was compiled in is no YAML, which a test would have found.
    static func all() throws -> [Language: Texts] {
        var all: [Language: Texts] = [:]
        for language in Language.allCases { all[language] = Texts(language: language, texts: try read(language)) }
        return all
    }

    static func read(_ language: Language) throws -> [String: String] {
        let file =
            switch language {
            case .en: console_texts_en()
            case .zh: console_texts_zh()
            case .ko: console_texts_ko()
            }
        return try YAMLDecoder().decode([String: String].self, from: String(cString: file))
    }

    /// The text of a key, with `{0}`, `{1}` … replaced; the key itself where there is none, which a test would have found.
    func callAsFunction(_ key: String, _ values: String...) -> String {
        let text = texts[key] ?? key
        let named = Dictionary(values.enumerated().map { (String($0.offset), $0.element) }) { first, _ in first }
        return Self.filled(text, named) ?? text
    }

    /// The text of a key that intake chose, such as a state: what is unknown stays as intake says it.
    func word(_ prefix: String, _ code: String) -> String {
        texts["\(prefix).\(code)"] ?? code
    }

    /// A sentence of a story (`Sentence` of the API), clause by clause; in intake's English where a clause has no text here.
    func sentence(_ sentence: JSON) -> String {
        let parts = sentence["parts"].list
        let clauses = parts.compactMap(clause)
        guard !parts.isEmpty, clauses.count == parts.count else { return sentence["text"].text ?? "" }
        return clauses.joined(separator: language == .zh ? "" : " ")
    }

    private func clause(_ part: JSON) -> String? {
        guard let text = texts["story.\(part["code"].text ?? "")"], case .object(let members) = part["values"] else {
            return nil
        }
        var values = members.compactMapValues(\.text)
        if let type = values["type"] { values["event"] = word("event", type) }
        for name in ["reason", "state", "kind", "entry", "cause", "product_type"] {
            if let code = values[name] { values[name] = word(name, code) }
        }
        for (name, time) in values where name.hasSuffix("_at") { values[name] = Cell.inUTC(time) }
        return Self.filled(text, values)
    }

    /// A text with its places filled in one go: what a stranger wrote is no place, whatever it looks like.
    ///
    /// - Returns: nil where a place has no value.
    private static func filled(_ text: String, _ values: [String: String]) -> String? {
        var (filled, rest) = ("", Substring(text))
        while let match = rest.firstMatch(of: #/\{([a-z0-9_]+)\}/#) {
            guard let value = values[String(match.1)] else { return nil }
            filled += rest[..<match.range.lowerBound] + value
            rest = rest[match.range.upperBound...]
        }
        return filled + rest
    }
}
