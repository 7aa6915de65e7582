import AppStoreServerAPI
import Pacing
import ServiceRuntime
import Testing

@testable import VerificationWorker

@Suite("How Apple is asked: the settings")
struct AppStoreSettingsTests {
    @Test("The defaults are Apple's hosts and four fifths of Apple's limits")
    func defaults() throws {
        let settings = try AppStoreSettings(SettingReader([:]))
        #expect(settings.hosts == .apple)
        #expect(settings.verifyReceiptHosts == .apple)
        #expect(settings.rates == AppStoreRates(perSecond: 50, share: 0.8, ordersPerSecond: 10))
        #expect(settings.inFlightMaximum == 512)
        #expect(settings.patience == .seconds(5))
        #expect(settings.notFoundAge == .seconds(259_200))
        #expect(!settings.asksAboutRevocation)
        #expect(settings.responder == nil)
    }

    @Test("All can be said")
    func given() throws {
        let settings = try AppStoreSettings(
            SettingReader([
                "app_store.production_url": "http://127.0.0.1:1", "app_store.sandbox_url": "http://127.0.0.1:2/",
                "verify_receipt.production_url": "http://127.0.0.1:3", "verify_receipt.sandbox_url": "http://[::1]:4",
                "lookups.in_flight_maximum": "7", "lookups.patience": "0.5", "not_found_age": "2",
                "rate.per_second": "1000",
                "rate.share": "1", "rate.orders_per_second": "20", "breaker.probe_delay": "0.1",
                "breaker.probe_delay_maximum": "2", "ocsp": "on",
                "ocsp.responder_url": "http://127.0.0.1:5/ocsp",
            ]))
        #expect(settings.hosts == AppStoreHosts(production: "http://127.0.0.1:1", sandbox: "http://127.0.0.1:2"))
        #expect(
            settings.verifyReceiptHosts
                == VerifyReceiptHosts(production: "http://127.0.0.1:3", sandbox: "http://[::1]:4"))
        #expect(settings.inFlightMaximum == 7)
        #expect(settings.patience == .milliseconds(500))
        #expect(settings.notFoundAge == .seconds(2))
        #expect(settings.rates == AppStoreRates(perSecond: 1_000, share: 1, ordersPerSecond: 20))
        #expect(settings.breaker.probeDelay == .milliseconds(100))
        #expect(settings.breaker.probeDelayMaximum == .seconds(2))
        #expect(settings.asksAboutRevocation)
        #expect(settings.responder == "http://127.0.0.1:5/ocsp")
    }

    @Test(
        "What makes no sense is refused",
        arguments: [
            ["app_store.production_url": "ftp://apple"], ["verify_receipt.sandbox_url": "nonsense"],
            ["lookups.in_flight_maximum": "0"], ["lookups.patience": "0"], ["rate.per_second": "0"],
            ["rate.share": "1.5"], ["rate.share": "all"], ["not_found_age": "8 days"], ["not_found_age": "2592001"],
            ["rate.orders_per_second": "0"], ["ocsp": "perhaps"],
            ["ocsp.responder_url": "x"],
            ["breaker.probe_delay": "10", "breaker.probe_delay_maximum": "1"],
        ])
    func refused(values: [String: String]) {
        #expect(throws: SettingError.self) { try AppStoreSettings(SettingReader(values)) }
    }
}
