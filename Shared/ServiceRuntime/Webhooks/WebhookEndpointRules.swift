import Foundation
import PurchaseModel

/// What somebody may choose of an endpoint that is stored in the database: checked before it is written down.
///
/// The notification service looks the host up before each connection and refuses what is not of the public internet. What can be
/// seen without that is refused here, with a sentence.
package struct WebhookEndpointRules: Sendable {
    /// Bytes of an address.
    package static let urlBytesMaximum = 2_048
    /// Characters of a description.
    package static let descriptionMaximum = 255
    /// Patterns of events.
    package static let eventsMaximum = 50
    /// Bytes of a pattern.
    package static let eventBytesMaximum = 128
    /// Apps that are named.
    package static let appsMaximum = 50
    /// Below these, the only port is that of https: others are of services that must not be spoken to.
    package static let portMinimum = 1_024
    /// The seconds for which secrets may sign after newer ones took their place: 30 days.
    package static let overlapSeconds = 0...(30 * 86_400)
    /// That, when nobody says: a day.
    package static let overlapSecondsDefault = 86_400

    /// What cannot be chosen.
    package struct Mistake: Error, Sendable, Equatable, CustomStringConvertible {
        /// The field, as the API names it.
        package let field: String
        /// What it must be: the rest of a sentence that ends in "must be".
        package let expected: String

        package var description: String { "\(field) must be \(expected)" }
    }

    /// Whether plain HTTP and addresses of the own network will do, for development.
    package let allowsPrivateAddresses: Bool

    /// Makes them.
    package init(allowsPrivateAddresses: Bool) {
        self.allowsPrivateAddresses = allowsPrivateAddresses
    }

    /// Checks an address.
    ///
    /// - Throws: `Mistake`, which does not repeat the address.
    package func check(url: String) throws(Mistake) {
        func mistake(_ expected: String) -> Mistake { Mistake(field: "url", expected: expected) }
        guard (1...Self.urlBytesMaximum).contains(url.utf8.count), url.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            throw mistake("an address of at most \(Self.urlBytesMaximum) bytes, in ASCII and without spaces")
        }
        // What programs read differently is how one of them is led astray.
        guard !url.contains("\\"), let parts = URLComponents(string: url), let scheme = parts.scheme?.lowercased(),
            let host = parts.host, !host.isEmpty, scheme == "https" || scheme == "http"
        else { throw mistake("an address of the form https://host/path") }
        guard parts.user == nil, parts.password == nil, !(parts.percentEncodedHost ?? "").contains("%") else {
            throw mistake("an address without a user or a password before its host")
        }
        guard parts.fragment == nil else { throw mistake("an address without a fragment (#…)") }
        guard !allowsPrivateAddresses else { return }
        guard scheme == "https" else { throw mistake("an address with https") }
        if let port = parts.port, port != 443, !(Self.portMinimum...65_535).contains(port) {
            throw mistake("an address with the port 443, or one from \(Self.portMinimum) to 65535")
        }
        if let refusal = Self.refusal(ofHost: host.trimmingCharacters(in: CharacterSet(charactersIn: "[]"))) {
            throw mistake("an address in the public internet: its host is \(refusal)")
        }
    }

    /// Endings of names that are of the own network or of nobody (RFC 6761, RFC 6762, RFC 8375, RFC 9476 and habit).
    private static let privateEndings = [
        "localhost", "local", "internal", "intranet", "lan", "home", "corp", "private", "home.arpa", "invalid", "test",
        "example", "onion", "alt",
    ]

    /// Why a host is refused without looking it up; nil where that must say.
    private static func refusal(ofHost host: String) -> String? {
        if let address = InternetAddress(host) { return address.refusal }
        var name = host.lowercased()
        if name.hasSuffix(".") { name.removeLast() }
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        guard let last = labels.last, !labels.contains("") else { return "no name" }
        // A resolver takes 127.1, 2130706433 and 0x7f.1 for addresses.
        let isHexadecimal = last.hasPrefix("0x") && last.dropFirst(2).allSatisfy(\.isHexDigit)
        let isNumber = isHexadecimal || last.allSatisfy(\.isNumber)
        if isNumber { return "a number, and no address as it is usually written" }
        guard labels.count > 1 else { return "a name without a dot" }
        if let ending = privateEndings.first(where: { name.hasSuffix("." + $0) }) { return "of .\(ending)" }
        return nil
    }

    /// Checks a description.
    ///
    /// - Throws: `Mistake`.
    package func check(description: String) throws(Mistake) {
        guard description.isEmpty || PrintableText.isOne(description, lengthMaximum: Self.descriptionMaximum) else {
            throw Mistake(
                field: "description",
                expected: "at most \(Self.descriptionMaximum) characters, without line breaks and control characters")
        }
    }

    /// Checks patterns of events.
    ///
    /// - Parameter prefix: what the types of all events begin with.
    /// - Throws: `Mistake`.
    package func check(events: [String], prefix: String) throws(Mistake) {
        guard events.count <= Self.eventsMaximum, Set(events).count == events.count else {
            throw Mistake(field: "events", expected: "at most \(Self.eventsMaximum) patterns, each once")
        }
        for pattern in events {
            let isPlain = pattern.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || "._*".utf8.contains(byte)
            }
            // One that no event can match would be an endpoint that is never told of anything.
            let meansSomething =
                pattern.hasSuffix("*")
                ? prefix.hasPrefix(pattern.dropLast()) || pattern.hasPrefix(prefix) : pattern.hasPrefix(prefix)
            guard pattern.utf8.count <= Self.eventBytesMaximum, isPlain, EventPattern(pattern) != nil, meansSomething
            else {
                throw Mistake(
                    field: "events",
                    expected: "a list of event types such as iap.refund.granted, or of beginnings with a * at the end "
                        + "such as iap.refund.*")
            }
        }
    }

    /// Checks the shape of events that a receiver was written for.
    ///
    /// - Parameter known: the versions that there are.
    /// - Throws: `Mistake`.
    package func check(schemaVersion: String, known: [String]) throws(Mistake) {
        guard known.contains(schemaVersion) else {
            throw Mistake(field: "schema_version", expected: "one of \(known.joined(separator: ", "))")
        }
    }

    /// Checks for how long secrets sign after newer ones took their place.
    ///
    /// - Throws: `Mistake`.
    package static func check(overlapSeconds: Int) throws(Mistake) {
        let range = Self.overlapSeconds
        guard range.contains(overlapSeconds) else {
            throw Mistake(
                field: "expires_in",
                expected: "a whole number of seconds from \(range.lowerBound) to \(range.upperBound)")
        }
    }
}
