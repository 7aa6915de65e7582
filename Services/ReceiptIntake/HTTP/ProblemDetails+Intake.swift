import HTTPTypes
import ServiceRuntime

/// The problems that intake answers with; what is the same for all of a kind says ``ProblemKind``.
extension ProblemDetails {
    /// After how many seconds to come again when the database does not answer.
    static let databaseRetryAfterSeconds = 5
    /// After how many seconds to come again when too many wait.
    static let overloadRetryAfterSeconds = 1

    /// Makes a problem of a kind.
    ///
    /// - Parameters:
    ///   - detail: What happened this time.
    ///   - field: Which field or parameter is meant.
    ///   - retryAfterSeconds: After how many seconds to come again.
    init(
        _ kind: ProblemKind, _ detail: String? = nil, field: String? = nil, extensions: [String: String] = [:],
        retryAfterSeconds: Int? = nil
    ) {
        self.init(
            kind.code, title: kind.title, status: kind.status, detail: detail,
            extensions: field.map { ["field": $0] } ?? extensions)
        if let retryAfterSeconds { headers[.retryAfter] = "\(retryAfterSeconds)" }
    }

    static let authenticationRequired = ProblemDetails(
        .authenticationRequired, "Send `Authorization: Bearer` with the player's token or a server API key."
    ).with(header: .wwwAuthenticate, "Bearer")

    static func authenticationFailed(_ reason: String) -> ProblemDetails {
        ProblemDetails(.authenticationFailed, reason)
            .with(header: .wwwAuthenticate, "Bearer error=\"invalid_token\"")
    }

    static func authenticationUnavailable(_ reason: String) -> ProblemDetails {
        ProblemDetails(.authenticationUnavailable, reason, retryAfterSeconds: databaseRetryAfterSeconds)
    }

    static let appUnknown = ProblemDetails(.appUnknown, "No app with this bundle id is configured here.")

    /// Nobody knows where the next request would begin.
    static let bodyIncomplete = ProblemDetails(
        .bodyIncomplete, "The connection ended before the body did, or the body is not in well formed chunks."
    ).with(header: .connection, "close")

    static func bodyMalformed(_ detail: String) -> ProblemDetails { ProblemDetails(.bodyMalformed, detail) }

    static func bodyTooLarge(bytesMaximum: Int) -> ProblemDetails {
        ProblemDetails(.bodyTooLarge, "A body may have \(bytesMaximum) bytes.")
    }

    static let contentTypeUnsupported = ProblemDetails(
        .contentTypeUnsupported, "Send JSON with the content type application/json.")

    static func fieldMissing(_ field: String) -> ProblemDetails {
        ProblemDetails(.fieldMissing, "The field `\(field)` is required.", field: field)
    }

    static func fieldInvalid(_ field: String, _ expected: String) -> ProblemDetails {
        ProblemDetails(.fieldInvalid, "The field `\(field)` must be \(expected).", field: field)
    }

    static let proofMalformed = ProblemDetails(
        .proofMalformed,
        "`signed_transaction` must be StoreKit's jwsRepresentation: three parts of base64url, at most "
            + "\(PostedJWS.bytesMaximum) bytes.", field: "signed_transaction")

    static func receiptMalformed(_ flaw: ReceiptText.Flaw) -> ProblemDetails {
        ProblemDetails(.proofMalformed, "`receipt` \(flaw)", field: "receipt")
    }

    static let proofMissing = ProblemDetails(
        .fieldMissing,
        "One of the fields `signed_transaction`, `receipt`, `transaction_id` and `order_id` is required.",
        field: "signed_transaction")

    static func proofAmbiguous(_ first: String, _ second: String) -> ProblemDetails {
        ProblemDetails(
            .proofAmbiguous,
            "Send `\(first)` or `\(second)`, not both. `transaction_id` stands alone, or beside a `receipt`, "
                + "where it names the account's transaction.", field: second)
    }

    static let accountForbidden = ProblemDetails(
        .accountForbidden, "The body's `account` is not the one that the token names.")

    static let serverKeyRequired = ProblemDetails(.serverKeyRequired, "Only the studio's backend may do this.")

    static func scopeMissing(_ scope: ServerKey.Scope) -> ProblemDetails {
        ProblemDetails(
            .scopeMissing, "The key is good, but not for this: it needs the scope `\(scope.rawValue)`.",
            extensions: ["scope": scope.rawValue])
    }

    static let liveKeyRequired = ProblemDetails(
        .liveKeyRequired, "The key is a test key: it sees and changes the sandbox alone.")

    static let accountTokenTaken = ProblemDetails(
        .accountTokenTaken, "An app account token means one account for ever; make a new token.")

    static let notFound = ProblemDetails(.notFound)

    static func methodNotAllowed(_ allowed: [HTTPRequest.Method]) -> ProblemDetails {
        ProblemDetails(.methodNotAllowed).with(header: .allow, allowed.map(\.rawValue).joined(separator: ", "))
    }

    static let databaseUnavailable = ProblemDetails(
        .databaseUnavailable, nothingIsLost, retryAfterSeconds: databaseRetryAfterSeconds)

    static let overloaded = ProblemDetails(.overloaded, nothingIsLost, retryAfterSeconds: overloadRetryAfterSeconds)

    static let nothingIsLost =
        "Nothing is lost: do not finish a transaction that was posted, and send the same request again."
}
