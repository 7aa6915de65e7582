import Foundation
import Persistence

/// Attempts what it is handed, side by side: sends each delivery once, judges the answer, and tells the inbox.
struct DeliveryAttempter: Sendable {
    let queue: DeliveryQueue
    let post: EndpointPost
    let settings: DeliverySettings
    let report: AttemptReport
    private let clock = ContinuousClock()

    /// Attempts until the queue is closed; the queue's room bounds how many at a time.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await delivery in queue.deliveries {
                group.addTask { await self.attempt(delivery) }
            }
        }
    }

    /// Makes one attempt, unless it comes so late that the lease could end before it.
    private func attempt(_ delivery: LeasedDelivery) async {
        let due = delivery.due
        let (start, beganAt) = (clock.now, Date())
        guard start + settings.timeout < delivery.leasedAt + settings.lease else {
            queue.finished(delivery, nil)
            return
        }
        let answer = await post.send(delivery)
        // Broken off by us: that says nothing about the endpoint.
        if Task.isCancelled { return }
        let verdict = DeliveryVerdict(
            answer, attempts: due.attempts + 1 - due.attemptsForgiven, waitsForEndpoint: due.waitsForEndpoint,
            schedule: settings.schedule,
            chance: .random(in: -1...1))
        let duration = clock.now - start
        report.ended(verdict, due, duration: duration)
        queue.finished(
            delivery, .init(beganAt: beganAt, duration: duration, answer: answer.text, verdict: verdict))
    }
}
