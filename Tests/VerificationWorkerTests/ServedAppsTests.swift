import Messages
import Testing

@testable import ServiceRuntime
@testable import VerificationWorker

/// What the worker does once the apps file says something else.
@Suite("Other apps and keys of the worker", .enabled(if: Simulator.isThere, Simulator.missing))
struct ServedAppsTests {
    @Test("An app that becomes known, and a key that comes or goes, count at the next look")
    func changes() async throws {
        try await Stage.run { stage in
            let sold = try await stage.simulator.sell(count: 3).map { asked($0.transactionId) }
            try await stage.withAccess(Setup(knowsApp: false)) { access in
                func look(_ number: Int) async -> Finding {
                    await access.judge.finding(for: sold[number], proof: sold[number].proof)
                }
                #expect(await look(0).reason == "app_unknown")
                try access.apps.use(try stage.apps(Setup(hasKey: false)))
                #expect(await look(0).reason == "app_store_not_configured")
                try access.apps.use(try stage.apps(Setup()))
                #expect(await look(0).name == "genuine")
                #expect(await look(1).name == "genuine")
                try access.apps.use(try stage.apps(Setup(hasKey: false)))
                #expect(await look(2).reason == "app_store_not_configured")
            }
        }
    }

    @Test("A key that cannot be used changes nothing")
    func badKey() async throws {
        try await Stage.run { stage in
            let sold = asked(try await stage.simulator.sellOne().transactionId)
            try await stage.withAccess { access in
                let app = try #require(access.apps[SubmissionFixture.app])
                let bad = AppsFile.App(
                    bundleId: app.bundleId, appAppleId: app.appAppleId, isReleased: app.isReleased,
                    sandbox: app.sandbox, receipts: app.receipts, possession: app.possession, sharedSecret: nil,
                    serverAPI: AppsFile.ServerAPIKey(issuerId: "i", keyId: "k", privateKey: Redacted("no key")),
                    authentication: app.authentication)
                #expect(throws: SettingError.self) {
                    try access.apps.use(AppsFile(apps: [app.bundleId: bad]))
                }
                #expect(await access.judge.finding(for: sold, proof: sold.proof).name == "genuine")
            }
        }
    }
}
