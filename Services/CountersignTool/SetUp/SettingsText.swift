import Yams

/// A settings file in YAML that gets something added or loses an entry, and keeps everything else as it is: comments, order, spaces.
///
/// Text is put in where the parser says that a list or a mapping stands. Then the new text is parsed, and has to mean the
/// old one and what was added, and nothing else. Where it does not, the file is written in a way that this does not know,
/// and a person has to edit it.
struct SettingsText {
    /// A step of the way to a part of the file.
    enum Step: Sendable, Hashable {
        case field(String)
        /// An entry of a list, from 0.
        case entry(Int)
    }

    /// The file, for messages.
    let path: String
    /// The whole text.
    private(set) var text: String
    private(set) var root: Node

    /// - Throws: `ToolFailure` for a text that is no YAML mapping, without quoting it.
    init(_ text: String, path: String) throws(ToolFailure) {
        guard !text.unicodeScalars.contains("\r") else {
            throw ToolFailure("\(path) has carriage returns at the ends of its lines; take them out")
        }
        guard let root = (try? Yams.compose(yaml: text)) ?? nil, root.mapping != nil else {
            throw ToolFailure("\(path) is not a YAML mapping; see `countersign doctor`")
        }
        (self.path, self.text, self.root) = (path, text, root)
    }

    /// What stands at a place; nil for nothing.
    func node(_ place: [Step]) -> Node? {
        var node: Node? = root
        for step in place {
            switch step {
            case .field(let name): node = node?.mapping?.first { $0.key.string == name }?.value
            case .entry(let number):
                guard let list = node?.sequence, list.indices.contains(number) else { return nil }
                node = list[number]
            }
        }
        return node
    }

    /// Whether something stands at a place.
    func has(_ place: [Step]) -> Bool { node(place) != nil }

    /// The text at a place; nil for nothing, or for what is no scalar.
    func text(_ place: [Step]) -> String? { node(place)?.scalar?.string }

    /// A field of each entry of a list, nil where an entry does not have it; no entries where there is no list.
    func texts(_ field: String, ofListAt place: [Step]) -> [String?] {
        (node(place)?.sequence?.indices ?? 0..<0).map { text(place + [.entry($0), .field(field)]) }
    }

    /// The texts of a list, nil for what is no scalar; no entries where there is no list.
    func texts(ofListAt place: [Step]) -> [String?] {
        (node(place)?.sequence?.indices ?? 0..<0).map { text(place + [.entry($0)]) }
    }

    /// Adds an entry to a list: at its end where the list has a line for each entry, at its beginning in brackets.
    ///
    /// - Throws: `ToolFailure`; then nothing has changed.
    mutating func add(_ value: SettingValue, toListAt place: [Step]) throws(ToolFailure) {
        guard let list = node(place)?.sequence, let mark = list.mark else { throw unknownShape(place, "no list") }
        var lines = text.components
        let isInBrackets = Self.stands("[", at: mark, in: lines)
        if isInBrackets, list.isEmpty, let indent = blockIndent(above: place),
            let rest = Self.afterEmptyBrackets(lines[mark.line - 1], column: mark.column)
        {
            lines[mark.line - 1] = rest
            lines.insert(contentsOf: value.linesOfItem(indent: indent + 2), at: mark.line)
        } else if isInBrackets {
            lines[mark.line - 1].insert(value.flow + (list.isEmpty ? "" : ","), afterColumn: mark.column)
        } else {
            let last = Self.lastLine(of: lines, from: mark, isList: true)
            lines.insert(contentsOf: value.linesOfItem(indent: mark.column - 1), at: last + 1)
        }
        try take(lines, place, value) { node, added in
            guard var list = node.sequence else { return }
            list.insert(added, at: isInBrackets ? 0 : list.count)
            node = .sequence(list)
        }
    }

    /// Adds a field to a mapping that does not have it.
    ///
    /// - Throws: `ToolFailure`; then nothing has changed.
    mutating func add(_ name: String, _ value: SettingValue, toMappingAt place: [Step]) throws(ToolFailure) {
        guard let mapping = node(place)?.mapping, let mark = mapping.mark, node(place + [.field(name)]) == nil else {
            throw unknownShape(place, "no mapping without `\(name)`")
        }
        var lines = text.components
        if Self.stands("{", at: mark, in: lines) {
            let entry = " \(name): \(value.flow)" + (mapping.isEmpty ? " " : ",")
            lines[mark.line - 1].insert(entry, afterColumn: mark.column)
        } else {
            let last = Self.lastLine(of: lines, from: mark, isList: false)
            lines.insert(contentsOf: value.lines(ofField: name, indent: mark.column - 1), at: last + 1)
        }
        try take(lines, place, value) { node, added in
            guard var mapping = node.mapping else { return }
            mapping[Node(name)] = added
            node = .mapping(mapping)
        }
    }

    /// Takes the new text if it means what it should.
    private mutating func take(
        _ lines: [String], _ place: [Step], _ value: SettingValue, _ change: (inout Node, Node) -> Void
    ) throws(ToolFailure) {
        guard let added = (try? Yams.compose(yaml: value.flow)) ?? nil else {
            throw unknownShape(place, Self.otherwiseWritten)
        }
        try take(lines.joined(separator: "\n"), place) { change(&$0, added) }
    }

