import Synchronization
import Testing

@testable import VerificationWorker

struct TurnsTests {
    private final class Counts: Sendable {
        let state = Mutex((now: 0, most: 0))
    }

    @Test func soManyWorkAtATimeAndAllGetTheirTurn() async {
        let turns = Turns(maximum: 3)
        let counts = Counts()
        let done = await withTaskGroup(of: Int.self) { group in
            for number in 0..<200 {
                group.addTask {
                    await turns.take {
                        counts.state.withLock {
                            $0.now += 1
                            $0.most = max($0.most, $0.now)
                        }
                        await Task.yield()
                        counts.state.withLock { $0.now -= 1 }
                        return number
                    }
                }
            }
            return await group.reduce(into: Set<Int>()) { $0.insert($1) }
        }
        #expect(done.count == 200)
        #expect(counts.state.withLock { $0.most } == 3)
        #expect(await turns.take { true })
    }
}
