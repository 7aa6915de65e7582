import Yams

/// Takes an entry out of a list, with the comments that stand within it.
extension SettingsText {
    /// Takes an entry out of a list; a list without entries stays, as `[]`.
    ///
    /// - Parameter number: which, from 0.
    /// - Throws: `ToolFailure`; then nothing has changed.
    mutating func remove(_ number: Int, fromListAt place: [Step]) throws(ToolFailure) {
        guard let list = node(place)?.sequence, let mark = list.mark, list.indices.contains(number) else {
            throw unknownShape(place, "no list with that entry")
        }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let isInBrackets = Self.stands("[", at: mark, in: lines)
        let new =
            isInBrackets
            ? Self.without(number, of: list, inBrackets: text, lines)
            : Self.without(number, of: list, ofField: fieldMark(place), lines)
        guard let new else { throw unknownShape(place, "not written in a way that this command knows") }
        try take(new, place) { node in
            guard var list = node.sequence else { return }
            list.remove(at: number)
            node = .sequence(list)
        }
    }

    /// Where the name of the field at a place stands.
    private func fieldMark(_ place: [Step]) -> Mark? {
        guard case .field(let name)? = place.last else { return nil }
        return node(place.dropLast())?.mapping?.first { $0.key.string == name }?.key.mark
    }

    /// The text of a list with a line for each entry, without one of them.
    private static func without(
        _ number: Int, of list: Node.Sequence, ofField field: Mark?, _ lines: [String]
    ) -> String? {
        guard let mark = list[number].mark, lines.indices.contains(mark.line - 1) else { return nil }
        var lines = lines
        lines.removeSubrange(mark.line - 1...lastLine(of: lines, from: mark, isList: false))
        if list.count == 1 {
            guard let field, let colon = lines[field.line - 1].firstIndex(of: ":") else { return nil }
            lines[field.line - 1].insert(contentsOf: " []", at: lines[field.line - 1].index(after: colon))
        }
        return lines.joined(separator: "\n")
    }

    /// The text of a list in brackets without an entry: it goes with the comma and the space behind it, the last one with
    /// those before it.
    private static func without(
        _ number: Int, of list: Node.Sequence, inBrackets text: String, _ lines: [String]
    ) -> String? {
        var scalars = Array(text.unicodeScalars)
        func place(_ mark: Mark?) -> Int? {
            guard let mark, lines.indices.contains(mark.line - 1) else { return nil }
            return lines[..<(mark.line - 1)].reduce(0) { $0 + $1.unicodeScalars.count + 1 } + mark.column - 1
        }
        guard let start = place(list[number].mark), scalars.indices.contains(start) else { return nil }
        if number + 1 < list.count {
            guard let next = place(list[number + 1].mark), start < next, next < scalars.count else { return nil }
            scalars.removeSubrange(start..<next)
        } else {
            guard let end = end(of: scalars, from: start) else { return nil }
            var begin = start
            while begin > 0, number > 0, scalars[begin - 1] == " " || scalars[begin - 1] == "," { begin -= 1 }
            scalars.removeSubrange(begin..<end)
        }
        return String(String.UnicodeScalarView(scalars))
    }

    /// The end of an entry within brackets that begins at a place: before the comma or bracket behind it.
    private static func end(of scalars: [Unicode.Scalar], from start: Int) -> Int? {
        var depth = 0
        var quote: Unicode.Scalar?
        for (index, scalar) in scalars[start...].enumerated() {
            if let open = quote {
                if scalar == open { quote = nil }
            } else if scalar == "\"" || scalar == "'" {
                quote = scalar
            } else if scalar == "{" || scalar == "[" {
                depth += 1
            } else if scalar == "}" || scalar == "]" || scalar == "," {
                if depth == 0 { return start + index }
                if scalar != "," { depth -= 1 }
            }
        }
        return nil
    }
}
