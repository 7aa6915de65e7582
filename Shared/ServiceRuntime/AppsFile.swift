import Foundation

/// The apps that this installation serves, from a YAML file; a field that it does not know is a mistake.
///
/// The path of a secret may be relative under systemd: it is a credential of `$CREDENTIALS_DIRECTORY` then.
///
/// ```yaml
/// authentication:               # for every app that has none of its own
///   jwt: { hs256_secret_file: /run/secrets/jwt, issuer: game-backend, audience: countersign }
///   api_keys:                   # two of a name at a time, so that one can take the other's place
///     - { name: backend, scopes: [post, read], sha256: 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae }
///     - { name: ci, scopes: [post, read], environment: sandbox, # a test key: it sees and changes the sandbox alone
///         sha256: fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9 }
///   api_keys_sha256: []         # keys without a name: post, read, spend
/// apps:
///   - bundle_id: com.example.game
///     app_apple_id: 1000000001
///     released: true            # until it is, production does not know its key; default: whether it has an app_apple_id
///     sandbox: accept           # or test, or refuse; App Review buys in the sandbox
///     receipts: offline         # or verify_receipt, or offline_then_verify_receipt
///     possession: proof         # or number: whoever guesses or overhears a transaction id gets what it bought
///     finish: app               # or server: fulfillment has Apple finish what it granted
///     account_token: leave      # or set: what was bought without a token gets one of its account at Apple
///     backend_posts_per_minute: 6000 # of its server API keys, in each intake process; 0: no limit
///     forward_notifications:    # what Apple signed goes on to an older consumer, byte for byte
///       { url: "https://old.example.com/apple", allow_private_addresses: false }
///     shared_secret_file: /run/secrets/shared-secret            # for verifyReceipt; or shared_secret_env
///     app_store_server_api:     # for every app, when it stands beside `apps`
///       { issuer_id: 57246542-96fe-1a63-e053-0824d011072a, key_id: 2X9R4HXF34, private_key_file: /run/secrets/key.p8 }
///     subscription_offers:      # for every app, when it stands beside `apps`; intake signs offers with this key
///       issuer_id: 57246542-96fe-1a63-e053-0824d011072a
///       key_id: 8KQ2M4X7P1      # a key of its own, so that intake does not have the one above
///       private_key_file: /run/secrets/offer-key.p8
///       player_offers: [comeback] # offers that every player may have signed; others need a server API key
/// ```
package struct AppsFile: Sendable, Equatable {
    /// One app.
    package struct App: Sendable, Equatable {
        /// The most that ``backendPostsPerMinute`` can say.
        package static let backendPostsMaximum = 10_000_000

        /// As in App Store Connect; compared exactly.
        package let bundleId: String
        /// The number in the app's store address; nil while the app was never released.
        package let appAppleId: Int64?
        /// Whether the app was ever released: production answers 401 for one that was not.
        package let isReleased: Bool
        /// What becomes of sandbox purchases.
        package let sandbox: SandboxPolicy
        /// How receipts are verified.
        package let receipts: ReceiptPolicy
        /// What a player has to post to get a purchase without an account token.
        package let possession: PossessionPolicy
        /// What verifyReceipt wants to know of apps with subscriptions.
        package let sharedSecret: Redacted<String>?
        /// The key of the App Store Server API; nil where Apple cannot be asked about an id.
        package let serverAPI: ServerAPIKey?
        /// What subscription offers are signed with; nil where none are.
        package var subscriptionOffers: SubscriptionOffers?
        /// How callers prove who they are.
        package let authentication: Authentication
        /// Whether the file names a key of the App Store Server API, also for a process that does not read it.
        package var canBeAsked = false
        /// Who finishes transactions.
        package var finish = FinishPolicy.app
        /// What becomes of purchases without an account token.
        package var accountToken = AccountTokenPolicy.leave
        /// The proofs that its server API keys may post a minute, in each intake process; 0 for no limit, nil where intake's setting holds.
        package var backendPostsPerMinute: Int?
        /// Where Apple's notifications go on to; nil for nowhere.
        package var forwarding: Forwarding?
    }

    /// Who tells Apple that a purchase was delivered.
    package enum FinishPolicy: String, Sendable, Hashable, CaseIterable {
        /// The app, with StoreKit, once it has heard of the grant.
        case app
        /// Countersign too, after the grant: also for apps that are never opened again.
        case server
    }

    /// What becomes of purchases without an account token, once an account has them.
    package enum AccountTokenPolicy: String, Sendable, Hashable, CaseIterable {
        /// They stay as they are.
        case leave
        /// Apple is given a token of the account, which renewals and refunds name from then on.
        case set
    }

    /// Where Apple's notifications go on to.
    package struct Forwarding: Sendable, Hashable {
        /// The address that they are posted to.
        package let url: String
        /// Allows plain HTTP and addresses inside the own network.
        package let allowsPrivateAddresses: Bool

        package init(url: String, allowsPrivateAddresses: Bool = false) {
            self.url = url
            self.allowsPrivateAddresses = allowsPrivateAddresses
        }
    }

    /// What becomes of an app's sandbox purchases; they never touch production's ledger.
    package enum SandboxPolicy: String, Sendable, Hashable, CaseIterable {
        /// Granted in the sandbox's own ledger.
        case accept
        /// The same, and marked as test purchases wherever they are told of.
        case test
        /// Refused; App Review cannot buy then.
        case refuse
    }

    /// How an app's receipts are verified.
    package enum ReceiptPolicy: String, Sendable, Hashable, CaseIterable {
        /// By their signature alone.
        case offline
        /// By asking Apple's verifyReceipt.
        case verifyReceipt = "verify_receipt"
        /// By their signature, with what verifyReceipt knows beyond it when it answers in time.
        case offlineThenVerifyReceipt = "offline_then_verify_receipt"
    }

    /// What shows that a player bought something, where Apple's data names no account.
    package enum PossessionPolicy: String, Sendable, Hashable, CaseIterable {
        /// Something that Apple signed and that holds the transaction. A bare transaction id or an order id is recorded,
        /// and granted to the account only that Apple's token names.
        case proof
        /// The number of the transaction is enough, for apps that have posted nothing else for years. It risks purchases:
        /// whoever guesses a transaction id, or overhears it in a log, an e-mail or a screenshot, gets what it bought, and
        /// its buyer is refused afterwards. The worker and intake heed it.
        case number
    }

    /// A key of the App Store Server API, as App Store Connect gives it out.
    package struct ServerAPIKey: Sendable, Equatable {
        /// The issuer's id, a UUID.
        package let issuerId: String
        /// The key's id.
        package let keyId: String
        /// The text of the `.p8` file.
        package let privateKey: Redacted<String>
    }

    /// What an app's subscription offers are signed with, and who may have which signed.
    package struct SubscriptionOffers: Sendable, Equatable {
        /// A key of App Store Connect's page In-App Purchase; best not the one of the App Store Server API.
        package let key: ServerAPIKey
        /// The identifiers of promotional offers that every player may have signed.
        ///
        /// Who should have an offer, only the studio knows: all others are for its backend.
        package let playerOffers: Set<String>
    }

    /// How callers of an app prove who they are.
    package struct Authentication: Sendable, Equatable {
        /// The secret of JWTs signed with HS256.
        package let hs256Secret: Redacted<String>?
        /// A file of public keys (RFC 7517).
        package let jwksFile: String?
        /// An address of public keys (RFC 7517).
        package let jwksURL: String?
        /// What `iss` must be.
        package let issuer: String?
        /// What `aud` must hold.
        package let audience: String?
        /// The keys of backends: those without a name, then the others, as listed.
        package let serverKeys: [ServerKey]
    }

    /// Which of the file's secrets a process reads; those of others need not be within its reach.
    package struct Secrets: OptionSet, Sendable {
        /// The bits.
        package let rawValue: Int

        /// Takes bits.
        package init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// What callers prove themselves with.
        package static let callers = Secrets(rawValue: 1)
        /// What Apple is asked with: the key of its Server API, and the shared secret.
        package static let apple = Secrets(rawValue: 2)
        /// What subscription offers are signed with.
        package static let offers = Secrets(rawValue: 4)
        /// All of them.
        package static let all: Secrets = [.callers, .apple, .offers]
    }

    /// The apps by bundle id.
    package let apps: [String: App]

    /// Reads the file.
    ///
    /// - Parameters:
    ///   - secrets: those that are read; the others are nil in every app.
    ///   - environment: where the variables are that the file names; the process's own by default.
    /// - Throws: `SettingsFileError`.
    package static func load(
        path: String, secrets: Secrets = .all, environment: [String: String]? = nil
    ) throws -> AppsFile {
        try AppsReader(
            path: path, secrets: secrets, environment: environment ?? ProcessInfo.processInfo.environment
        ).read()
    }
}
