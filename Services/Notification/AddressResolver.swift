import BlockingThreads
import Foundation
import ServiceRuntime
import Synchronization

/// Looks host names up with the system's resolver, on threads of its own because `getaddrinfo` blocks.
final class AddressResolver: Sendable {
    /// The most look-ups at a time: `getaddrinfo` cannot be interrupted, so a dead name server holds each for long.
    static let lookUpsMaximum = 16

    typealias Answer = Result<[InternetAddress], AddressError>

    private let lookUp: @Sendable (_ host: String) -> Answer
    /// Who waits for the look-up of a host, while its thread runs: a host has one, so that a dead one holds one place.
    private let waiting = Mutex<[String: [PendingAnswer<Answer>]]>([:])

    /// - Parameter lookUp: blocks until it knows.
    init(lookUp: @escaping @Sendable (_ host: String) -> Answer = { AddressResolver.systemAnswer($0) }) {
        self.lookUp = lookUp
    }

    /// The addresses of a host, in the system's order of preference; never none.
    ///
    /// - Parameter timeout: after which it is not waited for any more; its thread ends when the system's own time-out does.
    /// - Throws: `AddressError`.
    func addresses(of host: String, timeout: Duration) async throws -> [InternetAddress] {
        let answer = PendingAnswer<Answer>()
        let isFirst = waiting.withLock { waiting -> Bool? in
            if waiting[host] != nil {
                waiting[host]?.append(answer)
                return false
            }
            guard waiting.count < Self.lookUpsMaximum else { return nil }
            waiting[host] = [answer]
            return true
        }
        guard let isFirst else { throw AddressError("too many name look-ups are under way", isUnanswered: true) }
        if isFirst { begin(host) }
        let timer = Task {
            try? await Task.sleep(for: timeout)
            answer.settle(
                .failure(AddressError("looking the host name up took longer than \(timeout)", isUnanswered: true)))
        }
        defer { timer.cancel() }
        return try await answer.value().get()
    }

    private func begin(_ host: String) {
        _ = BlockingThread.start(name: "resolver") {
            let answer = self.lookUp(host)
            let waiting = self.waiting.withLock { $0.removeValue(forKey: host) } ?? []
            for waiter in waiting { waiter.settle(answer) }
        }
    }

    private static func systemAnswer(_ host: String) -> Answer {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        // Addresses of a family that this machine has no route for are of no use.
        hints.ai_flags = AI_ADDRCONFIG
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, nil, &hints, &list)
        defer { if let list { freeaddrinfo(list) } }
        guard code == 0 else {
            let error = AddressError(
                "the host name cannot be resolved: \(String(cString: gai_strerror(code)))",
                isUnanswered: code == EAI_AGAIN)
            return .failure(error)
        }
        var addresses: [InternetAddress] = []
        var next = list
        while let entry = next {
            if let address = address(entry.pointee), !addresses.contains(address) { addresses.append(address) }
            next = entry.pointee.ai_next
        }
        return addresses.isEmpty
            ? .failure(AddressError("the host name has no address")) : .success(addresses)
    }

    private static func address(_ entry: addrinfo) -> InternetAddress? {
        guard let raw = UnsafeRawPointer(entry.ai_addr) else { return nil }
        switch entry.ai_family {
        case AF_INET:
            return withUnsafeBytes(of: raw.loadUnaligned(as: sockaddr_in.self).sin_addr) {
                InternetAddress(bytes: Array($0))
            }
        case AF_INET6:
            return withUnsafeBytes(of: raw.loadUnaligned(as: sockaddr_in6.self).sin6_addr) {
                InternetAddress(bytes: Array($0))
            }
        default:
            return nil
        }
    }
}

/// Why an endpoint's address cannot be used; the sentence is safe to keep.
struct AddressError: Error, Hashable, CustomStringConvertible {
    let description: String
    /// Whether there was no answer at all: what was checked before may still hold.
    let isUnanswered: Bool

    init(_ description: String, isUnanswered: Bool = false) {
        self.description = description
        self.isUnanswered = isUnanswered
    }
}

/// One value that somebody else will give, once; later values are dropped.
final class PendingAnswer<Value: Sendable>: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<Value, Never>)
        case settled(Value)
    }

    private let state = Mutex(State.open)

    /// Gives the value, unless there is one.
    func settle(_ value: Value) {
        let waiter: CheckedContinuation<Value, Never>? = state.withLock { state in
            switch state {
            case .open:
                state = .settled(value)
                return nil
            case .awaited(let continuation):
                state = .settled(value)
                return continuation
            case .settled:
                return nil
            }
        }
        waiter?.resume(returning: value)
    }

    /// Waits for the value; for one waiter.
    func value() async -> Value {
        await withCheckedContinuation { continuation in
            let value: Value? = state.withLock { state in
                if case .settled(let value) = state { return value }
                state = .awaited(continuation)
                return nil
            }
            if let value { continuation.resume(returning: value) }
        }
    }
}
