import Foundation

/// Checks a JSON value against a JSON Schema, as far as Countersign's own schemas go.
///
/// It knows the keywords that they use, and refuses any other rather than pass over it.
/// Source: JSON Schema 2020-12, which OpenAPI 3.1 uses.
// Safety: Foundation's JSON objects are not Sendable, and nothing changes these.
package struct SchemaChecker: @unchecked Sendable {
    /// Keywords that say nothing about validity; `format` is one (section 7.2.1 of the validation vocabulary).
    private static let annotations: Set<String> = [
        "description", "format", "contentEncoding", "default", "bearerFormat", "title", "examples", "deprecated",
        "$schema", "$id", "$defs",
    ]
    /// How deep a schema may refer.
    private static let depthMaximum = 32

    let document: [String: Any]
    /// Whether a member that an object's `properties` do not name is a flaw: published schemas are open to added
    /// members, and what we write ourselves must all the same be described.
    let isClosed: Bool

    /// Checks by schemas within `document`.
    package init(document: [String: Any], isClosed: Bool = true) {
        self.document = document
        self.isClosed = isClosed
    }

    /// Checks by a whole document of its own, such as a schema's file.
    ///
    /// - Throws: an error of `JSONSerialization`, and `BadSchema` when it is no object.
    package init(json: [UInt8], isClosed: Bool = true) throws {
        guard let document = try JSONSerialization.jsonObject(with: Data(json)) as? [String: Any] else {
            throw BadSchema(description: "the schema is no object")
        }
        self.init(document: document, isClosed: isClosed)
    }

    /// A keyword that is not known, or a reference to nothing: the document is wrong, not the value.
    package struct BadSchema: Error, CustomStringConvertible {
        /// What is wrong.
        package let description: String
    }

    /// What of the value does not fit the whole document, which is a schema.
    ///
    /// - Throws: `BadSchema`.
    package func flaws(of value: Any) throws -> [String] { try flaws(of: value, by: document) }

    /// What does not fit, each with its place in the value; nothing when all is well.
    ///
    /// - Throws: `BadSchema`.
    package func flaws(
        of value: Any, by schema: [String: Any], at place: String = "$", depth: Int = 0
    ) throws -> [String] {
        guard depth < Self.depthMaximum else { throw BadSchema(description: "\(place): too deep") }
        var flaws: [String] = []
        for (keyword, argument) in schema.sorted(by: { $0.key < $1.key })
        where !Self.annotations.contains(keyword) && !keyword.hasPrefix("x-") {
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
            return try types.contains { try JSONKind.isA($0, value) } ? [] : ["\(place) is no \(types)"]
        case "enum":
            guard let allowed = argument as? [Any] else { throw BadSchema(description: "\(place): enum is no list") }
            return allowed.contains { JSONKind.isSame($0, value) } ? [] : ["\(place) is \(value), none of \(allowed)"]
        case "const":
            return JSONKind.isSame(argument, value) ? [] : ["\(place) is \(value), and not \(argument)"]
        case "pattern":
            guard let pattern = argument as? String else { throw BadSchema(description: "\(place): no pattern") }
            guard let text = value as? String else { return [] }
            return try Patterns.matches(pattern, text) ? [] : ["\(place) does not match \(pattern): \(text)"]
        case "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems":
            return try checkBound(keyword, argument, value, place)
        case "uniqueItems":
            guard argument as? Bool == true, let list = value as? [Any] else { return [] }
            return NSSet(array: list).count == list.count ? [] : ["\(place) has something twice"]
        case "required", "properties", "additionalProperties", "items":
            return try checkParts(keyword, argument, value, schema, place, depth)
        case "allOf", "oneOf", "anyOf", "not", "if", "then", "else":
            return try checkChoice(keyword, argument, value, schema, place, depth)
        default: throw BadSchema(description: "\(place): the keyword \(keyword) is not known")
        }
    }

    private func checkBound(_ keyword: String, _ argument: Any, _ value: Any, _ place: String) throws -> [String] {
        guard let bound = argument as? Double else { throw BadSchema(description: "\(place): no bound") }
        let measured: Double? =
            switch keyword {
            case "minimum", "maximum": JSONKind.isBool(value) ? nil : value as? Double
            case "minLength", "maxLength": (value as? String).map { Double($0.unicodeScalars.count) }
            default: (value as? [Any]).map { Double($0.count) }
            }
        guard let measured else { return [] }
        let isWithin = keyword.hasPrefix("min") ? measured >= bound : measured <= bound
        return isWithin ? [] : ["\(place) is \(measured), beyond \(keyword) \(bound)"]
    }

    private func checkParts(
        _ keyword: String, _ argument: Any, _ value: Any, _ schema: [String: Any], _ place: String, _ depth: Int
    ) throws -> [String] {
        switch (keyword, argument, value) {
        case ("required", let names as [String], let object as [String: Any]):
            return names.filter { object[$0] == nil }.map { "\(place) lacks \($0)" }
        case ("properties", let properties as [String: [String: Any]], let object as [String: Any]):
            let others =
                isClosed && schema["additionalProperties"] == nil
                ? object.keys.filter { properties[$0] == nil }.sorted() : []
            return try others.map { "\(place) has \($0), which is not described" }
                + properties.flatMap { name, schema in
                    try object[name].map {
                        try flaws(of: $0, by: schema, at: "\(place).\(name)", depth: depth + 1)
                    } ?? []
                }
        case ("additionalProperties", let isAllowed as Bool, let object as [String: Any]):
            let known = Set((schema["properties"] as? [String: Any] ?? [:]).keys)
            return isAllowed ? [] : object.keys.filter { !known.contains($0) }.map { "\(place) has \($0) as well" }
        case ("additionalProperties", let schema as [String: Any], let object as [String: Any]):
            return try object.flatMap { name, value in
                try flaws(of: value, by: schema, at: "\(place).\(name)", depth: depth + 1)
            }
        case ("items", let schema as [String: Any], let list as [Any]):
            return try list.enumerated().flatMap { index, item in
                try flaws(of: item, by: schema, at: "\(place)[\(index)]", depth: depth + 1)
            }
        case ("required", is [String], _), ("properties", is [String: [String: Any]], _),
            ("additionalProperties", is Bool, _), ("additionalProperties", is [String: Any], _),
            ("items", is [String: Any], _):
            return []
        default: throw BadSchema(description: "\(place): \(keyword) has no shape that is known")
        }
    }

    private func checkChoice(
        _ keyword: String, _ argument: Any, _ value: Any, _ schema: [String: Any], _ place: String, _ depth: Int
    ) throws -> [String] {
        /// A condition looks at its own members only.
        let open = SchemaChecker(document: document, isClosed: false)
        switch (keyword, argument) {
        case ("allOf", let parts as [[String: Any]]):
            return try parts.flatMap { try flaws(of: value, by: $0, at: place, depth: depth + 1) }
        case ("oneOf", let parts as [[String: Any]]), ("anyOf", let parts as [[String: Any]]):
            let fitting = try parts.count { try flaws(of: value, by: $0, at: place, depth: depth + 1).isEmpty }
            let isGood = keyword == "oneOf" ? fitting == 1 : fitting > 0
            return isGood ? [] : ["\(place) fits \(fitting) of \(parts.count) alternatives"]
        case ("not", let part as [String: Any]):
            let isOne = try open.flaws(of: value, by: part, at: place, depth: depth + 1).isEmpty
            return isOne ? ["\(place) is what it must not be"] : []
        case ("if", let condition as [String: Any]):
            guard let then = schema["then"] as? [String: Any] else {
                throw BadSchema(description: "\(place): an if without a then")
            }
            let isSo = try open.flaws(of: value, by: condition, at: place, depth: depth + 1).isEmpty
            guard let part = isSo ? then : schema["else"] as? [String: Any] else { return [] }
            return try flaws(of: value, by: part, at: place, depth: depth + 1)
        case ("then", is [String: Any]), ("else", is [String: Any]): return []
        default: throw BadSchema(description: "\(place): \(keyword) has no shape that is known")
        }
    }

    /// What a `$ref` within the document refers to.
    ///
    /// - Throws: `BadSchema` when that is nothing.
    package func resolve(_ reference: Any) throws -> [String: Any] {
        guard let text = reference as? String, text.hasPrefix("#/") else {
            throw BadSchema(description: "\(reference) is no reference within the document")
        }
        var found: Any? = document
        for part in text.dropFirst(2).split(separator: "/") { found = (found as? [String: Any])?[String(part)] }
        guard let found = found as? [String: Any] else { throw BadSchema(description: "\(text) is not there") }
        return found
    }
}
