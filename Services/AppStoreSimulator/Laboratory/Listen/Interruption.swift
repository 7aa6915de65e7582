import Dispatch
import Foundation

/// Lets Ctrl-C end what runs, instead of the process in the middle of a line.
enum Interruption {
    /// Runs the body until it ends, or until SIGINT or SIGTERM cancels it; then its end is awaited.
    ///
    /// - Returns: what the body returns; nil when it was interrupted.
    /// - Throws: what the body throws.
    static func run<Result: Sendable>(_ body: @Sendable @escaping () async throws -> Result) async throws -> Result? {
        let (signals, arrival) = AsyncStream<Void>.makeStream()
        let sources = [SIGINT, SIGTERM].map { number in
            // The source sees the signal only when the default, which is to end, is off.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler { arrival.yield() }
            source.resume()
            return source
        }
        defer {
            for source in sources { source.cancel() }
            for number in [SIGINT, SIGTERM] { signal(number, SIG_DFL) }
        }
        return try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                _ = await signals.first { true }
                return nil
            }
            let first = try await group.next() ?? nil
            group.cancelAll()
            // What is cancelled on purpose ends with an error that nobody wants to read.
            while let result = await group.nextResult() { _ = result }
            return first
        }
    }
}
