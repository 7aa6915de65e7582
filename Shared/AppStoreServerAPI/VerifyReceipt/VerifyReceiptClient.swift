public import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// Asks Apple's `verifyReceipt`, which Apple deprecated in 2023 and still runs (ADP, verifyReceipt).
///
/// Every question is asked once: the pace and the retries are the caller's, with
/// ``VerifyReceiptAnswer/finding(attempt:)``. Apple answers with HTTP 200 whatever it thinks of a receipt; every other
/// answer, and none, is thrown as an ``AppStoreServerError`` and says nothing about the receipt. Its categories are
/// `rateLimited`, `server`, `unreadable` and `transport`, and `invalidRequest` for a receipt that is too large to be
/// sent. A cancelled task throws `CancellationError`. Nothing is logged, and neither the receipt nor the secret is in
/// an error's text.
///
/// The `HTTPClient` belongs to the caller, who shuts it down and forbids redirects in its configuration: the secret must
/// go nowhere else.
public struct VerifyReceiptClient: Sendable {
    enum Limit {
        /// Bytes of a receipt in base64: some 6 MB of DER, twice the largest that is verified offline.
        static let receipt = 8 << 20
    }

    /// Where the requests go.
    public let hosts: VerifyReceiptHosts
    /// What keeps a request small and short.
    public let limits: AppStoreServerClient.Limits

    private let http: HTTPClient
    /// When requests must be over; nil leaves them their time-out.
    private var deadline: ContinuousClock.Instant?

    /// Makes a client.
    ///
    /// - Parameters:
    ///   - http: sends the requests; the caller shuts it down.
    ///   - limits: of one request; an answer has some kilobyte for each purchase, and each renewal stands in it.
    public init(http: HTTPClient, hosts: VerifyReceiptHosts = .apple, limits: AppStoreServerClient.Limits = .init()) {
        self.http = http
        self.hosts = hosts
        self.limits = limits
    }

    /// A client whose requests are over by an instant, at the latest.
    public func with(deadline: ContinuousClock.Instant) -> VerifyReceiptClient {
        var client = self
        client.deadline = self.deadline.map { min($0, deadline) } ?? deadline
        return client
    }

    /// Asks the host that a receipt belongs to: `first`, and the other when the first says so.
    ///
    /// Production is asked first (Apple's advice: an app in review has sandbox receipts), unless `first` says otherwise.
    /// The host changes once at most; an answer that sends back to the first is handed over as it is.
    ///
    /// - Parameters:
    ///   - receipt: base64, without line breaks.
    ///   - sharedSecret: of the app; receipts with auto-renewable subscriptions need it.
    public func verify(
        _ receipt: String, sharedSecret: String?, first: AppStoreEnvironment = .production
    ) async throws -> VerifyReceiptAnswer {
        let answer = try await ask(receipt, sharedSecret: sharedSecret, in: first)
        guard let other = answer.otherEnvironment else { return answer }
        return try await ask(receipt, sharedSecret: sharedSecret, in: other)
    }

    /// Asks one host.
    ///
    /// - Parameters:
    ///   - receipt: base64, without line breaks.
    ///   - sharedSecret: of the app; receipts with auto-renewable subscriptions need it.
    public func ask(
        _ receipt: String, sharedSecret: String?, in environment: AppStoreEnvironment
    ) async throws -> VerifyReceiptAnswer {
        guard receipt.utf8.count <= Limit.receipt else {
            throw AppStoreServerError.refused(nil, "a receipt has at most \(Limit.receipt) bytes of base64")
        }
        let question = try Question(receiptData: receipt, password: sharedSecret).encoded()
        var request = HTTPClientRequest(url: hosts.base(of: environment) + "/verifyReceipt")
        request.method = .POST
        request.headers.add(name: "accept", value: "application/json")
        request.headers.add(name: "content-type", value: "application/json")
        request.headers.add(name: "user-agent", value: "countersign")
        request.body = .bytes(ByteBuffer(bytes: question))
        let answer = try await Exchange(http: http, limits: limits, deadline: deadline).answer(to: request)
        guard answer.status == 200 else { throw AppStoreServerError(notVerifyReceipt: answer) }
        // Whatever it calls itself: the body says whether it is an answer.
        return try VerifyReceiptAnswer(
            reading: answer.body, httpStatus: answer.status, from: environment,
            hasSentSharedSecret: sharedSecret != nil)
    }
}

/// What Apple is asked (ADP, requestBody of verifyReceipt).
private struct Question: Encodable, CustomStringConvertible {
    let receiptData: String
    let password: String?
    /// False: a submission may name an old renewal, and it must be found.
    let excludesOldTransactions = false

    enum CodingKeys: String, CodingKey {
        case receiptData = "receipt-data"
        case password
        case excludesOldTransactions = "exclude-old-transactions"
    }

    var description: String { "a receipt of \(receiptData.utf8.count) bytes" }

    func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        guard let data = try? encoder.encode(self) else {
            throw AppStoreServerError.refused(nil, "the receipt cannot be written as JSON")
        }
        return data
    }
}

extension AppStoreServerError {
    /// An answer without 200, which `verifyReceipt` never gives: a busy or broken host, or something before it.
    ///
    /// It has no codes of Apple's, whatever its body says, and no status of it speaks of a receipt.
    fileprivate init(notVerifyReceipt answer: Exchange.Answer) {
        let category: Category =
            switch answer.status {
            case 429: .rateLimited
            case 500...: .server
            default: .unreadable
            }
        self.init(
            category: category, status: answer.status, code: nil,
            message: "verifyReceipt answers with HTTP 200, and this is another",
            retryAfter: answer.retryAfter.flatMap { RetryAfter.date($0, now: Date()) })
    }
}
