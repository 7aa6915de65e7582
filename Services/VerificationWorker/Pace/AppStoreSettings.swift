import AppStoreServerAPI
import Foundation
import Pacing
import ServiceRuntime

/// How Apple's servers are asked.
///
/// | variable | meaning | default |
/// |---|---|---|
/// | `COUNTERSIGN_APP_STORE_PRODUCTION_URL`, `…_SANDBOX_URL` | the App Store Server API | Apple's hosts |
/// | `COUNTERSIGN_VERIFY_RECEIPT_PRODUCTION_URL`, `…_SANDBOX_URL` | verifyReceipt | Apple's hosts |
/// | `COUNTERSIGN_LOOKUPS_IN_FLIGHT_MAXIMUM` | submissions that wait for Apple at a time | 512 |
/// | `COUNTERSIGN_LOOKUPS_PATIENCE` | seconds that one of them waits before it is put off | 5 |
/// | `COUNTERSIGN_NOT_FOUND_AGE` | seconds from Apple's first answer that it knows no such id until it may be refused for that | 259200 |
/// | `COUNTERSIGN_RATE_PER_SECOND` | what Apple allows an app, calls a second of the class of 50 | 50 |
/// | `COUNTERSIGN_RATE_ORDERS_PER_SECOND` | the same of lookups by order id, the class of 10 | 10 |
/// | `COUNTERSIGN_RATE_TOKENS_PER_SECOND` | the same of Set App Account Token, the class of 20 | 20 |
/// | `COUNTERSIGN_RATE_SHARE` | the share of it that all workers together use | 0.8 |
/// | `COUNTERSIGN_BREAKER_PROBE_DELAY` | seconds until a host that rests is asked first | 1 |
/// | `COUNTERSIGN_BREAKER_PROBE_DELAY_MAXIMUM` | what doubling of it ends at | 30 |
/// | `COUNTERSIGN_OCSP` | `on`: ask whether certificates of signed data are revoked | `off` |
/// | `COUNTERSIGN_OCSP_RESPONDER_URL` | whom to ask | whom the certificate names |
struct AppStoreSettings: Sendable {
    enum Limit {
        /// How long a call may take; what is late for its submission is remembered for the next attempt.
        static let callTimeout = Duration.seconds(20)
        /// Bytes of an answer: a receipt of years has megabytes in verifyReceipt's.
        static let answerBytes = 16 << 20
        /// How long a call with its answer is remembered, so that repetitions after an outage cost nothing.
        static let rememberedFor = Duration.seconds(300)
        /// How many.
        static let remembered = 10_000
        /// Longer waits hold up the batch.
        static let patience = Duration.seconds(60)
        /// So long after the first answer that Apple knows no such id it is not believed, unless configured otherwise: in
        /// March 2026 new purchases were unknown for 48 hours in a row.
        static let notFoundAge = Duration.seconds(3 * 86_400)
        /// The most that can be configured.
        static let notFoundAgeMaximum = Duration.seconds(30 * 86_400)
    }

    /// Whether certificates are asked about.
    private enum Switch: String, CaseIterable {
        case off, on
    }

    var hosts: AppStoreHosts = .apple
    var verifyReceiptHosts: VerifyReceiptHosts = .apple
    var inFlightMaximum = 512
    var patience = Duration.seconds(5)
    var notFoundAge = Limit.notFoundAge
    var rates = AppStoreRates(perSecond: 50, share: 0.8)
    var breaker = CircuitBreaker.Settings()
    var asksAboutRevocation = false
    var responder: String?

    /// Apple's hosts, and the defaults of the table.
    init() {}

    init(_ settings: SettingReader) throws {
        hosts = AppStoreHosts(
            production: try Self.url(settings, "app_store.production_url", default: AppStoreHosts.apple.production),
            sandbox: try Self.url(settings, "app_store.sandbox_url", default: AppStoreHosts.apple.sandbox))
        verifyReceiptHosts = VerifyReceiptHosts(
            production: try Self.url(
                settings, "verify_receipt.production_url", default: VerifyReceiptHosts.apple.production),
            sandbox: try Self.url(settings, "verify_receipt.sandbox_url", default: VerifyReceiptHosts.apple.sandbox))
        inFlightMaximum = try settings.int("lookups.in_flight_maximum", default: 512, in: 1...10_000)
        patience = try settings.duration(
            "lookups.patience", default: .seconds(5), in: .milliseconds(10)...Limit.patience)
        notFoundAge = try settings.duration(
            "not_found_age", default: Limit.notFoundAge, in: .zero...Limit.notFoundAgeMaximum)
        rates = AppStoreRates(
            perSecond: try Self.number(settings, "rate.per_second", default: 50, in: 0.001...1_000_000),
            share: try Self.number(settings, "rate.share", default: 0.8, in: 0.001...1),
            ordersPerSecond: try Self.number(
                settings, "rate.orders_per_second", default: 10, in: 0.001...1_000_000),
            tokensPerSecond: try Self.number(
                settings, "rate.tokens_per_second", default: 20, in: 0.001...1_000_000))
        breaker.probeDelay = try settings.duration(
            "breaker.probe_delay", default: breaker.probeDelay, in: .milliseconds(10)...(.seconds(3_600)))
        breaker.probeDelayMaximum = try settings.duration(
            "breaker.probe_delay_maximum", default: max(breaker.probeDelay, .seconds(30)),
            in: breaker.probeDelay...(.seconds(3_600)))
        asksAboutRevocation = try settings.choice("ocsp", default: Switch.off) == .on
        responder = try settings.string("ocsp.responder_url")
        if let responder { try Self.check(responder, "ocsp.responder_url") }
    }

    /// The limits of every call.
    var callLimits: AppStoreServerClient.Limits {
        .init(answerBytes: Limit.answerBytes, timeout: Limit.callTimeout)
    }

    private static func url(
        _ settings: SettingReader, _ key: String, default standard: String
    ) throws(SettingError) -> String {
        let url = try settings.string(key, default: standard)
        try check(url, key)
        return url
    }

    private static func check(_ text: String, _ key: String) throws(SettingError) {
        guard let url = URL(string: text), ["http", "https"].contains(url.scheme ?? ""), url.host() != nil else {
            throw .invalid(key, expected: "an http or https address", found: text)
        }
    }

    private static func number(
        _ settings: SettingReader, _ key: String, default value: Double, in range: ClosedRange<Double>
    ) throws(SettingError) -> Double {
        guard let text = try settings.string(key) else { return value }
        guard let number = Double(text), range.contains(number) else {
            throw .invalid(key, expected: "a number from \(range.lowerBound) to \(range.upperBound)", found: text)
        }
        return number
    }
}
