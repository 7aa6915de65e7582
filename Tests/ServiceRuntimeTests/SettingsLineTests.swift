import Testing

@testable import ServiceRuntime

/// Every mistake in the files of apps and webhooks is told with its line.
@Suite struct SettingsLineTests {
    private static let secret = "whsec_" + String(repeating: "A", count: 43) + "="

    private func problem(_ yaml: String, _ load: (String) throws -> Void) throws -> String {
        let file = try TemporaryFile(yaml)
        do {
            try load(file.path)
            return "no mistake"
        } catch let error as SettingsFileError {
            #expect(error.path == file.path)
            return error.problem
        }
    }

    @Test(
        arguments: [
            ("apps:\n  - bundle_id: a\n    sandbx: refuse", "line 3: `apps.[0]`: `sandbx` has no meaning here"),
            ("# head\nwebhooks: []\napps: []", "line 2: the document: `webhooks` has no meaning here"),
            ("apps:\n  - bundle_id: a\n  - bundle_id: b\n    sandbox: maybe", "line 4: `sandbox` of b is \"maybe\""),
            ("apps:\n  - bundle_id: a\n  - bundle_id: a", "line 3: the app a is listed twice"),
            ("apps:\n  - bundle_id: a\n    released: perhaps", "line 3: `apps.[0].released`"),
            ("apps:\n  - bundle_id: a\n  - released: true", "line 3: `apps.[1]` lacks `bundle_id`"),
            ("authentication:\n  api_keys_sha256:\n    - abc\napps: [{ bundle_id: a }]", "line 3: an entry of"),
            (
                "authentication:\n  jwt:\n    hs256_secret_file: /nonexistent/jwt\napps: [{ bundle_id: a }]",
                "line 3: the file /nonexistent/jwt"
            ),
            ("apps:\n  - bundle_id: a\n    shared_secret_file: /nonexistent/s", "line 3: the file /nonexistent/s"),
            ("apps:\n  - {\n", "line 3: it is not YAML"),
        ])
    func apps(yaml: String, sentence: String) throws {
        let problem = try problem(yaml) { _ = try AppsFile.load(path: $0, environment: [:]) }
        #expect(problem.hasPrefix(sentence), "\(problem)")
    }

    @Test(
        arguments: [
            ("endpoint: []", "line 1: the document: `endpoint` has no meaning here"),
            ("endpoints:\n  - id: a\n    url: https://a.example/\n    secret: x", "line 4: `endpoints.[0]`: `secret`"),
            (
                "endpoints:\n  - id: a\n    url: http://a.example/\n    secrets: [SECRET]",
                "line 3: the endpoint a must use"
            ),
            ("endpoints:\n  - id: a\n    url: https://a.example/", "line 2: the endpoint a has no secret"),
            (
                "endpoints:\n  - id: a\n    url: https://a.example/\n    secret_file: /nonexistent/s",
                "line 4: the file /nonexistent/s that it names cannot be read"
            ),
            (
                "endpoints:\n  - { id: a, url: https://a.example/, secrets: [SECRET] }\n"
                    + "  - id: a\n    url: https://b.example/",
                "line 3: the endpoint a is listed twice"
            ),
            (
                "endpoints:\n  - id: a\n    url: https://a.example/\n    secrets: [SECRET]\n"
                    + "    environments: [Production]",
                "line 5: an environment of a is neither"
            ),
        ])
    func webhooks(yaml: String, sentence: String) throws {
        let text = yaml.replacing("SECRET", with: Self.secret)
        let problem = try problem(text) { _ = try WebhooksFile.load(path: $0, environment: [:]) }
        #expect(problem.hasPrefix(sentence), "\(problem)")
        #expect(!problem.contains(Self.secret))
    }

    @Test func aGoodFileOfWebhooksIsRead() throws {
        let file = try TemporaryFile(
            """
            endpoints:
              - id: backend
                url: https://game.example.com/hooks
                secret_env: SECRETS
                events: ["iap.*"]
                environments: [production, sandbox]
            """)
        let endpoints = try WebhooksFile.load(path: file.path, environment: ["SECRETS": "one\ntwo\n"]).endpoints
        #expect(endpoints.map(\.id) == ["backend"])
        #expect(endpoints.first?.secrets.map(\.value) == ["one", "two"])
        #expect(endpoints.first?.environments == ["production", "sandbox"])
    }
}
