import ChanceTesting
import Foundation
import StoreTesting
import Testing

@testable import CountersignClient

/// The machine alone: an event in, actions out.
@Suite("The machine of states")
struct QueueMachineTests {
    private static let transaction = StoreTransaction(
        id: "7", productID: "gems.100", proof: .signedTransaction("e30.7.AA"))
    private static let key = PurchaseKey(id: "7", isRevoked: false)
    private static let granted = PurchaseAnswer(id: "s", state: "fulfilled", isFinish: true)

    private func machine(account: String? = "anna", limits: QueueLimits = QueueLimits()) -> QueueMachine {
        var machine = QueueMachine(limits: limits)
        _ = machine.start()
        if let account { _ = machine.handle(.loggedIn(account)) }
        return machine
    }

    @Test("paid, posted, answered, finished: each step writes and does what is its own")
    func life() {
        var machine = machine()
        let paid = machine.handle(.seen(Self.transaction, ordered: nil))
        #expect(paid.writes == [.paid(Self.transaction, intent: nil, buyer: .unknown)])
        #expect(paid.posts == ["7 by anna"])
        #expect(machine.handle(.seen(Self.transaction, ordered: nil)).isEmpty)
        let answered = machine.handle(.posted(Self.key, .answered(Self.granted)))
        #expect(answered.writes == [.answered(Self.key)])
        #expect(answered.contains(.finish(Self.key, Self.transaction)))
        let finished = machine.handle(.finished(Self.key, isDone: true))
        #expect(finished.writes == [.finished(Self.key)])
        #expect(machine.pending.isEmpty)
        // Once more: the store is told again, and nothing else happens.
        #expect(machine.handle(.seen(Self.transaction, ordered: nil)) == [.finish(Self.key, Self.transaction)])
    }

    @Test(
        "no answer but one with finish lets a transaction be finished",
        arguments: [
            PostResult.answered(PurchaseAnswer(id: "s", state: "received", isFinish: false)),
            .answered(PurchaseAnswer(id: "s", state: "fulfilled", isFinish: false)),
            .answered(PurchaseAnswer(id: "s", state: "parked", isFinish: false, reason: "claim_unnamed")),
            .answered(PurchaseAnswer(id: "s", state: "rejected", isFinish: false, reason: "signature_invalid")),
            .failed(.unavailable("", retryAfter: nil)), .failed(.limited(retryAfter: 1)),
            .failed(.credentialsRefused("")), .failed(.credentialsMissing), .failed(.submissionUnknown),
            .failed(.refused(problem: "", detail: "")),
        ])
    func neverFinished(result: PostResult) {
        var machine = machine()
        _ = machine.handle(.seen(Self.transaction, ordered: nil))
        let actions =
            machine.handle(.posted(Self.key, result)) + machine.handle(.woken) + machine.handle(.loggedIn("ben"))
            + machine.handle(.loggedOut) + machine.handle(.finished(Self.key, isDone: true))
        #expect(!actions.contains { if case .finish = $0 { true } else { false } })
        #expect(machine.pending.count == 1)
    }

    @Test("what was bought stays its buyer's, though a restore gives it, too, and the journal is written anew")
    func boughtAndRestored() {
        var machine = machine()
        var bought = StoreTransaction(id: "7", productID: "castle", proof: .receipt)
        let intent = PurchaseIntent(id: UUID(), account: "anna", productID: "castle", isKnownToServer: true)
        _ = machine.handle(.intentOpened(intent))
        #expect(machine.handle(.seen(bought, ordered: intent.id)).posts == ["7 by anna"])
        _ = machine.handle(.posted(Self.key, .failed(.unavailable("", retryAfter: nil))))
        bought.origin = .restored
        _ = machine.handle(.seen(bought, ordered: nil))
        var next = QueueMachine(limits: QueueLimits())
        for record in machine.records { next.replay(record) }
        _ = next.start()
        #expect(next.handle(.loggedIn("ben")).posts.isEmpty)
        #expect(next.handle(.seen(bought, ordered: nil)).posts.isEmpty)
        #expect(next.handle(.loggedIn("anna")).posts == ["7 by anna"])
    }

