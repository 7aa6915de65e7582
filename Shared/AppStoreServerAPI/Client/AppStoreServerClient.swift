public import AsyncHTTPClient
public import Foundation

/// Calls the App Store Server API for one app.
///
/// Each call names its environment and is made once: when to try again is for the caller to say, with
/// ``AppStoreServerError/isRetryable`` and ``AppStoreServerError/retryAfter``. What Apple signed is handed over as it
/// came; nothing here checks a signature. Nothing is logged. Every call throws an ``AppStoreServerError``, or
/// `CancellationError` when its task was cancelled.
///
/// Copies share one cache of tokens. A client is cheap; the `HTTPClient` belongs to the caller, who shuts it down, and
/// who best forbids redirects in its configuration: Apple sends none.
public struct AppStoreServerClient: Sendable {
    /// What keeps a call small and short.
    public struct Limits: Sendable, Hashable {
        /// Bytes of an answer that are read: a page is some 100 KB, the statuses of a customer may be more.
        public var answerBytes: Int
        /// How long a call may take, from the first byte sent to the last read.
        public var timeout: Duration

        /// Takes the limits; the defaults are 4 MiB and 30 seconds.
        public init(answerBytes: Int = 4 << 20, timeout: Duration = .seconds(30)) {
            self.answerBytes = answerBytes
            self.timeout = timeout
        }
    }

    /// Where the calls go.
    public let hosts: AppStoreHosts
    /// The app that the calls are about.
    public let bundleId: String
    /// What keeps a call small and short.
    public let limits: Limits

    let http: HTTPClient
    let tokens: TokenCache
    /// When calls must be over; nil leaves them their time-out.
    private(set) var deadline: ContinuousClock.Instant?

    /// Makes a client.
    ///
    /// - Parameters:
    ///   - http: sends the requests; the caller shuts it down.
    ///   - key: signs the tokens.
    ///   - bundleId: the app that the tokens are for.
    ///   - now: the wall clock that tokens are dated by.
    public init(
        http: HTTPClient, key: SigningKey, bundleId: String, hosts: AppStoreHosts = .apple, limits: Limits = Limits(),
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.http = http
        self.bundleId = bundleId
        self.hosts = hosts
        self.limits = limits
        tokens = TokenCache(key: key, bundleId: bundleId, now: now)
    }

    /// A client whose calls are over by an instant, at the latest.
    public func with(deadline: ContinuousClock.Instant) -> AppStoreServerClient {
        var client = self
        client.deadline = self.deadline.map { min($0, deadline) } ?? deadline
        return client
    }
}
