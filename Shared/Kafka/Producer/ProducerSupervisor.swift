import Foundation
import Logging
import Synchronization

/// Keeps a producer's client alive: gives it to callers, replaces it when it is past help, and ends it.
final class ProducerSupervisor: Sendable {
    /// By how much the wait between replacements may grow while they do not help.
    private static let replacementDelayFactorMaximum = 30

    private struct State {
        var current: ProducerClient
        var isClosed = false
        /// Clients whose threads run: the current one, and replaced ones that end.
        var running: [ObjectIdentifier: ProducerClient] = [:]
        var replacements = 0
        var delayFactor = 1
        var replaceNotBefore = ContinuousClock.now
        var delivered = 0
        var failed = 0
        var deliveredAtReplacement = 0
        var errors = LastingErrors()
    }

    let configuration: KafkaConfiguration
    let settings: KafkaProducerSettings
    let logger: Logger
    private let state: Mutex<State>

    init(configuration: KafkaConfiguration, settings: KafkaProducerSettings, logger: Logger) throws(KafkaError) {
        self.configuration = configuration
        self.settings = settings
        self.logger = logger
        let client = try ProducerClient(configuration: configuration, settings: settings)
        state = Mutex(State(current: client, running: [ObjectIdentifier(client): client]))
        client.start(self)
    }

    /// The client to send with, announced to it; nil when the producer is closed.
    func enter() -> ProducerClient? {
        while true {
            guard let client = state.withLock({ $0.isClosed ? nil : $0.current }) else { return nil }
            if client.enter() { return client }
            // It was replaced since, so the next look finds another one, or finds the producer closed.
        }
    }

    func count(delivered: Int, failed: Int) {
        state.withLock { state in
            state.delivered += delivered
            state.failed += failed
            if delivered > 0 { state.errors.works(at: .now) }
        }
    }

    /// Notes an error, which counts if it is one that does not pass by itself.
    func note(_ error: KafkaError) {
        state.withLock { $0.errors.note(error, at: .now) }
    }

    /// The worst error that lasts.
    var trouble: KafkaTrouble? {
        state.withLock { $0.errors.current(at: .now, mayExpire: true) }
    }

    /// Puts a new client in the place of `client`, unless that was tried a moment ago; called on `client`'s thread.
    func replace(_ client: ProducerClient) {
        let isDue = state.withLock { state in
            guard !state.isClosed, state.current === client, state.replaceNotBefore <= .now else { return false }
            let helped = state.replacements == 0 || state.delivered > state.deliveredAtReplacement
            state.delayFactor = helped ? 1 : min(state.delayFactor * 2, Self.replacementDelayFactorMaximum)
            state.replaceNotBefore = .now + settings.replacementDelay * state.delayFactor
            return true
        }
        guard isDue else { return }
        let successor: ProducerClient
        do throws(KafkaError) {
            successor = try ProducerClient(configuration: configuration, settings: settings)
        } catch {
            logger.debug("no new producer client: \(error)")
            return
        }
        let isTaken = state.withLock { state in
            guard !state.isClosed else { return false }
            state.current = successor
            state.running[ObjectIdentifier(successor)] = successor
            state.replacements += 1
            state.deliveredAtReplacement = state.delivered
            return true
        }
        logger.debug("the producer's client acknowledged nothing and was replaced")
        // A successor that comes too late starts all the same, since its thread is what destroys it.
        if !isTaken { successor.close(flushTimeout: .zero) }
        successor.start(self)
        client.close(flushTimeout: .zero)
    }

    /// A client's thread is about to end.
    func ended(_ client: ProducerClient) {
        state.withLock { _ = $0.running.removeValue(forKey: ObjectIdentifier(client)) }
    }

    /// Takes no more messages; what waits has `flushTimeout` left.
    ///
    /// Returns at once, with the clients that end.
    @discardableResult
    func beginClose(flushTimeout: Duration) -> [ProducerClient] {
        let running = state.withLock { state in
            state.isClosed = true
            return Array(state.running.values)
        }
        for client in running { client.close(flushTimeout: flushTimeout) }
        return running
    }

    var statistics: KafkaProducerStatistics {
        let (numbers, running) = state.withLock { state in
            ((state.delivered, state.failed, state.replacements), Array(state.running.values))
        }
        let outstanding = running.reduce(0) { $0 + $1.registry.waiting.count }
        return KafkaProducerStatistics(
            outstanding: outstanding, delivered: numbers.0, failed: numbers.1, replacements: numbers.2)
    }
}
