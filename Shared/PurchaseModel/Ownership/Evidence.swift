package import Foundation

/// Why a lineage, or a purchase, is said to be an account's.
package enum Evidence: Sendable, Hashable {
    /// The account has what Apple signed: the signed transaction, or a receipt that contains it.
    case possession(Account)
    /// The studio's server says so.
    case server(Account)
    /// An older system said so: it is believed of what is nobody's, and takes nothing from anybody.
    case imported(Account)
    /// An operator says so; the number is that of `audit_log`.
    case `operator`(Account, auditId: Int64)
    /// The account knows the transaction's number, which proves nothing.
    case number(Account)

    package var account: Account {
        switch self {
        case .possession(let account), .server(let account), .imported(let account), .operator(let account, _),
            .number(let account):
            account
        }
    }

    /// The account that claims by it; nil where it proves nothing.
    package var claimant: Account? {
        if case .number = self { nil } else { account }
    }
}

/// What one verdict, or one operator, brings about one lineage: what Apple signed, and who claims it.
package struct LineageEvidence: Sendable {
    /// What Apple signed of one of its transactions.
    package struct Statement: Sendable {
        package let transaction: Transaction
        /// The order that it belongs to, as it is stored; nil where there is none yet.
        package let order: StoredOrder?
        /// Whether the evidence is for this transaction: a receipt may hold others', too.
        package let isClaimed: Bool

        package init(transaction: Transaction, order: StoredOrder?, isClaimed: Bool) {
            self.transaction = transaction
            self.order = order
            self.isClaimed = isClaimed
        }
    }

    /// Never empty.
    package var statements: [Statement]
    /// By what they are claimed; nil where nobody claims any.
    package var evidence: Evidence?
    /// The submission that brought it; nil where none did just now.
    package let submissionId: String?
    package let correlationId: String
    /// When Apple signed what was posted, where its servers were asked afterwards; nil where the statements are it.
    package let proofSignedDate: Date?

    package init(
        statements: [Statement], evidence: Evidence?, submissionId: String?, correlationId: String,
        proofSignedDate: Date? = nil
    ) {
        self.proofSignedDate = proofSignedDate
        self.statements = statements
        self.evidence = evidence
        self.submissionId = submissionId
        self.correlationId = correlationId
    }
}

/// A token within its app.
package struct AppToken: Sendable, Hashable {
    /// The app's bundle id.
    package let app: String
    /// The UUID that the app sets when it buys.
    package let token: UUID

    package init(app: String, token: UUID) {
        self.app = app
        self.token = token
    }
}

extension Transaction {
    /// Its token within its app.
    package var appToken: AppToken? { appAccountToken.map { AppToken(app: bundleId, token: $0) } }
}