    @Test("nothing is posted before the start, without an account, in a pause, or beyond the limit")
    func waits() {
        var early = QueueMachine(limits: QueueLimits())
        _ = early.handle(.loggedIn("anna"))
        #expect(early.handle(.seen(Self.transaction, ordered: nil)).posts.isEmpty)
        #expect(early.start().posts == ["7 by anna"])

        var nobody = machine(account: nil)
        #expect(nobody.handle(.seen(Self.transaction, ordered: nil)).posts.isEmpty)
        #expect(nobody.handle(.loggedIn("anna")).posts == ["7 by anna"])

        var many = machine()
        let posts = (0..<10).flatMap { number in
            many.handle(.seen(transaction(number), ordered: nil)).posts
        }
        #expect(posts == ["100 by anna", "101 by anna", "102 by anna"])
        let failed = many.handle(.posted(key(0), .failed(.unavailable("", retryAfter: nil))))
        #expect(failed.posts.isEmpty)
        #expect(failed.waits == [.backOff(1, atLeast: 0)])
        // Those that were under way fail with it: one pause, and one request after it.
        #expect(many.handle(.posted(key(1), .failed(.unavailable("", retryAfter: nil)))).waits.isEmpty)
        #expect(many.handle(.posted(key(2), .failed(.unavailable("", retryAfter: nil)))).waits.isEmpty)
        #expect(many.handle(.woken).posts == ["103 by anna"])
        #expect(
            many.handle(.posted(key(3), .failed(.unavailable("", retryAfter: nil)))).waits == [.backOff(2, atLeast: 0)])
        #expect(many.handle(.elapsed(QueueTimer(subject: .pause, number: 1))).isEmpty, "an old timer means nothing")
        #expect(many.handle(.elapsed(QueueTimer(subject: .pause, number: 2))).posts == ["104 by anna"])
        #expect(many.handle(.posted(key(4), .answered(Self.granted))).posts.count == 3)
    }

    @Test("a hint that comes while posts are under way is remembered: when all have failed, one is tried at once")
    func hintMeanwhile() {
        var many = machine()
        for number in 0..<4 { _ = many.handle(.seen(transaction(number), ordered: nil)) }
        #expect(many.handle(.woken).posts.isEmpty)
        let failure = PostResult.failed(.unavailable("", retryAfter: nil))
        #expect(many.handle(.posted(key(0), failure)).waits.isEmpty)
        #expect(many.handle(.posted(key(1), failure)).posts.isEmpty)
        #expect(many.handle(.posted(key(2), failure)).posts == ["103 by anna"])
        #expect(many.handle(.posted(key(3), failure)).waits == [.backOff(2, atLeast: 0)])
    }

    @Test("an order's outcome is told from everything else that the store gives")
    func isBought() {
        var machine = machine()
        let own = PurchaseIntent(id: UUID(), account: "anna", productID: "gems.100", isKnownToServer: true)
        _ = machine.handle(.intentOpened(own))
        func given(_ token: UUID?, _ proof: StoreProof, origin: StoreTransaction.Origin = .purchase) -> StoreTransaction
        {
            StoreTransaction(id: "9", productID: "gems.100", accountToken: token, origin: origin, proof: proof)
        }
        #expect(machine.isBought(given(own.id, .signedTransaction("x")), with: own.id))
        #expect(!machine.isBought(given(UUID(), .signedTransaction("x")), with: own.id))
        #expect(!machine.isBought(given(nil, .signedTransaction("x")), with: own.id), "StoreKit 2 keeps tokens")
        #expect(machine.isBought(given(nil, .receipt), with: own.id))
        #expect(!machine.isBought(given(nil, .receipt, origin: .renewal), with: own.id))
        #expect(!machine.isBought(given(own.id, .receipt), with: UUID()))
        _ = machine.handle(.seen(given(own.id, .receipt), ordered: nil))
        #expect(machine.isBought(given(nil, .receipt), with: own.id), "by the updates before the payment sheet closed")
    }

    @Test("ten thousand random events: nothing unanswered is finished, and what is posted is under way once")
    func randomEvents() {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SplitMix(seed: seed)
        var limits = QueueLimits()
        limits.purchasesMaximum = 20
        var machine = machine(limits: limits)
        var underWay: Set<PurchaseKey> = []
        var answered: Set<PurchaseKey> = []
        for _ in 0..<10_000 {
            let number = Int.random(in: 0..<30, using: &generator)
            let event = randomEvent(number, underWay, machine, &generator)
            if case .posted(let key, let result) = event {
                underWay.remove(key)
                if case .answered(let answer) = result, answer.isFinish { answered.insert(key) }
            }
            for action in machine.handle(event) {
                switch action {
                case .post(let key, let order):
                    #expect(underWay.insert(key).inserted, "seed \(seed)")
                    #expect(order.account == machine.account)
                case .finish(let key, _): #expect(answered.contains(key), "seed \(seed)")
                default: break
                }
            }
            #expect(underWay.count == machine.underWay, "seed \(seed)")
            #expect(underWay.count <= limits.requestsMaximum)
            #expect(machine.purchases.count <= limits.purchasesMaximum)
            #expect(Set(machine.order) == Set(machine.purchases.keys) && machine.order.count == machine.purchases.count)
        }
        #expect(answered.count == 30, "seed \(seed)")
    }

    private func randomEvent(
        _ number: Int, _ underWay: Set<PurchaseKey>, _ machine: QueueMachine, _ generator: inout SplitMix
    ) -> QueueEvent {
        let results: [PostResult] = [
            .answered(Self.granted), .answered(PurchaseAnswer(id: "s", state: "received", isFinish: false)),
            .answered(PurchaseAnswer(id: "s", state: "parked", isFinish: false)),
            .failed(.unavailable("", retryAfter: nil)), .failed(.limited(retryAfter: 1)),
            .failed(.credentialsMissing), .failed(.submissionUnknown), .failed(.refused(problem: "p", detail: "")),
        ]
        switch Int.random(in: 0..<10, using: &generator) {
        case 0...2: return .seen(transaction(number), ordered: nil)
        case 3...5:
            // Sets have another order in each run; sorted, a seed repeats it.
            let keys = underWay.sorted { $0.id < $1.id }
            guard let key = keys.randomElement(using: &generator),
                let result = results.randomElement(using: &generator)
            else { return .elapsed(QueueTimer(subject: .pause, number: machine.pause.timer)) }
            return .posted(key, result)
        case 6: return .finished(key(number), isDone: Bool.random(using: &generator))
        case 7: return .loggedIn(["anna", "ben"].randomElement(using: &generator) ?? "anna")
        case 8:
            return Bool.random(using: &generator)
                ? .woken : .restored(transaction(number), asker: Bool.random(using: &generator) ? "anna" : "ben")
        default:
            let timer = machine.purchases[key(number)]?.timer ?? 0
            return .elapsed(QueueTimer(subject: .purchase(key(number)), number: timer))
        }
    }

    private func transaction(_ number: Int) -> StoreTransaction {
        StoreTransaction(
            id: "\(100 + number)", productID: "gems.100", proof: .signedTransaction("e30.\(100 + number).AA"))
    }

    private func key(_ number: Int) -> PurchaseKey {
        PurchaseKey(id: "\(100 + number)", isRevoked: false)
    }
}

extension [QueueAction] {
    fileprivate var writes: [JournalRecord] {
        compactMap { if case .write(let record) = $0 { record } else { nil } }
    }

    fileprivate var posts: [String] {
        compactMap { if case .post(let key, let order) = $0 { "\(key.id) by \(order.account)" } else { nil } }
    }

    fileprivate var waits: [QueueWait] {
        compactMap { if case .wait(_, let wait) = $0 { wait } else { nil } }
    }
}
