/// How `verifyReceipt` writes what other answers write otherwise.
extension JSONText {
    /// A number as a text, as Apple writes it of purchases.
    mutating func add(_ name: String, text number: Int64) { add(name, String(number)) }

    /// A truth value as a text, as Apple writes it of purchases.
    mutating func add(_ name: String, text flag: Bool) { add(name, flag ? "true" : "false") }

    /// An instant in Apple's three ways: `x`, `x_ms`, `x_pst`; nothing for nil.
    ///
    /// - Parameter milliseconds: since 1970.
    mutating func add(_ name: String, date milliseconds: Int64?) {
        guard let milliseconds else { return }
        let seconds = milliseconds / 1_000
        add(name, CalendarTime(seconds: seconds).text + " Etc/GMT")
        add(name + "_ms", text: milliseconds)
        add(name + "_pst", CalendarTime(pacificSeconds: seconds).text + " America/Los_Angeles")
    }

    /// A list of objects, one for each element.
    mutating func add<Element>(_ name: String, _ elements: [Element], _ body: (inout JSONText, Element) -> Void) {
        let objects = elements.map { element in
            var json = JSONText()
            body(&json, element)
            return json.object
        }
        add(name, json: "[\(objects.joined(separator: ","))]")
    }
}
