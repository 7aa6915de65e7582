/// Who posts what, and what comes of it.
extension QueueMachine {
    /// Starts as many posts as may be under way.
    mutating func post(_ actions: inout [QueueAction]) {
        // After failures one request asks whether it goes on.
        let maximum = pause.failures > 0 ? 1 : limits.requestsMaximum
        guard isStarted, !pause.isOn, account != nil, underWay < maximum else { return }
        for key in order {
            guard underWay < maximum else { return }
            guard var purchase = purchases[key], purchase.phase == .paid, let poster = purchase.poster(account),
                !lacking.contains(poster)
            else { continue }
            purchase.phase = .posted(account: poster)
            purchase.attempts += 1
            purchases[key] = purchase
            if purchase.attempts == 1, !purchase.isForRestoreOnly, !purchase.transaction.isRevoked {
                actions.append(.tell(.paid(purchase.report(by: poster, isFinished: false))))
            }
            underWay += 1
            let submission = purchase.received.flatMap { $0.account == poster ? $0.id : nil }
            actions.append(
                .post(
                    key,
                    PostOrder(
                        transaction: purchase.transaction, account: poster, submissionID: submission,
                        isNumberOnly: purchase.isNumberOnly, isRefreshing: purchase.restoredFor != nil)))
        }
    }

    mutating func take(_ result: PostResult, of key: PurchaseKey, _ actions: inout [QueueAction]) {
        guard var purchase = purchases[key], case .posted(let poster) = purchase.phase else { return }
        underWay -= 1
        purchase.phase = .paid
        switch result {
        case .answered(let answer):
            resume(&actions)
            answered(&purchase, by: poster, answer, &actions)
        case .failed(let failure):
            failed(&purchase, by: poster, failure, &actions)
        }
        purchases[key] = purchase
        if purchase.isAbandoned, !purchase.isAnswered { remove(key) }
    }

    private mutating func answered(
        _ purchase: inout TrackedPurchase, by poster: String, _ answer: PurchaseAnswer, _ actions: inout [QueueAction]
    ) {
        let key = purchase.key
        let before = purchase.outcome
        purchase.submissionID = answer.id
        purchase.received = nil
        purchase.outcome = answer.outcome
        if answer.isFinish {
            purchase.phase = .answered(account: poster)
            if !purchase.isForRestoreOnly { actions.append(.write(.answered(key))) }
            actions.append(.finish(key, purchase.transaction))
            actions.append(.tell(.report(purchase.report(by: poster, isFinished: true))))
            actions.append(.log(QueueLogLine(.info, "the server says: \(answer.word), finish", transactionID: key.id)))
            return
        }
        purchase.phase = .waiting
        if purchase.isToBeRepeated {
            purchase.isToBeRepeated = false
            purchase.phase = .paid
            return
        }
        purchase.repetitions += 1
        purchase.timer += 1
        let timer = QueueTimer(subject: .purchase(key), number: purchase.timer)
        if answer.state == "received" {
            purchase.received = (answer.id, poster)
            actions.append(.wait(timer, .backOff(purchase.repetitions, atLeast: answer.retryAfter ?? 0)))
            return
        }
        purchase.triedBy.insert(poster)
        // Asked about by its number it was an open question whose it is; to who asked it must look like any other.
        if answer.reason == "possession_unproven" {
            purchase.outcome = .processing(purchase.buyer == .doubtful ? .claim : .account(nil))
        }
        actions.append(.wait(timer, .hold(purchase.repetitions)))
        actions.append(.log(QueueLogLine(.warning, "the server says: \(answer.word), keep", transactionID: key.id)))
        let report = purchase.report(by: poster, isFinished: false)
        actions.append(purchase.outcome == before ? .inform(report) : .tell(.report(report)))
    }

    private mutating func failed(
        _ purchase: inout TrackedPurchase, by poster: String, _ failure: PostFailure, _ actions: inout [QueueAction]
    ) {
        let key = purchase.key
        switch failure {
        case .unavailable(let detail, let retryAfter):
            moveToEnd(key)
            beginPause(retryAfter, isTold: true, &actions)
            actions.append(.log(QueueLogLine(.warning, "not posted: \(detail)", transactionID: key.id)))
        case .limited(let retryAfter):
            moveToEnd(key)
            beginPause(retryAfter, isTold: false, &actions)
        case .credentialsRefused(let detail):
            if lack(poster, &actions) { actions.append(.tell(.credentialsRefused(account: poster))) }
            actions.append(.log(QueueLogLine(.warning, "the token was refused: \(detail)", transactionID: key.id)))
        case .credentialsMissing:
            lack(poster, &actions)
        case .submissionUnknown:
            purchase.received = nil
        case .refused(let problem, let detail):
            if purchase.transaction.proof == .receipt, !purchase.isNumberOnly {
                // Too large, or no receipt at all: the number, of which Apple is asked, is left.
                purchase.isReceiptRefused = true
            } else {
                hold(&purchase, problem, &actions)
            }
            actions.append(.log(QueueLogLine(.error, "refused as \(problem): \(detail)", transactionID: key.id)))
        }
    }

