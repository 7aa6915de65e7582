/// The fields of a JSON object that the simulator wrote, in their order, so that a forger can change one of them.
struct PayloadText: Sendable {
    /// Names and values as they are written, the names with their quotes.
    private(set) var fields: [(name: String, value: String)] = []

    /// - Parameter object: what else it is has no fields.
    init(_ object: String) {
        guard case .object(let fields) = OrderedJSON(object) else { return }
        self.fields = fields.map { (JSONText.quoted($0.name), $0.value.text) }
    }

    /// The object.
    var text: String { "{\(fields.map { "\($0.name):\($0.value)" }.joined(separator: ","))}" }

    /// A field's value as it is written.
    ///
    /// Setting nil removes it; setting a new one puts it at the end.
    subscript(name: String) -> String? {
        get { fields.first { $0.name == "\"\(name)\"" }?.value }
        set {
            let quoted = "\"\(name)\""
            let index = fields.firstIndex { $0.name == quoted }
            switch (index, newValue) {
            case (let index?, let value?): fields[index].value = value
            case (let index?, nil): fields.remove(at: index)
            case (nil, let value?): fields.append((quoted, value))
            case (nil, nil): break
            }
        }
    }

    /// Adds a field though there may be one of that name.
    ///
    /// - Parameters:
    ///   - name: with its quotes.
    mutating func append(name: String, _ value: String) {
        fields.append((name, value))
    }
}
