import AppStore
import AppStoreServerAPI
import CertificateRevocation
import Foundation
import Logging
import Messages
import NIOHTTP1
import Pacing
import PurchaseModel
import ServiceRuntime
import Testing

@testable import VerificationWorker

/// How the worker is configured for a scene.
struct Setup: Sendable {
    var sandbox = "accept"
    var receipts = "offline"
    var possession = "proof"
    var isReleased = true
    var hasKey = true
    var sharedSecret: String?
    var knowsApp = true
    /// Trusts other roots than the simulator's.
    var trustsOthers = false
    /// Certificates of Xcode that are taken.
    var xcode: TrustedRoots?
    /// Fingerprints of certificates that are denied.
    var denied: [String] = []
    var receiptSHA1Until: Date? = ReceiptVerifier.sha1Ended
    var expired = ExpiredCertificates()
    /// Asks the sandbox where production should be, and the other way round.
    var swapsHosts = false
    var asksAboutRevocation = false
    /// What is stored as revoked; nil in a worker without a database.
    var revoked: RevokedCertificates?
    var patience = Duration.seconds(20)
    var inFlightMaximum = 512
    var rates = AppStoreRates(perSecond: 1_000, share: 1)
    var breaker = CircuitBreaker.Settings()
    var sweepShare = 1.0
}

/// A simulator, and workers that ask it: everything but topics.
struct Stage: Sendable {
    let simulator: Simulator
    private let key: Key

    private struct Key: Decodable {
        let issuerId: String
        let keyId: String
        let privateKey: String
    }

    /// Runs the body with an app that the simulator knows.
    static func run(_ body: (Stage) async throws -> Void) async throws {
        try await Simulator.run { simulator in
            let app = "apps/\(SubmissionFixture.app)"
            try await simulator.control(
                .PUT, app, "{\"appAppleId\":1234567890,\"isReleased\":true,\"keepsNotifications\":false}")
            try await simulator.control(.PUT, "rate-limits", "{\"enabled\":false}")
            let key = try await simulator.control(.POST, "\(app)/keys", as: Key.self)
            try await body(Stage(simulator: simulator, key: key))
        }
    }

    /// Runs the body with a worker's access to Apple, and ends it afterwards.
    func withAccess<Value>(
        _ setup: Setup = Setup(), onOutage: @escaping AppStorePace.OnOutage = { _ in },
        _ body: (AppStoreAccess) async throws -> Value
    ) async throws -> Value {
        let access = try access(setup, onOutage: onOutage)
        let result: Result<Value, any Error>
        do { result = .success(try await body(access)) } catch { result = .failure(error) }
        await access.close()
        return try result.get()
    }

    /// What becomes of one submission, as in the process: offline, and then, if need be, asking Apple.
    func finding(_ submission: SubmissionMessage, _ setup: Setup = Setup()) async throws -> Finding {
        try await withAccess(setup) { try await Self.finding(submission, access: $0) }
    }

    static func finding(_ submission: SubmissionMessage, access: AppStoreAccess) async throws -> Finding {
        let proofs = ProofReader(pool: nil, logger: quiet)
        let judge = JudgeSubmissions(
            judge: access.judge.offline, proofs: proofs, revocation: access.revocation,
            isPaused: { access.pace.isOut })
        let offline: Finding? = try #require(await judge.findings(for: [submission]).first)
        if let offline { return offline }
        let lookups = JudgeLookups(judge: access.judge, proofs: proofs, inFlightMaximum: 16)
        return try #require(await lookups.findings(for: [submission]).first)
    }

    static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func access(_ setup: Setup, onOutage: @escaping AppStorePace.OnOutage) throws -> AppStoreAccess {
        var settings = AppStoreSettings()
        let (first, second) =
            setup.swapsHosts
            ? (simulator.sandbox, simulator.production) : (simulator.production, simulator.sandbox)
        settings.hosts = AppStoreHosts(production: first, sandbox: second)
        settings.verifyReceiptHosts = VerifyReceiptHosts(production: first, sandbox: second)
        settings.patience = setup.patience
        settings.inFlightMaximum = setup.inFlightMaximum
        settings.rates = setup.rates
        settings.breaker = setup.breaker
        settings.asksAboutRevocation = setup.asksAboutRevocation
        settings.responder = simulator.responder
        let roots =
            setup.trustsOthers
            ? TrustedRoots.appleRootG3 : try TrustedRoots(fingerprints: [simulator.root(of: "root")])
        let receiptRoots = try TrustedRoots(fingerprints: [simulator.root(of: "receipt-root")])
        return try AppStoreAccess(
            settings: settings, apps: try apps(setup), roots: try roots.denying(setup.denied),
            receiptRoots: try receiptRoots.denying(setup.denied), xcode: setup.xcode,
            receiptSHA1Until: setup.receiptSHA1Until,
            expired: setup.expired, revoked: setup.revoked, sweepShare: setup.sweepShare, logger: Self.quiet,
            onOutage: onOutage)
    }

    /// The apps as a real file says them.
    func apps(_ setup: Setup) throws -> AppsFile {
        let folder = simulator.folder.appending(path: "apps-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data(key.privateKey.utf8).write(to: folder.appending(path: "key.p8"))
        var text = """
            apps:
              - bundle_id: \(setup.knowsApp ? SubmissionFixture.app : "com.example.other")
                app_apple_id: 1234567890
                released: \(setup.isReleased)
                sandbox: \(setup.sandbox)
                receipts: \(setup.receipts)
                possession: \(setup.possession)

            """
        if setup.hasKey {
            text += """
                    app_store_server_api:
                      { issuer_id: \(key.issuerId), key_id: \(key.keyId), private_key_file: \(folder.path)/key.p8 }

                """
        }
        if let secret = setup.sharedSecret {
            try Data(secret.utf8).write(to: folder.appending(path: "secret"))
            text += "    shared_secret_file: \(folder.path)/secret\n"
        }
        let file = folder.appending(path: "apps.yaml")
        try Data(text.utf8).write(to: file)
        return try AppsFile.load(path: file.path)
    }
}

/// What tests look at in a finding.
extension Finding {
    /// `genuine`, `rejected` or `unknown`.
    var name: String {
        switch verdict {
        case .genuine: "genuine"
        case .rejected: "rejected"
        case .unknown: "unknown"
        }
    }

    /// The reason; nil when it is genuine.
    var reason: String? {
        switch verdict {
        case .genuine: nil
        case .rejected(let reason, _): reason.rawValue
        case .unknown(let reason, _): reason.rawValue
        }
    }

    /// When it comes back; nil unless it is unknown.
    var retryAfterSeconds: Double? {
        if case .unknown(_, let seconds) = verdict { return seconds }
        return nil
    }

    /// The transactions; none unless it is genuine.
    var transactions: [Transaction] {
        if case .genuine(let transactions) = verdict { return transactions }
        return []
    }
}
