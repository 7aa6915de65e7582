import ChanceTesting
import Testing

@testable import Pacing

@Suite("The queues")
struct QueueTests {
    private let start = ContinuousClock.now

    @Test("a line keeps the order in which one joined, whoever leaves", arguments: UInt64(1)...20)
    func line(seed: UInt64) {
        var generator = SplitMix(seed: seed)
        var line = LinkedLine<Int>()
        var model: [Int] = []
        for _ in 0..<2_000 {
            let id = Int.random(in: 0..<40, using: &generator)
            model.removeAll { $0 == id }
            if Bool.random(using: &generator) {
                line.append(id)
                model.append(id)
            } else {
                line.remove(id)
            }
            guard line.all == model, line.first == model.first, line.last == model.last, line.count == model.count
            else {
                Issue.record("\(line.all) instead of \(model)")
                return
            }
        }
        #expect(!model.isEmpty)
    }

    @Test("a heap hands out the earliest deadline first, and nobody who was taken out", arguments: UInt64(1)...20)
    func heap(seed: UInt64) {
        var generator = SplitMix(seed: seed)
        var heap = DeadlineHeap<Int>()
        var model: [Int: ContinuousClock.Instant] = [:]
        var now = start
        var due = 0
        for _ in 0..<3_000 {
            let id = Int.random(in: 0..<60, using: &generator)
            switch Int.random(in: 0..<6, using: &generator) {
            case 0...2:
                let deadline = now + .milliseconds(Int.random(in: 0..<500, using: &generator))
                heap.insert(id, deadline: deadline)
                model[id] = deadline
            case 3:
                heap.remove(id)
                model[id] = nil
            default:
                now += .milliseconds(20)
                while let first = heap.removeFirst(upTo: now) {
                    due += 1
                    let deadline = model.removeValue(forKey: first)
                    guard let deadline, deadline <= now, model.values.allSatisfy({ $0 >= deadline }) else {
                        Issue.record("\(first) was not the one that was due")
                        return
                    }
                }
            }
            guard heap.earliest == model.values.min(), heap.count == model.count else {
                Issue.record("\(heap.count) entries instead of \(model.count)")
                return
            }
        }
        #expect(due > 100)
        #expect(heap.removeFirst(upTo: now) == nil)
    }
}

@Suite("Remembered values")
struct RememberedValuesTests {
    private let start = ContinuousClock.now

    @Test("a value is kept for its time, and not an instant longer")
    func lifetime() {
        var values = RememberedValues<String, Int>(capacity: 10, lifetime: .seconds(5))
        values.insert(1, of: "a", now: start)
        #expect(values.value(of: "a", now: start + .milliseconds(4_999)) == 1)
        #expect(values.value(of: "a", now: start + .seconds(5)) == nil)
        #expect(values.count == 0)
    }

    @Test("beyond the maximum the one that nobody asked for longest is forgotten")
    func leastRecentlyUsed() {
        var values = RememberedValues<String, Int>(capacity: 2, lifetime: .seconds(5))
        values.insert(1, of: "a", now: start)
        values.insert(2, of: "b", now: start)
        #expect(values.value(of: "a", now: start) == 1)
        values.insert(3, of: "c", now: start)
        #expect(values.value(of: "a", now: start) == 1)
        #expect(values.value(of: "b", now: start) == nil)
        #expect(values.value(of: "c", now: start) == 3)
        #expect(values.count == 2)
    }

    @Test("a value that is replaced begins a new life, and displaces nobody")
    func replaced() {
        var values = RememberedValues<String, Int>(capacity: 2, lifetime: .seconds(5))
        values.insert(1, of: "a", now: start)
        values.insert(2, of: "b", now: start)
        values.insert(9, of: "a", now: start + .seconds(4))
        #expect(values.value(of: "b", now: start + .seconds(4)) == 2)
        #expect(values.value(of: "a", now: start + .seconds(8)) == 9)
        #expect(values.value(of: "b", now: start + .seconds(8)) == nil)
    }

    @Test("asking does not make a life longer")
    func asking() {
        var values = RememberedValues<String, Int>(capacity: 2, lifetime: .seconds(5))
        values.insert(1, of: "a", now: start)
        for second in 1..<5 { #expect(values.value(of: "a", now: start + .seconds(second)) == 1) }
        #expect(values.value(of: "a", now: start + .seconds(5)) == nil)
    }

    @Test("without room, or without time, nothing is kept", arguments: [(0, 5), (5, 0), (-1, 5)])
    func nothing(capacity: Int, seconds: Int) {
        var values = RememberedValues<String, Int>(capacity: capacity, lifetime: .seconds(seconds))
        values.insert(1, of: "a", now: start)
        #expect(values.value(of: "a", now: start) == nil)
        #expect(values.count == 0)
    }
}
