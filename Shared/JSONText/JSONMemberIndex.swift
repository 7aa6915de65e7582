/// Where the members of an object stand, for an object that has more than a few.
///
/// It is made of what strangers send, so nobody must gain by names that share a mark: a table is short enough to be searched
/// from end to end, and what does not fit in it has a dictionary, whose hashes nobody can foresee.
final class JSONMemberIndex {
    /// Fewer are found as fast without.
    private static let membersMinimum = 8
    /// A power of two; more members than half of it have a dictionary.
    private static let slotsMaximum = 128

    /// A name as its bytes: two strings are equal that look alike, and two members are not.
    private struct Name: Hashable {
        let text: String

        static func == (left: Name, right: Name) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

        func hash(into hasher: inout Hasher) {
            var text = text
            text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        }
    }

    /// The mark of a name in the upper half, the token of its value in the lower; zero of a free slot.
    ///
    /// A name stands in the slot that its mark says, or in the next one that was free: so the first of two that are the same
    /// is found first. At least half of the slots are free, so that every search ends.
    private let slots: JSONMemory<UInt64>
    /// The first value of each name.
    private let values: [Name: Int]?

    /// Finds the members of an object; nil where it has few.
    init?(_ object: Int, of tape: JSONTape) {
        let content = tape.content(of: object)
        guard content.count >= 2 * Self.membersMinimum else { return nil }
        // No object has more members than half as many as it has tokens.
        var count = 2 * Self.membersMinimum
        while count < min(content.count, Self.slotsMaximum) { count *= 2 }
        var slots = JSONMemory<UInt64>(repeating: 0, count: count)
        var (members, index) = (0, content.lowerBound)
        while index < content.upperBound, members < count / 2 {
            let mark = tape.nameMark(index)
            var slot = Int(mark) & (count - 1)
            while slots[slot] != 0 { slot = (slot + 1) & (count - 1) }
            slots[slot] = UInt64(mark) << 32 | UInt64(index + 1)
            members += 1
            index = tape.next(after: index + 1)
        }
        self.slots = slots
        values = index < content.upperBound ? Self.values(in: content, of: tape) : nil
    }

    private static func values(in content: Range<Int>, of tape: JSONTape) -> [Name: Int] {
        var values: [Name: Int] = [:]
        values.reserveCapacity(content.count / 2)
        var index = content.lowerBound
        while index < content.upperBound {
            let name = Name(text: tape.string(index))
            if values[name] == nil { values[name] = index + 1 }
            index = tape.next(after: index + 1)
        }
        return values
    }

    /// The value of the first member of a name; nil where there is none.
    func value(_ name: String, in tape: JSONTape) -> Int? {
        if let values { return values[Name(text: name)] }
        var name = name
        return name.withUTF8 { name in
            let mark = JSONWords.mark(name)
            var slot = Int(mark) & (slots.count - 1)
            while true {
                let found = slots[slot]
                guard found != 0 else { return nil }
                let value = Int(found & 0xFFFF_FFFF)
                if found >> 32 == UInt64(mark), tape.isName(value - 1, name) { return value }
                slot = (slot + 1) & (slots.count - 1)
            }
        }
    }
}
