import Testing

@testable import Pacing

@Suite("Single flight", .timeLimit(.minutes(1)))
struct SingleFlightTests {
    private typealias Flights = SingleFlight<String, Int>

    private let time = ManualTime()

    /// Negative values are not worth remembering.
    private func flights(_ limits: Flights.Limits = .init()) -> Flights {
        Flights(limits: limits, time: time.source) { $0 >= 0 }
    }

    /// A caller whose flight ends when the gate opens; it notes each flight that begins.
    private func ask(
        _ flights: Flights, _ key: String = "a", value: Int = 7, patience: Duration = .seconds(60),
        gate: Gate = Gate(), begun: Notes<String> = Notes()
    ) -> Task<Flights.Result, Never> {
        Task {
            await flights.value(of: key, within: patience) {
                begun.add(key)
                await gate.wait()
                return value
            }
        }
    }

    // MARK: Sharing

    @Test("a hundred callers of one key share one flight, and it is forgotten when they have its value")
    func sharing() async {
        let flights = flights()
        let (gate, begun) = (Gate(), Notes<String>())
        let tasks = (0..<100).map { ask(flights, value: $0, gate: gate, begun: begun) }
        await until { flights.waiters == 100 && gate.waiters == 1 }
        #expect(flights.flights == 1)
        gate.open()
        var results = Set<Flights.Result>()
        for task in tasks { results.insert(await task.value) }
        #expect(results.count == 1 && begun.all.count == 1)
        await until { flights.flights == 0 }
        // Everybody got it: the next one asks anew.
        #expect(await ask(flights, value: 200, gate: gate, begun: begun).value == .value(200))
        #expect(begun.all.count == 2)
    }

