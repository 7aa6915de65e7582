import Foundation
import ServiceRuntime
import Testing

@testable import Console

@Suite("Settings of the console")
struct ConsoleSettingsTests {
    private static let demo = [
        "intake.url": "http://127.0.0.1:8080", "console.key": "csk_demo", "console.apps": "com.example.game",
        "console.login": "demo",
    ]

    private func configuration(_ changes: [String: String?] = [:]) throws -> Configuration {
        try Configuration(
            SettingReader(
                Self.demo.merging(changes.compactMapValues(\.self)) { $1 }
                    .filter { changes[$0.key] != .some(nil) }))
    }

    @Test("a demo is on this machine, with all that it talks to and is called")
    func demo() throws {
        #expect(throws: Never.self) { try configuration() }
        #expect(throws: Never.self) { try configuration(["console.public_url": "http://localhost:8090/"]) }
        for (key, value) in [
            ("http.host", "0.0.0.0"), ("http.host", "::"), ("http.host", "10.0.0.5"),
            ("intake.url", "http://10.0.0.5:8080"), ("intake.url", "https://intake.studio.example"),
            ("console.public_url", "https://console.studio.example"),
        ] {
            #expect(throws: SettingError.self, "\(key) \(value)") { try configuration([key: value]) }
        }
    }

    @Test("how people log in has no default")
    func noDefault() {
        #expect(throws: SettingError.self) { try configuration(["console.login": nil]) }
        #expect(throws: SettingError.self) { try configuration(["console.login": "none"]) }
    }

    @Test("a provider wants https, a public address, and a people file")
    func oidc() throws {
        let good: [String: String?] = [
            "console.login": "oidc", "console.public_url": "https://console.studio.example/",
            "console.oidc.issuer": "https://id.studio.example/realms/staff", "console.oidc.client_id": "console",
            "console.people_file": "people.yaml",
        ]
        guard case .oidc(let settings) = try configuration(good).logIn else {
            Issue.record("no OpenID settings")
            return
        }
        #expect(settings.callback == "https://console.studio.example/login/callback")
        #expect(settings.scopes == ["openid", "profile", "email"])
        for (key, value) in [
            ("console.public_url", nil), ("console.public_url", "http://console.studio.example"),
            ("console.public_url", "https://console.studio.example/path"), ("console.oidc.issuer", nil),
            ("console.oidc.issuer", "http://id.studio.example"), ("console.oidc.client_id", nil),
            ("console.oidc.scopes", "profile"), ("console.people_file", nil),
        ] as [(String, String?)] {
            #expect(throws: SettingError.self, "\(key) \(value ?? "-")") {
                try configuration(good.merging([key: value]) { $1 })
            }
        }
    }

    @Test("a proxy has an address")
    func proxy() {
        let good: [String: String?] = [
            "console.login": "proxy", "console.trusted_proxies": "10.0.0.5", "console.people_file": "people.yaml",
        ]
        #expect(throws: Never.self) { try configuration(good) }
        #expect(throws: SettingError.self) { try configuration(good.merging(["console.trusted_proxies": nil]) { $1 }) }
        #expect(throws: SettingError.self) {
            try configuration(good.merging(["console.trusted_proxies": "proxy"]) { $1 })
        }
        #expect(throws: SettingError.self) {
            try configuration(good.merging(["console.proxy.header": "no name"]) { $1 })
        }
    }

    @Test("the people file says who has which role, and what is wrong with it by its line")
    func people() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "people-\(UUID().uuidString).yaml")
        defer { try? FileManager.default.removeItem(at: file) }
        func load(_ text: String) throws -> PeopleFile {
            try Data(text.utf8).write(to: file)
            return try PeopleFile.load(path: file.path)
        }
        let good = try load(
            """
            people:
              - {group: support, role: support}
              - {email: Kim@Studio.example, role: admin}
              - {sub: "1", role: viewer}
            """)
        #expect(good.person(Identity(subject: "2", email: "kim@studio.example"))?.role == .admin)
        #expect(good.person(Identity(subject: "1", groups: ["support"]))?.role == .support)
        #expect(good.person(Identity(subject: "1"))?.role == .viewer)
        #expect(good.person(Identity(subject: "2", name: "kim@studio.example")) == nil)
        for (text, sentence) in [
            ("people:\n  - {group: support, role: boss}", "line 2: `boss` is no role"),
            ("people:\n  - {group: a, role: viewer}\n  - {role: viewer}", "line 3: an entry has one of"),
            ("people:\n  - {group: a, sub: b, role: viewer}", "line 2: an entry has one of"),
            ("people:\n  - {group: a, role: viewer}\n  - {group: a, role: admin}", "line 3: an entry is there twice"),
            ("people:\n  - {groups: a, role: viewer}", "line 2: "),
        ] {
            let error = #expect(throws: SettingsFileError.self) { try load(text) }
            #expect(error?.problem.hasPrefix(sentence) == true, "\(error?.problem ?? "")")
        }
    }
}
