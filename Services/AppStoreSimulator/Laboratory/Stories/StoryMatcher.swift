import Foundation

/// What a value must be: a value to equal, or tests such as `{above: 3}`.
struct StoryMatcher: Sendable {
    /// The tests' names, as stories write them.
    enum Test: String, Sendable, CaseIterable {
        case equals, not, present, absent, count, contains, matches, above, below, atLeast, atMost, unordered, at
    }

    /// All of them must hold; what they compare with may still hold `${…}`.
    let tests: [(test: Test, operand: JSONValue)]

    /// What is not as it must be; nil when all is well.
    ///
    /// - Throws: `StoryScope.Unknown`.
    func mismatch(_ value: JSONValue?, in scope: StoryScope) throws -> (expected: String, got: String)? {
        for (test, operand) in tests {
            let operand = try scope.resolve(operand)
            if !Self.holds(test, value, operand) {
                let expected = test == .equals ? operand.shown : "\(test.rawValue) \(operand.shown)"
                return (expected, value?.shown ?? "nothing")
            }
        }
        return nil
    }

    private static func holds(_ test: Test, _ value: JSONValue?, _ operand: JSONValue) -> Bool {
        switch test {
        case .equals: value == operand || (value == nil && operand == .null)
        case .not: value != operand
        case .present: (value != nil) == (operand != .flag(false))
        case .absent: (value == nil) == (operand != .flag(false))
        case .count: (value?.list?.count ?? value?.map?.count).map { .whole(Int64($0)) == operand } ?? false
        case .contains: contains(value, operand)
        case .matches: matches(value, operand)
        case .above: compare(value, operand, by: >)
        case .below: compare(value, operand, by: <)
        case .atLeast: compare(value, operand, by: >=)
        case .atMost: compare(value, operand, by: <=)
        case .unordered: unordered(value?.list, operand.list)
        case .at: operand.text.flatMap(StoryInstant.milliseconds).map { value == .whole($0) } ?? (value == operand)
        }
    }

    private static func compare(
        _ value: JSONValue?, _ operand: JSONValue, by order: (Double, Double) -> Bool
    ) -> Bool {
        // Retry-After and verifyReceipt give numbers as texts.
        guard let left = value?.double ?? value?.text.flatMap(Double.init),
            let right = operand.double ?? operand.text.flatMap(Double.init)
        else { return false }
        return order(left, right)
    }

    private static func contains(_ value: JSONValue?, _ operand: JSONValue) -> Bool {
        switch value {
        case .text(let text): operand.text.map { text.contains($0) } ?? false
        case .list(let list): (operand.list ?? [operand]).allSatisfy { list.contains($0) }
        default: false
        }
    }

    private static func matches(_ value: JSONValue?, _ operand: JSONValue) -> Bool {
        guard let value, let pattern = operand.text else { return false }
        return value.plain.range(of: pattern, options: .regularExpression) != nil
    }

    private static func unordered(_ value: [JSONValue]?, _ operand: [JSONValue]?) -> Bool {
        guard var rest = operand, let value, value.count == rest.count else { return false }
        for element in value {
            guard let index = rest.firstIndex(of: element) else { return false }
            rest.remove(at: index)
        }
        return true
    }
}

/// Instants as stories write them.
enum StoryInstant {
    /// Milliseconds since 1970 of `2026-01-31T10:00:00Z`, with or without a fraction; nil for something else.
    static func milliseconds(_ text: String) -> Int64? {
        let date =
            (try? Date(text, strategy: .iso8601))
            ?? (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
        return date.map { Int64(($0.timeIntervalSince1970 * 1000).rounded()) }
    }

    /// `2026-01-31 10:00:00`, UTC.
    static func text(_ milliseconds: Int64) -> String {
        let style = Date.ISO8601FormatStyle(dateTimeSeparator: .space, timeZone: .gmt)
        let text = Date(timeIntervalSince1970: Double(milliseconds) / 1000).formatted(style)
        return text.hasSuffix("Z") ? String(text.dropLast()) : text
    }
}
