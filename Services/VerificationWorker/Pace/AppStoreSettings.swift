import AppStoreServerAPI
import Foundation
import Pacing
import ServiceRuntime

/// How Apple's servers are asked.
struct AppStoreSettings: Sendable {
    /// How long a call may take; what is late for its submission is remembered for the next attempt.
    static let callTimeout = Duration.seconds(20)
    /// Bytes of an answer: a receipt of years has megabytes in verifyReceipt's.
    static let answerBytesMaximum = 16 << 20
    /// How long a call with its answer is remembered, so that repetitions after an outage cost nothing.
    static let rememberedFor = Duration.seconds(300)
    /// How many.
    static let rememberedMaximum = 10_000
    /// Longer waits hold up the batch.
    static let patienceMaximum = Duration.seconds(60)
    /// So long after the first answer that Apple knows no such id it is not believed, unless configured otherwise: in
    /// March 2026 new purchases were unknown for 48 hours in a row.
    static let notFoundAgeDefault = Duration.seconds(3 * 86_400)
    /// The most that can be configured.
    static let notFoundAgeMaximum = Duration.seconds(30 * 86_400)

    /// Whether certificates are asked about.
    private enum Switch: String, CaseIterable {
        case off, on
    }

    var hosts: AppStoreHosts = .apple
    var verifyReceiptHosts: VerifyReceiptHosts = .apple
    var inFlightMaximum = 512
    var patience = Duration.seconds(5)
    var notFoundAge = Self.notFoundAgeDefault
    var rates = AppStoreRates(perSecond: 50, share: 0.8)
    var breaker = CircuitBreaker.Settings()
    var asksAboutRevocation = false
    var responder: String?

    /// The defaults, with Apple's hosts.
    init() {}

    init(_ settings: SettingReader) throws {
        hosts = AppStoreHosts(
            // the App Store Server API
            // Default: Apple's hosts
            production: try Self.url(settings, "app_store.production_url", default: AppStoreHosts.apple.production),
            // the same of the sandbox
            // Default: Apple's hosts
            sandbox: try Self.url(settings, "app_store.sandbox_url", default: AppStoreHosts.apple.sandbox))
        verifyReceiptHosts = VerifyReceiptHosts(
            // verifyReceipt
            // Default: Apple's hosts
            production: try Self.url(
                settings, "verify_receipt.production_url", default: VerifyReceiptHosts.apple.production),
            // the same of the sandbox
            // Default: Apple's hosts
            sandbox: try Self.url(settings, "verify_receipt.sandbox_url", default: VerifyReceiptHosts.apple.sandbox))
        // submissions that wait for Apple at a time
        inFlightMaximum = try settings.int("lookups.in_flight_maximum", default: 512, in: 1...10_000)
        // seconds that one of them waits before it is put off
        patience = try settings.duration(
            "lookups.patience", default: .seconds(5), in: .milliseconds(10)...Self.patienceMaximum)
        // seconds from Apple's first answer that it knows no such id until it may be refused for that
        notFoundAge = try settings.duration(
            "not_found_age", default: Self.notFoundAgeDefault, in: .zero...Self.notFoundAgeMaximum)
        rates = AppStoreRates(
            // what Apple allows an app, calls a second of the class of 50
            perSecond: try Self.number(settings, "rate.per_second", default: 50, in: 0.001...1_000_000),
            // the share of these limits that all workers together use
            share: try Self.number(settings, "rate.share", default: 0.8, in: 0.001...1),
            // what Apple allows of lookups by order id, the class of 10
            ordersPerSecond: try Self.number(
                settings, "rate.orders_per_second", default: 10, in: 0.001...1_000_000),
            // what Apple allows of Set App Account Token, the class of 20
            tokensPerSecond: try Self.number(
                settings, "rate.tokens_per_second", default: 20, in: 0.001...1_000_000))
        // seconds until a host that rests is asked first
        // Default: 1
        breaker.probeDelay = try settings.duration(
            "breaker.probe_delay", default: breaker.probeDelay, in: .milliseconds(10)...(.seconds(3_600)))
        // what doubling of it ends at
        // Default: 30
        breaker.probeDelayMaximum = try settings.duration(
            "breaker.probe_delay_maximum", default: max(breaker.probeDelay, .seconds(30)),
            in: breaker.probeDelay...(.seconds(3_600)))
        // `on`: ask whether certificates of signed data are revoked, where there is a responder to ask
        asksAboutRevocation = try settings.choice("ocsp", default: Switch.off) == .on
        // whom to ask
        // Default: whom the certificate names
        responder = try settings.string("ocsp.responder_url")
        if let responder { try Self.check(responder, "ocsp.responder_url") }
    }

    /// The limits of every call.
    var callLimits: AppStoreServerClient.Limits {
        .init(answerBytes: Self.answerBytesMaximum, timeout: Self.callTimeout)
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
