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
        guard parts.count == 3, let header = Base64URL.decode(parts[0]), let payload = Base64URL.decode(parts[1]),
            let signature = Base64URL.decode(parts[2]),
            let header = try? JSONDecoder().decode(Header.self, from: header)
        else { return nil }
        self.header = header
        self.payload = payload
        self.signature = signature
        signingInput = Data("\(parts[0]).\(parts[1])".utf8)
    }
}
