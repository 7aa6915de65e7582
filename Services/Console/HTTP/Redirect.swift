import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore

/// Sends a browser to another page of ours.
enum Redirect {
    /// - Parameter path: of ours; anything else leads to the first page.
    static func to(_ path: String) -> Response {
        Response(status: .seeOther, headers: [.location: isOurs(path) ? path : "/", .cacheControl: "no-store"])
    }

    /// To the page for logging in, and back afterwards.
    static func toLogIn(from request: Request) -> Response {
        guard request.method == .get else { return to("/login") }
        var response = to("/login?next=" + IntakeClient.part(request.uri.string))
        // What htmx fetched would be put into the page: the whole page goes instead.
        if let name = HTTPField.Name("hx-redirect"), request.headers[.hxRequest] != nil {
            response.headers[name] = response.headers[.location]
            response.status = .ok
        }
        return response
    }

    /// Whether a path is on this server: browsers take `//host` and `/\host` for other servers.
    static func isOurs(_ path: String) -> Bool {
        guard path.hasPrefix("/"), !path.hasPrefix("//"), path.utf8.count <= 2_000 else { return false }
        return path.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\\") }
    }
}

extension HTTPField.Name {
    /// What htmx sends with each request of its own.
    static let hxRequest = HTTPField.Name("hx-request") ?? .upgrade
}

/// The language that somebody chose, else the browser's.
enum LanguageCookie {
    private static let name = "countersign-language"

    /// Remembers a choice for a year.
    @Sendable
    static func set(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        guard let code = context.parameters.get("code"), let language = Language(rawValue: code) else {
            throw ConsoleTrouble(.notFound)
        }
        var response = Redirect.to(request.uri.queryParameters["back"].map(String.init) ?? "/")
        response.headers[.setCookie] =
            "\(name)=\(language.rawValue); Path=/; Max-Age=31536000; SameSite=Lax; HttpOnly"
        return response
    }

    static func language(of request: Request) -> Language {
        if let value = request.cookies[name]?.value, let language = Language(rawValue: value) { return language }
        let wanted = (request.headers[.acceptLanguage] ?? "").split(separator: ",").prefix(20)
        return wanted.lazy.compactMap {
            Language(
                rawValue: $0.prefix(while: { $0 != ";" && $0 != "-" }).lowercased()
                    .trimmingCharacters(in: .whitespaces))
        }.first ?? .en
    }
}
