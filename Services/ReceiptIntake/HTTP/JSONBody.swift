import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Messages
import NIOCore
import ServiceRuntime
import Synchronization

/// Reads the JSON body of a request, and says exactly what is wrong with a bad one.
struct JSONBody: Sendable {
    /// How deep a body may nest; ours are flat, and unknown fields are passed over.
    static let nestingMaximum = 16

    /// The most bytes of a body that is no purchase; nothing but a receipt is as long, nor a notification.
    static let shortBytesMaximum = 256 << 10

    /// The most bytes of a body.
    let bytesMaximum: Int
    /// What all bodies together may have.
    let budget: BodyBudget
    /// Whether a request must say that its body is JSON.
    var requiresContentType = true

    /// The value in a request's short body; unknown fields are ignored.
    ///
    /// - Parameter requiresContentType: whether the request must say that its body is JSON.
    /// - Throws: `ProblemDetails`, `IntakeOverloadedError`.
    func decode<Value: Decodable & Sendable>(
        _ type: Value.Type, from request: Request, requiresContentType: Bool = true
    ) async throws -> Value {
        let short = JSONBody(
            bytesMaximum: min(bytesMaximum, Self.shortBytesMaximum), budget: budget,
            requiresContentType: requiresContentType)
        return try await short.withValue(type, from: request) { $0 }
    }

    /// The bytes of a request's short body, for who reads them more than once.
    ///
    /// - Throws: `ProblemDetails`, `IntakeOverloadedError`.
    @inline(never)
    func bytes(of request: Request) async throws -> [UInt8] {
        let maximum = min(bytesMaximum, Self.shortBytesMaximum)
        let short = JSONBody(bytesMaximum: maximum, budget: budget, requiresContentType: requiresContentType)
        try short.admit(request)
        var held = 0
        defer { budget.giveBack(held) }
        return try await short.collect(request.body, of: nil, held: &held)
    }

    /// Runs `body` with the value in a request's body; until it returns, the bytes count as held.
    ///
    /// - Parameter player: whose share of the bytes it is; nil for nobody's.
    /// - Throws: `ProblemDetails`, `IntakeOverloadedError`, and what `body` throws.
    @inline(never)
    func withValue<Value: Decodable & Sendable, Result: Sendable>(
        _ type: Value.Type, from request: Request, of player: Caller? = nil, _ body: (Value) async throws -> Result
    ) async throws -> Result {
        try admit(request)
        var held = 0
        defer { budget.giveBack(held, of: player) }
        return try await body(try await value(type, in: request.body, of: player, held: &held))
    }

    /// What the headers say of the body.
    private func admit(_ request: Request) throws {
        guard !requiresContentType || Self.isJSON(request.headers[.contentType]) else {
            throw ProblemDetails.contentTypeUnsupported
        }
        if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > bytesMaximum {
            throw ProblemDetails.bodyTooLarge(bytesMaximum: bytesMaximum)
        }
    }

    /// A function of its own, so that nothing but the value is left of the bytes.
    @inline(never)
    private func value<Value: Decodable & Sendable>(
        _ type: Value.Type, in parts: RequestBody, of player: Caller?, held: inout Int
    ) async throws -> Value {
        try Self.decode(type, from: try await collect(parts, of: player, held: &held))
    }

