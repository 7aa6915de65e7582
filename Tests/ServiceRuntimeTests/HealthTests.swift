import Foundation
import Logging
import Testing

@testable import ServiceRuntime

@Suite("Health", .timeLimit(.minutes(1)))
struct HealthTests {
    @Test("a check is not ready until it is set, and every check must hold")
    func checks() async {
        let health = HealthRegistry()
        #expect(await health.report().isReady)
        let (database, broker) = (health.register("database"), health.register("broker"))
        #expect(await health.report().checks.map(\.detail) == ["starting", "starting"])
        database.set(ready: true)
        #expect(await !health.report().isReady)
        broker.set(ready: true, detail: "3 partitions")
        let report = await health.report()
        #expect(report.isReady && report.checks.map(\.name) == ["broker", "database"])
        #expect(health.register("broker") === broker)
        database.set(ready: false, detail: "gone")
        #expect(await health.report().checks.last == .init(name: "database", ready: false, detail: "gone"))
    }

    @Test("a probe is asked each time, and its error is told")
    func probes() async {
        let health = HealthRegistry()
        let calls = CounterSeries()
        health.registerProbe("good") { calls.increment(by: Int64(1)) }
        health.registerProbe("bad") { throw ProbeFailure() }
        for _ in 0..<2 {
            let report = await health.report()
            #expect(!report.isReady)
            #expect(report.checks.map(\.ready) == [false, true])
            #expect(report.checks[0].detail == "the probe failed")
        }
        var text = PrometheusText()
        calls.append(to: &text, name: "n", labels: [])
        #expect(text.text == "n 2\n")
    }

    @Test("a probe that hangs is answered for in time, is not started twice, and recovers")
    func hangingProbe() async throws {
        let health = HealthRegistry()
        let (started, released) = (Occurrences<Void>(), Occurrences<Void>())
        let calls = CounterSeries()
        health.registerProbe("slow", timeout: .milliseconds(30)) {
            calls.increment(by: Int64(1))
            started.happen(())
            try await released.next()
        }
        async let first = health.report()
        async let second = health.report()
        #expect(await first.checks[0].detail.hasPrefix("no answer within"))
        #expect(await !second.isReady)
        #expect(await !health.report().isReady)
        var text = PrometheusText()
        calls.append(to: &text, name: "n", labels: [])
        #expect(text.text == "n 1\n")
        try await started.next()
        // The run that hung ends at last; whoever asks next gets its outcome or a new run's, both good.
        let patient = Task {
            // Twice: for the run that hung, and for the new one that a question may start.
            repeat {
                released.happen(())
                released.happen(())
            } while await !health.report().isReady
        }
        await patient.value
    }

    @Test("shutdown makes the process not ready, whatever the checks say")
    func shutdown() async {
        let health = HealthRegistry()
        health.register("database").set(ready: true)
        health.beginShutdown()
        let report = await health.report()
        #expect(!report.isReady && report.checks.map(\.name) == ["database", "shutdown"])
    }
}
