import LogTesting
import Logging
import ServiceLifecycle
import Synchronization
import Testing

@testable import ServiceRuntime

@Suite("A settings file that is watched")
struct SettingsReloadTests {
    private struct Mistake: Error, CustomStringConvertible {
        let description: String
    }

    private final class File: Sendable {
        let content = Mutex<Result<String, Mistake>>(.success("first"))
        let used = Mutex<[String]>([])
        let refuses = Mutex(false)
    }

    private let log = CapturedLog()
    private let file = File()

    private var reload: SettingsReload<String> {
        SettingsReload("apps", inUse: "first", every: .seconds(1), logger: log.logger()) { [file] in
            try file.content.withLock { $0 }.get()
        } use: { [file] value in
            if file.refuses.withLock({ $0 }) { throw Mistake(description: "it cannot be used") }
            file.used.withLock { $0.append(value) }
        }
    }

    private func write(_ content: Result<String, Mistake>) { file.content.withLock { $0 = content } }
    private var used: [String] { file.used.withLock { $0 } }

    @Test("is used when it says something else, and only then")
    func changes() async {
        let reload = reload
        await reload.look()
        #expect(used.isEmpty && log.texts.isEmpty)
        write(.success("second"))
        for _ in 0..<3 { await reload.look() }
        #expect(used == ["second"])
        #expect(log.texts(.info) == ["another apps file is in use"])
        write(.success("first"))
        for _ in 0..<3 { await reload.look() }
        #expect(used == ["second", "first"])
    }

    @Test("is not used before two looks agree: somebody may still be writing it")
    func halfWritten() async {
        let reload = reload
        write(.success("sec"))
        await reload.look()
        write(.success("second"))
        await reload.look()
        #expect(used.isEmpty)
        await reload.look()
        #expect(used == ["second"])
        // What was seen for one look, and is as before, was never used.
        write(.success("sec"))
        await reload.look()
        write(.success("second"))
        for _ in 0..<2 { await reload.look() }
        #expect(used == ["second"])
    }

    @Test("changes nothing while it has a mistake, which is told once")
    func mistakes() async {
        let reload = reload
        write(.failure(Mistake(description: "line 3: no")))
        await reload.look()
        await reload.look()
        #expect(used.isEmpty)
        let told = "the apps file has a mistake; what it said before stays in use error="
        #expect(log.texts(.error) == [told + "line 3: no"])
        write(.failure(Mistake(description: "line 4: no")))
        await reload.look()
        #expect(log.texts(.error) == [told + "line 3: no", told + "line 4: no"])
        write(.success("second"))
        for _ in 0..<2 { await reload.look() }
        #expect(used == ["second"])
        // It was right in between, so the same mistake is new.
        write(.failure(Mistake(description: "line 4: no")))
        await reload.look()
        #expect(log.texts(.error).count == 3)
    }

    @Test("is tried again while what it says cannot be used")
    func unusable() async {
        let reload = reload
        file.refuses.withLock { $0 = true }
        write(.success("second"))
        for _ in 0..<3 { await reload.look() }
        #expect(used.isEmpty && log.texts(.error).count == 1)
        file.refuses.withLock { $0 = false }
        await reload.look()
        #expect(used == ["second"])
    }
}
