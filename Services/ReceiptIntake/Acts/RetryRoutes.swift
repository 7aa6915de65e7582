import Foundation
import HTTPTypes
import Hummingbird
import Persistence
import PurchaseModel
import ServiceRuntime

/// `POST /v1/submissions/retry`: a person has submissions of the app judged again.
struct RetryRoutes: Sendable {
    enum Limit {
        /// Submissions of one request: those of one transaction.
        static let submissions = SubmissionStore.redriveBatch
        /// Unicode scalars of an id, and of a reason's code.
        static let text = 255
    }

    let authenticator: Authenticator
    let store: SubmissionStore
    let body: JSONBody

    /// What is asked for: `RetryRequest` in the OpenAPI document.
    private struct Asked: Decodable {
        let app: String
        let submissions: [String]?
        let isParked: Bool?
        let rejectedReason: String?
        let limit: Int
        let reason: String?
        let isDryRun: Bool

        enum CodingKeys: String, CodingKey {
            case app, submissions, limit, reason
            case isParked = "parked"
            case rejectedReason = "rejected_reason"
            case isDryRun = "dry_run"
        }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            app = try members.decode(String.self, forKey: .app)
            do { submissions = try members.decodeIfPresent([String].self, forKey: .submissions) } catch {
                throw Self.idsInvalid
            }
            isParked = try members.decodeIfPresent(Bool.self, forKey: .isParked)
            rejectedReason = try members.decodeIfPresent(String.self, forKey: .rejectedReason)
            let limit: Int?
            do { limit = try members.decodeIfPresent(Int.self, forKey: .limit) } catch { limit = 0 }
            self.limit = limit ?? Limit.submissions
            reason = try members.decodeIfPresent(String.self, forKey: .reason)
            isDryRun = try members.decodeIfPresent(Bool.self, forKey: .isDryRun) ?? false
            guard (1...Limit.submissions).contains(self.limit) else {
                throw ProblemDetails.fieldInvalid("limit", "a whole number from 1 to \(Limit.submissions)")
            }
        }

        /// Which submissions: exactly one member says it.
        ///
        /// - Throws: `ProblemDetails`.
        func selection() throws -> SubmissionStore.Selection {
            guard [submissions != nil, isParked == true, rejectedReason != nil].count(where: { $0 }) == 1 else {
                throw ProblemDetails.retrySubjectUnclear
            }
            if let submissions {
                guard (1...Limit.submissions).contains(submissions.count),
                    submissions.allSatisfy({ PrintableText.isOne($0, lengthMaximum: Limit.text) })
                else { throw Self.idsInvalid }
                return .ids(submissions)
            }
            guard let rejectedReason else { return .parked }
            guard PrintableText.isOne(rejectedReason, lengthMaximum: Limit.text) else {
                throw ProblemDetails.fieldInvalid(CodingKeys.rejectedReason.rawValue, "a reason's code")
            }
            return .rejected(reason: rejectedReason)
        }

        private static let idsInvalid = ProblemDetails.fieldInvalid(
            "submissions", "a list of 1 to \(Limit.submissions) ids")
    }

    /// Sets submissions back, or tells which they would be.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func post(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let callers = try await ProvenCallers(request, context, authenticator)
        let asked = try await body.decode(Asked.self, from: request)
        let app = try await callers.caller(app: asked.app).app
        let redriven = try await store.redrive(
            try asked.selection(), app: app, reason: try ActReason.of(asked.reason, isDryRun: asked.isDryRun),
            actor: try callers.actor(app: app), limit: asked.limit)
        let missed = Set(asked.submissions ?? []).subtracting(redriven.map(\.id)).sorted()
        return try ReadingAnswer.response(
            RetryAnswer(
                isDryRun: asked.isDryRun,
                submissions: redriven.map {
                    RetryAnswer.Retried(
                        submissionId: $0.id, previousState: $0.previousState,
                        auditId: asked.isDryRun ? nil : "\($0.auditId)")
                },
                leftAlone: missed, hasMore: asked.submissions == nil && redriven.count == asked.limit))
    }
}

/// `SubmissionsRetried` in the OpenAPI document.
private struct RetryAnswer: Encodable, Sendable {
    struct Retried: Encodable, Sendable {
        let submissionId: String
        let previousState: String
        let auditId: String?

        enum CodingKeys: String, CodingKey {
            case submissionId = "submission_id"
            case previousState = "previous_state"
            case auditId = "audit_id"
        }
    }

    let isDryRun: Bool
    let submissions: [Retried]
    let leftAlone: [String]
    let hasMore: Bool

    enum CodingKeys: String, CodingKey {
        case submissions
        case isDryRun = "dry_run"
        case leftAlone = "left_alone"
        case hasMore = "has_more"
    }
}

extension ProblemDetails {
    static let retrySubjectUnclear = ProblemDetails(
        .fieldMissing,
        "Exactly one of the fields `submissions`, `parked` and `rejected_reason` says what is judged again.",
        field: "submissions")
}
