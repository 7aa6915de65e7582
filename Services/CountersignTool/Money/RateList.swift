import Persistence

/// The rates as a person reads them.
enum RateList {
    /// One line a row, in three parts.
    static func text(_ rates: RateStore.Rates) -> String {
        var lines = ["commission, of the price without tax:"]
        lines += rates.commissions.map { rate in
            line(
                rate.validFrom, rate.storefront ?? "everywhere else", "\(rate.program) \(rate.kind)", rate.ratePpm,
                rate.auditId, rate.isReplaced)
        }
        lines += ["", "tax, on the price without tax; unknown, and taken for none, where a storefront is not named:"]
        lines += rates.taxes.map { rate in
            line(
                rate.validFrom, rate.storefront, rate.isIncluded ? "in the price" : "not in the price", rate.ratePpm,
                rate.auditId, rate.isReplaced)
        }
        lines += ["", "programs of apps; standard where an app is not named:"]
        lines += rates.programs.map { row in
            "  \(row.validFrom)  \(row.app)  \(row.program)" + origin(row.auditId, row.isReplaced)
        }
        return lines.joined(separator: "\n")
    }

    private static func line(
        _ day: RevenueDay, _ place: String, _ what: String, _ ppm: Int64, _ audit: Int64?, _ isReplaced: Bool
    ) -> String {
        "  \(day)  \(ToolOutput.padded(place, 15))  \(ToolOutput.padded(what, 38))  "
            + ToolOutput.rightAligned(MoneyText.percentage(ppm), 9) + origin(audit, isReplaced)
    }

    private static func origin(_ audit: Int64?, _ isReplaced: Bool) -> String {
        (audit.map { "  (audit \($0))" } ?? "") + (isReplaced ? "  replaced" : "")
    }
}
