import Crypto
import Foundation
import HTTPTypes
import LogTesting
import Logging
import Testing

@testable import ReceiptIntake
@testable import ServiceRuntime

@Suite(
    "What a server API key may do",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct ServerKeyScopeTests {
    private static func send(
        _ route: IntakeRoute, to intake: TestIntake, app: String = TestIntake.app, token: String?
    ) async throws -> TestIntake.Answer {
        let path = route.path.replacing("{uuid}", with: UUID().uuidString).replacing("{id}", with: "player-1")
            .replacing("{transaction_id}", with: "1").replacing("{original_transaction_id}", with: "1")
            .replacing("{endpoint}", with: "we_none")
            .replacing("{event}", with: "evt_none").replacing("{code}", with: "unclaimed")
        let hasBody = route.method != .get && route.method != .delete
        return try await intake.send(
            route.method, hasBody ? path : "\(path)?app=\(app)", token: token,
            body: hasBody ? "{\"app\":\"\(app)\"}" : nil)
    }

    @Test("every route but everybody's wants credentials, and a key with its scope and no other")
    func everyRoute() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                for route in intake.routes {
                    let name = "\(route.method) \(route.path)"
                    let stranger = try await Self.send(route, to: intake, token: nil)
                    guard let wanted = route.access.scope else {
                        #expect(stranger.status != 401, "\(name)")
                        continue
                    }
                    #expect(stranger.slug == "authentication-required", "\(name)")
                    for scope in ServerKey.Scope.allCases {
                        let answer = try await Self.send(route, to: intake, token: TestIntake.key(scope))
                        if scope == wanted {
                            #expect(![401, 403].contains(answer.status), "\(name) by \(scope): \(answer.text)")
                        } else {
                            #expect(answer.status == 403 && answer.slug == "scope-missing", "\(name) by \(scope)")
                            #expect(answer.fields["scope"] as? String == wanted.rawValue, "\(name) by \(scope)")
                        }
                    }
                    let player = try await Self.send(route, to: intake, token: ReadingFixture.player())
                    #expect((player.slug == "server-key-required") == route.access.isForServersAlone, "\(name)")
                }
            }
        }
    }

    @Test("the OpenAPI document says of every operation who may call it, by which scope, and that there is a limit")
    func document() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let document = try await intake.send(.get, "/openapi.json", token: nil).fields
                let paths = try #require(document["paths"] as? [String: [String: [String: Any]]])
                for route in intake.routes {
                    let operation = try #require(paths[route.path]?[route.method.rawValue.lowercased()])
                    let security = try #require(operation["security"] as? [[String: [String]]], "\(route.path)")
                    let expected: [[String: [String]]] =
                        switch route.access {
                        case .everybody: []
                        case .servers(let scope, _): [["server": [scope.rawValue]]]
                        case .playersAndServers(let scope, _): [["player": []], ["server": [scope.rawValue]]]
                        }
                    #expect((operation["x-test-keys"] as? Bool == true) == route.access.takesTestKeys, "\(route.path)")
                    #expect(security == expected, "\(route.path)")
                    let answers = try #require(operation["responses"] as? [String: Any])
                    #expect((answers["403"] != nil) == (route.access != .everybody), "\(route.path)")
                    // An address has a limit, whatever it asks for; Apple's is not counted.
                    #expect((answers["429"] != nil) == (route.path != "/v1/notifications"), "\(route.path)")
                }
            }
        }
    }

    private static func cell(_ scope: ServerKey.Scope, _ testKeys: Bool) -> String {
        "`\(scope.rawValue)`" + (testKeys ? ", test" : "")
    }

    @Test("the table of deploy/ACCESS.md has every route, with who may call it")
    func page() async throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../deploy/ACCESS.md")
        let methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]
        let rows = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            .map { $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
            .filter { row in row.count == 4 && methods.contains { row[0].hasPrefix("`\($0) /") } }
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let expected = intake.routes.map { route in
                    let callers =
                        switch route.access {
                        case .everybody: ["everybody", "everybody"]
                        case .playersAndServers(let scope, let testKeys): ["own account", Self.cell(scope, testKeys)]
                        case .servers(let scope, let testKeys): ["no", Self.cell(scope, testKeys)]
                        }
                    return ["`\(route.method) \(route.path)`"] + callers
                }
                #expect(Set(rows.map { Array($0.prefix(3)) }) == Set(expected))
                #expect(rows.count == expected.count)
            }
        }
    }

    @Test("a key of two apps may for each what the file says of it there")
    func twoApps() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                func open(_ app: String) async throws -> TestIntake.Answer {
                    try await intake.send(
                        .post, "/v1/intents", token: TestIntake.sharedKey,
                        body: "{\"app\":\"\(app)\",\"account\":\"player-1\",\"product_id\":\"gems\"}")
                }
                func read(_ app: String) async throws -> Int {
                    try await intake.send(.get, "/v1/accounts/player-1?app=\(app)", token: TestIntake.sharedKey).status
                }
                let opened = try await open(TestIntake.app)
                #expect(opened.status == 201)
                #expect(try await open(TestIntake.otherApp).slug == "scope-missing")
                #expect(try await read(TestIntake.app) == 200)
                #expect(try await read(TestIntake.otherApp) == 200)
            }
        }
    }
}

