import PurchaseModel
import ServiceRuntime
import Synchronization

/// How often a player may ask for what, and how often an app's backends may post.
struct AccountLimits: Sendable {
    enum Limit {
        /// How long a request is held until it is the account's turn; what would have to wait longer is refused.
        static let hold = Duration.seconds(5)
        /// The most that are held, where nobody says otherwise.
        static let held = 500
    }

    /// Proofs of any kind.
    let posts: AccountRate
    /// Ids about which Apple has to be asked: an unknown one costs a dozen calls of the app's budget.
    let ids: AccountRate
    /// What is read from the database.
    let reads: AccountRate
    /// Subscription offers that are signed.
    let signatures: AccountRate
    /// Proofs of an app's backends.
    let backendPosts: BackendRate
    private let held: HeldRequests

    init(
        postsPerMinute: Int, idsPerMinute: Int, readsPerMinute: Int, signaturesPerMinute: Int = 30,
        backendPosts: BackendRate = BackendRate(perMinute: 0, holdMaximum: Limit.hold),
        held: HeldRequests = HeldRequests(maximum: Limit.held)
    ) {
        posts = AccountRate(perMinute: postsPerMinute, holdMaximum: Limit.hold)
        ids = AccountRate(perMinute: idsPerMinute)
        reads = AccountRate(perMinute: readsPerMinute, holdMaximum: Limit.hold)
        signatures = AccountRate(perMinute: signaturesPerMinute)
        self.backendPosts = backendPosts
        self.held = held
    }

    /// - Parameter ofApp: the proofs that an app's backends may post a minute; nil where the configuration's number holds.
    init(_ configuration: Configuration, held: HeldRequests, ofApp: @escaping @Sendable (_ app: String) -> Int?) {
        self.init(
            postsPerMinute: configuration.limits.accountPostsPerMinute,
            idsPerMinute: configuration.limits.accountIdsPerMinute,
            readsPerMinute: configuration.limits.accountReadsPerMinute,
            signaturesPerMinute: configuration.limits.accountSignaturesPerMinute,
            backendPosts: BackendRate(
                perMinute: configuration.limits.appPostsPerMinute, holdMaximum: Limit.hold, ofApp: ofApp),
            held: held)
    }

    /// Takes a turn for a proof, before anything of the body is read; what comes too fast is held.
    ///
    /// - Throws: `ProblemDetails`, 429.
    func admitPost(by player: Caller) async throws {
        try await admit("posts", posts, player)
    }

    /// Takes a turn for a proof of an app's backend, in the same way.
    ///
    /// - Parameters:
    ///   - apps: whose key it is, sorted.
    ///   - isTest: whether it is a test key, whose posts take no turns of live ones.
    /// - Throws: `ProblemDetails`, 429.
    @inline(never)
    func admitPost(byBackendOf apps: [String], isTest: Bool = false) async throws {
        guard let turns = backendPosts.turns(apps: apps, isTest: isTest) else { return }
        let name = BackendRate.name(apps, isTest)
        func refusal(_ wait: Duration) -> ProblemDetails {
            RequestsLimited.problemOfBackend(perMinute: turns.perMinute, wait: wait)
        }
        let wait: Duration
        do throws(TurnsExceeded) { wait = try turns.take(name) } catch { throw refusal(error.wait) }
        RateNotes.note("app", turns, name)
        guard wait > .zero else { return }
        // No player is held by such a name: a key of two apps has a blank in its own.
        guard await held.hold("backend of \(name)", for: wait) else {
            turns.giveBack(name)
            throw refusal(wait)
        }
        RequestsLimited.count("app", .held)
    }

    /// Takes a turn for what the body turned out to be, before anything is written.
    ///
    /// - Parameter player: who had the turn for the post, which is given back where this is refused.
    /// - Throws: `ProblemDetails`, 429.
    func admit(_ proof: PurchaseProof, by player: Caller?) throws {
        guard case .account(let app, let account, _)? = player else { return }
        switch proof {
        case .transactionId, .orderId: break
        case .signedTransaction, .receipt: return
        }
        do throws(AccountRate.Exceeded) {
            try ids.take(app: app, account: account.text)
        } catch {
            posts.giveBack(app: app, account: account.text)
            throw RequestsLimited.problem("ids", perMinute: ids.perMinute, wait: error.wait)
        }
        ids.note("ids", app: app, account: account.text)
    }

    /// Takes a turn for something that is read; what comes too fast is held.
    ///
    /// - Throws: `ProblemDetails`, 429.
    func admitReading(by caller: Caller) async throws {
        try await admit("reads", reads, caller)
    }

    /// Takes a turn for an offer that is signed, before anything of the body is read.
    ///
    /// - Parameter player: nil for the studio's backend.
    /// - Throws: `ProblemDetails`, 429.
    func admitSigning(by player: Caller?) async throws {
        try await admit("signatures", signatures, player)
    }

    @inline(never)
    private func admit(_ name: String, _ rate: AccountRate, _ caller: Caller?) async throws {
        guard case .account(let app, let account, _)? = caller else { return }
        let wait: Duration
        do throws(AccountRate.Exceeded) {
            wait = try rate.take(app: app, account: account.text)
        } catch {
            throw RequestsLimited.problem(name, perMinute: rate.perMinute, wait: error.wait)
        }
        rate.note(name, app: app, account: account.text)
        guard wait > .zero else { return }
        guard await held.hold("\(app) \(account.text)", for: wait) else {
            rate.giveBack(app: app, account: account.text)
            throw RequestsLimited.problem(name, perMinute: rate.perMinute, wait: wait)
        }
        RequestsLimited.count(name, .held)
    }
}

