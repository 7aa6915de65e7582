import Foundation
import HTTPTypes

/// Checks of fields that several requests share; each throws a ``Problem`` that names the field.
enum FieldCheck {
    enum Limit {
        /// Bytes of a bundle id, product id or account; App Store Connect allows fewer.
        static let identifierBytes = 255
        /// Milliunits of a price.
        static let price: Int64 = 1_000_000_000_000
        /// 9999-12-31, milliseconds since 1970.
        static let instant: Int64 = 253_402_300_799_999
    }

    static func require(_ isGood: Bool, _ detail: String) throws(Problem) {
        guard isGood else { throw Problem(.badRequest, detail) }
    }

    static func identifier(_ text: String, _ field: String) throws(Problem) {
        try require(!text.isEmpty && text.utf8.count <= Limit.identifierBytes, "\(field): 1 to 255 bytes")
        try require(!text.utf8.contains(0), "\(field): no NUL")
    }

    static func price(_ price: Int64?, _ field: String = "price") throws(Problem) {
        try require((0...Limit.price).contains(price ?? 0), "\(field): 0 to \(Limit.price) milliunits")
    }

    static func threeLetters(_ text: String?, _ field: String) throws(Problem) {
        guard let text else { return }
        let letters = UInt8(ascii: "A")...UInt8(ascii: "Z")
        try require(
            text.utf8.count == 3 && text.utf8.allSatisfy { letters.contains($0) }, "\(field): three capital letters")
    }

    static func digits(_ text: String?, _ field: String) throws(Problem) {
        guard let text else { return }
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        try require(
            (1...19).contains(text.utf8.count) && text.utf8.allSatisfy { digits.contains($0) },
            "\(field): up to 19 digits")
    }

    static func uuid(_ text: String?, _ field: String) throws(Problem) {
        try require(text.map { UUID(uuidString: $0) != nil } ?? true, "\(field): a UUID")
    }

    /// One of an enumeration's names.
    static func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ text: String?, _ field: String, usual: Choice
    ) throws(Problem) -> Choice {
        guard let text else { return usual }
        guard let choice = Choice(rawValue: text) else {
            throw Problem(.badRequest, "\(field): \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return choice
    }

    static func environment(_ text: String?) throws(Problem) -> StoreEnvironment {
        guard let environment = StoreEnvironment(rawValue: text ?? StoreEnvironment.production.rawValue) else {
            throw Problem(.badRequest, "environment: Production, Sandbox")
        }
        return environment
    }
}
