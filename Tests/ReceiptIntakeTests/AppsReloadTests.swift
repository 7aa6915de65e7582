import Crypto
import Foundation
import HTTPTypes
import Logging
import PurchaseModel
import ServiceLifecycle
import Testing

@testable import ReceiptIntake
@testable import ServiceRuntime

/// What intake does once the apps file says something else.
@Suite("Other apps and keys", .timeLimit(.minutes(1)))
struct AppsReloadTests {
    private static func apps(_ apps: [String: (key: String?, jwksFile: String?)]) -> AppsFile {
        AppsFile(
            apps: Dictionary(
                uniqueKeysWithValues: apps.map { id, access in
                    let keys = access.key.map { key in
                        let hash = SHA256.hash(data: Data(key.utf8)).map { String(format: "%02x", $0) }.joined()
                        return [ServerKey(unnamed: hash)]
                    }
                    let authentication = AppsFile.Authentication(
                        hs256Secret: nil, jwksFile: access.jwksFile, jwksURL: nil, issuer: nil, audience: nil,
                        serverKeys: keys ?? [])
                    return (
                        id,
                        AppsFile.App(
                            bundleId: id, appAppleId: nil, isReleased: false, sandbox: .accept, receipts: .offline,
                            possession: .proof, sharedSecret: nil, serverAPI: nil, authentication: authentication)
                    )
                }))
    }

    private func isAccepted(_ token: String, app: String, _ authenticator: Authenticator) async throws -> Bool {
        let bearer = try #require(BearerToken([.authorization: "Bearer \(token)"]))
        do {
            _ = try await authenticator.caller(bearer, app: app, access: .playersAndServers(.post))
            return true
        } catch let error as AuthenticationError where error.code == .rejected {
            return false
        }
    }

    @Test("a new key and a new app count at the next request, and what was taken away does not any more")
    func keys() async throws {
        let authenticator = await Authenticator(
            apps: Self.apps(["one": ("csk_old", nil), "two": ("csk_two", nil)]), keySets: [:])
        #expect(try await isAccepted("csk_old", app: "one", authenticator))
        await authenticator.use(Self.apps(["one": ("csk_new", nil), "three": ("csk_three", nil)]), keySets: [:])
        #expect(try await !isAccepted("csk_old", app: "one", authenticator))
        #expect(try await isAccepted("csk_new", app: "one", authenticator))
        #expect(try await isAccepted("csk_three", app: "three", authenticator))
        #expect(!authenticator.knows(app: "two"))
        #expect(try await !isAccepted("csk_two", app: "two", authenticator))
    }

    @Test("public keys of a source that is new are fetched, and those of one that stays are kept")
    func keySets() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "keys-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let keys = (P256.Signing.PrivateKey(), P256.Signing.PrivateKey())
        let files = (folder.appending(path: "first"), folder.appending(path: "second"))
        try TestTokens.keySet(keys.0).write(to: files.0)
        try TestTokens.keySet(keys.1).write(to: files.1)
        let refresh = KeySetRefresh(interval: .seconds(3_600), logger: Logger(label: "test"))
        let first = Self.apps(["one": (nil, files.0.path)])
        let authenticator = await Authenticator(
            apps: first, keySets: refresh.follow(try KeySetSource.all(in: first)))
        let group = ServiceGroup(services: [refresh], gracefulShutdownSignals: [], logger: Logger(label: "test"))
        let run = Task { try await group.run() }
        try await waitUntilAccepted(keys.0, app: "one", authenticator)

        // The first file is gone: whoever fetched it again would have no keys.
        try FileManager.default.removeItem(at: files.0)
        let both = Self.apps(["one": (nil, files.0.path), "two": (nil, files.1.path)])
        await authenticator.use(both, keySets: refresh.follow(try KeySetSource.all(in: both)))
        try await waitUntilAccepted(keys.1, app: "two", authenticator)
        try await waitUntilAccepted(keys.0, app: "one", authenticator)
        await group.triggerGracefulShutdown()
        try await run.value
    }

    private func waitUntilAccepted(
        _ key: P256.Signing.PrivateKey, app: String, _ authenticator: Authenticator
    ) async throws {
        let token = try TestTokens.es256(TestTokens.claims("player"), key: key)
        let bearer = try #require(BearerToken([.authorization: "Bearer \(token)"]))
        while true {
            do {
                _ = try await authenticator.caller(bearer, app: app, access: .playersAndServers(.post))
                return
            } catch let error as AuthenticationError where error.code == .unavailable {
                // Keys arrive in the background, and nobody is called.
                try await Task.sleep(for: .milliseconds(10))
            }
        }
    }
}
