import Foundation

/// Looks into compact JWS without checking it: stories read what the simulator signed; checking is others' work.
enum SignedPayload {
    /// Whether a text has the three parts of a compact JWS, the first of them JSON.
    static func looksLikeOne(_ text: String) -> Bool {
        text.hasPrefix("eyJ") && text.count(where: { $0 == "." }) == 2
    }

    /// The payload; nil when the text is no JWS with JSON inside.
    static func decode(_ text: String) -> JSONValue? {
        guard looksLikeOne(text) else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        return Base64URL.decode(parts[1]).flatMap(JSONValue.init(json:))
    }
}

extension JSONValue {
    /// For people: JSON, cut where it gets long; a signed payload is only called one.
    var shown: String {
        let text = withoutSignedPayloads.json
        return text.count <= 300 ? text : text.prefix(300) + "…"
    }

    private var withoutSignedPayloads: JSONValue {
        switch self {
        case .text(let text) where SignedPayload.looksLikeOne(text): .text("(a signed payload)")
        case .text(let text) where text.count > 500: .text("(\(text.count) characters)")
        case .list(let list): .list(list.map(\.withoutSignedPayloads))
        case .map(let map): .map(map.mapValues(\.withoutSignedPayloads))
        default: self
        }
    }
}
