import Hummingbird
import HummingbirdCore

/// A cookie that this host alone sets and gets, and no script reads.
///
/// Source: RFC 6265bis, section 4.1.3.2: `__Host-` wants Secure, Path=/ and no Domain.
enum HostCookie: String {
    /// The session's secret.
    case session = "__Host-countersign"
    /// What a browser has from the beginning of a log-in to its end.
    case logIn = "__Host-countersign-login"

    /// The most characters that are looked at.
    static let lengthMaximum = 4_096

    func value(in request: Request) -> String? {
        guard let value = request.cookies[rawValue]?.value, !value.isEmpty, value.utf8.count <= Self.lengthMaximum
        else { return nil }
        return value
    }

    /// - Parameter seconds: how long it lives; nil: as long as the browser.
    func set(_ value: String, seconds: Int? = nil, in response: inout Response) {
        // Lax: links from elsewhere, and the way back from the provider, keep somebody logged in; forms do not.
        response.setCookie(
            Cookie(
                name: rawValue, value: value, maxAge: seconds, path: "/", secure: true, httpOnly: true, sameSite: .lax))
    }

    func clear(in response: inout Response) { set("", seconds: 0, in: &response) }
}
