/// What a type of problem means, and what to do about it: the page that the problem's `type` leads to.
struct ProblemPage: Sendable {
    /// The last part of the type.
    let slug: String
    /// The HTTP statuses that it comes with.
    let statuses: [Int]
    /// What it means.
    let meaning: String
    /// What the caller does about it.
    let remedy: String

    init(_ slug: String, _ statuses: Int..., meaning: String, remedy: String) {
        self.slug = slug
        self.statuses = statuses
        self.meaning = meaning
        self.remedy = remedy
    }

    /// The page, as text.
    var text: String {
        """
        \(slug)

        HTTP status: \(statuses.map { "\($0)" }.joined(separator: ", "))

        \(meaning)

        What to do: \(remedy)

        """
    }

    /// Of every type that intake answers with, by slug.
    static let all: [ProblemPage] = (requests + callers + states + later).sorted { $0.slug < $1.slug }
}
