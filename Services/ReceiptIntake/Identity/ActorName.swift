import HTTPTypes
import PurchaseModel
import ServiceRuntime

/// Who acts or looks, as `audit_log` and `views` have it: the key, and the person for whom a key with the scope `staff` says to
/// speak.
enum ActorName {
    /// Characters of a person's name or address.
    private static let lengthMaximum = 200

    /// - Parameter names: the header `Countersign-Actor`, once for each time that it was sent.
    /// - Throws: `ProblemDetails` where the key may not say so, or no name was sent.
    static func of(_ names: [String], by key: ServerKey) throws -> String {
        guard let person = names.first else { return "key \(key.label)" }
        guard key.scopes.contains(.staff) else { throw ProblemDetails.scopeMissing(.staff) }
        guard names.count == 1, PrintableText.isOne(person, lengthMaximum: lengthMaximum) else {
            throw ProblemDetails.fieldInvalid(
                HTTPField.Name.actor.rawName, "1 to \(lengthMaximum) printable characters, sent once")
        }
        return "\(person) by key \(key.label)"
    }
}
