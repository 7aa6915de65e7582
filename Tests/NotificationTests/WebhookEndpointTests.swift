import ServiceRuntime
import Testing
import WebhookSigning

@testable import Notification

@Suite struct WebhookEndpointTests {
    private func endpoint(
        url: String = "https://hooks.example.com/iap", apps: [String] = [], events: [String] = [],
        environments: [String] = [], allowsPrivate: Bool = false
    ) throws -> WebhookEndpoint {
        try WebhookEndpoint(
            .init(
                id: "backend", url: url, secrets: [Redacted(WebhookSecret.generate().reveal())], apps: apps,
                events: events, environments: environments, allowsPrivateAddresses: allowsPrivate), path: "file")
    }

    private func event(_ type: String = "iap.transaction.fulfilled") -> EventSummary {
        EventSummary(id: "evt_1", type: type, app: "com.example.game", environment: "production")
    }

    @Test func withoutFiltersEverythingIsTaken() throws {
        #expect(try endpoint().takes(event()))
    }

    @Test func everyFilterMustAgree() throws {
        #expect(try endpoint(apps: ["com.example.game"], environments: ["production"]).takes(event()))
        #expect(try !endpoint(apps: ["com.example.other"]).takes(event()))
        #expect(try !endpoint(environments: ["sandbox"]).takes(event()))
        #expect(try !endpoint(events: ["iap.refund.*"]).takes(event()))
        #expect(try endpoint(events: ["iap.refund.*", "iap.transaction.*"]).takes(event()))
    }

    @Test func patternsMatchWholeTypesOrBeginnings() throws {
        #expect(try #require(EventPattern("iap.transaction.fulfilled")).matches("iap.transaction.fulfilled"))
        #expect(try !#require(EventPattern("iap.transaction.fulfilled")).matches("iap.transaction.fulfilled.v2"))
        #expect(try #require(EventPattern("iap.*")).matches("iap.transaction.fulfilled"))
        #expect(try !#require(EventPattern("iap.transaction.*")).matches("iap.transactions.x"))
        #expect(try #require(EventPattern("*")).matches("anything"))
        for wrong in ["", "iap.*.x", "**"] { #expect(EventPattern(wrong) == nil) }
    }

    @Test func plainHTTPNeedsPermission() throws {
        #expect(throws: SettingsFileError.self) { try endpoint(url: "http://hooks.example.com/") }
        #expect(try endpoint(url: "http://127.0.0.1:8080/", allowsPrivate: true).host == "127.0.0.1")
        #expect(try endpoint(url: "https://[2606:4700::1]/x").host == "2606:4700::1")
    }

    @Test(arguments: ["", "hooks", "ftp://host/", "https:///x", "https://user:password@host/", "https://host/#part"])
    func otherAddressesAreRefused(url: String) {
        #expect(throws: SettingsFileError.self) { try endpoint(url: url, allowsPrivate: true) }
    }

    @Test func leaseMustOutlastTheTimeout() throws {
        #expect(throws: SettingError.self) {
            try DeliverySettings(SettingReader(["delivery.lease": "20", "delivery.timeout": "15"]))
        }
        let settings = try DeliverySettings(
            SettingReader(["delivery.lease": "25", "delivery.timeout": "15", "delivery.retry_schedule": "1,2,5"]))
        #expect(settings.schedule.delays == [.seconds(1), .seconds(2), .seconds(5)])
        #expect(throws: SettingError.self) {
            try DeliverySettings(SettingReader(["delivery.retry_schedule": "1,soon"]))
        }
    }
}
