import HTTPTypes
import NIOCore
import ServiceRuntime

/// Tells where a request comes from, through the proxies that the operator trusts.
///
/// A header is believed only as far as trusted proxies wrote it: from its right, the first address that is no trusted proxy's is
/// the client's. What stands further to the left anybody may have written.
struct ClientAddressReader: Sendable {
    enum Limit {
        /// The most entries of a header that are looked at, from the right.
        static let hops = 20
    }

    /// Which header names the client.
    enum Header: Sendable, Hashable {
        /// RFC 7239.
        case forwarded
        /// A list of addresses with commas, such as `X-Forwarded-For`; or a single one.
        case list(HTTPField.Name)

        /// - Returns: nil for what is no name of a header.
        init?(_ name: String) {
            guard let field = HTTPField.Name(name) else { return nil }
            self = field.canonicalName == "forwarded" ? .forwarded : .list(field)
        }

        fileprivate var name: HTTPField.Name? {
            switch self {
            case .forwarded: HTTPField.Name("Forwarded")
            case .list(let name): name
            }
        }
    }

    /// A client, as far as it can be told.
    struct Client: Sendable, Hashable {
        let address: ClientAddress
        /// Whether requests are counted for it: a peer in a private network is taken for a proxy that nobody has named, with
        /// all players behind it.
        let isCounted: Bool
    }

    let trusted: [AddressRange]
    let header: Header

    /// The client of a request; nil where the peer has no address.
    func client(_ peer: SocketAddress?, _ headers: HTTPFields) -> Client? {
        guard let peer, var address = ClientAddress(peer) else { return nil }
        guard !trusted.isEmpty else { return Client(address: address, isCounted: !address.isPrivate) }
        guard isTrusted(address), let name = header.name else { return Client(address: address, isCounted: true) }
        for entry in entries(headers[values: name]).reversed().prefix(Limit.hops) {
            // What the proxy could not tell, nobody can: then all that came through it is one client's.
            guard let named = Self.address(entry) else { break }
            address = named
            guard isTrusted(address) else { break }
        }
        return Client(address: address, isCounted: true)
    }

    private func isTrusted(_ address: ClientAddress) -> Bool { trusted.contains { $0.contains(address) } }

    private func entries(_ values: [String]) -> [Substring] {
        values.flatMap { value in
            switch header {
            case .list: value.split(separator: ",", omittingEmptySubsequences: false)
            case .forwarded: Self.split(value, by: ",").map(Self.forField)
            }
        }
    }

    /// The value of `for` in an entry of `Forwarded`; empty where it has none.
    private static func forField(_ entry: Substring) -> Substring {
        for pair in split(String(entry), by: ";") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, trimmed(parts[0]).lowercased() == "for" else { continue }
            return parts[1]
        }
        return ""
    }

    /// Splits outside of quotes.
    private static func split(_ text: String, by separator: Character) -> [Substring] {
        var isQuoted = false
        return text.split(omittingEmptySubsequences: false) { character in
            if character == "\"" { isQuoted.toggle() }
            return character == separator && !isQuoted
        }
    }

    /// An address with or without a port, in quotes or brackets or neither; nil for anything else (`unknown`, `_hidden`).
    static func address(_ entry: Substring) -> ClientAddress? {
        var text = trimmed(entry)
        if text.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") { text = text.dropFirst().dropLast() }
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            return ClientAddress(text[text.index(after: text.startIndex)..<end])
        }
        // One colon stands before a port; more are an IPv6 address.
        if text.count(where: { $0 == ":" }) == 1 { text = text.prefix { $0 != ":" } }
        return ClientAddress(text)
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text
        while text.first == " " || text.first == "\t" { text.removeFirst() }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text
    }
}
