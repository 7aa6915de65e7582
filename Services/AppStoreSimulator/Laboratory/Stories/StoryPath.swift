/// Where a value is within another: `data[0].lastTransactions[-1].status`.
///
/// `[*]` is every element, so that the answer is a list; `[-1]` the last. A step into a signed payload decodes it:
/// `signedTransactionInfo.productId`. The empty path is the value itself.
struct StoryPath: Sendable, Equatable, CustomStringConvertible {
    enum Step: Sendable, Equatable {
        case key(String)
        case index(Int)
        case all
    }

    let description: String
    let steps: [Step]

    /// Nil when the text is no path.
    init?(_ text: String) {
        var steps: [Step] = []
        for part in text.split(separator: ".", omittingEmptySubsequences: false) where !text.isEmpty {
            let pieces = part.split(separator: "[", omittingEmptySubsequences: false)
            guard let name = pieces.first else { return nil }
            // `[0].a` begins with an index; `a..b` says nothing.
            if !name.isEmpty { steps.append(.key(String(name))) } else if pieces.count == 1 { return nil }
            for piece in pieces.dropFirst() {
                guard piece.last == "]" else { return nil }
                if piece == "*]" {
                    steps.append(.all)
                } else if let index = Int(piece.dropLast()) {
                    steps.append(.index(index))
                } else {
                    return nil
                }
            }
        }
        description = text
        self.steps = steps
    }

    /// What is there; nil when nothing is.
    func value(in root: JSONValue) -> JSONValue? {
        Self.value(in: root, steps[...])
    }

    private static func value(in root: JSONValue, _ steps: ArraySlice<Step>) -> JSONValue? {
        guard let step = steps.first else { return root }
        var root = root
        if let text = root.text {
            guard let payload = SignedPayload.decode(text) else { return nil }
            root = payload
        }
        switch step {
        case .key(let key):
            return root[key].flatMap { value(in: $0, steps.dropFirst()) }
        case .index(let index):
            guard let list = root.list else { return nil }
            let position = index < 0 ? list.count + index : index
            return list.indices.contains(position) ? value(in: list[position], steps.dropFirst()) : nil
        case .all:
            guard let list = root.list else { return nil }
            return .list(list.map { value(in: $0, steps.dropFirst()) ?? .null })
        }
    }
}
