import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Metrics
import NIOCore
import Persistence
import ServiceRuntime
import Synchronization

/// A caller's name of an act, and what makes the request another one.
struct ActKey: Sendable {
    let request: RememberedActStore.Request

    /// Nil where the request has no `Idempotency-Key`.
    ///
    /// - Throws: `ProblemDetails` where the header comes twice, or is no printable ASCII.
    init?(_ request: Request, _ body: [UInt8], app: String, route: String?) throws {
        guard !request.headers[values: .idempotencyKey].isEmpty else { return nil }
        let key = try SpendRequest.key(request.headers)
        let (path, query) = (request.uri.path, request.uri.query ?? "")
        self.request = RememberedActStore.Request(
            app: app, keySHA256: PartsHash.sha256([key]),
            sha256: PartsHash.sha256([request.method.rawValue, path, query, String(decoding: body, as: UTF8.self)]),
            route: "\(request.method.rawValue) \(route ?? "")")
    }

    /// Where its answer is sealed.
    var place: SecretSeal.Place { .init(endpoint: request.app, secret: request.keySHA256) }
}

/// The hash of several texts, in their order.
enum PartsHash {
    /// In lower-case hexadecimal digits.
    static func sha256(_ parts: [String]) -> String {
        var hash = SHA256()
        for part in parts {
            // The length goes first, so that no two lists of parts are the same bytes.
            withUnsafeBytes(of: UInt64(part.utf8.count).bigEndian) { hash.update(bufferPointer: $0) }
            hash.update(data: Array(part.utf8))
        }
        return hash.finalize().lowercaseHexadecimal
    }
}

/// What acts were answered, as `RememberedActStore` has it.
struct ActMemory: Sendable {
    let store: RememberedActStore
    /// Seals answers that tell a secret; nil where there are none, since no endpoint can be made.
    let seal: SecretSeal?

    /// The answer of the same request before; nil where there is none, and the request is this one's now.
    ///
    /// - Throws: `ProblemDetails` where the key is another request's, or its request is under way; `PostgresError`.
    @inline(never)
    func take(_ key: ActKey, _ traits: Acts.Traits) async throws -> Response? {
        switch try await store.take(key.request) {
        case .new: return nil
        case .underWay:
            Self.count("under_way")
            throw ProblemDetails.requestUnderWay
        case .keyReused:
            Self.count("key_reused")
            throw ProblemDetails.idempotencyKeyReused
        case .answered(let answer):
            Self.count("repeated")
            return try response(answer, key, traits)
        }
    }

    /// Remembers an answer; with the act, where it is called in its transaction.
    ///
    /// - Throws: `PostgresError`; what the body throws.
    @inline(never)
    func remember(_ response: Response, of key: ActKey, _ traits: Acts.Traits) async throws {
        var text = try await Self.text(of: response.body)
        if isSealed(response.status.code, traits) {
            guard let seal else { throw ProblemDetails.webhookKeyMissing }
            text = try seal.seal(text, for: key.place)
        }
        let headers = Dictionary(response.headers.map { ($0.name.rawName, $0.value) }, uniquingKeysWith: { $1 })
        try await store.remember(
            .init(status: response.status.code, headers: headers, body: text), of: key.request)
    }

    private func isSealed(_ status: Int, _ traits: Acts.Traits) -> Bool {
        traits.contains(.tellsSecret) && status < 300
    }

    private func response(
        _ answer: RememberedActStore.Answer, _ key: ActKey, _ traits: Acts.Traits
    ) throws -> Response {
        var text = answer.body
        if isSealed(answer.status, traits) {
            guard let seal else { throw ProblemDetails.webhookKeyMissing }
            text = try seal.open(text, at: key.place)
        }
        var headers: HTTPFields = [:]
        for (name, value) in answer.headers {
            if let name = HTTPField.Name(name) { headers[name] = value }
        }
        headers[.idempotentReplayed] = "true"
        return Response(
            status: HTTPResponse.Status(code: answer.status), headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    private static func count(_ result: String) {
        Counter(label: "countersign_repeated_acts_total", dimensions: [("result", result)]).increment()
    }

    /// The whole of a body.
    private static func text(of body: ResponseBody) async throws -> String {
        let text = Mutex("")
        try await body.write(BodyCollector { part in text.withLock { $0 += String(buffer: part) } })
        return text.withLock { $0 }
    }
}

/// Takes a body's parts, up to what is remembered of one.
private struct BodyCollector: ResponseBodyWriter {
    struct TooLong: Error {}

    let take: (ByteBuffer) -> Void
    private var left = RememberedActStore.Limit.bodyBytes

    init(take: @escaping (ByteBuffer) -> Void) { self.take = take }

    mutating func write(_ part: ByteBuffer) throws {
        left -= part.readableBytes
        guard left >= 0 else { throw TooLong() }
        take(part)
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) {}
}
