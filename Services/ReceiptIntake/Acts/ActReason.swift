import PurchaseModel
import ServiceRuntime

/// Why somebody acts, in the own words, for the audit log.
enum ActReason {
    /// Unicode scalars of a reason.
    static let lengthMaximum = 500

    /// The reason that a body gives.
    ///
    /// - Throws: `ProblemDetails` when it is missing, or no sentence.
    static func required(_ text: String?) throws -> String {
        guard let text, text.contains(where: { !$0.isWhitespace }) else { throw ProblemDetails.fieldMissing("reason") }
        return try optional(text)
    }

    /// The same where a body need not give one.
    ///
    /// - Throws: `ProblemDetails` for what is no sentence.
    static func optional(_ text: String?) throws -> String {
        let text = text ?? "asked for"
        guard PrintableText.isOne(text, lengthMaximum: lengthMaximum) else {
            throw ProblemDetails.fieldInvalid("reason", "1 to \(lengthMaximum) printable characters")
        }
        return text
    }

    /// The same where a dry run needs none.
    ///
    /// - Throws: `ProblemDetails` when it is missing and needed, or no sentence.
    static func of(_ text: String?, isDryRun: Bool) throws -> String {
        isDryRun ? try optional(text) : try required(text)
    }
}