/// How often the backends of each app may post a proof, in this process: an app that goes wild costs the others little.
struct BackendRate: Sendable {
    enum Limit {
        /// This part of a minute's turns may come at once: a quarter of a second's.
        ///
        /// More would show in what others' purchases take.
        static let partAtOnce = 240
        /// So few may always come at once.
        static let alwaysAtOnce = 10
    }

    /// Proofs a minute, where the app's entry says nothing; 0 for no limit.
    let perMinute: Int
    private let ofApp: @Sendable (_ app: String) -> Int?
    private let holdMaximum: Duration
    private let turns = Turns()

    /// The turns of each app, or of the apps of one key; another number begins anew.
    private final class Turns: Sendable {
        let byApps = Mutex<[String: TurnRate<String>]>([:])
    }

    /// - Parameters:
    ///   - holdMaximum: how long one too many may be held.
    ///   - ofApp: what an app's entry says, by its bundle id; only apps that are configured are asked about.
    init(perMinute: Int, holdMaximum: Duration, ofApp: @escaping @Sendable (_ app: String) -> Int? = { _ in nil }) {
        self.perMinute = perMinute
        self.holdMaximum = holdMaximum
        self.ofApp = ofApp
    }

    /// The turns of a key's apps; nil where one of them has no limit.
    ///
    /// Which of several a request is about stands in its body, which is not read yet: the largest of their limits holds for all
    /// together.
    ///
    /// - Parameters:
    ///   - apps: bundle ids, sorted.
    ///   - isTest: whether it is a test key, which has turns of its own.
    func turns(apps: [String], isTest: Bool = false) -> TurnRate<String>? {
        let limits = apps.map { ofApp($0) ?? perMinute }
        guard let perMinute = limits.max(), !limits.contains(0) else { return nil }
        let name = Self.name(apps, isTest)
        return turns.byApps.withLock { turns in
            if let known = turns[name], known.perMinute == perMinute { return known }
            let new = TurnRate<String>(
                perMinute: perMinute, atOnce: max(Limit.alwaysAtOnce, perMinute / Limit.partAtOnce),
                holdMaximum: holdMaximum, keysMaximum: 1)
            turns[name] = new
            return new
        }
    }

    /// What the turns of a key's apps are known by.
    static func name(_ apps: [String], _ isTest: Bool = false) -> String {
        (isTest ? "test " : "") + apps.joined(separator: " ")
    }
}

/// How many requests of an account, and of a network, may wait for something at a time: for an outcome, a version or an event.
///
/// One more is answered at once with what is known, as where too many wait in all. The studio's backend speaks for many
/// accounts and has no such limit.
final class AccountWaits: Sendable {
    /// What a request waits for; each kind has places of its own.
    enum Kind: Sendable, Hashable, CaseIterable {
        case outcome
        case version
        case event
    }

    /// A request's place among those that wait.
    struct Place: Sendable {
        /// How long it may wait.
        let time: Duration
        /// The account that waits, without its token.
        fileprivate var account: Caller?
        fileprivate var network: NetworkPlaces.Place?

        fileprivate init(time: Duration) {
            self.time = time
        }
    }

    /// Of one account.
    let maximum: Int
    private let waiting = Mutex<[Caller: Int]>([:])
    private let networks: [Kind: NetworkPlaces]

    /// - Parameter networks: the places of each kind that one network may have; no limit for a kind that is not named.
    init(maximum: Int, networks: [Kind: NetworkPlaces] = [:]) {
        self.maximum = maximum
        self.networks = networks
    }

    /// How many accounts wait for something.
    var accountsCount: Int { waiting.withLock { $0.count } }

    /// A place for a request; must be followed by ``leave(_:)``.
    ///
    /// - Parameters:
    ///   - caller: nil for the studio's backend.
    ///   - client: where the request came from; nil where that cannot be told.
    func enter(
        _ caller: Caller?, wait: Duration, for kind: Kind, from client: ClientAddressReader.Client?
    ) -> Place {
        guard wait > .zero, case .account(let app, let name, _)? = caller else { return Place(time: wait) }
        var place = Place(time: wait)
        if let networks = networks[kind] {
            guard let network = networks.enter(client) else {
                RequestsLimited.count("address_waits", .hastened)
                return Place(time: .zero)
            }
            place.network = network
        }
        let account = Caller.account(app: app, name: name, accountToken: nil)
        let isRoom = waiting.withLock { waiting in
            let count = waiting[account, default: 0]
            guard count < maximum else { return false }
            waiting[account] = count + 1
            return true
        }
        guard isRoom else {
            RequestsLimited.count("waits", .hastened)
            leave(place)
            return Place(time: .zero)
        }
        place.account = account
        return place
    }

    /// Gives a place back.
    func leave(_ place: Place) {
        place.network?.leave()
        guard let account = place.account else { return }
        waiting.withLock { waiting in
            let count = waiting[account, default: 1] - 1
            waiting[account] = count > 0 ? count : nil
        }
    }
}
