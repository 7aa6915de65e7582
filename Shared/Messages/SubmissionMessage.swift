package import Foundation
package import PurchaseModel

/// "Verify this": what intake sends to the verification workers.
package struct SubmissionMessage: Encodable, Sendable, Hashable {
    /// The submission's id.
    package var submissionId: String
    /// The bundle id of the app it was posted for.
    package var app: String
    /// The account that posted it; empty where Apple did, with a server notification.
    package var account: String
    /// What kind of proof it is.
    package var kind: ProofKind
    /// The proof itself: the JWS of a signed transaction, a receipt in base64 without line breaks, a transaction id.
    ///
    /// Empty when ``isClaimCheck``.
    package var proof: String
    /// The transaction that the app names as this account's; only receipts need it, since they may hold several.
    package var namedTransactionId: String?
    /// The environment that the app was built for: a hint of where to look first, and never a proof.
    package var expectedEnvironment: StoreEnvironment?
    /// Whether the proof is too large for a message and has to be read from the table `submissions`.
    package var isClaimCheck: Bool
    /// Whether a player was waiting for the answer when this was sent.
    package var isAwaited: Bool
    /// How often it has been sent before; a back-off starts from it.
    package var attempt: Int
    /// What Apple answered about its id before: that it knows none; nil where it never did.
    package var notFound: NotFoundAnswers?
    /// When it was received, where it is sent again; nil for one that has just come.
    package var receivedAt: Date?
    /// Follows a purchase from the request to the webhook.
    package var correlationId: String

    /// Real answers of Apple's that it knows no such id; outages, rate limits and resends are none.
    package struct NotFoundAnswers: Encodable, Sendable, Hashable {
        /// How many.
        package var count: Int
        /// Seconds from the first of them until this message was sent.
        package var seconds: Double

        package init(count: Int, seconds: Double) {
            self.count = count
            self.seconds = seconds
        }
    }

    /// Makes a message; what is left out is absent.
    package init(
        submissionId: String, app: String, account: String, kind: ProofKind, proof: String, attempt: Int,
        correlationId: String, namedTransactionId: String? = nil, expectedEnvironment: StoreEnvironment? = nil,
        isClaimCheck: Bool = false, isAwaited: Bool = false, notFound: NotFoundAnswers? = nil,
        receivedAt: Date? = nil
    ) {
        self.submissionId = submissionId
        self.app = app
        self.account = account
        self.kind = kind
        self.proof = proof
        self.attempt = attempt
        self.correlationId = correlationId
        self.namedTransactionId = namedTransactionId
        self.expectedEnvironment = expectedEnvironment
        self.isClaimCheck = isClaimCheck
        self.isAwaited = isAwaited
        self.notFound = notFound
        self.receivedAt = receivedAt
    }

    enum CodingKeys: String, CodingKey {
        case app, account, kind, proof, attempt
        case submissionId = "submission_id"
        case correlationId = "correlation_id"
        case namedTransactionId = "transaction_id"
        case expectedEnvironment = "expected_environment"
        case isClaimCheck = "claim_check"
        case isAwaited = "awaited"
        case notFound = "not_found"
    }
}

/// What kind of proof a submission holds; an unknown one is kept as it came.
package struct ProofKind: RawRepresentable, Codable, Sendable, Hashable {
    /// The kind's name.
    package let rawValue: String

    /// Keeps the name as it is.
    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// A StoreKit 2 signed transaction, a JWS in compact form.
    package static let signedTransaction = ProofKind(rawValue: "signed_transaction")
    /// An app receipt (PKCS #7), in base64.
    package static let receipt = ProofKind(rawValue: "receipt")
    /// Nothing but a transaction id: Apple has to be asked.
    package static let transactionId = ProofKind(rawValue: "transaction_id")
    /// The order id from Apple's e-mail to the customer: Apple has to be asked.
    package static let orderId = ProofKind(rawValue: "order_id")
    /// A server notification of Apple's, a JWS in compact form; no account posted it.
    package static let serverNotification = ProofKind(rawValue: "server_notification")
    /// A subscription's latest transaction and its renewal info, two JWS in compact form with a line feed between, as Apple
    /// answered the sweep; no account posted it.
    package static let subscriptionStatus = ProofKind(rawValue: "subscription_status")

    /// Whether the proof is an id alone: it stays in the submission's row, where it is looked for, and says no more than
    /// the row does.
    package var isInRow: Bool { self == .transactionId || self == .orderId }
}

