/// Something in a settings file whose fields have known names.
package protocol NamedFields: Decodable {
    associatedtype CodingKeys: CodingKey, CaseIterable
}

/// A mapping of a settings file that has no other fields than those with a meaning.
///
/// A typing error in a name must not leave a default in force: `sandbx: refuse` would accept the sandbox.
package struct StrictlyNamed<Value: NamedFields>: Decodable {
    /// What it says.
    package let value: Value

    private struct AnyName: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    package init(from decoder: any Decoder) throws {
        let known = Value.CodingKeys.allCases.map(\.stringValue)
        let names = try decoder.container(keyedBy: AnyName.self).allKeys.map(\.stringValue)
        if let unknown = names.sorted().first(where: { !known.contains($0) }) {
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: decoder.codingPath,
                    debugDescription: "`\(unknown)` has no meaning here; known are \(known.joined(separator: ", "))",
                    underlyingError: UnknownField(key: SettingsStep(stringValue: unknown))))
        }
        value = try Value(from: decoder)
    }
}