    @inline(never)
    private func collect(_ parts: RequestBody, of player: Caller?, held: inout Int) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = parts.makeAsyncIterator()
        while let part = try await Self.next(of: &rest) {
            let count = bytes.count + part.readableBytes
            guard count <= bytesMaximum else { throw ProblemDetails.bodyTooLarge(bytesMaximum: bytesMaximum) }
            switch budget.take(part.readableBytes, of: player) {
            case .taken: break
            case .full: throw IntakeOverloadedError()
            case .shareUsedUp: throw RequestsLimited.problemOfBytes(maximum: budget.ofOneMaximum)
            }
            held += part.readableBytes
            bytes.append(contentsOf: part.readableBytesView)
        }
        return bytes
    }

    /// Whatever the connection throws is the caller's doing or the network's, and no error of ours.
    private static func next(of parts: inout RequestBody.AsyncIterator) async throws -> ByteBuffer? {
        do {
            return try await parts.next()
        } catch let error as CancellationError {
            throw error
        } catch {
            throw ProblemDetails.bodyIncomplete
        }
    }

    /// The value that bytes mean.
    ///
    /// - Throws: `ProblemDetails`.
    static func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        do {
            return try MessageCoding.decode(type, from: bytes, nestingDepthMaximum: nestingMaximum)
        } catch let error as DecodingError {
            // Only what was refused is looked at once more, to say what is wrong with it.
            guard String(validating: bytes, as: UTF8.self) != nil else {
                throw ProblemDetails.bodyMalformed("It is not UTF-8 text.")
            }
            guard isShallow(bytes) else {
                throw ProblemDetails.bodyMalformed("It nests deeper than \(nestingMaximum) levels.")
            }
            throw problem(for: error)
        }
    }

    private static func problem(for error: DecodingError) -> ProblemDetails {
        switch error {
        case .keyNotFound(let key, _):
            return .fieldMissing(key.stringValue)
        case .valueNotFound(_, let context):
            return context.codingPath.last.map { .fieldMissing($0.stringValue) }
                ?? .bodyMalformed("It is no JSON object.")
        case .typeMismatch(let type, let context):
            let expected = type is Bool.Type ? "true or false" : "a text"
            return context.codingPath.first.map { .fieldInvalid($0.stringValue, expected) }
                ?? .bodyMalformed("It is no JSON object.")
        default:
            return .bodyMalformed("It is not JSON.")
        }
    }

    private static func isJSON(_ contentType: String?) -> Bool {
        let essence = contentType?.prefix { $0 != ";" && $0 != "," } ?? ""
        // Foundation's trimming takes a hundredth of a request.
        return essence.split { $0 == " " || $0 == "\t" }.map { $0.lowercased() } == ["application/json"]
    }

    /// Counts brackets outside of strings, whether or not the rest is JSON.
    static func isShallow(_ bytes: [UInt8]) -> Bool {
        var depth = 0
        var isInString = false
        var isEscaped = false
        for byte in bytes {
            if isEscaped {
                isEscaped = false
            } else if isInString {
                if byte == UInt8(ascii: "\\") { isEscaped = true }
                if byte == UInt8(ascii: "\"") { isInString = false }
            } else if byte == UInt8(ascii: "\"") {
                isInString = true
            } else if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") {
                depth += 1
                if depth > nestingMaximum { return false }
            } else if byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]") {
                depth -= 1
            }
        }
        return true
    }
}

/// How many bytes of bodies the process holds at a time, from their first byte until their purchase is on disk.
///
/// A receipt may be a thousand times larger than a signed transaction, so counting requests does not bound memory.
final class BodyBudget: Sendable {
    /// One player's bodies have no more than this part, but room for one.
    static let partOfOne = 4

    /// The most bytes that are held.
    let bytesMaximum: Int
    /// The most bytes that one player's bodies have.
    let ofOneMaximum: Int
    private let held = Mutex(Held())

    private struct Held {
        var bytes = 0
        var byPlayer: [Caller: Int] = [:]
    }

    /// Makes a budget of which nothing is used.
    init(bytesMaximum: Int, bodyBytesMaximum: Int = 0) {
        self.bytesMaximum = bytesMaximum
        ofOneMaximum = max(bytesMaximum / Self.partOfOne, bodyBytesMaximum)
    }

    /// What becomes of bytes that are asked for.
    enum Taking: Sendable {
        case taken
        /// All bodies together have too many; none was taken.
        case full
        /// The player's bodies have too many; none was taken.
        case shareUsedUp
    }

    /// Takes so many bytes more.
    ///
    /// - Parameter player: whose body it is; nil where nobody's share is looked at.
    func take(_ bytes: Int, of player: Caller? = nil) -> Taking {
        held.withLock { held in
            guard held.bytes + bytes <= bytesMaximum else { return .full }
            if let player {
                let own = held.byPlayer[player, default: 0] + bytes
                guard own <= ofOneMaximum else { return .shareUsedUp }
                held.byPlayer[player] = own
            }
            held.bytes += bytes
            return .taken
        }
    }

    /// Gives bytes back that were taken.
    func giveBack(_ bytes: Int, of player: Caller? = nil) {
        guard bytes > 0 else { return }
        held.withLock { held in
            held.bytes -= bytes
            guard let player else { return }
            let own = held.byPlayer[player, default: bytes] - bytes
            held.byPlayer[player] = own > 0 ? own : nil
        }
    }
}
