import Persistence

/// How the tool reads and writes rates and amounts: whole numbers inside, decimals for people.
enum MoneyText {
    private enum Limit {
        /// Digits after the point of a percentage: a part per million is a ten-thousandth of a per cent.
        static let digits = 4
        /// A hundred per cent.
        static let ppm: Int32 = 1_000_000
    }

    /// Milliunits as a decimal number: `-1234.560`.
    static func amount(_ milliunits: Int64) -> String {
        let magnitude = milliunits.magnitude
        let rest = String(magnitude % 1000)
        return (milliunits < 0 ? "-" : "") + "\(magnitude / 1000)." + String(repeating: "0", count: 3 - rest.count)
            + rest
    }

    /// Parts per million as a percentage without needless digits: `12.5 %`.
    static func percentage(_ ppm: Int64) -> String {
        let rest = String(ppm % 10_000)
        var digits = String(repeating: "0", count: Limit.digits - rest.count) + rest
        while digits.last == "0" { digits.removeLast() }
        return "\(ppm / 10_000)" + (digits.isEmpty ? "" : "." + digits) + " %"
    }

    /// The parts per million that a percentage such as `12.5` or `12.5%` means; nil for anything but 0 to 100 with up to
    /// four digits after the point.
    static func ppm(_ text: String) -> Int32? {
        let number = text.hasSuffix("%") ? text.dropLast() : Substring(text)
        let parts = number.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count),
            parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) }),
            parts[0].utf8.count <= 3, let whole = Int32(parts[0])
        else { return nil }
        var ppm = whole * 10_000
        if parts.count == 2 {
            guard parts[1].utf8.count <= Limit.digits, let fraction = Int32(parts[1]) else { return nil }
            ppm += (parts[1].utf8.count..<Limit.digits).reduce(fraction) { value, _ in value * 10 }
        }
        return ppm <= Limit.ppm ? ppm : nil
    }
}
