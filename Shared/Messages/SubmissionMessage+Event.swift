import Foundation
import PurchaseModel

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

    /// The names of the attributes; those that an event has anyway are not among them.
    private enum Attribute {
        static let app = "app"
        static let account = "account"
        static let kind = "kind"
        static let attempt = "attempt"
        static let correlationId = "correlationid"
        static let namedTransactionId = "transactionid"
        static let expectedEnvironment = "expectedenvironment"
        static let isClaimCheck = "claimcheck"
        static let isAwaited = "awaited"
        static let notFoundCount = "notfoundcount"
        static let notFoundSeconds = "notfoundseconds"
        /// Seconds since 1970.
        static let receivedAt = "receivedat"
        static let isTrue = "true"
    }

    /// Everything but the id, which is the event's subject, and the proof.
    package var extensions: [CloudEvent.Extension] {
        var list = [
            CloudEvent.Extension(name: Attribute.app, value: app),
            CloudEvent.Extension(name: Attribute.account, value: account),
            CloudEvent.Extension(name: Attribute.kind, value: kind.rawValue),
            CloudEvent.Extension(name: Attribute.correlationId, value: correlationId),
        ]
        func add(_ name: String, _ value: String?) {
            if let value { list.append(CloudEvent.Extension(name: name, value: value)) }
        }
        add(Attribute.attempt, attempt == 0 ? nil : String(attempt))
        add(Attribute.namedTransactionId, namedTransactionId)
        add(Attribute.expectedEnvironment, expectedEnvironment?.rawValue)
        add(Attribute.isClaimCheck, isClaimCheck ? Attribute.isTrue : nil)
        add(Attribute.isAwaited, isAwaited ? Attribute.isTrue : nil)
        add(Attribute.notFoundCount, notFound.map { String($0.count) })
        add(Attribute.notFoundSeconds, notFound.map { String($0.seconds) })
        add(Attribute.receivedAt, receivedAt.map { String($0.timeIntervalSince1970) })
        return list
    }

    /// Reads a submission.
    ///
    /// An attribute that this version does not know is ignored, and an environment that it does not know is no hint.
    ///
    /// - Throws: `DecodingError`.
    package static func read(_ event: CloudEvent) throws -> Self {
        let values = Dictionary(event.extensions.map { ($0.name, $0.value) }) { first, _ in first }
        func required(_ name: String) throws -> String {
            guard let value = values[name] else { throw unreadable("the attribute \(name) is missing") }
            return value
        }
        func number<Number: LosslessStringConvertible>(_ name: String, _ type: Number.Type) throws -> Number? {
            try values[name].map { text in
                guard let number = Number(text) else { throw unreadable("the attribute \(name) is no number") }
                return number
            }
        }
        guard let id = event.subject else { throw unreadable("the subject is missing") }
        guard let proof = String(validating: event.data, as: UTF8.self) else {
            throw unreadable("the proof is no UTF-8")
        }
        let count = try number(Attribute.notFoundCount, Int.self)
        let seconds = try number(Attribute.notFoundSeconds, Double.self)
        let received = try number(Attribute.receivedAt, Double.self)
        return Self(
            submissionId: id, app: try required(Attribute.app), account: try required(Attribute.account),
            kind: ProofKind(rawValue: try required(Attribute.kind)), proof: proof,
            attempt: try number(Attribute.attempt, Int.self) ?? 0, correlationId: try required(Attribute.correlationId),
            namedTransactionId: values[Attribute.namedTransactionId],
            expectedEnvironment: values[Attribute.expectedEnvironment].flatMap { StoreEnvironment(rawValue: $0) },
            isClaimCheck: values[Attribute.isClaimCheck] == Attribute.isTrue,
            isAwaited: values[Attribute.isAwaited] == Attribute.isTrue,
            notFound: count.flatMap { count in seconds.map { NotFoundAnswers(count: count, seconds: $0) } },
            receivedAt: received.map { Date(timeIntervalSince1970: $0) })
    }

    private static func unreadable(_ why: String) -> DecodingError {
        .dataCorrupted(DecodingError.Context(codingPath: [], debugDescription: why))
    }
}
