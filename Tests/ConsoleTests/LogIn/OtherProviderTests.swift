import AsyncHTTPClient
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import NIOHTTP1
import ProcessTesting
import ServiceRuntime
import Testing

@testable import Console

/// `oidc-provider-mock`, which others wrote: what it takes and says is not made for this console.
@Suite("Logging in at a provider of others", .timeLimit(.minutes(5)))
struct OtherProviderTests {
    private static let skipped: Int32 = 77

    @Test("its people log in, follow their groups, and are out when it takes their tokens back")
    func logIn() async throws {
        let log = FileManager.default.temporaryDirectory.appending(path: "provider-\(UUID().uuidString).log")
        defer { try? FileManager.default.removeItem(at: log) }
        let script = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../OpenIDProvider/run").standardized
        let kim = #"{"sub":"kim","email":"kim@studio.example","email_verified":true,"groups":["support"]}"#
        let program = Program(
            path: script.path, arguments: ["--port", "0", "--user-claims", kim], output: .file(log))
        let running = try program.start()
        do {
            let issuer = try await running.ready {
                let text = (try? String(contentsOf: log, encoding: .utf8)) ?? ""
                return text.firstMatch(of: /running on (http:\/\/127\.0\.0\.1:\d+)/).map { String($0.1) }
            }
            try await play(issuer)
        } catch {
            running.kill()
            let ended = try await running.ended()
            guard ended.status == Self.skipped else { throw error }
            FileHandle.standardError.write(Data("SKIPPED: oidc-provider-mock could not be installed here\n".utf8))
            return
        }
        running.kill()
        _ = try await running.ended()
    }

    private func play(_ issuer: String) async throws {
        let clock = TestClock()
        let settings = try OpenIDSettings(
            SettingReader([
                "console.oidc.issuer": issuer, "console.oidc.client_id": "console",
                "console.oidc.client_secret": "a-secret",
            ]), publicURL: "https://console.studio.example")
        try await LogInStage.with(clock: clock, people: [.group("support"): .support, .group("admins"): .admin]) {
            pages, http, logger in
            OpenIDLogIn(
                provider: OpenIDProvider(settings, http: http, now: { clock.now }), pages: pages, logger: logger)
        } _: { stage in
            let provider = OtherProvider(issuer: issuer)
            let browser = stage.browser()
            let start = try await browser.get("/login/start?next=/")
            let back = try await provider.logIn("kim", at: try #require(start.headers[.location]))
            #expect(back.hasPrefix("https://console.studio.example/login/callback?"))
            let answer = try await browser.get(back.replacing("https://console.studio.example", with: ""))
            #expect(answer.status == .seeOther)
            #expect(try await browser.isIn())
            #expect(try await browser.get("/sessions").status == .forbidden)
            #expect(stage.sessions.all.first?.identity.shown == "kim@studio.example")

            try await provider.send(.PUT, "/users/kim", #"{"groups":["admins"]}"#)
            clock.advance(by: 60)
            #expect(try await browser.get("/sessions").status == .ok)

            try await provider.send(.POST, "/users/kim/revoke-tokens", "")
            clock.advance(by: 60)
            #expect(try await !browser.isIn())
            #expect(stage.sessions.all.isEmpty)
        }
    }
}

/// What a browser and an administrator do at that provider.
private struct OtherProvider: Sendable {
    let issuer: String

    /// Fills in its form.
    ///
    /// - Returns: where it sends the browser.
    func logIn(_ subject: String, at address: String) async throws -> String {
        var request = HTTPClientRequest(url: address)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/x-www-form-urlencoded")
        request.body = .bytes(ByteBuffer(string: "sub=\(subject)"))
        return try await Self.execute(request).headers.first(name: "location") ?? ""
    }

    func send(_ method: HTTPMethod, _ path: String, _ body: String) async throws {
        var request = HTTPClientRequest(url: issuer + path)
        request.method = method
        request.headers.add(name: "content-type", value: "application/json")
        request.body = .bytes(ByteBuffer(string: body))
        #expect(try await Self.execute(request).status == .noContent)
    }

    private static func execute(_ request: HTTPClientRequest) async throws -> HTTPClientResponse {
        let client = HTTPClient(
            eventLoopGroupProvider: .singleton, configuration: .init(redirectConfiguration: .disallow))
        do {
            let response = try await client.execute(request, timeout: .seconds(30))
            _ = try await response.body.collect(upTo: 1 << 20)
            try await client.shutdown()
            return response
        } catch {
            try await client.shutdown()
            throw error
        }
    }
}
