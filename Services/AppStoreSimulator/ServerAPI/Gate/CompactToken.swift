import Foundation

/// The parts of a JSON web token, read but not trusted yet (RFC 7515, compact form).
struct CompactToken {
    /// What the header says.
    struct Header: Decodable {
        let alg: String
        let kid: String
        let typ: String
    }

    let header: Header
    /// JSON.
    let payload: Data
    /// What was signed: header, dot, payload.
    let signingInput: Data
    /// r and s, 32 bytes each.
    let signature: Data

    /// Reads a token; nil when it is not one.
    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.decoded(parts[0]), let payload = Self.decoded(parts[1]),
            let signature = Self.decoded(parts[2]),
            let header = try? JSONDecoder().decode(Header.self, from: header)
        else { return nil }
        self.header = header
        self.payload = payload
        self.signature = signature
        signingInput = Data("\(parts[0]).\(parts[1])".utf8)
    }

    /// Base64url without padding (RFC 7515, section 2).
    private static func decoded(_ text: Substring) -> Data? {
        guard !text.utf8.contains(where: { "+/=".utf8.contains($0) }) else { return nil }
        let base64 = text.replacing("-", with: "+").replacing("_", with: "/")
        return Data(base64Encoded: base64 + String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4))
    }
}
