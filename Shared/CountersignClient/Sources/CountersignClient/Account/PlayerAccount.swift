#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a player has, as the server said last.
public struct PlayerAccount: Sendable, Hashable {
    /// The account's id.
    public var account: String
    /// The number of the account's newest event.
    public var version: Int64
    /// How many of each item; below zero is a debt.
    public var balances: [String: Int64]
    /// What the player is entitled to now.
    public var entitlements: [Entitlement]
    /// Whether it is what was known before: kept on this device, or from before the server could no longer be reached.
    public var isStale: Bool

    /// Something that a player may use for as long as it lasts.
    public struct Entitlement: Sendable, Hashable {
        /// Its name in the server's catalogue.
        public var name: String
        /// The order that granted it.
        public var transactionID: String
        /// When it ends, as the server wrote it (RFC 3339); nil for never.
        public var expiresAt: String?

        /// An entitlement.
        public init(name: String, transactionID: String, expiresAt: String? = nil) {
            self.name = name
            self.transactionID = transactionID
            self.expiresAt = expiresAt
        }
    }

    /// A player's account.
    public init(
        account: String, version: Int64, balances: [String: Int64] = [:], entitlements: [Entitlement] = [],
        isStale: Bool = false
    ) {
        self.account = account
        self.version = version
        self.balances = balances
        self.entitlements = entitlements
        self.isStale = isStale
    }

    /// Whether the player was entitled to this when the server said so; ``isStale`` says whether that is long ago.
    public func has(_ entitlement: String) -> Bool {
        entitlements.contains { $0.name == entitlement }
    }
}

extension PlayerAccount {
    /// Reads an answer of `GET /v1/accounts/{id}`; what has ended or was taken back is left out.
    ///
    /// - Throws: `DecodingError`.
    init(answer: Data) throws {
        let body = try JSONDecoder().decode(Body.self, from: answer)
        self.init(
            account: body.account, version: body.version,
            balances: Dictionary(body.balances.map { ($0.item, $0.amount) }) { $1 },
            entitlements: body.entitlements.filter(\.active).map {
                Entitlement(name: $0.entitlement, transactionID: $0.transactionID, expiresAt: $0.expiresAt)
            })
    }

    private struct Body: Decodable {
        let account: String
        let version: Int64
        let balances: [Balance]
        let entitlements: [Right]
    }

    private struct Balance: Decodable {
        let item: String
        let amount: Int64
    }

    private struct Right: Decodable {
        let entitlement: String
        let transactionID: String
        let expiresAt: String?
        let active: Bool

        enum CodingKeys: String, CodingKey {
            case entitlement, active
            case transactionID = "transaction_id"
            case expiresAt = "expires_at"
        }
    }
}
