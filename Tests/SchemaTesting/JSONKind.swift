import Foundation
import Synchronization

/// What kind of JSON value Foundation's object is.
enum JSONKind {
    /// - Throws: `SchemaChecker.BadSchema` for a name that JSON Schema does not have.
    static func isA(_ type: String, _ value: Any) throws -> Bool {
        switch type {
        case "object": value is [String: Any]
        case "array": value is [Any]
        case "string": value is String
        case "boolean": isBool(value)
        case "null": value is NSNull
        case "integer":
            !isBool(value) && (value as? NSNumber).map { $0.doubleValue == $0.doubleValue.rounded() } == true
        case "number": !isBool(value) && value is NSNumber
        default: throw SchemaChecker.BadSchema(description: "the type \(type) is not known")
        }
    }

    /// JSON's `true` is a number to Foundation, and a 1 is no `true` to JSON.
    static func isBool(_ value: Any) -> Bool {
        (value as? NSNumber).map { String(cString: $0.objCType) == "c" } ?? false
    }

    static func isSame(_ left: Any, _ right: Any) -> Bool {
        if let left = left as? String { return left == right as? String }
        return isBool(left) == isBool(right) && (left as? NSNumber) == (right as? NSNumber)
    }
}

/// Patterns, each compiled once: an event is held against hundreds of them.
enum Patterns {
    private static let compiled = Mutex<[String: NSRegularExpression]>([:])

    /// - Throws: an error of `NSRegularExpression`.
    static func matches(_ pattern: String, _ text: String) throws -> Bool {
        try compiled.withLock { known -> Bool in
            let expression = try known[pattern] ?? NSRegularExpression(pattern: pattern)
            known[pattern] = expression
            return expression.firstMatch(in: text, range: NSRange(text.startIndex..., in: text)) != nil
        }
    }
}
