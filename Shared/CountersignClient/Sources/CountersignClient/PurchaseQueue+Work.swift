#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Events in, actions done: one after the other, many in one write.
extension PurchaseQueue {
    /// The most events that are saved by one write.
    private static let eventsAtOnceMaximum = 500

    /// Hands in an event and waits until it is saved.
    ///
    /// - Returns: whether it is on disk.
    @discardableResult
    func hand(_ event: QueueEvent) async -> Bool {
        guard !isStopped else { return false }
        return await withCheckedContinuation { continuation in
            inbox.append(Letter(event: event, saved: continuation))
            work()
        }
    }

    /// Hands in an event.
    func enqueue(_ event: QueueEvent) {
        guard !isStopped else { return }
        inbox.append(Letter(event: event))
        work()
    }

    private func work() {
        guard !isWorking else { return }
        isWorking = true
        // Not in `tasks`: a write that has begun is awaited by whoever handed it in.
        Task { await self.workThrough() }
    }

    private func workThrough() async {
        while !inbox.isEmpty {
            let letters = Array(inbox.prefix(Self.eventsAtOnceMaximum))
            inbox.removeFirst(letters.count)
            var records: [JournalRecord] = []
            var actions: [QueueAction] = []
            for letter in letters {
                // From here on the machine has what the file has, and may write over it.
                if case .journalRead = letter.event { takeOpenedJournal() }
                for action in machine.handle(letter.event) {
                    if case .write(let record) = action { records.append(record) } else { actions.append(action) }
                }
            }
            let isSaved = await save(records)
            // What was paid is posted whether it could be saved or not: the store still has it.
            if !isStopped { perform(actions) }
            for letter in letters { letter.saved?.resume(returning: isSaved) }
        }
        isWorking = false
        tellIdle()
    }

    private func save(_ records: [JournalRecord]) async -> Bool {
        guard !isStopped, let journal else { return false }
        guard !records.isEmpty || isJournalToBeWritten else { return journalError == nil }
        do {
            // After a failure the file lacks records that the machine has: all of it is written.
            if journalError != nil || isJournalToBeWritten {
                try await journal.compact(to: machine.records)
            } else if try await journal.append(records) {
                try await journal.compact(to: machine.records)
            }
            if journalError != nil { log(.info, "the journal can be written again") }
            journalError = nil
            isJournalToBeWritten = false
            return true
        } catch {
            if journalError == nil, !isStopped {
                log(.error, "the journal cannot be written: \(error)")
                tell(.journalUnavailable(PurchaseError(.storageUnavailable, "\(error)")))
            }
            journalError = "\(error)"
            return false
        }
    }

    func perform(_ actions: [QueueAction]) {
        for action in actions {
            switch action {
            case .write: break  // By `save`.
            case .post(let key, let order): run { await $0.post(key, order) }
            case .finish(let key, let transaction): run { await $0.finish(key, transaction) }
            case .wait(let timer, let wait): self.wait(timer, wait)
            case .tell(let update): tell(update)
            case .inform(let report): inform(report)
            case .log(let line): configuration.log?(line)
            }
        }
    }

    private func post(_ key: PurchaseKey, _ order: PostOrder) async {
        var receipt: Data?
        if order.transaction.proof == .receipt, !order.isNumberOnly, order.submissionID == nil {
            do {
                receipt = try await store.receipt(isRefreshing: order.isRefreshing)
            } catch {
                log(.warning, "no receipt: \(String(describing: error).prefix(200))", transactionID: key.id)
            }
        }
        enqueue(.posted(key, await server.post(order, receipt: receipt)))
    }

    private func finish(_ key: PurchaseKey, _ transaction: StoreTransaction) async {
        do {
            try await store.finish(transaction)
            enqueue(.finished(key, isDone: true))
        } catch {
            log(.warning, "not finished: \(String(describing: error).prefix(200))", transactionID: key.id)
            enqueue(.finished(key, isDone: false))
        }
    }

    private func wait(_ timer: QueueTimer, _ wait: QueueWait) {
        let seconds = backOff.seconds(wait, chance: Double.random(in: 0...1))
        run(isBusy: false) { queue in
            guard (try? await queue.time.sleep(seconds: seconds)) != nil else { return }
            await queue.enqueue(.elapsed(timer))
        }
    }

    /// Runs something beside the queue, until it ends or the queue stops; returns its number in `tasks`.
    @discardableResult
    func run(isBusy: Bool = true, _ body: @escaping @Sendable (PurchaseQueue) async -> Void) -> Int {
        let number = nextNumber()
        guard !isStopped else { return number }
        if isBusy { busy += 1 }
        tasks[number] = Task { [weak self] in
            if let self { await body(self) }
            await self?.ended(number, isBusy)
        }
        return number
    }

    private func ended(_ number: Int, _ isBusy: Bool) {
        tasks[number] = nil
        if isBusy { busy -= 1 }
        tellIdle()
    }

    private func tellIdle() {
        guard !isWorking, busy == 0 else { return }
        for waiter in idleWaiters { waiter.resume() }
        idleWaiters = []
    }
}
