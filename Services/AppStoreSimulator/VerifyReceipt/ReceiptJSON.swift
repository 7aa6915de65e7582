/// Writes JSON as bytes, in the order in which it is told; numbers of purchases are texts, as Apple writes them.
struct ReceiptJSON {
    private(set) var bytes: [UInt8] = []
    private var needsComma = false

    /// - Parameter capacity: about how many bytes it will have.
    init(capacity: Int) {
        bytes.reserveCapacity(capacity)
    }

    /// An object, as an element or as the whole.
    mutating func object(_ body: (inout ReceiptJSON) -> Void) {
        open(UInt8(ascii: "{"))
        body(&self)
        close(UInt8(ascii: "}"))
    }

    mutating func object(_ name: StaticString, _ body: (inout ReceiptJSON) -> Void) {
        key(name, "")
        object(body)
    }

    mutating func array<Element>(
        _ name: StaticString, _ elements: [Element], _ body: (inout ReceiptJSON, Element) -> Void
    ) {
        key(name, "")
        open(UInt8(ascii: "["))
        for element in elements { body(&self, element) }
        close(UInt8(ascii: "]"))
    }

    /// A text; nothing for nil.
    mutating func add(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        key(name, "")
        string(value)
    }

    /// A text that is base64 and needs no escaping.
    mutating func add(_ name: StaticString, base64: [UInt8]) {
        key(name, "")
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: base64)
        bytes.append(UInt8(ascii: "\""))
        needsComma = true
    }

    /// A number as a number.
    mutating func add(_ name: StaticString, number: Int64) {
        key(name, "")
        digits(number)
        needsComma = true
    }

    /// A truth value as JSON has it.
    mutating func add(_ name: StaticString, bool: Bool) {
        key(name, "")
        append(bool ? "true" : "false")
        needsComma = true
    }

    /// A truth value as a text, as Apple writes it of purchases.
    mutating func add(_ name: StaticString, text flag: Bool) {
        key(name, "")
        append(flag ? "\"true\"" : "\"false\"")
        needsComma = true
    }

    /// A number as a text.
    mutating func add(_ name: StaticString, text number: Int64) {
        key(name, "")
        bytes.append(UInt8(ascii: "\""))
        digits(number)
        bytes.append(UInt8(ascii: "\""))
        needsComma = true
    }

    /// An instant in Apple's three ways: `x`, `x_ms`, `x_pst`; nothing for nil.
    ///
    /// - Parameter milliseconds: since 1970.
    mutating func add(_ name: StaticString, date milliseconds: Int64?) {
        guard let milliseconds else { return }
        key(name, "")
        time(CalendarTime(seconds: milliseconds / 1_000), zone: " Etc/GMT\"")
        key(name, "_ms")
        bytes.append(UInt8(ascii: "\""))
        digits(milliseconds)
        bytes.append(UInt8(ascii: "\""))
        needsComma = true
        key(name, "_pst")
        time(CalendarTime(pacificSeconds: milliseconds / 1_000), zone: " America/Los_Angeles\"")
    }

    private mutating func time(_ time: CalendarTime, zone: StaticString) {
        bytes.append(UInt8(ascii: "\""))
        time.append(to: &bytes, between: UInt8(ascii: " "))
        append(zone)
        needsComma = true
    }

    private mutating func key(_ name: StaticString, _ suffix: StaticString) {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = false
        bytes.append(UInt8(ascii: "\""))
        append(name)
        append(suffix)
        append("\":")
    }

    private mutating func open(_ bracket: UInt8) {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { bytes.append(contentsOf: $0) }
    }

    private mutating func string(_ text: String) {
        // Names are plain nearly always: then it is one copy.
        let isPlain = text.utf8.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
        if isPlain {
            bytes.append(UInt8(ascii: "\""))
            bytes.append(contentsOf: text.utf8)
            bytes.append(UInt8(ascii: "\""))
        } else {
            bytes.append(contentsOf: JSONText.quoted(text).utf8)
        }
        needsComma = true
    }

    private mutating func digits(_ number: Int64) {
        var rest = number.magnitude
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        let start = bytes.count
        repeat {
            bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        } while rest > 0
        bytes[start...].reverse()
    }
}
