import ConsoleFiles
import Crypto
import Foundation
import Mustache

/// A file that browsers fetch: its path changes with its content, so that it may be kept for a year.
struct Asset: Shown {
    let path: String
    let contentType: String
    let bytes: [UInt8]
    /// Subresource integrity: a browser uses nothing else in its place.
    let integrity: String

    init(name: String, contentType: String, bytes: [UInt8]) {
        let digest = SHA384.hash(data: bytes)
        let short = digest.prefix(8).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        path = "/assets/\(short)/\(name)"
        self.contentType = contentType
        self.bytes = bytes
        integrity = "sha384-" + Data(digest).base64EncodedString()
    }
}

/// Makes HTML of pages: the only place that does, so escaping is in one place, too.
struct PageRenderer: Sendable {
    /// The style sheet.
    let css: Asset
    /// Scripts in the order in which they run; htmx is among them where the set-up has it.
    let scripts: [Asset]
    private let library: MustacheLibrary

    /// - Parameter htmx: what `deploy/setup` fetched; without it pages are not refreshed by themselves.
    /// - Throws: `MustacheTemplate.Error`: a template that was compiled in is none, which a test would have found.
    init(htmx: [UInt8]?) throws {
        var library = MustacheLibrary()
        let templates = [
            "layout": console_layout(), "blocks": console_blocks(), "cell": console_cell(), "form": console_form(),
            "fields": console_fields(),
        ]
        for (name, text) in templates {
            library.register(try MustacheTemplate(string: Self.text(text)), named: name)
        }
        self.library = library
        css = Asset(
            name: "console.css", contentType: "text/css; charset=utf-8", bytes: Array(Self.text(console_css()).utf8))
        let type = "text/javascript; charset=utf-8"
        let own = Asset(name: "console.js", contentType: type, bytes: Array(Self.text(console_js()).utf8))
        scripts = (htmx.map { [Asset(name: "htmx.min.js", contentType: type, bytes: $0)] } ?? []) + [own]
    }

    /// Everything that browsers fetch.
    var assets: [Asset] { [css] + scripts }

    private static func text(_ file: UnsafePointer<CChar>) -> String {
        // A line's end at a file's end would stand in the middle of what includes it.
        String(cString: file).trimmingCharacters(in: .newlines)
    }

    /// The whole document.
    func html(_ page: Page, _ frame: Frame) -> String {
        let body = library.render(["blocks": page.blocks.map(\.view)], withTemplate: "blocks") ?? ""
        let view = Layout(
            title: page.title, body: body, css: css, scripts: scripts, live: page.refreshSeconds, frame: frame,
            place: page.place)
        return library.render(view, withTemplate: "layout") ?? ""
    }
}

/// What is around a page: who looks, at which app, in which language.
struct Frame: Sendable {
    let visit: Visit?
    let app: String?
    let apps: [String]
    let texts: Texts
    /// The path and query of the page.
    let here: String
    var asked = ""
}

/// What `layout.mustache` shows.
private struct Layout: Shown {
    struct Link: Shown {
        let href: String
        let text: String
        let isHere: Bool
    }

    struct Tongue: Shown {
        let code: String
        let name: String
        let isHere: Bool
    }

    let title: String
    let body: String
    let css: Asset
    let scripts: [Asset]
    let live: Int?
    let here: String
    let back: String
    let language: String
    let languages: [Tongue]
    let skip, appLabel, go, findLabel, findButton, logOut, navigation, zone: String
    let findPath: String
    let asked: String
    let hasApps: Bool
    let apps: [Form.Field.Option]
    let pages: [Link]
    let isLoggedIn: Bool
    let person: String?
    let role: String?
    let csrf: String?

    init(
        title: String, body: String, css: Asset, scripts: [Asset], live: Int?, frame: Frame, place: Place?
    ) {
        let texts = frame.texts
        (self.title, self.body, self.css, self.scripts, self.live) = (title, body, css, scripts, live)
        here = frame.here
        back = IntakeClient.part(frame.here)
        language = texts.language.rawValue
        languages = Language.allCases.map { Tongue(code: $0.rawValue, name: $0.name, isHere: $0 == texts.language) }
        (skip, appLabel, go) = (texts("layout.skip"), texts("layout.app"), texts("layout.go"))
        (findLabel, findButton) = (texts("layout.find"), texts("layout.find_button"))
        (logOut, navigation, zone) = (texts("layout.log_out"), texts("layout.navigation"), texts("layout.zone"))
        let base = frame.app.map { "/apps/\($0)" }
        findPath = (base ?? "") + "/find"
        asked = frame.asked
        hasApps = frame.apps.count > 1
        apps = frame.apps.map { Form.Field.Option(value: $0, text: $0, isChosen: $0 == frame.app) }
        pages = Place.allCases.compactMap { entry in
            guard let base, let visit = frame.visit, visit.person.may(entry.permission) else { return nil }
            return Link(href: base + entry.path, text: texts("place.\(entry.rawValue)"), isHere: entry == place)
        }
        isLoggedIn = frame.visit != nil
        person = frame.visit?.person.name
        role = frame.visit.map { texts("role.\($0.person.role.rawValue)") }
        csrf = frame.visit?.csrfToken
    }
}
