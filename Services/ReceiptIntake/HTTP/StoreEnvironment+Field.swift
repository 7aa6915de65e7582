import PurchaseModel
import ServiceRuntime

extension StoreEnvironment {
    /// What the field `environment` of a request says; nil where there is none.
    ///
    /// - Throws: `ProblemDetails` for a name that is none.
    init?(field name: String?) throws {
        guard let name else { return nil }
        guard let environment = StoreEnvironment(rawValue: name) else {
            let names = StoreEnvironment.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: " or ")
            throw ProblemDetails.fieldInvalid("environment", names)
        }
        self = environment
    }
}
