import Foundation
import Logging
import Synchronization
import Testing

@testable import AppStoreSimulator

@Suite("The clock and what comes due")
struct ClockTests {
    private static func instant(_ text: String) throws -> Int64 {
        Int64(try Date(text, strategy: .iso8601).timeIntervalSince1970 * 1_000)
    }

    @Test(
        "periods end as the calendar has it",
        arguments: [
            ("2025-01-31T10:00:00Z", "P1M", "2025-02-28T10:00:00Z"),
            ("2024-01-31T10:00:00Z", "P1M", "2024-02-29T10:00:00Z"),
            ("2025-12-31T23:59:59Z", "P2M", "2026-02-28T23:59:59Z"),
            ("2024-02-29T00:00:00Z", "P1Y", "2025-02-28T00:00:00Z"),
            ("2025-03-29T12:00:00Z", "P1W", "2025-04-05T12:00:00Z"),
            ("2025-10-25T12:00:00Z", "P3D", "2025-10-28T12:00:00Z"),
        ])
    func periods(_ start: String, _ period: String, _ end: String) throws {
        let period = try #require(Period(period))
        #expect(period.added(to: try Self.instant(start) + 123) == (try Self.instant(end)) + 123)
    }

    @Test(
        "what is no period is refused",
        arguments: ["", "P", "1M", "P0M", "P1", "P1H", "P-1M", "P1001D", "PT1M", "P1MM"])
    func noPeriods(_ text: String) {
        #expect(Period(text) == nil)
    }

    @Test(
        "spans of requests",
        arguments: [
            ("90m", 5_400_000), ("36h", 129_600_000), ("10s", 10_000), ("250ms", 250), ("2d", 172_800_000),
            ("P1D", 86_400_000),
        ])
    func spans(_ text: String, _ milliseconds: Int64) throws {
        #expect(try #require(SpanField(text)).added(to: 0) == milliseconds)
    }

    @Test("the clock runs, stands, is set, and runs faster")
    func clock() {
        let time = SteppedTime()
        let clock = time.clock()
        time.step(1_500)
        #expect(clock.now == SteppedTime.start + 1_500)
        clock.set(speed: 0)
        time.step(9_000)
        #expect(clock.now == SteppedTime.start + 1_500)
        #expect(clock.realDelay(until: clock.now + 1) == nil)
        clock.set(1_000_000, speed: 60)
        time.step(1_000)
        #expect(clock.now == 1_060_000)
        #expect(clock.realDelay(until: 1_120_000) == 1_000)
        #expect(clock.realDelay(until: 5) == 0)
    }

    @Test("a store that cannot write is not asked again at once, though something is due")
    func failure() async throws {
        let time = SteppedTime()
        let file = FileManager.default.temporaryDirectory.appending(path: "timeline-\(UUID().uuidString).journal")
        defer { try? FileManager.default.removeItem(at: file) }
        let store = try Store(
            file: file, signer: try PayloadSigner(chain: try CertificateAuthority(now: Date()).chain),
            clock: time.clock())
        // No JSON can say infinity: from here on the journal cannot be written.
        await #expect(throws: Problem.self) {
            try await store.change { state, now in
                let speed = VirtualClock.Setting(virtualAnchor: 0, realAnchor: 0, speed: .infinity)
                state.put(SettingRecord(id: "unwritable", clock: speed))
                state.put(
                    NotificationRecord(
                        notificationUUID: "a", bundleId: "a.b", environment: .production, notificationType: "TEST",
                        createdDate: now, signedPayload: "", attempts: [], nextAttemptDate: now, sequence: 1))
            }
        }
        let timeline = Timeline(store: store, logger: Logger(label: "test")) { _ in }
        await #expect(throws: Problem.self) { try await timeline.catchUp() }
        let delay = await store.delayUntilDue(maximum: Timeline.Limit.sleep)
        #expect(delay == 0)
        #expect(Timeline.pause(delay, hasFailed: true) == Timeline.Limit.sleepAfterFailure)
        #expect(Timeline.pause(delay, hasFailed: false) == 0)
        #expect(Timeline.pause(Timeline.Limit.sleep, hasFailed: true) == Timeline.Limit.sleep)
        await store.close()
    }

    @Test("an advance lets each thing happen at its own instant, and what follows from it too")
    func advance() async throws {
        let time = SteppedTime()
        let signer = try PayloadSigner(chain: try CertificateAuthority(now: Date()).chain)
        let store = try Store(file: nil, signer: signer, clock: time.clock())
        let sent = Mutex<[String]>([])
        // Each attempt fails: the next is an hour later, three times.
        let timeline = Timeline(store: store, logger: Logger(label: "test")) { due in
            for notification in due {
                sent.withLock { $0.append("\(notification.id)@\((store.clock.now - SteppedTime.start) / 3_600_000)") }
                try? await store.change { state, now in
                    var notification = notification
                    notification.attempts.append(.init(attemptDate: now, sendAttemptResult: "NO_RESPONSE"))
                    notification.nextAttemptDate = notification.attempts.count < 3 ? now + 3_600_000 : nil
                    state.put(notification)
                }
            }
        }
        try await store.change { state, now in
            for (id, hours) in [("b", Int64(2)), ("a", 1)] {
                state.put(
                    NotificationRecord(
                        notificationUUID: id, bundleId: "a.b", environment: .production, notificationType: "TEST",
                        createdDate: now, signedPayload: "", attempts: [], nextAttemptDate: now + hours * 3_600_000,
                        sequence: state.nextNumber(.sequence)))
            }
        }
        let first = try await timeline.advance(to: SteppedTime.start + 90 * 60_000)
        #expect(first.events == 1)
        #expect(sent.withLock { $0 } == ["a@1"])
        #expect(store.clock.now == SteppedTime.start + 90 * 60_000)
        let second = try await timeline.advance(to: SteppedTime.start + 100 * 3_600_000)
        #expect(second.events == 5)
        #expect(sent.withLock { $0 } == ["a@1", "b@2", "a@2", "b@3", "a@3", "b@4"])
        await #expect(throws: Problem.self) { try await timeline.advance(to: SteppedTime.start) }
        await store.close()
    }
}
