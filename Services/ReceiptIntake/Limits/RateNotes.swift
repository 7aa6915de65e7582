import HTTPTypes
import Hummingbird
import HummingbirdCore
import Synchronization

/// What is left of the limits of which a request took turns, as its answer tells it (draft-ietf-httpapi-ratelimit-headers-10).
///
/// It is this process's count: with several processes as much may be done in each.
final class RateNotes: Sendable {
    /// Those of the request that is answered by this task; nil outside of one.
    @TaskLocal static var current: RateNotes?

    /// One limit.
    private struct Note: Sendable {
        let limit: String
        let perMinute: Int
        let left: TurnsLeft
    }

    private let notes = Mutex<[Note]>([])

    /// Notes what is left of a limit.
    static func note<Key: Hashable & Sendable>(_ limit: String, _ rate: TurnRate<Key>, _ key: Key) {
        guard let current else { return }
        let note = Note(limit: limit, perMinute: rate.perMinute, left: rate.left(key))
        current.notes.withLock { $0.append(note) }
    }

    /// Writes the headers, unless the answer has told of the limit that it met.
    func add(to headers: inout HTTPFields) {
        let notes = notes.withLock { $0 }
        guard !notes.isEmpty, headers[.rateLimit] == nil else { return }
        headers[.rateLimitPolicy] = notes.map { RequestsLimited.policy($0.limit, perMinute: $0.perMinute) }
            .joined(separator: ", ")
        headers[.rateLimit] = notes.map { RequestsLimited.standing($0.limit, $0.left) }.joined(separator: ", ")
    }
}

/// How many turns somebody has.
struct TurnsLeft: Sendable, Equatable {
    /// Those that may follow at once.
    let count: Int
    /// Whole seconds until there are as many as ever.
    let seconds: Int
}

/// Has every answer tell what is left of the limits of which its request took turns.
struct RateNotesMiddleware: RouterMiddleware {
    @inline(never)
    func handle(
        _ request: Request, context: IntakeContext, next: (Request, IntakeContext) async throws -> Response
    ) async throws -> Response {
        let notes = RateNotes()
        var response = try await RateNotes.$current.withValue(notes) { try await next(request, context) }
        notes.add(to: &response.headers)
        return response
    }
}
