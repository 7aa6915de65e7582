import HTTPTypes

/// A kind of problem that intake answers with: a row of the table that answers, pages and the OpenAPI document are made from.
struct ProblemKind: Sendable {
    /// Its stable name for programs, and the last part of the problem's type: lower case with hyphens.
    let code: String
    /// The HTTP status that it comes with.
    let status: HTTPResponse.Status
    /// The status with which Apple's notifications get it, where that is another.
    let statusForApple: HTTPResponse.Status?
    /// A short sentence, the same for every problem of the kind.
    let title: String
    /// What it means.
    let meaning: String
    /// What the caller does about it.
    let remedy: String

    init(
        _ code: String, _ status: HTTPResponse.Status, also statusForApple: HTTPResponse.Status? = nil, _ title: String,
        meaning: String, remedy: String
    ) {
        (self.code, self.status, self.statusForApple, self.title) = (code, status, statusForApple, title)
        (self.meaning, self.remedy) = (meaning, remedy)
    }

    /// Every HTTP status that it comes with.
    var statuses: [Int] { [status.code] + (statusForApple.map { [$0.code] } ?? []) }

    /// The page that the problem's `type` leads to.
    var page: String {
        """
        \(code)

        \(title)

        HTTP status: \(statuses.map(String.init).joined(separator: ", "))

        \(meaning)

        What to do: \(remedy)

        """
    }
}
