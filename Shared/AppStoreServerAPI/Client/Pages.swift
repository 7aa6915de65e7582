/// An answer that comes in pages.
public protocol AppStorePage: Sendable {
    /// Whether there are more after this one.
    var hasMore: Bool { get }
    /// What to ask the next page by: Apple's `revision`, or its `paginationToken`.
    var nextPage: String? { get }
}

/// Every page of an answer, each asked for when the one before was taken.
///
/// Ends after the page that has none after it; throws what a call throws, and then ends. To go on later, keep the last
/// page's ``AppStorePage/nextPage``.
public struct AppStorePages<Page: AppStorePage>: AsyncSequence, Sendable {
    /// A page.
    public typealias Element = Page

    let first: String?
    let fetch: @Sendable (String?) async throws -> Page

    /// Begins at the first page.
    public func makeAsyncIterator() -> Iterator {
        Iterator(next: first, fetch: fetch)
    }

    /// Asks for page after page.
    public struct Iterator: AsyncIteratorProtocol {
        private var token: String?
        private var count = 0
        private var isOver = false
        private let fetch: @Sendable (String?) async throws -> Page

        init(next token: String?, fetch: @escaping @Sendable (String?) async throws -> Page) {
            self.token = token
            self.fetch = fetch
        }

        /// The next page; nil when there is none.
        public mutating func next() async throws -> Page? {
            guard !isOver else { return nil }
            isOver = true
            let page = try await fetch(token)
            count += 1
            guard page.hasMore else { return page }
            // Without a new token the same page would come for ever.
            guard let next = page.nextPage, next != token, count < AppStorePagesLimit.pages else {
                throw AppStoreServerError.unreadable(200, "there are more pages, but no way to them")
            }
            token = next
            isOver = false
            return page
        }
    }
}

private enum AppStorePagesLimit {
    /// Pages of one answer: 200,000 transactions are nobody's.
    static let pages = 10_000
}
