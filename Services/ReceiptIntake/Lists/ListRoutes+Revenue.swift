import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Pacing
import Persistence
import ServiceRuntime

/// `GET /v1/revenue`.
extension ListRoutes {
    private enum RevenueLimit {
        /// Days of one question: a leap year.
        static let days = 366
    }

    /// Tells what an app sold and took back in some days.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func revenue(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let caller = try await backend(request, context)
        let (from, to) = try Self.days(of: request)
        let grouping = try ListQuery.choice("by", in: request, as: RevenueStore.Grouping.self) ?? .day
        let store = stores.revenue
        do {
            let answer = try await takeLongTurn(caller) {
                let sums = try await store.sums(from: from, to: to, app: caller.app, by: grouping)
                return RevenueAnswer(
                    app: caller.app, from: from, to: to, by: grouping,
                    rows: sums.map { RevenueRowAnswer($0, by: grouping) },
                    totals: try RevenueStore.totals(sums).map { RevenueRowAnswer($0, by: nil) })
            }
            return try ReadingAnswer.response(answer)
        } catch is RevenueError {
            throw ProblemDetails.fieldInvalid("to", "a day until which the sums stay below 64 bits")
        }
    }

    /// Whoever asks for figures of many days reads for long: one at a time, and beside the turns of those who are quick.
    ///
    /// - Throws: `ProblemDetails`; what the body throws.
    @inline(never)
    func takeLongTurn<Answer: Sendable>(
        _ caller: Caller, _ body: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        try await turns.limits.admitReading(by: caller)
        guard let answer = try await revenueTurns.take(asker: caller.app, body) else { throw ProblemDetails.putOff }
        return answer
    }

    /// `?from=` and `?to=`, both days included.
    ///
    /// - Throws: `ProblemDetails` for what are no days, and for too many.
    static func days(of request: Request) throws -> (from: RevenueDay, to: RevenueDay) {
        let (from, to) = (try day("from", in: request), try day("to", in: request))
        guard from <= to, try days(from, to) < RevenueLimit.days else {
            throw ProblemDetails.fieldInvalid(
                "to", "the day `from` or a later one, so that there are \(RevenueLimit.days) days at most")
        }
        return (from, to)
    }

    private static func day(_ name: String, in request: Request) throws -> RevenueDay {
        guard let text = ReadingQuery.text(name, in: request) else { throw ProblemDetails.fieldMissing(name) }
        guard let day = RevenueDay(text) else {
            throw ProblemDetails.fieldInvalid(name, "a day, such as 2026-11-21")
        }
        return day
    }

    private static func days(_ from: RevenueDay, _ to: RevenueDay) throws -> Int {
        guard let first = WebhookSelection.time(from.description), let last = WebhookSelection.time(to.description)
        else { throw ProblemDetails.fieldInvalid("from", "a day, such as 2026-11-21") }
        return Int(last.timeIntervalSince(first) / 86_400)
    }
}

/// What an app sold and took back: `Revenue` in the OpenAPI document.
struct RevenueAnswer: Encodable, Sendable {
    let app: String
    let from: RevenueDay
    let to: RevenueDay
    let by: String
    let isEstimate = true
    let rows: [RevenueRowAnswer]
    let totals: [RevenueRowAnswer]

    enum CodingKeys: String, CodingKey {
        case app, from, to, by, rows, totals
        case isEstimate = "is_estimate"
    }

    init(
        app: String, from: RevenueDay, to: RevenueDay, by grouping: RevenueStore.Grouping, rows: [RevenueRowAnswer],
        totals: [RevenueRowAnswer]
    ) {
        (self.app, self.from, self.to, by) = (app, from, to, grouping.rawValue)
        (self.rows, self.totals) = (rows, totals)
    }
}

/// Sums of one currency: `RevenueRow` and `RevenueTotal` in the OpenAPI document.
struct RevenueRowAnswer: Encodable, Sendable {
    let day: String?
    let productId: String?
    let storefront: String?
    let currency: String?
    let orders: Int64
    let refunds: Int64
    let unpricedOrders: Int64
    let taxUnknownOrders: Int64
    let gross: Int64
    let refunded: Int64
    let tax: Int64
    let commission: Int64
    let estimatedProceeds: Int64

    enum CodingKeys: String, CodingKey {
        case day, storefront, currency, orders, refunds
        case productId = "product_id"
        case unpricedOrders = "unpriced_orders"
        case taxUnknownOrders = "tax_unknown_orders"
        case gross = "gross_milliunits"
        case refunded = "refunded_milliunits"
        case tax = "tax_milliunits"
        case commission = "commission_milliunits"
        case estimatedProceeds = "estimated_proceeds_milliunits"
    }

    /// - Parameter grouping: what its key is; nil of a total.
    init(_ sum: RevenueStore.Sum, by grouping: RevenueStore.Grouping?) {
        day = grouping == .day ? sum.key : nil
        productId = grouping == .product ? sum.key : nil
        storefront = grouping == .storefront ? sum.key : nil
        (currency, orders, refunds) = (sum.currency, sum.orders, sum.refunds)
        (unpricedOrders, taxUnknownOrders) = (sum.unpricedOrders, sum.taxUnknownOrders)
        (gross, refunded, tax) = (sum.gross, sum.refunded, sum.tax)
        (commission, estimatedProceeds) = (sum.commission, sum.estimatedProceeds)
    }
}
