import HummingbirdCore
import PurchaseModel
import ServiceRuntime

/// `?wait=SECONDS`: how long a caller is willing to wait for an outcome.
enum WaitParameter {
    /// The longest wait in seconds: below the usual minute after which proxies give a request up.
    static let secondsMaximum = 30

    /// The wait that a request asks for; none by default.
    ///
    /// - Throws: `ProblemDetails` for anything but a whole number from 0 to the maximum.
    static func read(_ request: Request) throws -> Duration {
        guard let text = request.uri.queryParameters["wait"] else { return .zero }
        guard text.utf8.count <= 2, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let seconds = Int(text),
            seconds <= secondsMaximum
        else {
            throw ProblemDetails.fieldInvalid("wait", "a whole number of seconds from 0 to \(secondsMaximum)")
        }
        return .seconds(seconds)
    }
}

extension StoreEnvironment {
    /// The environment that a request is about: production where it names none.
    ///
    /// Only a list of an app's rows has both then, and each row of it says its own.
    ///
    /// - Throws: `ProblemDetails` for a name that is none.
    static func meant(by name: String?) throws -> StoreEnvironment { try StoreEnvironment(field: name) ?? .production }

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
