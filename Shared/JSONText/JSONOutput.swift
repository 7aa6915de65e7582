import Foundation

/// The text so far, and the containers that are open in it.
///
/// A value is written behind the text when it is encoded. When it is complete, its members are put in order: a container
/// has no end of its own in `Codable`, but its value has.
final class JSONOutput {
    private enum Form {
        case undecided, object, array
    }

    /// The value that is being encoded.
    private struct Frame {
        /// What it turned out to be.
        var form = Form.undecided
        /// How many members or elements it has.
        var count = 0
        /// Whether its members are surely in order.
        var isSorted = true
        // Where its text, its entries and the contents of these begin.
        var start = 0
        var firstEntry = 0
        var firstContent = 0
    }

    let dateText: @Sendable (Date) -> String
    // A profile had six per cent of the time in checks that nobody changes these twice at once. Nobody does: nothing is
    // called meanwhile that could come back here.
    @exclusivity(unchecked) private var text: JSONMemory<UInt8>
    /// Where the text is put together that is in another order, or in pieces.
    @exclusivity(unchecked) private var spare = JSONMemory<UInt8>(capacity: 16)
    /// The members of the objects, and of the arrays what somebody still collects.
    @exclusivity(unchecked) private var entries = JSONMemory<JSONEntry>(capacity: 32)
    @exclusivity(unchecked) private var contents: [JSONOutput] = []
    @exclusivity(unchecked) private var frame = Frame()

    init(dateText: @escaping @Sendable (Date) -> String, capacity: Int = 256) {
        self.dateText = dateText
        text = JSONMemory(capacity: capacity)
    }

    /// A copy of the text.
    var bytes: [UInt8] { Array(text.slice(0..<text.count)) }

    /// How many members or elements the value has that is being encoded.
    var count: Int { frame.count }

    /// Makes an object or an array of the value; the first word counts once there is something in it.
    func begin(object isObject: Bool) {
        let bracket = isObject ? UInt8(ascii: "{") : UInt8(ascii: "[")
        if frame.form == .undecided {
            // Whatever was written before there was a container is not in it.
            letGoOfEntries()
            frame.count = 0
            text.cut(to: frame.start)
            text.append(bracket)
        } else if frame.count == 0 {
            text[frame.start] = bracket
        } else {
            return
        }
        frame.form = isObject ? .object : .array
    }

    // Members and elements.

    /// A member, or an element, which has no name.
    @inline(__always)
    func append(_ name: String, _ write: () -> Void) {
        beginEntry(name)
        write()
        endEntry()
    }

    /// As ``append(_:_:)``, of a value that may have parts, and may fail: then nothing is left of it.
    func append<Value: Encodable>(_ name: String, value: Value) throws {
        let place = text.count
        beginEntry(name)
        do {
            try append(value: value)
        } catch {
            text.cut(to: place)
            frame.count -= 1
            if frame.form == .object { entries.cut(to: entries.count - 1) }
            throw error
        }
        endEntry()
    }

    /// A member or an element that somebody goes on writing.
    func open(_ name: String, object isObject: Bool?) -> JSONOutput {
        beginEntry(name)
        endEntry()
        if frame.form != .object { entries.append(JSONEntry(at: text.count)) }
        entries[entries.count - 1].content = contents.count
        let content = JSONOutput(dateText: dateText)
        if let isObject { content.begin(object: isObject) }
        contents.append(content)
        return content
    }

    private func beginEntry(_ name: String) {
        if frame.count > 0 { text.append(UInt8(ascii: ",")) }
        frame.count += 1
        guard frame.form == .object else { return }
        var name = name
        name.withUTF8 { name in
            let start = text.count
            JSONEscapes.append(name, to: &text)
            let entry = JSONEntry(name, from: start, to: text.count)
            text.append(UInt8(ascii: ":"))
            if frame.count > 1, entry.prefix <= entries[entries.count - 1].prefix { frame.isSorted = false }
            entries.append(entry)
        }
    }

    @inline(__always)
    private func endEntry() {
        if frame.form == .object { entries[entries.count - 1].end = text.count }
    }

    // Whole values.

    /// A value at the end of the text; where it fails nothing is left of it.
    func append<Value: Encodable>(value: Value) throws {
        if appendPlain(value) { return }
        let outer = frame
        frame = Frame(start: text.count, firstEntry: entries.count, firstContent: contents.count)
        defer { frame = outer }
        do {
            try value.encode(to: JSONValueEncoder(output: self))
        } catch {
            text.cut(to: frame.start)
            letGoOfEntries()
            throw error
        }
        close()
    }

    /// A value that is encoded as one without parts: nothing of it stays where the value turned out to be a container.
    @inline(__always)
    func appendSingle(_ write: () throws -> Void) rethrows {
        let place = text.count
        try write()
        if frame.form != .undecided { text.cut(to: place) }
    }

