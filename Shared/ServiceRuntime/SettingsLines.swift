import Yams

/// Where the parts of a settings file stand, so that a mistake is told with its line.
package struct SettingsLines {
    private let root: Node?

    /// Reads the YAML.
    ///
    /// - Throws: `YamlError`.
    init(_ text: String) throws {
        root = try Yams.compose(yaml: text)
    }

    /// The line of a part, or of the nearest part around it that is there; counted from 1.
    ///
    /// - Parameter path: names of fields, and numbers of entries of lists from 0, from the outside in.
    package func line(of path: [any CodingKey]) -> Int? {
        var node = root
        var line: Int?
        for step in path {
            if let number = step.intValue {
                guard let list = node?.sequence, list.indices.contains(number) else { return line }
                node = list[number]
                line = node?.mark?.line ?? line
            } else {
                guard let pair = node?.mapping?.first(where: { $0.key.string == step.stringValue }) else { return line }
                node = pair.value
                line = pair.key.mark?.line ?? line
            }
        }
        return line
    }

    /// The line of what could not be decoded.
    func line(of error: DecodingError) -> Int? {
        switch error {
        case .keyNotFound(_, let context), .typeMismatch(_, let context), .valueNotFound(_, let context):
            return line(of: context.codingPath)
        case .dataCorrupted(let context):
            let unknown = (context.underlyingError as? UnknownField).map { [$0.key] } ?? []
            return line(of: context.codingPath + unknown)
        @unknown default:
            return nil
        }
    }
}

/// A step of the way to a part of a settings file: a field's name, or an entry's number.
package struct SettingsStep: CodingKey, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
    package let stringValue: String
    package let intValue: Int?

    package init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    package init(intValue: Int) {
        stringValue = "\(intValue)"
        self.intValue = intValue
    }

    package init(stringLiteral: String) { self.init(stringValue: stringLiteral) }
    package init(integerLiteral: Int) { self.init(intValue: integerLiteral) }
}

/// A field that has no meaning where it stands.
struct UnknownField: Error {
    let key: SettingsStep
}
