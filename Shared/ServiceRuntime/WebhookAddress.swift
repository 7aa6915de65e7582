import Foundation

/// The address of a webhook's endpoint, as far as it can be judged without looking its host up.
package struct WebhookAddress: Sendable {
    /// Why an address cannot be used; does not repeat it.
    package struct Mistake: Error, CustomStringConvertible, Sendable {
        /// The rest of a sentence whose subject is the endpoint.
        package let description: String
    }

    /// The address's host, without the brackets of an IPv6 address.
    package let host: String

    /// Checks an address.
    ///
    /// - Parameter allowsPrivateAddresses: whether plain HTTP will do, for development.
    package init(_ url: String, allowsPrivateAddresses: Bool) throws(Mistake) {
        guard let parts = URL(string: url), let scheme = parts.scheme?.lowercased(), let host = parts.host,
            !host.isEmpty, scheme == "https" || scheme == "http"
        else { throw Mistake(description: "has no address of the form https://host/path") }
        guard scheme == "https" || allowsPrivateAddresses else {
            throw Mistake(description: "must use https, unless allow_private_addresses is true (for development)")
        }
        guard parts.user == nil, parts.password == nil, parts.fragment == nil else {
            throw Mistake(description: "has a user, a password or a fragment in its address")
        }
        self.host = host.trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
    }
}