    /// Takes a new text if it means the old one with a part changed.
    ///
    /// - Throws: `ToolFailure`; then nothing has changed.
    mutating func take(_ new: String, _ place: [Step], _ change: (inout Node) -> Void) throws(ToolFailure) {
        var expected = root
        Self.change(&expected, place[...], change)
        guard let parsed = (try? Yams.compose(yaml: new)) ?? nil, Self.isSame(parsed, expected) else {
            throw unknownShape(place, Self.otherwiseWritten)
        }
        (text, root) = (new, parsed)
    }

    private static let otherwiseWritten = "not written in a way that this command knows"

    func unknownShape(_ place: [Step], _ problem: String) -> ToolFailure {
        var known = place
        while !known.isEmpty, node(known) == nil { known.removeLast() }
        let line = node(known)?.mark.map { ", line \($0.line)" } ?? ""
        let name = place.map(\.name).joined(separator: ".")
        return ToolFailure("\(path)\(line): `\(name)` is \(problem); nothing was changed: change it by hand")
    }
}

extension SettingsText {
    /// Whether two parts mean the same; the order of fields means nothing.
    private static func isSame(_ one: Node, _ other: Node) -> Bool {
        switch (one, other) {
        case (.scalar(let one), .scalar(let other)): return one == other
        case (.sequence(let one), .sequence(let other)):
            return one.count == other.count && zip(one, other).allSatisfy { isSame($0, $1) }
        case (.mapping(let one), .mapping(let other)):
            return one.count == other.count
                && one.allSatisfy { pair in other[pair.key].map { isSame(pair.value, $0) } ?? false }
        default: return false
        }
    }

    private static func change(_ node: inout Node, _ place: ArraySlice<Step>, _ body: (inout Node) -> Void) {
        guard let step = place.first else { return body(&node) }
        switch step {
        case .field(let name):
            guard var mapping = node.mapping, var inner = mapping[Node(name)] else { return }
            change(&inner, place.dropFirst(), body)
            mapping[Node(name)] = inner
            node = .mapping(mapping)
        case .entry(let number):
            guard var list = node.sequence, list.indices.contains(number) else { return }
            change(&list[number], place.dropFirst(), body)
            node = .sequence(list)
        }
    }

    /// Whether a character stands where something begins; the parser does not say whether there are brackets.
    static func stands(_ bracket: Unicode.Scalar, at mark: Mark, in lines: [String]) -> Bool {
        guard lines.indices.contains(mark.line - 1) else { return false }
        return lines[mark.line - 1].unicodeScalars.dropFirst(mark.column - 1).first == bracket
    }

    /// How far the field at a place is indented; nil where it does not begin a line.
    private func blockIndent(above place: [Step]) -> Int? {
        guard case .field(let name)? = place.last, let mapping = node(place.dropLast())?.mapping,
            let mark = mapping.mark, !Self.stands("{", at: mark, in: text.components)
        else { return nil }
        return mapping.first { $0.key.string == name }?.key.mark.map { $0.column - 1 }
    }

    /// The line without the empty brackets at a column; nil where more than a comment stands behind them.
    private static func afterEmptyBrackets(_ line: String, column: Int) -> String? {
        let scalars = Array(line.unicodeScalars)
        guard column - 1 < scalars.count, scalars[column - 1] == "[" else { return nil }
        var index = column
        while index < scalars.count, scalars[index] == " " { index += 1 }
        guard index < scalars.count, scalars[index] == "]" else { return nil }
        let rest = scalars[(index + 1)...].drop { $0 == " " }
        guard rest.first.map({ $0 == "#" }) ?? true else { return nil }
        var line = scalars[..<(column - 1)]
        while line.last == " " { line.removeLast() }
        return String(String.UnicodeScalarView(line + (rest.isEmpty ? [] : [" ", " "] + rest)))
    }

    /// The last line, from 0, of a list or mapping that begins at a mark and has a line for each entry.
    static func lastLine(of lines: [String], from mark: Mark, isList: Bool) -> Int {
        let indent = mark.column - 1
        var last = mark.line - 1
        for number in mark.line..<max(mark.line, lines.count) {
            let margin = lines[number].prefix { $0 == " " }.count
            let content = lines[number].dropFirst(margin)
            if content.isEmpty { continue }
            if content.hasPrefix("#") {
                // Right below an entry and indented like it, a comment is the entry's.
                if margin > indent, number == last + 1 { last = number }
                continue
            }
            let isEntry = content == "-" || content.hasPrefix("- ")
            let isEnd = margin == 0 && (content.hasPrefix("---") || content.hasPrefix("..."))
            // A list that is a mapping's value may stand as far to the left as the mapping.
            guard !isEnd, margin > indent || (margin == indent && (isEntry || !isList)) else { break }
            last = number
        }
        return last
    }
}

extension SettingsText.Step {
    /// In messages.
    fileprivate var name: String {
        switch self {
        case .field(let name): name
        case .entry(let number): "[\(number)]"
        }
    }
}

extension String {
    fileprivate var components: [String] {
        split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    /// Puts a text behind the bracket at a column, counted from 1; a comma keeps a space behind it.
    fileprivate mutating func insert(_ text: String, afterColumn column: Int) {
        var scalars = Array(unicodeScalars)
        guard column <= scalars.count else { return }
        let isApart = column == scalars.count || scalars[column] == " " || text.last != ","
        scalars.insert(contentsOf: Array((isApart ? text : text + " ").unicodeScalars), at: column)
        self = String(String.UnicodeScalarView(scalars))
    }
}
