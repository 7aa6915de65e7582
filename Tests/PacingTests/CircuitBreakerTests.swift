import Testing

@testable import Pacing

@Suite("The breaker", .timeLimit(.minutes(1)))
struct CircuitBreakerTests {
    private let time = ManualTime()

    private func breaker(
        _ settings: CircuitBreaker.Settings = .init(), onChange: @escaping @Sendable (Bool) -> Void = { _ in }
    ) -> CircuitBreaker {
        CircuitBreaker(settings: settings, time: time.source, onChange: onChange)
    }

    @Test("it opens, probes and closes, and says so once each")
    func story() {
        let notes = Notes<Bool>()
        let breaker = breaker { notes.add($0) }
        #expect(!breaker.isOpen && breaker.nextProbe == nil)
        for _ in 0..<20 {
            #expect(breaker.admit() == .allowed)
            breaker.failed()
        }
        #expect(breaker.isOpen && breaker.nextProbe == .seconds(1))
        #expect(breaker.admit() == .refused(retryAfter: .seconds(1)))
        time.advance(by: .seconds(1))
        #expect(breaker.admit() == .probe)
        breaker.failed(.probe)
        time.advance(by: .seconds(2))
        #expect(breaker.admit() == .probe)
        breaker.abandoned(.probe)
        #expect(breaker.admit() == .probe)
        breaker.abandoned()
        #expect(breaker.admit() == .probe)
        #expect(notes.all == [true])
        breaker.succeeded(.probe)
        #expect(!breaker.isOpen && breaker.nextProbe == nil)
        #expect(breaker.admit() == .allowed)
        breaker.succeeded()
        #expect(notes.all == [true, false])
    }

    @Test("of a thousand requests at once, one is the probe")
    func oneProbe() async {
        let breaker = breaker()
        for _ in 0..<20 { breaker.failed() }
        time.advance(by: .seconds(1))
        let admissions = await withTaskGroup(of: CircuitBreaker.Admission.self) { group in
            for _ in 0..<1_000 { group.addTask { breaker.admit() } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(admissions.filter { $0 == .probe }.count == 1)
        #expect(admissions.filter { $0 == .refused(retryAfter: .seconds(2)) }.count == 999)
    }

    @Test(
        "changes are told in order and one at a time, however many tasks report; and the breaker may be asked meanwhile"
    )
    func order() async {
        let notes = Notes<(change: Bool, isNested: Bool)>()
        let inside = Notes<Void>()
        let outside = Notes<Void>()
        let reference = Reference()
        let breaker = breaker(.init(samplesMinimum: 1, window: .seconds(1), probeDelay: .milliseconds(1))) { isOpen in
            notes.add((isOpen, inside.all.count != outside.all.count))
            inside.add(())
            // It would hang here if the lock were held.
            _ = reference.breaker?.isOpen
            outside.add(())
        }
        reference.breaker = breaker
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for number in 0..<300 {
                        self.time.advance(by: .milliseconds(40))
                        switch breaker.admit() {
                        case .allowed: breaker.failed(.allowed)
                        case .probe: number % 2 == 0 ? breaker.succeeded(.probe) : breaker.failed(.probe)
                        case .refused: await Task.yield()
                        }
                    }
                }
            }
        }
        let told = notes.all
        #expect(told.count > 20)
        #expect(told.enumerated().allSatisfy { $0.element.change == $0.offset.isMultiple(of: 2) })
        #expect(told.allSatisfy { !$0.isNested })
        #expect(told.last?.change == breaker.isOpen)
    }

    @Test("a change that is made while one is told is told after it")
    func changeInside() {
        let notes = Notes<String>()
        let reference = Reference()
        let breaker = breaker(.init(samplesMinimum: 1)) { isOpen in
            notes.add("\(isOpen) begins")
            if isOpen, notes.all.count == 1 {
                self.time.advance(by: .seconds(1))
                _ = reference.breaker?.admit()
                reference.breaker?.succeeded(.probe)
            }
            notes.add("\(isOpen) ends")
        }
        reference.breaker = breaker
        breaker.failed()
        #expect(notes.all == ["true begins", "true ends", "false begins", "false ends"])
    }

    @Test("with the machine's clock, too")
    func realClock() {
        let breaker = CircuitBreaker(settings: .init(samplesMinimum: 5, probeDelay: .seconds(3_600)))
        for _ in 0..<5 { breaker.failed() }
        guard case .refused(let after) = breaker.admit() else {
            Issue.record("it is not open")
            return
        }
        #expect(after > .zero && after <= .seconds(3_600))
    }
}
