import Foundation
import Logging
import Persistence
import PurchaseModel
import ServiceRuntime
import Synchronization

/// Whose an appAccountToken is.
///
/// Learned from the studio's backend, or from the claim `app_account_token` of a player's token. What was registered once is remembered here, so that a repetition costs no query.
final class AccountTokens: Sendable {
    /// The most pairs that are remembered; beyond it all are forgotten and learned again, a query each.
    static let rememberedMaximum = 50_000
    /// How long they are remembered.
    static let rememberedTime = Duration.seconds(600)
    /// How often it is asked whether somebody is to be forgotten: who comes by the same name is another account, whose tokens
    /// are to be registered again.
    static let askingTime = Duration.seconds(1)

    /// The nil UUID (RFC 9562, section 5.9) is what a field holds that nobody set: it would make everybody's purchases the
    /// first account's.
    static func isToken(_ uuid: UUID) -> Bool { uuid.uuidString.contains { $0 != "0" && $0 != "-" } }

    /// Says that a token means an account, and returns the one it means; see `AccountTokenStore.register`.
    typealias Register = @Sendable (_ app: String, _ token: UUID, _ account: String) async throws -> String

    /// When somebody was last asked to be forgotten; see `ForgetRequestStore.newest`.
    typealias LastForgotten = @Sendable () async throws -> Date?

    private let store: Register
    private let lastForgotten: LastForgotten
    private let now: @Sendable () -> ContinuousClock.Instant
    private let remembered: Mutex<Remembered>

    private struct Remembered {
        var accounts: [AppToken: Account] = [:]
        var since: ContinuousClock.Instant
        /// When it was last asked who is to be forgotten, and what the answer was.
        var asked: ContinuousClock.Instant?
        var forgotten: Date?
    }

    /// Registers with `store`.
    init(
        store: @escaping Register, lastForgotten: @escaping LastForgotten,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    ) {
        self.store = store
        self.lastForgotten = lastForgotten
        self.now = now
        remembered = Mutex(Remembered(since: now()))
    }

    /// Says that a token means an account.
    ///
    /// - Returns: false when it is another account's.
    /// - Throws: `PostgresError`.
    func register(_ token: UUID, app: String, account: Account) async throws -> Bool {
        let key = AppToken(app: app, token: token)
        let now = now()
        try await forgetRemembered(at: now)
        let known = remembered.withLock { remembered in
            if now - remembered.since > Self.rememberedTime {
                (remembered.accounts, remembered.since) = ([:], now)
            }
            return remembered.accounts[key]
        }
        // A token never changes its account, so what is remembered stays true until somebody is to be forgotten.
        if let known { return known == account }
        guard let owner = Account(try await store(app, token, account.text)) else { return false }
        remembered.withLock { remembered in
            if remembered.accounts.count >= Self.rememberedMaximum { remembered.accounts = [:] }
            remembered.accounts[key] = owner
        }
        return owner == account
    }

    /// Forgets all tokens where somebody is to be forgotten since they were learned.
    private func forgetRemembered(at now: ContinuousClock.Instant) async throws {
        let isDue = remembered.withLock { remembered in
            remembered.asked.map { now - $0 >= Self.askingTime } ?? true
        }
        guard isDue else { return }
        let forgotten = try await lastForgotten()
        remembered.withLock { remembered in
            if remembered.forgotten != forgotten { remembered.accounts = [:] }
            (remembered.asked, remembered.forgotten) = (now, forgotten)
        }
    }

    /// Takes a player's claim.
    ///
    /// One that contradicts what is known changes nothing: the signed transaction is then the
    /// first account's, as the rules of ownership say.
    ///
    /// - Throws: `PostgresError`; the caller is to post again, lest the purchase be parked for an unknown token.
    func learn(_ token: UUID, app: String, account: Account, logger: Logger) async throws {
        if try await register(token, app: app, account: account) { return }
        logger.warning(
            "a token claims an app account token that is another account's",
            metadata: .fields([.app: "\(app)", .account: "\(account.text)"]))
    }
}
