import Foundation
import HTTPTypes
import Hummingbird
import Metrics
import Persistence
import Postgres
import PurchaseModel
import ServiceRuntime

/// `POST /v1/accounts/{id}/adjustments`: a person gives items to an account, or takes them.
struct AdjustmentRoutes: Sendable {
    enum Limit {
        /// The most of one item, given or taken.
        static let amount = -LedgerStore.Limit.amount...LedgerStore.Limit.amount
        /// Entitlements that one request gives, or takes away.
        static let entitlements = 50
        /// Bytes of an entitlement's name, as catalogues have them.
        static let nameBytes = 1...255
    }

    let authenticator: Authenticator
    let pool: PostgresPool
    let body: JSONBody

    /// What is asked for: `AdjustmentRequest` in the OpenAPI document.
    private struct Asked: Decodable {
        let app: String
        let environment: String?
        let items: ItemAmounts?
        let given: [Given]
        let ended: [String]
        let allowsDebt: Bool
        let reason: String?
        let isDryRun: Bool

        enum CodingKeys: String, CodingKey {
            case app, environment, items, reason
            case given = "entitlements"
            case ended = "end_entitlements"
            case allowsDebt = "allow_debt"
            case isDryRun = "dry_run"
        }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            app = try members.decode(String.self, forKey: .app)
            environment = try members.decodeIfPresent(String.self, forKey: .environment)
            items = members.contains(.items) ? try members.items(forKey: .items) : nil
            do {
                given = try members.decodeIfPresent([Given].self, forKey: .given) ?? []
            } catch is DecodingError {
                throw ProblemDetails.fieldInvalid(
                    CodingKeys.given.rawValue, "a list of objects with `entitlement` and `expires_at`")
            }
            do { ended = try members.decodeIfPresent([String].self, forKey: .ended) ?? [] } catch {
                throw ProblemDetails.fieldInvalid(CodingKeys.ended.rawValue, "a list of texts")
            }
            allowsDebt = try members.decodeIfPresent(Bool.self, forKey: .allowsDebt) ?? false
            reason = try members.decodeIfPresent(String.self, forKey: .reason)
            isDryRun = try members.decodeIfPresent(Bool.self, forKey: .isDryRun) ?? false
            guard items != nil || !given.isEmpty || !ended.isEmpty else {
                throw ProblemDetails.fieldMissing(CodingKeys.items.rawValue)
            }
        }

        /// What becomes of the account's entitlements: names that come once, ends that are yet to come.
        ///
        /// - Throws: `ProblemDetails`.
        func entitling(now: Date = Date()) throws -> LedgerStore.Entitling {
            let names = given.map(\.entitlement) + ended
            guard given.count <= Limit.entitlements, ended.count <= Limit.entitlements,
                Set(names).count == names.count,
                names.allSatisfy({ Limit.nameBytes.contains($0.utf8.count) && !$0.utf8.contains(0) })
            else {
                throw ProblemDetails.fieldInvalid(
                    CodingKeys.given.rawValue,
                    "with `end_entitlements` up to \(Limit.entitlements) names each, of \(Limit.nameBytes.words) bytes, "
                        + "each once")
            }
            return .init(
                given: try given.map { .init(entitlement: $0.entitlement, expiresAt: try $0.end(after: now)) },
                ended: ended)
        }
    }

    /// An entitlement with its end.
    private struct Given: Decodable {
        let entitlement: String
        let expiresAt: String?

        enum CodingKeys: String, CodingKey {
            case entitlement
            case expiresAt = "expires_at"
        }

        func end(after now: Date) throws -> Date? {
            guard let expiresAt else { return nil }
            guard let end = WebhookSelection.time(expiresAt), end > now, end < Date.distantFuture else {
                throw ProblemDetails.fieldInvalid(
                    AdjustmentRoutes.Asked.CodingKeys.given.rawValue, "given with ends by RFC 3339 that are yet to come"
                )
            }
            return end
        }
    }

    /// Gives and takes all of the items, or nothing.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func post(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let callers = try await ProvenCallers(request, context, authenticator)
        let asked = try await body.decode(Asked.self, from: request)
        let caller = try await callers.caller(app: asked.app)
        let (app, environment) = (caller.app, try caller.environment(asked.environment))
        let items = try asked.items?.checked(Limit.amount) ?? []
        let adjusted = try await LedgerStore.adjust(
            environment: environment, app: app, account: try ReadingQuery.account(context), items: items,
            entitling: try asked.entitling(), actor: try callers.actor(app: app),
            reason: try ActReason.of(asked.reason, isDryRun: asked.isDryRun),
            allowsDebt: asked.allowsDebt, pool: pool)
        switch adjusted {
        case .adjusted(let auditId, let balances):
            return try ReadingAnswer.response(
                AdjustmentAnswer(
                    environment: environment, isDryRun: asked.isDryRun,
                    auditId: asked.isDryRun ? nil : "\(auditId)",
                    balances: zip(items, balances).map { .init(item: $1.item, change: $0.amount, amount: $1.amount) }))
        case .insufficient(let shortages):
            Counter(label: "countersign_problems_total", dimensions: [("code", ProblemKind.balanceInsufficient.code)])
                .increment()
            return try BalanceInsufficient(
                shortages, detail: "Nothing is changed; `allow_debt` lets a balance go below zero."
            ).response()
        case .beyondLimit(let items): throw ProblemDetails.balanceBeyondLimit(items)
        case .notByHand(let names): throw ProblemDetails.entitlementNotByHand(names)
        }
    }
}

/// `Adjustment` in the OpenAPI document; the account is named by the caller alone.
private struct AdjustmentAnswer: Encodable, Sendable {
    let environment: StoreEnvironment
    let isDryRun: Bool
    let auditId: String?
    let balances: [Balance]

    struct Balance: Encodable, Sendable {
        let item: String
        let change: Int64
        let amount: Int64
    }

    enum CodingKeys: String, CodingKey {
        case environment, balances
        case isDryRun = "dry_run"
        case auditId = "audit_id"
    }
}

extension ProblemDetails {
    static func entitlementNotByHand(_ names: [String]) -> ProblemDetails {
        ProblemDetails(
            .entitlementNotByHand,
            "Nothing is changed: nobody gave \(names.joined(separator: ", ")) by hand, or it has ended. What an "
                + "order gives is taken away by a refund.")
    }

    static func balanceBeyondLimit(_ items: [String]) -> ProblemDetails {
        ProblemDetails(
            .balanceBeyondLimit,
            "Nothing is changed: \(items.joined(separator: ", ")) would be more than "
                + "\(LedgerStore.Limit.balance), above or below zero.")
    }
}
