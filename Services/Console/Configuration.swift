import Foundation
import HTTPTypes
import ServiceRuntime

/// What `console` is told; what each setting means stands where it is read.
struct Configuration: Sendable {
    /// How people log in.
    enum LogInKind: Sendable {
        case oidc(OpenIDSettings)
        case proxy(trusted: [AddressRange], header: HTTPField.Name, groupsHeader: HTTPField.Name?)
        case demo
    }

    private enum LogInName: String, CaseIterable { case oidc, proxy, demo }

    var http: ListenAddress
    /// Without a slash at the end.
    var intake: String
    var key: Redacted<String>
    var apps: [String]
    var logIn: LogInKind
    /// Nil with `demo`.
    var peopleFile: String?
    var sessionIdle: Duration
    var sessionAbsolute: Duration
    var assets: String?
    /// Where the website of the documents is, with a slash at the end.
    var site: String?

    /// Reads everything.
    ///
    /// - Throws: `SettingError` for what is missing or impossible.
    init(_ settings: SettingReader) throws {
        // where browsers, or the proxy before it, find it
        http = try settings.listenAddress("http", port: 8090)
        // where receipt-intake is, such as `http://127.0.0.1:8080`
        intake = try Self.address("intake.url", settings.requiredString("intake.url")) { _ in true }
        // a server API key with the scopes `read`, `operate` and `staff` for every app; or `console.key_file`
        key = try settings.requiredSecret("console.key", expected: "a server API key with the scope staff")
        // bundle ids of the apps that are shown, with commas; the first is shown first
        // Default: required
        apps = try settings.stringList("console.apps")
        guard !apps.isEmpty else { throw SettingError.missing("console.apps", expected: "bundle ids, with commas") }
        // where browsers find it, such as `https://console.studio.example`, with https unless on this machine
        // Default: required with `oidc`
        let publicURL = try settings.string("console.public_url").map { text in
            try Self.address("console.public_url", text, isAllowed: Loopback.isSafe)
        }
        // seconds without use after which a session ends
        sessionIdle = try settings.duration(
            "console.session_idle", default: .seconds(1_800), in: .seconds(60)...(.seconds(86_400)))
        // seconds after which it ends anyway
        sessionAbsolute = try settings.duration(
            "console.session_absolute", default: .seconds(43_200), in: .seconds(60)...(.seconds(7 * 86_400)))
        // a folder with `htmx.min.js`; without it pages do not refresh by themselves
        assets = try settings.string("console.assets")
        // where the website of the documents is published (`deploy/site/build`), such as
        // `https://countersign.studio.example/`: alarms link to their page of the runbook; without it alarms name it
        site = try settings.string("console.site_url").map(Self.site)
        let names = LogInName.allCases.map(\.rawValue).joined(separator: ", ")
        // how people log in: `oidc` at a provider, `proxy`: a proxy before it has done it, `demo`: anybody on this
        // machine picks a role; there is no default that could open a door
        let name = try settings.requiredString("console.login", expected: "one of \(names)")
        switch LogInName(rawValue: name) {
        case .oidc: logIn = .oidc(try OpenIDSettings(settings, publicURL: publicURL))
        case .proxy: logIn = try Self.proxy(settings)
        case .demo:
            guard DemoLogIn.isAllowed(host: http.host, intake: intake, publicURL: publicURL) else {
                throw SettingError.invalid(
                    "console.login",
                    expected:
                        "oidc or proxy unless http.host, intake.url and console.public_url are this machine's own",
                    found: name)
            }
            logIn = .demo
            return
        case nil: throw SettingError.invalid("console.login", expected: "one of \(names)", found: name)
        }
        // who has which role, see `PeopleFile`; a change counts within seconds
        // Default: required, but for `demo`
        peopleFile = try settings.requiredString("console.people_file", expected: "the file of who has which role")
    }

    private static func proxy(_ settings: SettingReader) throws -> LogInKind {
        // addresses of the proxies whose headers are believed, such as `10.0.0.5`
        // Default: required with `proxy`
        let trusted = try settings.addressRanges("console.trusted_proxies")
        guard !trusted.isEmpty else {
            throw SettingError.missing("console.trusted_proxies", expected: "the addresses of your proxies")
        }
        func header(_ key: String, _ text: String) throws -> HTTPField.Name {
            guard let name = HTTPField.Name(text) else {
                throw SettingError.invalid(key, expected: "the name of a header", found: text)
            }
            return name
        }
        return .proxy(
            trusted: trusted,
            header: try header(
                // the header that names somebody
                "console.proxy.header", settings.string("console.proxy.header", default: "X-Forwarded-Email")),
            // the header with somebody's groups, with commas
            groupsHeader: try settings.string("console.proxy.groups_header").map {
                try header("console.proxy.groups_header", $0)
            })
    }

    /// A folder of a website.
    private static func site(_ text: String) throws -> String {
        guard let url = URL(string: text), ["http", "https"].contains(url.scheme), url.host()?.isEmpty == false,
            url.query() == nil, url.fragment() == nil, url.user() == nil
        else {
            throw SettingError.invalid("console.site_url", expected: "an address with http or https", found: text)
        }
        return text.hasSuffix("/") ? text : text + "/"
    }

    /// An address without a path, and without a slash at its end.
    private static func address(_ key: String, _ text: String, isAllowed: (String) -> Bool) throws -> String {
        let address = text.hasSuffix("/") ? String(text.dropLast()) : text
        guard let url = URL(string: address), ["http", "https"].contains(url.scheme), url.host()?.isEmpty == false,
            url.path().isEmpty, url.query() == nil, url.user() == nil, isAllowed(address)
        else {
            throw SettingError.invalid(key, expected: "an address without a path, with https", found: text)
        }
        return address
    }
}
