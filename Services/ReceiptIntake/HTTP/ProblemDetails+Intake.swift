import HTTPTypes
import ServiceRuntime

/// The problems that intake answers with; `/problems/` and the slug is their type.
extension ProblemDetails {
    /// After how many seconds to come again when the database does not answer.
    static let databaseRetryAfterSeconds = 5
    /// After how many seconds to come again when too many wait.
    static let overloadRetryAfterSeconds = 1

    static let authenticationRequired = ProblemDetails(
        "authentication-required", title: "Authentication is required", status: .unauthorized,
        detail: "Send `Authorization: Bearer` with the player's token or a server API key."
    ).with(header: .wwwAuthenticate, "Bearer")

    static func authenticationFailed(_ reason: String) -> ProblemDetails {
        ProblemDetails(
            "authentication-failed", title: "The credentials are not valid", status: .unauthorized, detail: reason
        ).with(header: .wwwAuthenticate, "Bearer error=\"invalid_token\"")
    }

    static func authenticationUnavailable(_ reason: String) -> ProblemDetails {
        ProblemDetails(
            "authentication-unavailable", title: "The credentials cannot be checked now", status: .serviceUnavailable,
            detail: reason
        ).with(header: .retryAfter, "\(databaseRetryAfterSeconds)")
    }

    static let appUnknown = ProblemDetails(
        "app-unknown", title: "The app is not known", status: .unprocessableContent,
        detail: "No app with this bundle id is configured here.")

    static func bodyMalformed(_ detail: String) -> ProblemDetails {
        ProblemDetails("body-malformed", title: "The body is not readable", status: .badRequest, detail: detail)
    }

    static func bodyTooLarge(bytesMaximum: Int) -> ProblemDetails {
        ProblemDetails(
            "body-too-large", title: "The body is too large", status: .contentTooLarge,
            detail: "A body may have \(bytesMaximum) bytes.")
    }

    static let contentTypeUnsupported = ProblemDetails(
        "content-type-unsupported", title: "The content type is not supported", status: .unsupportedMediaType,
        detail: "Send JSON with the content type application/json.")

    static func fieldMissing(_ field: String) -> ProblemDetails {
        ProblemDetails(
            "field-missing", title: "A field is missing", status: .unprocessableContent,
            detail: "The field `\(field)` is required.", extensions: ["field": field])
    }

    static func fieldInvalid(_ field: String, _ expected: String) -> ProblemDetails {
        ProblemDetails(
            "field-invalid", title: "A field is not valid", status: .unprocessableContent,
            detail: "The field `\(field)` must be \(expected).", extensions: ["field": field])
    }

    static let proofMalformed = ProblemDetails(
        "proof-malformed", title: "The proof is not a signed transaction", status: .unprocessableContent,
        detail: "`signed_transaction` must be StoreKit's jwsRepresentation: three parts of base64url, at most "
            + "\(PostedJWS.bytesMaximum) bytes.", extensions: ["field": "signed_transaction"])

    static func receiptMalformed(_ flaw: ReceiptText.Flaw) -> ProblemDetails {
        ProblemDetails(
            "proof-malformed", title: "The proof is not a receipt", status: .unprocessableContent,
            detail: "`receipt` \(flaw)", extensions: ["field": "receipt"])
    }

    static let proofMissing = ProblemDetails(
        "field-missing", title: "A field is missing", status: .unprocessableContent,
        detail: "One of the fields `signed_transaction`, `receipt`, `transaction_id` and `order_id` is required.",
        extensions: ["field": "signed_transaction"])

    static func proofAmbiguous(_ first: String, _ second: String) -> ProblemDetails {
        ProblemDetails(
            "proof-ambiguous", title: "There is more than one proof", status: .unprocessableContent,
            detail: "Send `\(first)` or `\(second)`, not both. `transaction_id` stands alone, or beside a `receipt`, "
                + "where it names the account's transaction.", extensions: ["field": second])
    }

    static let accountForbidden = ProblemDetails(
        "account-forbidden", title: "The account is another one", status: .forbidden,
        detail: "The body's `account` is not the one that the token names.")

    static let serverKeyRequired = ProblemDetails(
        "server-key-required", title: "A server API key is required", status: .forbidden,
        detail: "Only the studio's backend may do this.")

    static func scopeMissing(_ scope: ServerKey.Scope) -> ProblemDetails {
        ProblemDetails(
            "scope-missing", title: "The server API key lacks a scope", status: .forbidden,
            detail: "The key is good, but not for this: it needs the scope `\(scope.rawValue)`.",
            extensions: ["scope": scope.rawValue])
    }

    static let accountTokenTaken = ProblemDetails(
        "account-token-taken", title: "The token is another account's", status: .conflict,
        detail: "An app account token means one account for ever; make a new token.")

    static let notFound = ProblemDetails("not-found", title: "Not found", status: .notFound)

    static func methodNotAllowed(_ allowed: [HTTPRequest.Method]) -> ProblemDetails {
        ProblemDetails(
            "method-not-allowed", title: "The method is not allowed here", status: .methodNotAllowed
        ).with(header: .allow, allowed.map(\.rawValue).joined(separator: ", "))
    }

    static let databaseUnavailable = ProblemDetails(
        "database-unavailable", title: "The database cannot be reached now", status: .serviceUnavailable,
        detail: "Nothing is lost: do not finish a transaction that was posted, and send the same request again."
    ).with(header: .retryAfter, "\(databaseRetryAfterSeconds)")

    static let overloaded = ProblemDetails(
        "overloaded", title: "Too much arrives at once", status: .serviceUnavailable,
        detail: "Nothing is lost: do not finish a transaction that was posted, and send the same request again."
    ).with(header: .retryAfter, "\(overloadRetryAfterSeconds)")

    /// The last part of the type.
    var slug: String { String(type.dropFirst(Self.typePrefix.count)) }
}
