extension OpenAPIPaths {
    /// How deep the statuses of a response stand in the document.
    private static let indentation = 8

    /// The responses of an operation that are problems, in YAML: a line each, the first without its indentation.
    ///
    /// - Parameter statuses: 429 and 503 say when to come again.
    static func problems(_ statuses: Int...) -> String {
        statuses.map { status in
            let response = status == 429 || status == 503 ? "TryLater" : "Problem"
            return "'\(status)': { $ref: '#/components/responses/\(response)' }"
        }.joined(separator: "\n" + String(repeating: " ", count: indentation))
    }
}