/// In an event each member is an attribute, and the data are the proof, byte for byte as it was posted: nothing of its some
/// kilobytes is escaped, searched or read twice on the way to the verifier.
extension SubmissionMessage: EventMessage {
    /// The type in `ce_type`.
    package static let type = "countersign.submission.v2"
    /// What the proof is.
    ///
    /// A JWS in compact form has a media type of its own. Source: RFC 7515, section 9.2.1.
    package var contentType: String {
        switch kind {
        case .signedTransaction, .serverNotification: "application/jose"
        default: "text/plain"
        }
    }

    /// A member as an attribute: its name, its text, and what a text means.
    private struct Attribute: Sendable {
        let name: String
        let isRequired: Bool
        /// Nil leaves it out.
        let text: @Sendable (SubmissionMessage) -> String?
        let take: @Sendable (inout SubmissionMessage, String) throws -> Void

        init(
            _ name: String, isRequired: Bool = false, _ text: @escaping @Sendable (SubmissionMessage) -> String?,
            _ take: @escaping @Sendable (inout SubmissionMessage, String) throws -> Void
        ) {
            (self.name, self.isRequired, self.text, self.take) = (name, isRequired, text, take)
        }
    }

    /// Everything but the id, which is the event's subject, and the proof, which is its data.
    private static let attributes = [
        Attribute("app", isRequired: true, { $0.app }, { $0.app = $1 }),
        Attribute("account", isRequired: true, { $0.account }, { $0.account = $1 }),
        Attribute("kind", isRequired: true, { $0.kind.rawValue }, { $0.kind = ProofKind(rawValue: $1) }),
        Attribute("correlationid", isRequired: true, { $0.correlationId }, { $0.correlationId = $1 }),
        Attribute("attempt", { $0.attempt == 0 ? nil : String($0.attempt) }, { $0.attempt = try number($1) }),
        Attribute("transactionid", { $0.namedTransactionId }, { $0.namedTransactionId = $1 }),
        // One that this version does not know is no hint.
        Attribute(
            "expectedenvironment", { $0.expectedEnvironment?.rawValue },
            { $0.expectedEnvironment = StoreEnvironment(rawValue: $1) }),
        Attribute("claimcheck", { $0.isClaimCheck ? "true" : nil }, { $0.isClaimCheck = $1 == "true" }),
        Attribute("awaited", { $0.isAwaited ? "true" : nil }, { $0.isAwaited = $1 == "true" }),
        Attribute(
            "notfoundcount", { $0.notFound.map { String($0.count) } },
            { $0.notFound = NotFoundAnswers(count: try number($1), seconds: 0) }),
        Attribute(
            "notfoundseconds", { $0.notFound.map { String($0.seconds) } }, { $0.notFound?.seconds = try number($1) }),
        // Seconds since 1970.
        Attribute(
            "receivedat", { $0.receivedAt.map { String($0.timeIntervalSince1970) } },
            { $0.receivedAt = Date(timeIntervalSince1970: try number($1)) }),
    ]

    /// The attributes of the event.
    package var extensions: [String: String] {
        Self.attributes.reduce(into: [:]) { $0[$1.name] = $1.text(self) }
    }

    /// Reads a submission; an attribute that this version does not know is ignored.
    ///
    /// - Throws: `DecodingError`.
    package static func read(_ event: CloudEvent) throws -> Self {
        guard let id = event.subject else { throw unreadable("the subject is missing") }
        guard let proof = String(validating: event.data, as: UTF8.self) else {
            throw unreadable("the proof is no UTF-8")
        }
        var message = Self(
            submissionId: id, app: "", account: "", kind: ProofKind(rawValue: ""), proof: proof, attempt: 0,
            correlationId: "")
        for attribute in attributes {
            if let value = event.extensions[attribute.name] {
                do { try attribute.take(&message, value) } catch {
                    throw unreadable("the attribute \(attribute.name) is no number")
                }
            } else if attribute.isRequired {
                throw unreadable("the attribute \(attribute.name) is missing")
            }
        }
        return message
    }

    private static func number<Number: LosslessStringConvertible>(_ text: String) throws -> Number {
        guard let number = Number(text) else { throw unreadable("no number") }
        return number
    }

    private static func unreadable(_ why: String) -> DecodingError {
        .dataCorrupted(DecodingError.Context(codingPath: [], debugDescription: why))
    }
}
