import Foundation
import ServiceRuntime

/// What is on this machine alone.
enum Loopback {
    /// Whether a host's name or address is the machine itself.
    static func isHost(_ host: String) -> Bool {
        let name = host.trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
        return name == "localhost" || ClientAddress(name)?.isLoopback == true
    }

    static func isURL(_ text: String) -> Bool {
        guard let host = URL(string: text)?.host() else { return false }
        return isHost(host)
    }

    /// Whether a secret may be sent there: encrypted, or not off this machine.
    static func isSafe(_ text: String) -> Bool {
        guard let url = URL(string: text), url.host()?.isEmpty == false, url.user() == nil else { return false }
        return url.scheme == "https" || (url.scheme == "http" && isURL(text))
    }
}