    private mutating func hold(_ purchase: inout TrackedPurchase, _ problem: String, _ actions: inout [QueueAction]) {
        let outcome = PurchaseOutcome.held(reason: problem)
        purchase.phase = .waiting
        purchase.repetitions += 1
        purchase.timer += 1
        let timer = QueueTimer(subject: .purchase(purchase.key), number: purchase.timer)
        actions.append(.wait(timer, .hold(purchase.repetitions)))
        let isNews = purchase.outcome != outcome
        purchase.outcome = outcome
        let report = purchase.report(by: nil, isFinished: false)
        actions.append(isNews ? .tell(.report(report)) : .inform(report))
    }

    // MARK: Pauses

    private mutating func beginPause(_ retryAfter: Double?, isTold: Bool, _ actions: inout [QueueAction]) {
        if isTold, pause.failures == 0 { actions.append(.tell(.serverUnavailable)) }
        // Posts that failed together are one failure.
        guard !pause.isOn else { return }
        if pause.isHinted, retryAfter == nil {
            pause.failures = max(pause.failures, 1)
            pause.isHinted = underWay > 0
            return
        }
        pause.isOn = true
        pause.failures += 1
        pause.timer += 1
        pause.isServers = retryAfter != nil
        actions.append(
            .wait(
                QueueTimer(subject: .pause, number: pause.timer),
                .backOff(pause.failures, atLeast: min(retryAfter ?? 0, limits.retryAfterMaximum))))
    }

    private mutating func resume(_ actions: inout [QueueAction]) {
        pause.isHinted = false
        guard pause.failures > 0 else { return }
        pause.failures = 0
        pause.isOn = false
        actions.append(.tell(.serverAvailable))
    }

    /// - Returns: whether that is news: posts that are refused together are one refusal.
    @discardableResult
    private mutating func lack(_ account: String, _ actions: inout [QueueAction]) -> Bool {
        guard lacking.insert(account).inserted else { return false }
        credentialsTimer += 1
        actions.append(.wait(QueueTimer(subject: .credentials, number: credentialsTimer), .hold(1)))
        return true
    }

    /// A hint that things may be better: what the machine chose to wait for is tried at once.
    mutating func wake() {
        lacking = []
        pause.isHinted = underWay > 0
        if pause.isOn, !pause.isServers { pause.isOn = false }
    }

    mutating func elapse(_ timer: QueueTimer, _ actions: inout [QueueAction]) {
        switch timer.subject {
        case .pause:
            if timer.number == pause.timer { pause.isOn = false }
        case .credentials:
            if timer.number == credentialsTimer { lacking = [] }
        case .purchase(let key):
            guard var purchase = purchases[key], purchase.timer == timer.number else { return }
            if case .answered = purchase.phase {
                actions.append(.finish(key, purchase.transaction))
            } else if purchase.phase == .waiting {
                purchase.phase = .paid
                purchases[key] = purchase
            }
        }
    }

    private mutating func moveToEnd(_ key: PurchaseKey) {
        guard order.last != key, let index = order.firstIndex(of: key) else { return }
        order.remove(at: index)
        order.append(key)
    }

    // MARK: Finishing

    mutating func finish(_ key: PurchaseKey, _ isDone: Bool, _ actions: inout [QueueAction]) {
        guard var purchase = purchases[key], case .answered = purchase.phase else { return }
        guard isDone else {
            purchase.repetitions += 1
            purchase.timer += 1
            purchases[key] = purchase
            actions.append(
                .wait(
                    QueueTimer(subject: .purchase(key), number: purchase.timer),
                    .backOff(purchase.repetitions, atLeast: 0)))
            return
        }
        remove(key)
        finished.add(key)
        if !purchase.isForRestoreOnly { actions.append(.write(.finished(key))) }
        actions.append(.log(QueueLogLine(.info, "finished", transactionID: key.id)))
    }
}

extension PurchaseAnswer {
    /// The answer in a log.
    fileprivate var word: String {
        reason.map { "\(state), \($0)" } ?? state
    }
}
