import Foundation
import HTTPTypes
import Hummingbird
import Messages
import NIOCore
import PurchaseModel

/// What the app is told about a submission.
struct PurchaseAnswer: Encodable, Sendable {
    /// After how many seconds an app that got no outcome should ask again.
    static let retryAfterSeconds = 2

    /// The submission's id; the same for the same proof, always.
    let id: String
    /// Where it stands.
    let state: SubmissionState
    /// Whether the app may finish the transaction with StoreKit.
    let finish: Bool
    /// Why it was refused or parked.
    let reason: ReasonCode?
    /// A sentence for a developer.
    let detail: String?
    /// Each transaction of the proof.
    let transactions: [TransactionOutcome]

    /// The answer for an outcome; nil is none yet.
    init(id: String, outcome: SubmissionOutcome?) {
        self.id = id
        state = outcome?.state ?? .received
        // Before there is an outcome StoreKit must go on offering the transaction, whatever happens to us.
        finish = outcome.map { $0.state.isSettled && $0.finish } ?? false
        reason = outcome?.reason
        detail = outcome?.detail
        transactions = outcome?.transactions ?? []
    }

    /// 200 once there is an outcome, else 202 with where to ask and when.
    ///
    /// - Throws: `EncodingError`.
    func response() throws -> Response {
        var headers: HTTPFields = [.contentType: "application/json", .cacheControl: "no-store"]
        if !state.isSettled {
            headers[.location] = "/v1/purchases/\(id)"
            headers[.retryAfter] = "\(Self.retryAfterSeconds)"
        }
        let body = try MessageCoding.encode(self)
        return Response(
            status: state.isSettled ? .ok : .accepted, headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }
}
