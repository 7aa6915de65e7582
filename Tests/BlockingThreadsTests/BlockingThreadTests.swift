import BlockingThreads
import Foundation
import Synchronization
import Testing

@Suite struct BlockingThreadTests {
    @Test(
        "the system knows every thread's name before its body runs",
        .enabled(if: systemTellsNames, "SKIPPED: no /proc, nobody tells a thread's name"))
    func namesEveryThread() async {
        let names = Mutex([String]())
        // So many, because a name was lost only where the new thread ran before the call that started it had returned.
        for number in 0..<1_000 {
            let handle = BlockingThread.start(name: "blocking-\(number)-of-a-thousand") {
                let name = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
                names.withLock { $0.append(name ?? "unknown") }
            }
            await handle.join()
        }
        let wanted = (0..<1_000).map { String("blocking-\($0)-of-a-thousand".prefix(15)) + "\n" }
        #expect(names.withLock { $0 } == wanted)
    }
}

private let systemTellsNames = FileManager.default.fileExists(atPath: "/proc/thread-self/comm")
