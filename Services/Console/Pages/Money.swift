/// Amounts of money as they are read.
enum Money {
    /// `4990`, `EUR` as `4.99 EUR`; nil where there is no amount.
    static func text(_ milliunits: JSON, _ currency: JSON) -> String? {
        guard let amount = milliunits.integer else { return nil }
        return text(amount) + (currency.text.map { " \($0)" } ?? "")
    }

    /// Thousandths with two decimals, or three where the third is not 0: nothing is rounded.
    static func text(_ milliunits: Int64) -> String {
        let (whole, rest) = milliunits.magnitude.quotientAndRemainder(dividingBy: 1_000)
        var decimals = String(rest + 1_000).dropFirst()
        if decimals.hasSuffix("0") { decimals.removeLast() }
        return (milliunits < 0 ? "−" : "") + "\(grouped(whole)).\(decimals)"
    }

    /// Thin spaces between thousands: read alike in every country.
    private static func grouped(_ number: UInt64) -> String {
        let digits = Array(String(number))
        var text = ""
        for (place, digit) in digits.enumerated() {
            if place > 0, (digits.count - place) % 3 == 0 { text.append("\u{202f}") }
            text.append(digit)
        }
        return text
    }
}
