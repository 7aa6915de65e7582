import BlockingThreads
import Foundation
import ServiceRuntime
import Synchronization

/// Looks host names up with the system's resolver, on threads of its own because `getaddrinfo` blocks.
final class AddressResolver: Sendable {
    /// The most look-ups at a time: `getaddrinfo` cannot be interrupted, so a dead name server holds each for long.
    static let lookUpsMaximum = 16

    private let lookUps = Mutex(0)

    /// The addresses of a host, in the system's order of preference; never none.
    ///
    /// - Parameter timeout: after which the look-up is given up; its thread ends when the system's own time-out does.
    /// - Throws: `AddressError`.
    func addresses(of host: String, timeout: Duration) async throws -> [InternetAddress] {
        let hasThread = lookUps.withLock { count in
            guard count < Self.lookUpsMaximum else { return false }
            count += 1
            return true
        }
        guard hasThread else { throw AddressError("too many name look-ups are under way") }
        let answer = PendingAnswer<Result<[InternetAddress], AddressError>>()
        _ = BlockingThread.start(name: "resolver") {
            answer.settle(Self.lookUp(host))
            self.lookUps.withLock { $0 -= 1 }
        }
        let timer = Task {
            try? await Task.sleep(for: timeout)
            answer.settle(.failure(AddressError("looking the host name up took longer than \(timeout)")))
        }
        defer { timer.cancel() }
        return try await answer.value().get()
    }

    private static func lookUp(_ host: String) -> Result<[InternetAddress], AddressError> {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        // Addresses of a family that this machine has no route for are of no use.
        hints.ai_flags = AI_ADDRCONFIG
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, nil, &hints, &list)
        defer { if let list { freeaddrinfo(list) } }
        guard code == 0 else {
            return .failure(AddressError("the host name cannot be resolved: \(String(cString: gai_strerror(code)))"))
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

    init(_ description: String) {
        self.description = description
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
