import Foundation
import HTTPTypes
import Hummingbird

/// What every answer tells the browser: nothing from elsewhere, no frames, no guesses.
///
/// Source: Content Security Policy Level 3.
struct SecurityHeaders: RouterMiddleware {
    static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        + "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

    func handle(
        _ request: Request, context: ConsoleContext, next: (Request, ConsoleContext) async throws -> Response
    ) async throws -> Response {
        var response = try await next(request, context)
        for (name, value) in Self.fields { response.headers[name] = value }
        return response
    }

    private static let fields: [(HTTPField.Name, String)] = [
        ("content-security-policy", policy), ("x-content-type-options", "nosniff"), ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"), ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("permissions-policy", "camera=(), geolocation=(), microphone=(), payment=()"),
    ].compactMap { name, value in HTTPField.Name(name).map { ($0, value) } }
}

/// That a form was sent by a page of ours.
enum CrossSite {
    private static let fetchSite = HTTPField.Name("sec-fetch-site")

    /// - Parameter token: what the form had.
    /// - Throws: `ConsoleTrouble`.
    static func check(_ request: Request, token: String?, _ visit: Visit) throws(ConsoleTrouble) {
        // Browsers that send this header tell what the token proves as well; others have the token alone.
        if let site = fetchSite.flatMap({ request.headers[$0] }), site != "same-origin" {
            throw ConsoleTrouble(.formExpired)
        }
        guard let token, ConstantTime.isEqual(token, visit.csrfToken) else { throw ConsoleTrouble(.formExpired) }
    }
}

/// Compares secrets: the time does not tell how much of them is equal.
enum ConstantTime {
    static func isEqual(_ one: String, _ other: String) -> Bool {
        let (one, other) = (Array(one.utf8), Array(other.utf8))
        guard one.count == other.count else { return false }
        return zip(one, other).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
