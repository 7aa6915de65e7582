/// Going through all that a selection means, a look after the other.
extension WebhookResendStore {
    /// What a walk may do, and where it begins.
    package struct Walk: Sendable {
        /// Where a walk before has ended.
        package var after: Position?
        /// The most deliveries.
        package var limit: Int
        /// The most looks; nil for as many as it takes.
        package var looksMaximum: Int?

        /// Makes one.
        package init(after: Position? = nil, limit: Int, looksMaximum: Int? = nil) {
            self.after = after
            self.limit = limit
            self.looksMaximum = looksMaximum
        }
    }

    /// What a walk has found, or asked for.
    package struct Outcome: Sendable {
        /// Deliveries by endpoint and state.
        package fileprivate(set) var counts: [String: [String: Int]] = [:]
        /// Where to go on; nil where that was all.
        package fileprivate(set) var next: Position?
        /// The row in `audit_log`; nil where nothing was asked for.
        package fileprivate(set) var auditId: Int64?

        /// Of all endpoints and states.
        package var count: Int { counts.values.reduce(0) { $0 + $1.values.reduce(0, +) } }

        fileprivate mutating func add(_ matches: [Match]) {
            for match in matches { counts[match.position.endpoint, default: [:]][match.state, default: 0] += 1 }
        }
    }

    /// Counts what is meant, and changes nothing.
    ///
    /// - Throws: `PostgresError`.
    @inline(never)
    package func count(_ selection: WebhookSelection, _ walk: Walk) async throws -> Outcome {
        try await go(through: selection, walk, asker: nil)
    }

    /// Asks for all that is meant to be delivered again, in batches; with one row in `audit_log`, unless nothing is meant.
    ///
    /// - Throws: `PostgresError`; the batches before stay asked for.
    @inline(never)
    package func resend(_ selection: WebhookSelection, _ walk: Walk, asker: Asker) async throws -> Outcome {
        try await go(through: selection, walk, asker: asker)
    }

    @inline(never)
    private func go(through selection: WebhookSelection, _ walk: Walk, asker: Asker?) async throws -> Outcome {
        var outcome = Outcome()
        outcome.next = walk.after
        var looks = 0
        while outcome.count < walk.limit, looks < walk.looksMaximum ?? .max {
            let page = try await page(
                of: selection, after: outcome.next, limit: min(Limit.rowsPerBatch, walk.limit - outcome.count))
            if let asker, !page.matches.isEmpty {
                outcome.auditId = try await ask(
                    for: page.matches, subject: "\(selection); at most \(walk.limit)", app: selection.app,
                    asker: asker, auditId: outcome.auditId)
            }
            outcome.add(page.matches)
            outcome.next = page.next
            guard page.next != nil else { break }
            looks += 1
        }
        return outcome
    }
}
