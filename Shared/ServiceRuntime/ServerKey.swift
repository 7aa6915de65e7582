/// A server API key as the apps file has it: its hash, never the key.
package struct ServerKey: Sendable, Hashable {
    /// Keys of one name at a time: the one that is in use, and the one that takes its place.
    package static let sameNameMaximum = 2
    /// Keys of one `authentication`, so that a list that grew by itself is noticed.
    package static let keysMaximum = 100
    /// Characters of a name.
    package static let nameLength = 1...64

    /// What a key may be used for; every route wants one of them.
    package enum Scope: String, Sendable, Hashable, CaseIterable {
        /// Post proofs, open intents, say whose an account token is; and ask what became of that.
        case post
        /// Read accounts and orders.
        case read
        /// Spend what accounts have.
        case spend
        /// Have subscription offers signed.
        case sign
        /// What an operator does.
        case operate
        /// Say who acts, for the audit log; no route's.
        case staff
    }

    /// What a key may that stands in the file without a name: all that keys could do before there were scopes.
    package static let scopesOfUnnamed: Set<Scope> = [.post, .read, .spend]

    /// Who has the key; nil for one that stands in the file without a name.
    package let name: String?
    /// SHA-256 of the key, as lower-case hexadecimal digits.
    package let sha256: String
    /// What it may be used for.
    package let scopes: Set<Scope>
    /// Whether it is a test key, which sees and changes the sandbox alone.
    package let isTest: Bool

    /// A key of `api_keys`.
    package init(name: String, sha256: String, scopes: Set<Scope>, isTest: Bool = false) {
        self.name = name
        self.sha256 = sha256
        self.scopes = scopes
        self.isTest = isTest
    }

    /// A key of `api_keys_sha256`.
    package init(unnamed sha256: String) {
        name = nil
        self.sha256 = sha256
        scopes = Self.scopesOfUnnamed
        isTest = false
    }

    /// The name in metrics, logs and lists.
    package var label: String { name ?? "unnamed" }

    /// The first digits of the hash: they tell two keys of one name apart, and nothing of a random key.
    package var fingerprint: String { String(sha256.prefix(8)) }
}
