/// Asks intake for the outcomes of what it accepted, while other purchases are still being posted.
///
/// A submission is asked for as soon as it is accepted, so that its outcome is learnt when it comes about. Where too
/// many are open, those that came later queue; so does, at the end of the queue, what a question found still open.
final class OutcomeQuestions: Sendable {
    /// The longest that a question waits for an outcome, in seconds, when the queue is empty.
    static let waitMaximum = 20
    /// The same when others queue: what takes long then does not keep the others from being asked for.
    static let queuedWaitMaximum = 1
    /// The least time between two questions for the same outcome.
    static let interval = Duration.milliseconds(500)

    private let intake: any LoadIntake
    private let records: LoadRecords
    private let concurrency: Int
    private let time: Duration
    private let events: AsyncStream<Event>
    private let event: AsyncStream<Event>.Continuation

    private struct Question: Sendable {
        let subject: LoadSubject
        let id: String
        let account: String
    }

    /// What the loop in ``run()`` reacts to.
    ///
    /// There are never more of them than answers of intake, so that the stream needs no limit of its own.
    private enum Event: Sendable {
        case accepted(Question)
        case stillOpen(Question)
        case settled
        case postingIsOver(deadline: ContinuousClock.Instant)
    }

    /// - Parameters:
    ///   - intake: best with connections of its own, since a question may wait long for its answer.
    ///   - concurrency: the most questions at a time.
    ///   - time: how long after the last post it asks.
    init(intake: any LoadIntake, records: LoadRecords, concurrency: Int, time: Duration) {
        self.intake = intake
        self.records = records
        self.concurrency = concurrency
        self.time = time
        (events, event) = AsyncStream<Event>.makeStream()
    }

    /// Something was accepted and has no outcome; asked for once, however often it is posted.
    func ask(for subject: LoadSubject, id: String, account: String) {
        event.yield(.accepted(Question(subject: subject, id: id, account: account)))
    }

    /// Nothing more is going to be asked for; the time for what is open begins.
    func postingIsOver() {
        event.yield(.postingIsOver(deadline: .now + time))
    }

    /// Asks until posting is over and every outcome is known, or the time is up; called once.
    func run() async {
        await withDiscardingTaskGroup { group in
            var known: Set<LoadSubject> = []
            var queue = QuestionQueue<Question>()
            var asking = 0
            var deadline: ContinuousClock.Instant?
            for await event in events {
                switch event {
                case .accepted(let question):
                    if known.insert(question.subject).inserted { queue.append(question) }
                case .stillOpen(let question):
                    asking -= 1
                    queue.append(question)
                case .settled: asking -= 1
                case .postingIsOver(let end): deadline = end
                }
                let isTimeUp = deadline.map { ContinuousClock.now >= $0 } ?? false
                while !isTimeUp, asking < concurrency, let question = queue.next() {
                    asking += 1
                    let longest = queue.isEmpty ? Self.waitMaximum : Self.queuedWaitMaximum
                    group.addTask { [deadline] in
                        self.event.yield(await self.ask(question, longest: longest, until: deadline))
                    }
                }
                if deadline != nil, asking == 0 { return }
            }
        }
    }

    private func ask(_ question: Question, longest: Int, until deadline: ContinuousClock.Instant?) async -> Event {
        let began = ContinuousClock.now
        // While posting goes on, no question that is begun may outlast the time after it.
        let left = deadline.map { began.duration(to: $0) } ?? time
        let wait = min(longest, max(1, Int(left.components.seconds)))
        let reply = await intake.fetch(question.id, account: question.account, wait: wait)
        records.note(reply)
        records.note(reply, of: question.subject)
        if case .purchase(let purchase) = reply, purchase.isSettled { return .settled }
        // Where intake answers at once, for want of room or because it stops, this keeps the questions apart.
        try? await Task.sleep(until: began + Self.interval, clock: .continuous)
        return .stillOpen(question)
    }
}

/// First in, first out.
private struct QuestionQueue<Element> {
    private var elements: [Element] = []
    private var head = 0

    var isEmpty: Bool { head == elements.count }

    mutating func append(_ element: Element) {
        elements.append(element)
    }

    mutating func next() -> Element? {
        guard !isEmpty else { return nil }
        defer {
            head += 1
            // Not each time, since what is left is moved to the front.
            if head * 2 >= elements.count {
                elements.removeFirst(head)
                head = 0
            }
        }
        return elements[head]
    }
}
