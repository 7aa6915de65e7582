/// Elements for whoever listens: each has all of them from its beginning on; what comes while nobody listens waits for the next one.
final class Listeners<Element: Sendable>: Sendable {
    private struct State {
        var lastNumber = 0
        var listeners: [Int: AsyncStream<Element>.Continuation] = [:]
        var waiting: [Element] = []

        mutating func keep(_ element: Element, _ maximum: Int) {
            waiting.append(element)
            if waiting.count > maximum { waiting.removeFirst() }
        }
    }

    private let state = Locked(State())
    private let maximum: Int

    /// - Parameter maximum: how many elements wait, for each listener or for the first; then the oldest go.
    init(maximum: Int) { self.maximum = maximum }

    /// Listens until whoever reads the stream is cancelled; other listeners go on.
    func listen() -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Element.self, bufferingPolicy: .bufferingNewest(maximum))
        let number = state.withLock { state in
            state.lastNumber += 1
            for element in state.waiting { continuation.yield(element) }
            state.waiting = []
            state.listeners[state.lastNumber] = continuation
            return state.lastNumber
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { $0.listeners[number] = nil }
        }
        return stream
    }

    func tell(_ element: Element) {
        var asked: [Int: AsyncStream<Element>.Continuation] = [:]
        var isHeard = false
        while !isHeard {
            // Who came since the last look; a listener that has ended hears nothing, and goes by itself.
            let new = state.withLock { state in
                let new = state.listeners.filter { asked[$0.key] == nil }
                if new.isEmpty { state.keep(element, maximum) }
                return new
            }
            if new.isEmpty { return }
            // Without the lock: a listener that is cancelled holds its task's lock while it waits for this one.
            for (number, listener) in new {
                asked[number] = listener
                if case .terminated = listener.yield(element) { continue }
                isHeard = true
            }
        }
    }
}
