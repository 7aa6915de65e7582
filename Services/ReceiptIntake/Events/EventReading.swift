import Persistence
import Postgres
import ServiceRuntime

/// What those who pull and follow events share.
struct EventReaders: Sendable {
    let feed: EventFeedStore
    let tail: EventTail
    let places: EventStreamPlaces

    init(pool: PostgresPool, configuration: Configuration) {
        let feed = EventFeedStore(pool: pool)
        self.feed = feed
        tail = EventTail { try await feed.arrivals(after: $0) }
        places = EventStreamPlaces(
            maximum: configuration.limits.streamsMaximum, ofAccountMaximum: configuration.limits.accountStreamsMaximum,
            networks: NetworkPlaces(
                percent: configuration.limits.addressWaitsPercent, of: configuration.limits.streamsMaximum))
    }
}

/// Reads pages of events, and waits for the first event of one.
struct EventReading: Sendable {
    enum Limit {
        /// Pages without an event that one request reads of others' apps and types before it answers with how far it came.
        static let emptyPages = 10
        /// How long a stream waits where it cannot read or wait now.
        static let pause = Duration.seconds(1)
    }

    let store: EventFeedStore
    let tail: EventTail
    let turns: ReadingTurns

    /// The position that a reader begins after; nil for the oldest event.
    private func position(_ start: EventQuery.Start) async throws -> Int64? {
        switch start {
        case .oldest: nil
        case .now: try await store.newest()
        case .after(let position): position
        }
    }

    /// A page that has an event, unless there is none.
    ///
    /// - Throws: `ProblemDetails`, `PostgresError`.
    @inline(never)
    func page(
        _ query: EventQuery, from start: EventQuery.Start, for caller: Caller
    ) async throws -> EventFeedStore.Page {
        do {
            return try await turns.take(for: caller) {
                try await self.search(query, after: self.position(start))
            }
        } catch is EventFeedStore.ExpiredError {
            throw ProblemDetails.cursorExpired
        }
    }

    /// The same for who has had a turn before.
    ///
    /// - Throws: `ProblemDetails`, `PostgresError`.
    @inline(never)
    func nextPage(
        _ query: EventQuery, after position: Int64, for caller: Caller
    ) async throws -> EventFeedStore.Page {
        do {
            return try await turns.takeAgain(for: caller) { try await self.search(query, after: position) }
        } catch is EventFeedStore.ExpiredError {
            throw ProblemDetails.cursorExpired
        }
    }

    @inline(never)
    private func search(_ query: EventQuery, after position: Int64?) async throws -> EventFeedStore.Page {
        var page = try await store.page(query.filter, after: position, limit: query.limit)
        for _ in 1..<Limit.emptyPages where page.events.isEmpty && page.isMore {
            page = try await store.page(query.filter, after: page.next, limit: query.limit)
        }
        return page
    }

    /// A page; where it is empty, one that has what comes within a time.
    ///
    /// - Throws: `ProblemDetails`, `PostgresError`.
    @inline(never)
    func page(
        _ query: EventQuery, from start: EventQuery.Start, for caller: Caller, within time: Duration,
        connection: ConnectionSignals.Connection?
    ) async throws -> EventFeedStore.Page {
        let end = ContinuousClock.now + time
        var page = try await page(query, from: start, for: caller)
        while page.events.isEmpty, !page.isMore {
            let left = end - .now
            let reason = await tail.wait(for: query.filter, after: page.next, within: left, connection: connection)
            guard reason == .arrival else { return page }
            page = try await nextPage(query, after: page.next, for: caller)
        }
        return page
    }
}
