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
    /// How long they are remembered: an account may be forgotten meanwhile, and come back as another of the same name, whose
    /// tokens are to be registered again.
    static let rememberedTime = Duration.seconds(600)

    /// The nil UUID (RFC 9562, section 5.9) is what a field holds that nobody set: it would make everybody's purchases the
    /// first account's.
    static func isToken(_ uuid: UUID) -> Bool { uuid.uuidString.contains { $0 != "0" && $0 != "-" } }

    /// Says that a token means an account, and returns the one it means; see `AccountTokenStore.register`.
    typealias Register = @Sendable (_ app: String, _ token: UUID, _ account: String) async throws -> String

    private let store: Register
    private let now: @Sendable () -> ContinuousClock.Instant
    private let remembered: Mutex<Remembered>

    private struct Remembered {
        var accounts: [AppToken: Account] = [:]
        var since: ContinuousClock.Instant
    }

    /// Registers with `store`.
    init(
        store: @escaping Register, now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    ) {
        self.store = store
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
        let known = remembered.withLock { remembered in
            if now - remembered.since > Self.rememberedTime { remembered = Remembered(since: now) }
            return remembered.accounts[key]
        }
        // A token never changes its account, so what is remembered stays true until the account is forgotten.
        if let known { return known == account }
        guard let owner = Account(try await store(app, token, account.text)) else { return false }
        remembered.withLock { remembered in
            if remembered.accounts.count >= Self.rememberedMaximum { remembered.accounts = [:] }
            remembered.accounts[key] = owner
        }
        return owner == account
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
