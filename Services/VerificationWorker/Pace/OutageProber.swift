import ServiceLifecycle

/// While the main host rests, asks it again and again by its breaker's schedule: no lookup does, since they are paused.
struct OutageProber: Service {
    private let pace: AppStorePace
    private let outages: AsyncStream<Void>
    private let outage: AsyncStream<Void>.Continuation

    init(pace: AppStorePace) {
        self.pace = pace
        (outages, outage) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Begins to ask.
    func wake() {
        outage.yield()
    }

    /// Waits for outages, and in each asks until the host is back; until graceful shutdown.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            for await _ in outages {
                while !Task.isCancelled, let wait = await pace.probe() {
                    // Cancelled at shutdown, which the loop sees.
                    try? await Task.sleep(for: wait)
                }
            }
        }
    }
}
