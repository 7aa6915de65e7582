import ChanceTesting
import Synchronization
import Testing

@testable import Pacing

@Suite("Turns that are shared by askers")
struct FairTurnsTests {
    private final class Counts: Sendable {
        let state = Mutex((now: 0, most: 0))
        let order = Mutex<[String]>([])
    }

    @Test("so many work at a time, and all get their turn")
    func all() async {
        let turns = FairTurns(maximum: 3)
        let counts = Counts()
        let done = await withTaskGroup(of: Int?.self) { group in
            for number in 0..<200 {
                group.addTask {
                    await turns.take(asker: "\(number % 7)") {
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
            return await group.reduce(into: Set<Int>()) { if let number = $1 { $0.insert(number) } }
        }
        #expect(done.count == 200)
        #expect(counts.state.withLock { $0.most } == 3)
        #expect(await turns.take(asker: "") { true } == true)
        #expect(turns.waiting == 0)
    }

    @Test("whoever asks once is before the second of whoever asks often; with a full line, in its place")
    func fair() async {
        let turns = FairTurns(maximum: 1, waitingMaximum: 20)
        let counts = Counts()
        @Sendable func refused() -> Int { counts.order.withLock { $0.count { $0 == "refused" } } }
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                // Holds the turn until all have come: the last one has taken another's place.
                _ = await turns.take(asker: "holder") { while refused() < 3 { await Task.yield() } }
            }
            while turns.isFree { await Task.yield() }
            for _ in 0..<22 {
                group.addTask {
                    let done: Void? = await turns.take(asker: "often") { counts.order.withLock { $0.append("often") } }
                    if done == nil { counts.order.withLock { $0.append("refused") } }
                }
            }
            while refused() < 2 { await Task.yield() }
            group.addTask {
                _ = await turns.take(asker: "once") { counts.order.withLock { $0.append("once") } }
            }
        }
        let order = counts.order.withLock { $0 }.filter { $0 != "refused" }
        #expect(refused() == 3 && order.count == 20)
        #expect(order.firstIndex(of: "once") ?? .max <= 2, "\(order)")
    }

    @Test("a failure gives the turn back")
    func failure() async throws {
        struct Failure: Error {}
        let turns = FairTurns(maximum: 1)
        await #expect(throws: Failure.self) { try await turns.take(asker: "") { throw Failure() } }
        #expect(await turns.take(asker: "") { 1 } == 1)
    }
}

@Suite("A line that is fair to askers")
struct FairLineTests {
    @Test("one asker's requests are in order of arrival, however many there are")
    func one() {
        var line = FairLine<Int>()
        for number in 0..<1_000 { line.append(number, asker: "a") }
        #expect(line.count == 1_000 && line.last == 999)
        var order: [Int] = []
        while let first = line.first {
            line.remove(first)
            order.append(first)
            // Others come while it is served.
            if order.count == 10 { for number in 1_000..<1_100 { line.append(number, asker: "a") } }
        }
        #expect(order == Array(0..<1_100))
    }

    @Test("a newcomer waits for one of each other asker at most, and nobody waits for ever")
    func fair() {
        var line = FairLine<Int>()
        for number in 0..<500 { line.append(number, asker: "flood") }
        #expect(line.countBefore(asker: "new") == 2 && line.isBeforeLast(asker: "new"))
        line.append(1_000, asker: "new")
        #expect(line.countBefore(asker: "other") == 3 && line.countBefore(asker: "flood") == 501)
        var served: [Int] = []
        // With one new asker for each that is served, the flood's still get every other turn or so.
        for step in 0..<400 {
            guard let first = line.first else { break }
            line.remove(first)
            served.append(first)
            line.append(2_000 + step, asker: "step \(step)")
        }
        #expect(served.firstIndex(of: 1_000) ?? .max <= 2)
        #expect(served.contains(3), "those who came first are not overtaken for ever")
    }

    @Test("joining, leaving and the count agree with a model", arguments: UInt64(1)...20)
    func model(seed: UInt64) {
        var generator = SplitMix(seed: seed)
        var line = FairLine<Int>()
        var model: [Int: String] = [:]
        for id in 0..<3_000 {
            switch Int.random(in: 0..<5, using: &generator) {
            case 0...2:
                let asker = "\(Int.random(in: 0..<4, using: &generator))"
                let before = line.countBefore(asker: asker)
                guard before <= model.count else {
                    Issue.record("\(before) before the newcomer, of \(model.count)")
                    return
                }
                line.append(id, asker: asker)
                model[id] = asker
            case 3:
                guard let first = line.first, let asker = model[first] else { continue }
                // Of one asker nobody is overtaken.
                #expect(model.filter { $0.value == asker }.keys.min() == first)
                line.remove(first)
                model[first] = nil
            default:
                guard let some = model.keys.randomElement(using: &generator) else { continue }
                line.remove(some)
                model[some] = nil
            }
            guard line.count == model.count, (line.first == nil) == model.isEmpty, (line.last == nil) == model.isEmpty
            else {
                Issue.record("\(line.count) instead of \(model.count)")
                return
            }
        }
        while let first = line.first { line.remove(first) }
        #expect(line.count == 0 && line.countBefore(asker: "new") == 0)
    }
}
