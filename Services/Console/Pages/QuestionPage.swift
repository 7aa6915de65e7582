/// What Apple was asked about a customer or an order, and what it answered.
enum QuestionPage {
    enum Limit {
        /// Seconds between looks until Apple has answered.
        static let refreshSeconds = 2
    }

    @Sendable
    static func make(_ page: PageRequest) async throws -> Page {
        let view = try await page.get("/v1/sweeps/\(IntakeClient.part(try page.part("id")))")
        let (texts, isOver) = (page.texts, isOver(view))
        let sentence: Block =
            if !isOver {
                .notice(.waiting, texts("question.waiting", view["waits_for"].text ?? ""))
            } else if view["recovered"].list.isEmpty {
                .notice(.plain, texts("question.nothing"))
            } else {
                .notice(.good, texts("question.found"))
            }
        let table = Table(
            texts("question.purchases"), ["purchase", "environment", "state", "reason"].map { texts("column.\($0)") },
            view["recovered"].list.map { row in
                [
                    page.purchase(row), page.environment(row["environment"]), page.state(row["state"]),
                    page.reason(row["reason"]),
                ]
            }, empty: texts("question.empty"))
        return Page(
            title: texts("question.title"), blocks: [sentence, .table(table)],
            refreshSeconds: isOver ? nil : Limit.refreshSeconds)
    }

    /// What Apple told of is listed once it was verified and written, which is a moment after Apple's answer.
    static func isOver(_ view: JSON) -> Bool {
        view["state"].text == "finished" && (!view["recovered"].list.isEmpty || view["found"].integer ?? 0 == 0)
    }
}
