import Crypto
import Foundation
import ServiceRuntime
import Synchronization

/// Who is logged in, in the memory of this process: a restart logs everybody out.
final class Sessions: Sendable {
    enum Limit {
        /// At a time; for one more the one ends that was not used for the longest.
        static let count = 1_000
        /// Of one person: browsers and phones.
        static let ofOnePerson = 10
    }

    /// From a log-in to its end.
    struct Session: Sendable {
        /// Names it in lists, which the cookie's value does not.
        let id: String
        let csrfToken: String
        var identity: Identity
        /// The provider's word for it; nil where there is no provider.
        var grant: ProviderGrant?
        let began: Date
        var lastUse: Date
    }

    private let idle: TimeInterval
    private let absolute: TimeInterval
    private let now: @Sendable () -> Date
    /// By the SHA-256 of the cookie's value: what is in memory opens nothing.
    private let sessions = Mutex<[Data: Session]>([:])

    /// - Parameters:
    ///   - idle: after so long without use a session ends.
    ///   - absolute: after so long it ends anyway.
    init(idle: Duration, absolute: Duration, now: @escaping @Sendable () -> Date = { Date() }) {
        (self.idle, self.absolute, self.now) = (idle / .seconds(1), absolute / .seconds(1), now)
    }

    /// Begins a session with an id that nobody had before.
    ///
    /// - Returns: the cookie's value, which is kept nowhere here.
    func begin(_ identity: Identity, grant: ProviderGrant? = nil) -> String {
        let secret = RandomText.make()
        let now = now()
        let session = Session(
            id: RandomText.make(bytes: 8), csrfToken: RandomText.make(), identity: identity, grant: grant, began: now,
            lastUse: now)
        sessions.withLock { sessions in
            sessions = sessions.filter { isAlive($0.value, now) }
            let own = sessions.filter { $0.value.identity.subject == identity.subject }
            if own.count >= Limit.ofOnePerson, let oldest = Self.leastUsed(own) { sessions[oldest] = nil }
            if sessions.count >= Limit.count, let oldest = Self.leastUsed(sessions) { sessions[oldest] = nil }
            sessions[Self.key(secret)] = session
        }
        return secret
    }

    /// The session of a cookie; nil where there is none, or it is over.
    ///
    /// - Parameter isUse: whether somebody does something; a page that refreshes itself keeps no session alive.
    func session(_ secret: String, isUse: Bool) -> Session? {
        let now = now()
        return sessions.withLock { sessions in
            let key = Self.key(secret)
            guard var session = sessions[key] else { return nil }
            guard isAlive(session, now) else {
                sessions[key] = nil
                return nil
            }
            if isUse {
                session.lastUse = now
                sessions[key] = session
            }
            return session
        }
    }

    /// What the provider says of a session now; one that has ended stays so.
    func update(_ id: String, _ identity: Identity, _ grant: ProviderGrant) {
        sessions.withLock { sessions in
            guard let key = sessions.first(where: { $0.value.id == id })?.key else { return }
            sessions[key]?.identity = identity
            sessions[key]?.grant = grant
        }
    }

    /// Ends the session of a cookie, if there is one.
    func end(cookie secret: String) { sessions.withLock { $0[Self.key(secret)] = nil } }

    /// Ends those for which it is so.
    ///
    /// - Returns: how many.
    @discardableResult
    func end(where isMeant: (Session) -> Bool) -> Int {
        sessions.withLock { sessions in
            let before = sessions.count
            sessions = sessions.filter { !isMeant($0.value) }
            return before - sessions.count
        }
    }

    /// All that are not over, the last used first.
    var all: [Session] {
        let now = now()
        return sessions.withLock { $0.values.filter { isAlive($0, now) } }.sorted { $0.lastUse > $1.lastUse }
    }

    private func isAlive(_ session: Session, _ now: Date) -> Bool {
        now.timeIntervalSince(session.lastUse) < idle && now.timeIntervalSince(session.began) < absolute
    }

    private static func leastUsed(_ sessions: [Data: Session]) -> Data? {
        sessions.min { $0.value.lastUse < $1.value.lastUse }?.key
    }

    private static func key(_ secret: String) -> Data { Data(SHA256.hash(data: Data(secret.utf8))) }
}

/// Texts that nobody can guess.
enum RandomText {
    /// Hexadecimal digits of so many random bytes; 256 bits where nothing is said.
    static func make(bytes count: Int = 32) -> String {
        SymmetricKey(size: .init(bitCount: count * 8)).withUnsafeBytes(hexadecimal)
    }

    static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}
