import Synchronization
import Testing

@testable import ReceiptIntake

@Suite("A bounded queue that hands out batches", .timeLimit(.minutes(1)))
struct BatchQueueTests {
    private func queue(
        elements: Int = 100, bytes: Int = 100, batchElements: Int = 100, batchBytes: Int = 100
    ) -> BatchQueue<Int> {
        BatchQueue(
            limits: .init(elements: elements, bytes: bytes, batchElements: batchElements, batchBytes: batchBytes)
        ) { $0 }
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
}
