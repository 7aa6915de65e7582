import Foundation

/// Checks a JSON value against a schema of the OpenAPI document, as far as the document goes.
///
/// It knows the keywords that the document uses, and refuses any other rather than pass over it.
/// Source: JSON Schema 2020-12, which OpenAPI 3.1 uses.
struct SchemaChecker {
    /// Keywords that say nothing about validity; `format` is one (section 7.2.1 of the validation vocabulary).
    private static let annotations: Set<String> = ["description", "format", "default", "bearerFormat"]
    /// How deep a schema may refer.
    private static let depthMaximum = 32

    let document: [String: Any]

    /// A keyword that is not known, or a reference to nothing: the document is wrong, not the value.
    struct BadSchema: Error, CustomStringConvertible {
        let description: String
    }

    /// What does not fit, each with its place in the value; nothing when all is well.
    func flaws(of value: Any, by schema: [String: Any], at place: String = "$", depth: Int = 0) throws -> [String] {
        guard depth < Self.depthMaximum else { throw BadSchema(description: "\(place): too deep") }
        var flaws: [String] = []
        for (keyword, argument) in schema.sorted(by: { $0.key < $1.key }) where !Self.annotations.contains(keyword) {
            flaws += try check(keyword, argument, value, schema, place, depth)
        }
        return flaws
    }

    private func check(
        _ keyword: String, _ argument: Any, _ value: Any, _ schema: [String: Any], _ place: String, _ depth: Int
    ) throws -> [String] {
        switch keyword {
        case "$ref": return try flaws(of: value, by: try resolve(argument), at: place, depth: depth + 1)
        case "type":
            let types = (argument as? [String]) ?? [argument as? String ?? ""]
            return try types.contains { try Self.isA($0, value) } ? [] : ["\(place) is no \(types)"]
        case "enum":
            guard let allowed = argument as? [Any] else { throw BadSchema(description: "\(place): enum is no list") }
            return allowed.contains { Self.isSame($0, value) } ? [] : ["\(place) is \(value), none of \(allowed)"]
        case "pattern":
            guard let pattern = argument as? String else { throw BadSchema(description: "\(place): no pattern") }
            let regex = try NSRegularExpression(pattern: pattern)
            guard let text = value as? String else { return [] }
            let isMatch = regex.firstMatch(in: text, range: NSRange(text.startIndex..., in: text)) != nil
            return isMatch ? [] : ["\(place) does not match \(pattern): \(text)"]
        case "minimum", "maximum":
            guard let bound = argument as? Double else { throw BadSchema(description: "\(place): no bound") }
            guard !Self.isBool(value), let number = value as? Double else { return [] }
            let isWithin = keyword == "minimum" ? number >= bound : number <= bound
            return isWithin ? [] : ["\(place) is \(number), beyond \(keyword) \(bound)"]
        case "maxLength":
            guard let bound = argument as? Int else { throw BadSchema(description: "\(place): no bound") }
            return (value as? String)?.unicodeScalars.count ?? 0 <= bound ? [] : ["\(place) is too long"]
        case "required", "properties", "additionalProperties", "items":
            return try checkParts(keyword, argument, value, schema, place, depth)
        default: throw BadSchema(description: "\(place): the keyword \(keyword) is not known")
        }
    }

    private func checkParts(
        _ keyword: String, _ argument: Any, _ value: Any, _ schema: [String: Any], _ place: String, _ depth: Int
    ) throws -> [String] {
        switch (keyword, argument, value) {
        case ("required", let names as [String], let object as [String: Any]):
            return names.filter { object[$0] == nil }.map { "\(place) lacks \($0)" }
        case ("properties", let properties as [String: [String: Any]], let object as [String: Any]):
            return try properties.flatMap { name, schema in
                try object[name].map { try flaws(of: $0, by: schema, at: "\(place).\(name)", depth: depth + 1) } ?? []
            }
        case ("additionalProperties", let isAllowed as Bool, let object as [String: Any]):
            let known = Set((schema["properties"] as? [String: Any] ?? [:]).keys)
            return isAllowed ? [] : object.keys.filter { !known.contains($0) }.map { "\(place) has \($0) as well" }
        case ("items", let schema as [String: Any], let list as [Any]):
            return try list.enumerated().flatMap { index, item in
                try flaws(of: item, by: schema, at: "\(place)[\(index)]", depth: depth + 1)
            }
        case ("required", is [String], _), ("properties", is [String: [String: Any]], _),
            ("additionalProperties", is Bool, _), ("items", is [String: Any], _):
            return []
        default: throw BadSchema(description: "\(place): \(keyword) has no shape that is known")
        }
    }

    /// What a `$ref` within the document refers to.
    func resolve(_ reference: Any) throws -> [String: Any] {
        guard let text = reference as? String, text.hasPrefix("#/") else {
            throw BadSchema(description: "\(reference) is no reference within the document")
        }
        var found: Any? = document
        for part in text.dropFirst(2).split(separator: "/") { found = (found as? [String: Any])?[String(part)] }
        guard let found = found as? [String: Any] else { throw BadSchema(description: "\(text) is not there") }
        return found
    }

    private static func isA(_ type: String, _ value: Any) throws -> Bool {
        switch type {
        case "object": value is [String: Any]
        case "array": value is [Any]
        case "string": value is String
        case "boolean": isBool(value)
        case "null": value is NSNull
        case "integer":
            !isBool(value) && (value as? NSNumber).map { $0.doubleValue == $0.doubleValue.rounded() } == true
        case "number": !isBool(value) && value is NSNumber
        default: throw BadSchema(description: "the type \(type) is not known")
        }
    }

    /// JSON's `true` is a number to Foundation, and a 1 is no `true` to JSON.
    private static func isBool(_ value: Any) -> Bool {
        (value as? NSNumber).map { String(cString: $0.objCType) == "c" } ?? false
    }

    private static func isSame(_ left: Any, _ right: Any) -> Bool {
        if let left = left as? String { return left == right as? String }
        return isBool(left) == isBool(right) && (left as? NSNumber) == (right as? NSNumber)
    }
}
