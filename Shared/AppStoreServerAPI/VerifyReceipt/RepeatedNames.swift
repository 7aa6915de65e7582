/// Looks for objects that have a field twice: Foundation's decoder takes one of the two, and which one is chance.
enum RepeatedNames {
    /// What is open at a place of the text.
    private enum Open {
        case list
        case object(Set<String>)
    }

    /// Whether an object has a name twice, or one with an escape, which could be another name in disguise.
    ///
    /// - Parameter json: a text that is JSON, as a decoder has found.
    static func occur(in json: [UInt8]) -> Bool {
        var open: [Open] = []
        // Whether the next string is a name.
        var isBeforeName = false
        var position = 0
        while position < json.count {
            switch json[position] {
            case UInt8(ascii: "{"):
                open.append(.object([]))
                isBeforeName = true
            case UInt8(ascii: "["):
                open.append(.list)
                isBeforeName = false
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                _ = open.popLast()
                isBeforeName = false
            case UInt8(ascii: ","):
                if case .object = open.last { isBeforeName = true }
            case UInt8(ascii: "\""):
                let end = endOfString(json, from: position + 1)
                if isBeforeName {
                    let name = json[(position + 1)..<end]
                    guard !name.contains(UInt8(ascii: "\\")), take(name, &open) else { return true }
                    isBeforeName = false
                }
                position = end
            default: break
            }
            position += 1
        }
        return false
    }

    /// Where the quotation mark is that ends a string.
    private static func endOfString(_ json: [UInt8], from start: Int) -> Int {
        var position = start
        while position < json.count, json[position] != UInt8(ascii: "\"") {
            position += json[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(position, json.count)
    }

    /// Keeps a name of the innermost object; false when it has it already.
    private static func take(_ name: ArraySlice<UInt8>, _ open: inout [Open]) -> Bool {
        guard case .object(var names) = open.popLast() else { return true }
        let isNew = names.insert(String(decoding: name, as: UTF8.self)).inserted
        open.append(.object(names))
        return isNew
    }
}
