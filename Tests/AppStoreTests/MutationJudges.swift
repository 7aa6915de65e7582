import AppStore
import Foundation
import ProcessTesting
import Testing

/// What a judge read in a mutant.
struct MutationReading: Sendable {
    /// By the names of Apple's library.
    let values: [String: String]
    /// Known fields that were left out, because they cannot be read.
    var unreadable: [String] = []
}

/// What a judge says of a mutant.
enum MutationVerdict: Sendable {
    case accepted(MutationReading)
    case refused(String, detail: String = "")

    var isAccepted: Bool {
        if case .accepted = self { true } else { false }
    }

    /// Why not; nil when it was accepted.
    var refusal: String? {
        if case .refused(let reason, _) = self { reason } else { nil }
    }
}

/// Our verifier as a judge.
enum CountersignJudge {
    static func verdict(_ mutant: Mutant, by verifier: SignedDataVerifier) -> MutationVerdict {
        let app = mutant.base.app
        switch mutant.kind {
        case .transaction:
            return Self.verdict(verifier.transaction(mutant.jws, app: app), Self.read, \.unreadableFields)
        case .renewalInfo:
            let id = mutant.base.originalTransactionId
            let result = verifier.renewalInfo(mutant.jws, originalTransactionId: id)
            return Self.verdict(result, Self.read, \.unreadableFields)
        case .notification:
            return Self.verdict(verifier.notification(mutant.jws, app: app), Self.read, \.unreadableFields)
        case .appTransaction:
            return Self.verdict(verifier.appTransaction(mutant.jws, app: app), Self.read, \.unreadableFields)
        }
    }

    private static func verdict<Value>(
        _ result: Result<Value, SignedDataRejection>, _ read: (Value) -> [String: String?],
        _ unreadable: KeyPath<Value, [String]>
    ) -> MutationVerdict {
        switch result {
        case .success(let value):
            .accepted(
                MutationReading(values: read(value).compactMapValues { $0 }, unreadable: value[keyPath: unreadable]))
        case .failure(let rejection): .refused(rejection.code.rawValue, detail: rejection.detail)
        }
    }

    private static func read(_ transaction: SignedTransaction) -> [String: String?] {
        [
            "transactionId": transaction.transactionId, "originalTransactionId": transaction.originalTransactionId,
            "bundleId": transaction.bundleId, "productId": transaction.productId,
            "rawType": transaction.type.rawValue, "quantity": transaction.quantity.map { String($0) },
            "purchaseDate": text(transaction.purchaseDate), "expiresDate": text(transaction.expiresDate),
            "revocationDate": text(transaction.revocationDate), "signedDate": text(transaction.signedDate),
            "rawEnvironment": transaction.environment?.rawValue,
        ]
    }

    private static func read(_ info: SignedRenewalInfo) -> [String: String?] {
        [
            "originalTransactionId": info.originalTransactionId, "productId": info.productId,
            "autoRenewProductId": info.autoRenewProductId,
            "rawAutoRenewStatus": info.autoRenewStatus.map { String($0.rawValue) },
            "renewalDate": text(info.renewalDate), "gracePeriodExpiresDate": text(info.gracePeriodExpiresDate),
            "signedDate": text(info.signedDate), "rawEnvironment": info.environment?.rawValue,
        ]
    }

    private static func read(_ notification: SignedNotification) -> [String: String?] {
        [
            "rawNotificationType": notification.notificationType.rawValue,
            "rawSubtype": notification.subtype?.rawValue, "notificationUUID": notification.notificationUUID,
            "signedDate": text(notification.signedDate),
        ]
    }

    private static func read(_ transaction: SignedAppTransaction) -> [String: String?] {
        [
            "rawReceiptType": transaction.receiptType.rawValue, "bundleId": transaction.bundleId,
            "receiptCreationDate": text(transaction.receiptCreationDate),
            "originalPurchaseDate": text(transaction.originalPurchaseDate),
            "originalApplicationVersion": transaction.originalApplicationVersion,
        ]
    }

    /// Milliseconds without a fraction, which Apple's library cuts off.
    private static func text(_ date: Date?) -> String? {
        // To a tenth first: in a double, a whole millisecond is a little more or less than that.
        date.map { String(Int64(($0.timeIntervalSince1970 * 10_000).rounded() / 10)) }
    }
}

/// Apple's library as a judge: `Tests/AppleLibrary/judge.py`, which needs python3 and, once, PyPI.
enum AppleJudge {
    /// What `run` says when the library cannot be installed here.
    private static let skipped: Int32 = 77

    private static let script = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("AppleLibrary/run")

    /// A line that `judge.py` reads.
    private struct Case: Encodable {
        let kind: MutationBase.Kind
        let bundleId: String
        let appAppleId: Int64
        let environment: String
        let jws: Data
    }

    private enum Line: Decodable {
        case accepted([String: String])
        case refused(String, detail: String = "")

        private enum CodingKeys: String, CodingKey { case accepted, refused, why }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            if let read = try container.decodeIfPresent([String: String].self, forKey: .accepted) {
                self = .accepted(read)
                return
            }
            let status = try container.decode(String.self, forKey: .refused)
            self = .refused("\(status) \(try container.decode(String.self, forKey: .why))")
        }
    }

    /// The verdicts in the order of the mutants; nil when the library could not be installed.
    ///
    /// - Parameter roots: the trusted root certificates in DER.
    static func verdicts(_ mutants: [Mutant], roots: [[UInt8]]) async throws -> [MutationVerdict]? {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("mutants-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let rootFiles = try roots.enumerated().map { index, root in
            let file = folder.appendingPathComponent("root\(index).der")
            try Data(root).write(to: file)
            return file.path
        }
        let judged = try await Program(
            path: script.path, arguments: ["judge"] + rootFiles, input: try Self.lines(mutants), output: .errorsShown
        ).run()
        switch judged.status {
        case 0: break
        case skipped: return nil
        case let status: throw JudgeFailure(status: status)
        }
        return try judged.output.split(separator: "\n").map { line in
            switch try JSONDecoder().decode(Line.self, from: Data(line.utf8)) {
            case .accepted(let read): .accepted(MutationReading(values: read))
            case .refused(let reason, _): .refused(reason)
            }
        }
    }

    private static func lines(_ mutants: [Mutant]) throws -> Data {
        var lines = Data()
        for mutant in mutants {
            let app = mutant.base.app
            lines += try JSONEncoder().encode(
                Case(
                    kind: mutant.kind, bundleId: app.bundleId, appAppleId: app.appAppleId ?? 1,
                    environment: mutant.base.environment.rawValue, jws: Data(mutant.jws)))
            lines.append(UInt8(ascii: "\n"))
        }
        return lines
    }
}

/// The judge ended without judging; what it printed says why.
struct JudgeFailure: Error {
    let status: Int32
}
