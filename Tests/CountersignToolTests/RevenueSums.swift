import Foundation
import Persistence

/// The money views once more, in Swift and by other means: 128-bit numbers, loops over the rates, a calendar.
struct RevenueSums {
    let rates: RateStore.Rates

    /// The nearest whole of amount × part / whole, a half upwards.
    static func share(_ amount: Int64, _ part: Int64, _ whole: Int64) -> Int64 {
        let (quotient, rest) = (Int128(amount) * Int128(part)).quotientAndRemainder(dividingBy: Int128(whole))
        return Int64(quotient) + (rest * 2 >= Int128(whole) ? 1 : 0)
    }

    /// Tax, commission and what remains of an amount.
    static func split(
        _ amount: Int64, tax: Int64, commission: Int64
    ) -> (tax: Int64, commission: Int64, proceeds: Int64) {
        let taken = share(amount, tax, 1_000_000 + tax)
        let kept = share(amount - taken, commission, 1_000_000)
        return (taken, kept, amount - taken - kept)
    }

    /// What the view says of an order; nil where it has no row.
    func row(of order: SoldOrder) -> ProceedsRow? {
        guard order.environment == "production", order.testPurchase == nil,
            order.ownership == nil || order.ownership == "PURCHASED"
        else { return nil }
        let day = Self.day(order.purchased)
        let tax = taxRate(order.storefront, day)
        let isRefunded = order.revoked != nil && order.revocationType != "FAMILY_REVOKE"
        var row = ProceedsRow(
            day: day, refundDay: isRefunded ? order.revoked.map(Self.day) : nil, taxKnown: tax != nil)
        guard let price = order.price, price >= 0, order.currency != nil else { return row }
        let ppm = tax.map { $0.isIncluded ? $0.ratePpm : 0 } ?? 0
        let commission = commissionRate(order, day)
        let kept = Self.split(price, tax: ppm, commission: commission)
        let share = isRefunded ? min(max(order.percentage ?? 100_000, 0), 100_000) : 0
        let refunded = Self.share(price, share, 100_000)
        let back = Self.split(refunded, tax: ppm, commission: commission)
        row.gross = price
        (row.tax, row.commission, row.proceeds) = (kept.tax, kept.commission, kept.proceeds)
        row.refunded = refunded
        (row.refundedTax, row.refundedCommission, row.refundedProceeds) = (back.tax, back.commission, back.proceeds)
        return row
    }

    static func day(_ instant: Date) -> String {
        instant.formatted(.iso8601.year().month().day().dateSeparator(.dash))
    }

    private func taxRate(_ storefront: String?, _ day: String) -> RateStore.TaxRate? {
        rates.taxes.filter { $0.storefront == storefront && !$0.isReplaced && $0.validFrom.description <= day }
            .max { $0.validFrom < $1.validFrom }
    }

    private func commissionRate(_ order: SoldOrder, _ day: String) -> Int64 {
        let program =
            rates.programs.filter { $0.app == order.app && !$0.isReplaced && $0.validFrom.description <= day }
            .max { $0.validFrom < $1.validFrom }?.program ?? "standard"
        let fitting = rates.commissions.filter {
            $0.program == program && $0.kind == kind(order) && !$0.isReplaced && $0.validFrom.description <= day
        }
        let own = fitting.filter { $0.storefront != nil && $0.storefront == order.storefront }
        let candidates = own.isEmpty ? fitting.filter { $0.storefront == nil } : own
        return candidates.max { $0.validFrom < $1.validFrom }?.ratePpm ?? 0
    }

    private func kind(_ order: SoldOrder) -> String {
        guard order.productType == "auto_renewable" else { return "one_time" }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        guard let original = order.original, let year = calendar.date(byAdding: .year, value: 1, to: original),
            year <= order.purchased
        else { return "subscription_first_year" }
        return "subscription_later"
    }
}