    @Test("different keys fly at the same time")
    func keys() async {
        let flights = flights()
        let gate = Gate()
        let tasks = (0..<50).map { ask(flights, "key \($0)", value: $0, gate: gate) }
        await until { gate.waiters == 50 }
        #expect(flights.flights == 50)
        gate.open()
        for (number, task) in tasks.enumerated() { #expect(await task.value == .value(number)) }
    }

    @Test("never two flights of one key at a time, under a storm of callers and keys, with the machine's clock")
    func storm() async {
        let flights = SingleFlight<Int, Int>(limits: .init(flightsMaximum: 16)) { $0 >= 0 }
        let inside = Notes<Int>()
        let outside = Notes<Int>()
        let overlaps = Notes<Int>()
        let results = await withTaskGroup(of: SingleFlight<Int, Int>.Result.self) { group in
            for number in 0..<5_000 {
                let key = number * 7 % 16
                group.addTask {
                    await flights.value(of: key, within: .seconds(30)) {
                        inside.add(key)
                        let count = inside.all.count { $0 == key } - outside.all.count { $0 == key }
                        if count != 1 { overlaps.add(key) }
                        await Task.yield()
                        outside.add(key)
                        return key
                    }
                }
            }
            return await group.reduce(into: [SingleFlight<Int, Int>.Result: Int]()) { $0[$1, default: 0] += 1 }
        }
        #expect(overlaps.all.isEmpty)
        #expect(results.values.reduce(0, +) == 5_000)
        #expect(results.keys.allSatisfy { if case .value = $0 { true } else { false } })
        await until { flights.flights == 0 && !flights.hasTimer }
        #expect(flights.waiters == 0)
    }

    // MARK: Patience

    @Test("who is out of patience is told so, the flight goes on, and its value is there when one asks again")
    func late() async {
        let flights = flights()
        let (gate, begun) = (Gate(), Notes<String>())
        let impatient = ask(flights, patience: .seconds(1), gate: gate, begun: begun)
        await until { flights.waiters == 1 }
        let patient = ask(flights, patience: .seconds(5), gate: gate, begun: begun)
        await until { flights.waiters == 2 && time.sleepers == 1 }
        time.advance(by: .seconds(1))
        #expect(await impatient.value == .late)
        #expect(flights.flights == 1 && flights.waiters == 1)
        gate.open()
        #expect(await patient.value == .value(7))
        // Again and again, without a flight, for as long as it is kept.
        for _ in 0..<3 { #expect(await ask(flights, value: 8, begun: begun).value == .value(7)) }
        #expect(begun.all.count == 1)
        time.advance(by: .milliseconds(299_999))
        #expect(await ask(flights, value: 8, begun: begun).value == .value(7))
        time.advance(by: .milliseconds(1))
        #expect(await ask(flights, value: 8, gate: gate, begun: begun).value == .value(8))
        #expect(begun.all.count == 2)
    }

    @Test("each caller has its own patience, and one timer serves them all")
    func patience() async {
        let flights = flights()
        let gate = Gate()
        var tasks: [Task<Flights.Result, Never>] = []
        for seconds in [30, 10, 20] {
            tasks.append(ask(flights, "key \(seconds)", patience: .seconds(seconds), gate: gate))
            await until { flights.waiters == tasks.count }
        }
        for (index, waiters) in [(1, 2), (2, 1), (0, 0)] {
            await until { time.sleepers == 1 && time.nextEnd == .seconds(10) }
            time.advance(by: .seconds(10))
            #expect(await tasks[index].value == .late)
            #expect(flights.waiters == waiters)
        }
        await until { time.sleepers == 0 }
        #expect(!flights.hasTimer && flights.flights == 3)
        gate.open()
        await until { flights.flights == 0 }
    }

    @Test("without patience a flight begins, and nobody waits for it", arguments: [0, -5])
    func noPatience(seconds: Int) async {
        let flights = flights()
        let (gate, begun) = (Gate(), Notes<String>())
        let none = Duration.seconds(seconds)
        #expect(await ask(flights, patience: none, gate: gate, begun: begun).value == .late)
        #expect(await ask(flights, patience: none, gate: gate, begun: begun).value == .late)
        #expect(!flights.hasTimer && flights.flights == 1)
        gate.open()
        await until { flights.flights == 0 }
        #expect(await ask(flights, patience: none, gate: gate, begun: begun).value == .value(7))
        #expect(begun.all.count == 1)
    }

    @Test("a value that is not worth it is not remembered")
    func worthless() async {
        let flights = flights()
        let (gate, begun) = (Gate(), Notes<String>())
        #expect(await ask(flights, value: -1, patience: .zero, gate: gate, begun: begun).value == .late)
        gate.open()
        await until { flights.flights == 0 }
        #expect(await ask(flights, value: 3, gate: gate, begun: begun).value == .value(3))
        #expect(begun.all.count == 2)
    }

    @Test("told to, it keeps what all its callers got, for its time, and nothing that is not worth it")
    func everyValue() async {
        let flights = flights(.init(rememberedFor: .seconds(10), keepsEveryValue: true))
        let (gate, begun) = (Gate(), Notes<String>())
        gate.open()
        for _ in 0..<3 { #expect(await ask(flights, gate: gate, begun: begun).value == .value(7)) }
        #expect(begun.all == ["a"])
        time.advance(by: .seconds(11))
        #expect(await ask(flights, value: -1, gate: gate, begun: begun).value == .value(-1))
        #expect(await ask(flights, value: 8, gate: gate, begun: begun).value == .value(8))
        #expect(begun.all == ["a", "a", "a"])
    }

    @Test("only so many values are remembered")
    func rememberedMaximum() async {
        let flights = flights(.init(rememberedMaximum: 2))
        let begun = Notes<String>()
        let gate = Gate()
        gate.open()
        for key in ["a", "b", "c"] {
            #expect(await ask(flights, key, patience: .zero, gate: gate, begun: begun).value == .late)
            await until { flights.flights == 0 }
        }
        for key in ["b", "c", "a"] { #expect(await ask(flights, key, gate: gate, begun: begun).value == .value(7)) }
        #expect(begun.all == ["a", "b", "c", "a"])
    }

    // MARK: Limits

    @Test("beyond the maximum of flights nothing begins; joining one, and what is remembered, costs no place")
    func full() async {
        let flights = flights(.init(flightsMaximum: 2))
        let (gate, begun) = (Gate(), Notes<String>())
        let open = Gate()
        open.open()
        #expect(await ask(flights, "old", value: 1, patience: .zero, gate: open).value == .late)
        await until { flights.flights == 0 }
        let tasks = [ask(flights, "a", gate: gate, begun: begun), ask(flights, "b", gate: gate, begun: begun)]
        await until { flights.flights == 2 && flights.waiters == 2 }
        #expect(await ask(flights, "c", gate: gate, begun: begun).value == .full)
        let joined = ask(flights, "a", gate: gate, begun: begun)
        await until { flights.waiters == 3 }
        #expect(await ask(flights, "old", value: 2).value == .value(1))
        gate.open()
        for task in tasks + [joined] { #expect(await task.value == .value(7)) }
        #expect(Set(begun.all) == ["a", "b"])
        #expect(await ask(flights, "c", gate: gate).value == .value(7))
    }

    @Test("beyond the maximum of waiters nobody joins, and nothing begins")
    func tooManyWaiters() async {
        let flights = flights(.init(waitersMaximum: 1))
        let (gate, begun) = (Gate(), Notes<String>())
        let task = ask(flights, gate: gate, begun: begun)
        await until { flights.waiters == 1 && gate.waiters == 1 }
        #expect(await ask(flights, gate: gate, begun: begun).value == .full)
        #expect(await ask(flights, "b", gate: gate, begun: begun).value == .full)
        gate.open()
        #expect(await task.value == .value(7))
        #expect(begun.all == ["a"])
    }

    // MARK: Cancelling

    @Test("a caller that is cancelled goes away at once, and the flight goes on for the others and for later")
    func cancelledCaller() async {
        let flights = flights()
        let (gate, begun) = (Gate(), Notes<String>())
        let first = ask(flights, gate: gate, begun: begun)
        await until { flights.waiters == 1 }
        let second = ask(flights, gate: gate, begun: begun)
        await until { flights.waiters == 2 }
        first.cancel()
        #expect(await first.value == .late)
        #expect(flights.flights == 1)
        gate.open()
        #expect(await second.value == .value(7))
        #expect(await ask(flights, value: 8, begun: begun).value == .value(7))
        #expect(begun.all.count == 1)
    }

    @Test("the flight of a single caller goes on when that one is cancelled")
    func cancelledSingleCaller() async {
        let flights = flights()
        let (gate, cancellations) = (Gate(), Notes<Bool>())
        let task = Task {
            await flights.value(of: "a", within: .seconds(60)) {
                await gate.wait()
                cancellations.add(Task.isCancelled)
                return 7
            }
        }
        await until { gate.waiters == 1 && flights.waiters == 1 }
        task.cancel()
        #expect(await task.value == .late)
        await until { !flights.hasTimer }
        gate.open()
        await until { flights.flights == 0 }
        #expect(cancellations.all == [false])
        #expect(await ask(flights, value: 8).value == .value(7))
    }

    @Test("a caller that is cancelled before it asks begins nothing")
    func cancelledBefore() async {
        let flights = flights()
        let (gate, begun) = (Gate(), Notes<String>())
        let task = Task {
            await gate.wait()
            return await flights.value(of: "a", within: .seconds(60)) {
                begun.add("a")
                return 7
            }
        }
        task.cancel()
        gate.open()
        #expect(await task.value == .late)
        #expect(begun.all.isEmpty && flights.flights == 0)
    }

    // MARK: The end

    @Test("at the end every flight is cancelled and awaited; callers get what it returns, and nothing is remembered")
    func cancelAll() async {
        let flights = flights()
        let ended = Notes<Bool>()
        let begun = Notes<Int>()
        let tasks = (0..<20).map { number in
            Task {
                await flights.value(of: "key \(number)", within: .seconds(60)) {
                    begun.add(number)
                    // Ends only by being cancelled, and a little later.
                    await until { false }
                    for _ in 0..<50 { await Task.yield() }
                    ended.add(Task.isCancelled)
                    return number
                }
            }
        }
        await until { begun.all.count == 20 && flights.waiters == 20 }
        await flights.cancelAll()
        #expect(flights.flights == 0)
        #expect(ended.all == [Bool](repeating: true, count: 20))
        for (number, task) in tasks.enumerated() { #expect(await task.value == .value(number)) }
        await until { !flights.hasTimer }
        #expect(await ask(flights, "key 1").value == .full)
        #expect(await ask(flights, "new").value == .full)
    }

    @Test("at the end of what never flew there is nothing to wait for")
    func cancelNothing() async {
        let flights = flights()
        await flights.cancelAll()
        await flights.cancelAll()
        #expect(await ask(flights).value == .full)
        #expect(flights.flights == 0)
    }

    @Test("when nobody flies and nobody waits, the object can go")
    func noneLeft() async {
        var flights: Flights? = flights()
        weak let remaining = flights
        if let flights {
            let gate = Gate()
            let tasks = ["a", "b"].map { ask(flights, $0, gate: gate) }
            await until { flights.waiters == 2 }
            gate.open()
            for task in tasks { #expect(await task.value == .value(7)) }
        }
        await until { time.sleepers == 0 }
        flights = nil
        await until { remaining == nil }
        #expect(remaining == nil)
    }
}
