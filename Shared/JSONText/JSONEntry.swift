/// A member of an object that is being written, or the place in an array where somebody still collects an element.
struct JSONEntry: BitwiseCopyable {
    /// The first bytes of the name, as a number that sorts as they do.
    private(set) var prefix: UInt64 = 0
    /// Where the member's text begins, with its name.
    let start: Int
    /// Behind the name's quotation mark.
    private var nameEnd: Int
    /// Behind the text, or where it is to be put in.
    var end: Int
    /// Which of those who still collect something has the value; below zero where nobody does.
    var content = -1
    private var isNameEscaped = false

    /// One without a name.
    init(at place: Int) {
        start = place
        nameEnd = place
        end = place
    }

    /// One whose name was written behind `start`.
    init(_ name: UnsafeBufferPointer<UInt8>, from start: Int, to nameEnd: Int) {
        prefix = JSONWords.prefix(name)
        self.start = start
        self.nameEnd = nameEnd
        end = nameEnd
        isNameEscaped = nameEnd - start != name.count + 2
    }

    /// Whether it stands before another one in an object; of two with the same name the one that was written first does.
    @inline(__always)
    func isBefore(_ other: JSONEntry, in text: borrowing JSONMemory<UInt8>) -> Bool {
        prefix == other.prefix ? isNameBefore(other, in: text) : prefix < other.prefix
    }

    private func isNameBefore(_ other: JSONEntry, in text: borrowing JSONMemory<UInt8>) -> Bool {
        let order: Int
        if isNameEscaped || other.isNameEscaped {
            order = withContiguous(name(in: text), other.name(in: text))
        } else {
            order = JSONWords.order(writtenName(in: text), other.writtenName(in: text))
        }
        return order == 0 ? start < other.start : order < 0
    }

    private func withContiguous(_ name: [UInt8], _ other: [UInt8]) -> Int {
        name.withUnsafeBufferPointer { name in other.withUnsafeBufferPointer { JSONWords.order(name, $0) } }
    }

    /// The name as it was before it was escaped.
    private func name(in text: borrowing JSONMemory<UInt8>) -> [UInt8] {
        Array(JSONEscapes.resolved(writtenName(in: text)).utf8)
    }

    private func writtenName(in text: borrowing JSONMemory<UInt8>) -> UnsafeBufferPointer<UInt8> {
        text.slice((start + 1)..<(nameEnd - 1))
    }
}
