import Synchronization
import Testing

@testable import ReceiptIntake

@Suite("A bounded queue that hands out batches", .timeLimit(.minutes(1)))
struct BatchQueueTests {
    private func queue(
        elements: Int = 100, bytes: Int = 100, batchElements: Int = 100, batchBytes: Int = 100,
        gathering: BatchQueue<Int>.Gathering? = nil
    ) -> BatchQueue<Int> {
        BatchQueue(
            limits: .init(
                elements: elements, bytes: bytes, batchElements: batchElements, batchBytes: batchBytes,
                gathering: gathering)
        ) { $0 }
    }

    /// A queue of batches of three that wait for company: a batch of several has just been taken.
    private func gatheringQueue(elements: Int = 100) async -> BatchQueue<Int> {
        let queue = queue(
            elements: elements, batchElements: 3,
            gathering: .init(pace: .milliseconds(1), gap: .milliseconds(50), longest: .seconds(50)))
        #expect(queue.append([1, 1]) == 2)
        #expect(await queue.next() == [1, 1])
        return queue
    }

    @Test("takes in what there is room for, and not what would be too many elements or too many bytes")
    func limits() async {
        let queue = queue(elements: 3, bytes: 10)
        #expect(queue.append([1, 1]) == 2)
        #expect(queue.append([9]) == 0)
        #expect(queue.append([9, 7, 1]) == 1)
        #expect(queue.append([0]) == 0)
        #expect(await queue.next() == [1, 1, 7])
        #expect(queue.append([10]) == 1)
        #expect(queue.append([1]) == 0)
        #expect(queue.append([]) == 0)
    }

    @Test("a batch ends before the element that would make it too large, and nothing changes places")
    func batches() async {
        let queue = queue(batchElements: 3, batchBytes: 10)
        #expect(queue.append([4, 4, 4, 12, 1, 1, 1, 1, 0]) == 9)
        var batches: [[Int]] = []
        while queue.count > 0 { batches.append(await queue.next()) }
        #expect(batches == [[4, 4], [4], [12], [1, 1, 1], [1, 0]])
        #expect(queue.append(Array(repeating: 1, count: 100)) == 100, "all bytes were given back")
    }

    @Test("what is too much for one batch goes to every taker that waits")
    func handsOverToAll() async {
        let queue = queue(batchBytes: 5)
        await withTaskGroup(of: [Int].self) { group in
            for _ in 0..<3 { group.addTask { await queue.next() } }
            while queue.takersCount < 3 { await Task.yield() }
            #expect(queue.append([5, 5, 5]) == 3)
            var batches: [[Int]] = []
            for await batch in group { batches.append(batch) }
            #expect(batches == [[5], [5], [5]])
        }
    }

    @Test("after a batch of several, one taker waits for company and the others for what comes after")
    func gathers() async {
        let queue = await gatheringQueue()
        await withTaskGroup(of: [Int].self) { group in
            for _ in 0..<2 { group.addTask { await queue.next() } }
            while queue.takersCount < 2 { await Task.yield() }
            #expect(queue.append([1]) == 1)
            #expect(queue.append([2]) == 1)
            #expect(await group.next() == [1, 2])
            // What fills a batch is not waited with.
            #expect(queue.append([3, 4, 5]) == 3)
            #expect(await group.next() == [3, 4, 5])
        }
        queue.close()
        #expect(await queue.next() == [])
    }

    @Test("the first one after a pause is taken at once, and what follows it is one batch, when that is due")
    func paces() async throws {
        let pace = Duration.seconds(3)
        let queue = queue(gathering: .init(pace: pace, gap: .zero, longest: .zero))
        func taken(_ elements: [Int]) async -> [Int] {
            await withTaskGroup(of: [Int].self) { group in
                for _ in 0..<2 { group.addTask { await queue.next() } }
                while queue.takersCount < 2 { await Task.yield() }
                for element in elements { #expect(queue.append([element]) == 1) }
                let batch = await group.next() ?? []
                queue.close()
                return batch
            }
        }
        #expect(queue.append([1]) == 1)
        #expect(await queue.next() == [1])
        let first = ContinuousClock.now
        #expect(await taken([2, 3]) == [2, 3])
        #expect(first.duration(to: .now) >= pace * 0.9)
    }

    @Test("what is more than the gathered batch goes to others who wait, and a closed queue hands all of it out")
    func gathersTooMuch() async {
        let queue = await gatheringQueue()
        await withTaskGroup(of: [Int].self) { group in
            for _ in 0..<2 { group.addTask { await queue.next() } }
            while queue.takersCount < 2 { await Task.yield() }
            #expect(queue.append([1]) == 1)
            #expect(queue.append([2, 3, 4, 5, 6, 7]) == 6)
            var batches: [[Int]] = []
            for await batch in group { batches.append(batch) }
            #expect(batches.sorted { $0[0] < $1[0] } == [[1, 2, 3], [4, 5, 6]])
        }
        queue.close()
        #expect(await queue.next() == [7])
        #expect(await queue.next() == [])
    }

    @Test("what finds no room while a batch is gathered leaves the batch to its taker")
    func gathersWhileFull() async {
        let queue = await gatheringQueue(elements: 2)
        await withTaskGroup(of: [Int].self) { group in
            for _ in 0..<2 { group.addTask { await queue.next() } }
            while queue.takersCount < 2 { await Task.yield() }
            #expect(queue.append([]) == 0)
            #expect(queue.append([1, 2]) == 2)
            #expect(queue.append([3]) == 0)
            // An empty batch would tell a taker that the queue is closed.
            #expect(await group.next() == [1, 2])
            #expect(queue.takersCount == 1)
            queue.close()
            #expect(await group.next() == [])
        }
    }

    @Test("once closed it takes nothing in and hands out the rest")
    func closes() async {
        let queue = queue(batchElements: 1)
        #expect(queue.append([1, 2]) == 2)
        queue.close()
        #expect(queue.append([3]) == 0)
        #expect(await queue.next() == [1])
        #expect(await queue.next() == [2])
        #expect(await queue.next() == [])
    }

    @Test(
        "no owner has more than its part of a batch while others wait, and what nobody else needs is taken all the same"
    )
    func fair() async {
        let queue = BatchQueue<String>(
            limits: .init(elements: 100, bytes: 1000, batchElements: 4, batchBytes: 100, partOfOne: 4)
        ) {
            $0.utf8.count
        } owner: {
            String($0.prefix(1))
        }
        #expect(queue.append(["a1", "a2", "a3", "a4", "a5", "b1", "b2", "c1"]) == 8)
        #expect(await queue.next() == ["a1", "b1", "c1", "a2"])
        #expect(await queue.next() == ["a3", "a4", "a5", "b2"])
        #expect(queue.count == 0)
        // By bytes: what is too large for a part is taken where the owner has nothing else in the batch.
        let large = String(repeating: "a", count: 40)
        #expect(queue.append([large, large, large, "b1"]) == 4)
        #expect(await queue.next() == [large, "b1", large])
        #expect(await queue.next() == [large])
    }
}