    /// Puts the value together that is being encoded.
    private func close() {
        switch frame.form {
        case .undecided:
            // A value that encodes nothing is an empty object, as Foundation has it.
            if text.count == frame.start {
                text.append(UInt8(ascii: "{"))
                text.append(UInt8(ascii: "}"))
            }
        case .array:
            if contents.count > frame.firstContent { fillIn() }
            text.append(UInt8(ascii: "]"))
        case .object:
            let isMoved = !frame.isSorted && sort()
            if isMoved || contents.count > frame.firstContent { putInOrder() }
            text.append(UInt8(ascii: "}"))
        }
        letGoOfEntries()
    }

    private func letGoOfEntries() {
        entries.cut(to: frame.firstEntry)
        if contents.count > frame.firstContent { contents.removeLast(contents.count - frame.firstContent) }
    }

    /// Sorts the members by their names; returns whether that moved any.
    private func sort() -> Bool {
        entries.sort(from: frame.firstEntry) { $0.isBefore($1, in: text) }
        var index = frame.firstEntry + 1
        while index < entries.count {
            if entries[index].start < entries[index - 1].start { return true }
            index += 1
        }
        return false
    }

    /// Writes the members anew, in the order of their entries.
    private func putInOrder() {
        beginAnew()
        for index in frame.firstEntry..<entries.count {
            let entry = entries[index]
            if index > frame.firstEntry { spare.append(UInt8(ascii: ",")) }
            spare.append(text.slice(entry.start..<entry.end))
            appendContent(of: entry)
        }
        endAnew()
    }

    /// Writes the elements anew, with those that others collected.
    private func fillIn() {
        beginAnew()
        var place = frame.start + 1
        for index in frame.firstEntry..<entries.count {
            let entry = entries[index]
            spare.append(text.slice(place..<entry.end))
            appendContent(of: entry)
            place = entry.end
        }
        spare.append(text.slice(place..<text.count))
        endAnew()
    }

    private func beginAnew() {
        spare.cut(to: 0)
        spare.reserve(text.count - frame.start + 1)
        spare.append(text[frame.start])
    }

    private func endAnew() {
        if frame.start == 0 {
            swap(&text, &spare)
        } else {
            text.cut(to: frame.start)
            text.append(spare.slice(0..<spare.count))
        }
    }

    private func appendContent(of entry: JSONEntry) {
        guard entry.content >= 0 else { return }
        let content = contents[entry.content]
        content.close()
        spare.append(content.text.slice(0..<content.text.count))
    }
}

/// Values without parts.
extension JSONOutput {
    func append(_ string: String) { JSONEscapes.append(string, to: &text) }
    func append(_ isTrue: Bool) { append(isTrue ? "true" : "false" as StaticString) }
    func appendNull() { append("null" as StaticString) }
    func append(_ date: Date) { append(dateText(date)) }

    private func append(_ word: StaticString) {
        text.append(UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    }

    @inline(__always)
    func append(integer number: some FixedWidthInteger) {
        if number < 0 { text.append(UInt8(ascii: "-")) }
        appendDigits(UInt64(number.magnitude))
    }

    /// From the last digit to the first, behind the place where they belong.
    private func appendDigits(_ number: UInt64) {
        let longest = 20
        text.reserve(2 * longest)
        let end = text.base + text.count + 2 * longest
        var (first, rest) = (end, number)
        repeat {
            first -= 1
            first.pointee = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while rest > 0
        (text.base + text.count).update(from: first, count: end - first)
        text.take(end - first)
    }

    /// How a number is written; that is asked before anything is.
    func digits(_ number: some BinaryFloatingPoint & LosslessStringConvertible & Encodable) throws -> String {
        guard number.isFinite else {
            throw EncodingError.invalidValue(
                number, .init(codingPath: [], debugDescription: "JSON has no number that is not finite"))
        }
        return number.description
    }

    func append(digits: String) {
        var digits = digits
        digits.withUTF8 { digits in
            let isWhole =
                digits.count > 2 && digits[digits.count - 2] == UInt8(ascii: ".")
                && digits[digits.count - 1] == UInt8(ascii: "0")
            text.append(UnsafeBufferPointer(rebasing: digits[..<(digits.count - (isWhole ? 2 : 0))]))
        }
    }

    /// Writes a value of one of the types that encode themselves as nothing but such a value; false for any other.
    @inline(__always)
    private func appendPlain<Value: Encodable>(_ value: Value) -> Bool {
        // The types are the same where a value is cast, which `as?` takes far longer to find out.
        if Value.self == String.self {
            append(unsafeBitCast(value, to: String.self))
        } else if Value.self == Date.self {
            append(unsafeBitCast(value, to: Date.self))
        } else if Value.self == Int.self {
            append(integer: unsafeBitCast(value, to: Int.self))
        } else if Value.self == Int64.self {
            append(integer: unsafeBitCast(value, to: Int64.self))
        } else if Value.self == UUID.self {
            text.append(UInt8(ascii: "\""))
            JSONUUID.append(unsafeBitCast(value, to: UUID.self), to: &text)
            text.append(UInt8(ascii: "\""))
        } else {
            return false
        }
        return true
    }
}
