import AppStore
import AppStoreServerAPI
import AsyncHTTPClient
import CertificateRevocation
import Foundation
import Logging
import NIOCore
import Pacing
import Persistence
import Postgres
import PurchaseModel
import ServiceLifecycle
import ServiceRuntime

/// All that asks Apple, over one HTTP client: made together, ended together.
struct AppStoreAccess: Service {
    /// How long a connection may take to be made, TLS included.
    static let connectTimeout = TimeAmount.seconds(5)
    /// How long a responder of certificates is waited for.
    static let responderTimeout = Duration.seconds(5)
    /// What Apple is asked about to learn whether it is there again, with Get Transaction Info.
    ///
    /// It has the form of an id, and no purchase has it: that Apple knows none is an answer.
    static let probedTransactionId = "2000000000000000"

    /// The apps that are served; others from ``ServedApps/use(_:)`` on.
    let apps: ServedApps
    let pace: AppStorePace
    let judge: LookupJudge
    let revocation: RevocationQuestions?
    let attention: AttentionLog
    /// What answers of the Server API are worth.
    let answers: ServerAnswers
    private let http: HTTPClient

    /// - Throws: `SettingError`, for a key of the App Store Server API that cannot be used.
    init(
        settings: AppStoreSettings, apps: AppsFile, roots: TrustedRoots, receiptRoots: TrustedRoots,
        xcode: TrustedRoots? = nil, receiptSHA1Until: Date? = ReceiptVerifier.sha1Ended,
        expired: ExpiredCertificates = .init(),
        revoked: RevokedCertificates? = nil, sweepShare: Double = 1,
        logger: Logger, onOutage: @escaping AppStorePace.OnOutage
    ) throws {
        // Before there is a client, which would have to be shut down.
        _ = try ServedApps.keys(of: apps)
        let http = HTTPClient(
            eventLoopGroupProvider: .singleton, configuration: Self.configuration(of: settings))
        let apps = try ServedApps(apps) { [hosts = settings.hosts, limits = settings.callLimits] key, bundleId in
            AppStoreServerClient(http: http, key: key, bundleId: bundleId, hosts: hosts, limits: limits)
        }
        let pace = AppStorePace(
            rates: settings.rates, sweepShare: sweepShare, breaker: settings.breaker, logger: logger,
            probe: {
                // Where no app has a key any more, nobody can ask, and nothing need wait for the host.
                _ = try await apps.anyClient?.transactionInfo(Self.probedTransactionId, in: .production)
            }, onOutage: onOutage)
        let verifier = SignedDataVerifier(roots: roots, xcode: xcode)
        let offline = OfflineJudge(
            apps: apps, signedData: verifier,
            receipts: ReceiptVerifier(roots: receiptRoots, sha1Until: receiptSHA1Until), expired: expired)
        let attention = AttentionLog(logger: logger)
        let revocation = Self.revocationQuestions(
            settings, verifier, revoked: revoked, attention: attention, http: http)
        let answers = ServerAnswers(judge: offline, revocation: revocation, attention: attention)
        let calls = LookupCalls(
            apps: apps, pace: pace, answers: answers,
            verifyReceipt: VerifyReceiptClient(
                http: http, hosts: settings.verifyReceiptHosts, limits: settings.callLimits))
        self.apps = apps
        self.http = http
        self.pace = pace
        self.revocation = revocation
        self.attention = attention
        self.answers = answers
        judge = LookupJudge(
            offline, calls, flights: settings.inFlightMaximum, notFoundAge: settings.notFoundAge,
            patience: settings.patience)
    }

    /// What sweeps with this access; its tasks and what it finds are in the database.
    func sweeper(
        _ settings: SweepSettings, pool: PostgresPool, logger: Logger,
        mayAsk: @escaping @Sendable () -> Bool = { true }, now: @escaping @Sendable () -> Date = { Date() }
    ) -> Sweeper {
        let calls = SweepCalls(apps: apps, pace: pace, attention: attention)
        let recoveries = RecoverFindings(
            recoveries: RecoveryStore(pool: pool), submissions: SubmissionStore(pool: pool))
        let recorded = RecordedStatements(pool: pool)
        return Sweeper(
            tasks: SweepTaskStore(pool: pool), requests: SweepRequestStore(pool: pool), settings: settings, apps: apps,
            notifications: SweepNotifications(
                calls: calls, judge: judge.offline, recoveries: recoveries, recorded: recorded, settings: settings,
                now: now),
            customers: SweepCustomers(calls: calls, answers: answers, recoveries: recoveries, recorded: recorded),
            logger: logger, mayAsk: mayAsk, now: now)
    }

    /// Waits for graceful shutdown, then ends what flies; whoever used it has ended before.
    func run() async throws {
        try? await gracefulShutdown()
        await close()
    }

    /// Ends what flies, then the connections.
    func close() async {
        await judge.close()
        try? await http.shutdown()
    }

    /// Asks about certificates, where the settings say so, and knows those that are stored as revoked; nil for neither.
    private static func revocationQuestions(
        _ settings: AppStoreSettings, _ verifier: SignedDataVerifier, revoked: RevokedCertificates?,
        attention: AttentionLog, http: HTTPClient
    ) -> RevocationQuestions? {
        guard settings.asksAboutRevocation || revoked != nil else { return nil }
        let revoked = revoked ?? RevokedCertificates()
        let timeout = min(settings.patience, Self.responderTimeout)
        let checker = RevocationChecker(
            http: http, settings: .init(responder: settings.responder, timeout: timeout), revoked: revoked,
            onNoResponder: {
                attention.raise(
                    .revocationUnknown, app: "-",
                    "a certificate that signs for the App Store names no responder: whether it is revoked is not asked")
            })
        return RevocationQuestions(
            verifier: verifier, checker: settings.asksAboutRevocation ? checker : nil, revoked: revoked)
    }

    private static func configuration(of settings: AppStoreSettings) -> HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration()
        // Apple sends none; whoever does is not Apple.
        configuration.redirectConfiguration = .disallow
        configuration.timeout.connect = Self.connectTimeout
        // All that may be in flight has a connection; a queue in here would have no priorities.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = settings.inFlightMaximum
        // A refused connection is an answer to the breaker's question, and worth knowing at once.
        configuration.connectionPool.retryConnectionEstablishment = false
        return configuration
    }
}
