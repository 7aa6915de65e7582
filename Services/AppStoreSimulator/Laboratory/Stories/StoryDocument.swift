import Foundation
import Yams

/// A piece of a story's YAML that still knows its line.
struct StoryNode: Sendable {
    enum Content: Sendable {
        case scalar(JSONValue)
        case list([StoryNode])
        case map([Entry])
    }

    /// One line of a mapping.
    struct Entry: Sendable {
        let key: String
        let line: Int
        let node: StoryNode
    }

    /// From 1.
    let line: Int
    let content: Content

    /// The same without lines.
    var value: JSONValue {
        switch content {
        case .scalar(let value): value
        case .list(let list): .list(list.map(\.value))
        case .map(let entries):
            .map(Dictionary(entries.map { ($0.key, $0.node.value) }, uniquingKeysWith: { first, _ in first }))
        }
    }

    var entries: [Entry]? {
        if case .map(let entries) = content { entries } else { nil }
    }

    var list: [StoryNode]? {
        if case .list(let list) = content { list } else { nil }
    }
}

/// Something that is wrong with a story's text.
struct StoryProblem: Error, Sendable, Equatable, CustomStringConvertible {
    let line: Int
    /// What is wrong, and what is allowed.
    let message: String

    var description: String { "line \(line): \(message)" }
}

/// Reads YAML into ``StoryNode``.
enum StoryDocument {
    enum Limit {
        /// The largest story in bytes: hundreds of steps; more is some other file.
        static let bytes = 256 << 10
        /// The most nodes that are made of it: aliases can make a small file huge.
        static let nodes = 20_000
        /// How deep lists and mappings stand within each other.
        static let depth = 24
    }

    /// The document's root.
    ///
    /// - Throws: `StoryProblem`.
    static func read(_ yaml: String) throws -> StoryNode {
        guard yaml.utf8.count <= Limit.bytes else {
            throw StoryProblem(line: 1, message: "the file is larger than \(Limit.bytes >> 10) KiB")
        }
        let node: Node?
        do {
            node = try Yams.compose(yaml: yaml)
        } catch let error as YamlError {
            throw problem(error)
        }
        guard let node else { throw StoryProblem(line: 1, message: "the file is empty") }
        var count = 0
        return try convert(node, line: 1, depth: 0, count: &count)
    }

    private static func problem(_ error: YamlError) -> StoryProblem {
        switch error {
        case .scanner(_, let message, let mark, _), .parser(_, let message, let mark, _),
            .composer(_, let message, let mark, _):
            StoryProblem(line: mark.line, message: "no YAML: \(message)")
        case .duplicatedKeysInMapping(let duplicates, let context):
            StoryProblem(
                line: context.mark.line,
                message: "twice in one mapping: \(duplicates.joined(separator: ", "))")
        default:
            StoryProblem(line: 1, message: "no YAML: \(error)")
        }
    }

    private static func convert(_ node: Node, line: Int, depth: Int, count: inout Int) throws -> StoryNode {
        let line = node.mark?.line ?? line
        count += 1
        guard count <= Limit.nodes else {
            throw StoryProblem(line: line, message: "more than \(Limit.nodes) values in one story")
        }
        guard depth <= Limit.depth else {
            throw StoryProblem(line: line, message: "more than \(Limit.depth) levels within each other")
        }
        switch node {
        case .scalar(let scalar):
            return StoryNode(line: line, content: .scalar(value(scalar)))
        case .sequence(let sequence):
            var list: [StoryNode] = []
            for element in sequence {
                list.append(try convert(element, line: line, depth: depth + 1, count: &count))
            }
            return StoryNode(line: line, content: .list(list))
        case .mapping(let mapping):
            var entries: [StoryNode.Entry] = []
            for (key, element) in mapping {
                let keyLine = key.mark?.line ?? line
                guard let name = key.scalar?.string else {
                    throw StoryProblem(line: keyLine, message: "a key must be a plain word")
                }
                let node = try convert(element, line: keyLine, depth: depth + 1, count: &count)
                entries.append(StoryNode.Entry(key: name, line: keyLine, node: node))
            }
            return StoryNode(line: line, content: .map(entries))
        case .alias:
            throw StoryProblem(line: line, message: "an alias without its anchor")
        }
    }

    /// A scalar by the core schema of YAML 1.2: `on`, `off` and dates are texts; what is quoted is one too.
    private static func value(_ scalar: Node.Scalar) -> JSONValue {
        guard scalar.style == .plain || scalar.style == .any else { return .text(scalar.string) }
        switch scalar.string {
        case "", "~", "null": return .null
        case "true": return .flag(true)
        case "false": return .flag(false)
        default: break
        }
        if let whole = Int64(scalar.string) { return .whole(whole) }
        if let first = scalar.string.first, first.isNumber || first == "-" || first == ".",
            let number = Double(scalar.string), number.isFinite
        {
            return .number(number)
        }
        return .text(scalar.string)
    }
}
