/// Entries in a list, or one by itself; one that cannot be read is nil and hides no others.
struct AnswerEntries<Entry: Decodable>: Decodable {
    private struct Readable: Decodable {
        let entry: Entry?

        init(from decoder: any Decoder) throws { entry = try? Entry(from: decoder) }
    }

    let entries: [Entry?]

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            entries = []
        } else if let list = try? value.decode([Readable].self) {
            entries = list.map(\.entry)
        } else {
            entries = [try? Entry(from: decoder)]
        }
    }
}

extension KeyedDecodingContainer {
    /// The entries of a list; none where there is no such field.
    func entries<Entry: Decodable>(_ key: Key, of type: Entry.Type = Entry.self) -> [Entry?] {
        guard contains(key) else { return [] }
        return (try? decode(AnswerEntries<Entry>.self, forKey: key))?.entries ?? [nil]
    }
}
