import ConsoleFiles
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Mustache

/// Makes the page for logging in, `Files/login.mustache`: the only one that somebody sees who is not logged in.
struct LogInPage: Sendable {
    /// What can be done there: a link, or a form's button.
    struct Act: Shown {
        let href: String
        let text: String
        let isForm: Bool
    }

    private struct View: Shown {
        let language: String
        let title: String
        let explanation: String
        let message: String?
        let acts: [Act]
        let css: Asset
    }

    let texts: [Language: Texts]
    let renderer: PageRenderer
    private let template: MustacheTemplate

    /// - Throws: `MustacheTemplate.Error`: the compiled-in template is none, which a test would have found.
    init(texts: [Language: Texts], renderer: PageRenderer) throws {
        (self.texts, self.renderer) = (texts, renderer)
        template = try MustacheTemplate(string: String(cString: console_login()))
    }

    func texts(for request: Request) -> Texts {
        let language = LanguageCookie.language(of: request)
        // Every language has texts: they are read at the start.
        return texts[language] ?? Texts(language: language, texts: [:])
    }

    /// - Parameters:
    ///   - explanation: how one logs in here; a key of the texts.
    ///   - message: what went wrong, or what was done, in the person's language.
    func answer(
        _ request: Request, _ explanation: String, message: String? = nil, acts: [Act] = [],
        status: HTTPResponse.Status = .ok
    ) -> Response {
        let texts = texts(for: request)
        let view = View(
            language: texts.language.rawValue, title: texts("login.title"), explanation: texts(explanation),
            message: message, acts: acts, css: renderer.css)
        return Response(
            status: status, headers: [.contentType: "text/html; charset=utf-8", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: template.render(view))))
    }

    /// Where somebody wanted to go, from `next`; the first page where that is not one of ours, or is about logging in.
    static func next(_ request: Request) -> String {
        let next = request.uri.queryParameters["next"].map(String.init) ?? "/"
        return Redirect.isOurs(next) && !next.hasPrefix("/login") ? next : "/"
    }
}