/// What is told of keys that are used.
@Suite("Uses of server API keys") struct ServerKeyUseTests {
    private static func key(_ name: String, _ text: String, _ scopes: Set<ServerKey.Scope>) -> ServerKey {
        let hash = SHA256.hash(data: Data(text.utf8)).map { String(format: "%02x", $0) }.joined()
        return ServerKey(name: name, sha256: hash, scopes: scopes)
    }

    private static func apps(_ keys: [ServerKey], _ ids: String...) -> AppsFile {
        let authentication = AppsFile.Authentication(
            hs256Secret: nil, jwksFile: nil, jwksURL: nil, issuer: nil, audience: nil, serverKeys: keys)
        return AppsFile(
            apps: Dictionary(
                uniqueKeysWithValues: ids.map { id in
                    let app = AppsFile.App(
                        bundleId: id, appAppleId: nil, isReleased: false, sandbox: .accept, receipts: .offline,
                        possession: .proof, sharedSecret: nil, serverAPI: nil, authentication: authentication)
                    return (id, app)
                }))
    }

    private func bearer(_ key: String) throws -> BearerToken {
        try #require(BearerToken([.authorization: "Bearer \(key)"]))
    }

    @Test("uses are counted by name and fingerprint, so that an old key can be seen to be out of use")
    func counted() async throws {
        let keys = [Self.key("backend", "csk_old", [.post]), Self.key("backend", "csk_new", [.post])]
        let metrics = PrometheusMetrics()
        let authenticator = await Authenticator(apps: Self.apps(keys, "one", "two"), keySets: [:], metrics: metrics)
        func uses(_ key: ServerKey) -> String? {
            let name = "countersign_server_key_uses_total{fingerprint=\"\(key.fingerprint)\",key=\"backend\"} "
            let other = "countersign_server_key_uses_total{key=\"backend\",fingerprint=\"\(key.fingerprint)\"} "
            let line = metrics.render().split(separator: "\n").first { $0.hasPrefix(name) || $0.hasPrefix(other) }
            return line.map { String($0.dropFirst(name.count)) }
        }
        #expect(keys.map(uses) == ["0", "0"], "a key that nobody used is told of")
        let access = RouteAccess.playersAndServers(.post)
        // One request, though the key is good for two apps.
        #expect(try await authenticator.callers(bearer("csk_new"), access: access).count == 2)
        _ = try await authenticator.caller(bearer("csk_new"), app: "two", access: access)
        #expect(keys.map(uses) == ["0", "2"])
        // Whoever is refused still sends the key.
        await #expect(throws: ProblemDetails.self) {
            try await authenticator.callers(bearer("csk_old"), access: .playersAndServers(.read))
        }
        #expect(keys.map(uses) == ["1", "2"])
        await #expect(throws: AuthenticationError.self) {
            try await authenticator.callers(bearer("csk_stranger"), access: access)
        }
        #expect(keys.map(uses) == ["1", "2"])
    }

    @Test("a log line has the key's name, and never the key")
    func logged() async throws {
        let log = CapturedLog()
        var logger = log.logger()
        logger.logLevel = .debug
        let key = Self.key("backend", "csk_hunter2", [.post])
        let authenticator = await Authenticator(apps: Self.apps([key], "one"), keySets: [:], logger: logger)
        _ = try await authenticator.callers(
            bearer("csk_hunter2"), access: .servers(.post), correlationId: "the-request")
        let lines = log.texts(.debug)
        #expect(lines.count == 1)
        #expect(lines.first?.contains("api_key=backend \(key.fingerprint)") == true)
        #expect(lines.first?.contains("correlation=the-request") == true)
        #expect(lines.first?.contains("hunter2") == false)
    }

    @Test("a key without a name does nothing of an operator's; a route of everybody's proves nobody")
    func denials() {
        let unnamed = ServerKey(unnamed: String(repeating: "a", count: 64))
        let server = Caller.server(app: "one")
        #expect(RouteAccess.servers(.operate).denial(of: server, with: unnamed)?.code == "scope-missing")
        for scope in [ServerKey.Scope.post, .read, .spend] {
            #expect(RouteAccess.servers(scope).denial(of: server, with: unnamed) == nil)
        }
        #expect(RouteAccess.everybody.denial(of: server, with: unnamed)?.code == "not-found")
    }
}

extension RouteAccess {
    fileprivate var isForServersAlone: Bool {
        if case .servers = self { true } else { false }
    }
}
