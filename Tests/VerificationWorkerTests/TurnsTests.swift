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

    @Test func aLineThatIsNeverEmptyDoesNotGrow() async {
        let turns = Turns(maximum: 1)
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        // The first waits until four are in line. Each of them comes again when its turn is over, so that three always wait.
        let longest = await withTaskGroup(of: Int.self) { group in
            group.addTask {
                await turns.take {
                    begin.finish()
                    while turns.places < 4 { await Task.yield() }
                    return 4
                }
            }
            for await _ in begun {}
            for _ in 0..<4 {
                group.addTask {
                    var longest = 0
                    for _ in 0..<500 { longest = max(longest, await turns.take { turns.places }) }
                    return longest
                }
            }
            return await group.reduce(0, max)
        }
        #expect((1...8).contains(longest), "\(longest)")
        #expect(turns.places == 0)
    }
}
