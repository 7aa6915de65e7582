import Foundation
import Testing

@testable import CountersignClient

/// The table of accidents that plugins for other languages are held against, with the Swift queue's machine.
@Suite("The protocol of the app's side")
struct ProtocolTests {
    static let accidents: [Accident] = {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Shared/CountersignClient/accidents.json")
        guard let bytes = try? Data(contentsOf: file) else { return [] }
        do {
            return try JSONDecoder().decode(Table.self, from: bytes).accidents
        } catch {
            Issue.record(error)
            return []
        }
    }()

    @Test("there are accidents, each with a name of its own")
    func table() {
        #expect(Self.accidents.count > 15)
        #expect(Set(Self.accidents.map(\.name)).count == Self.accidents.count)
    }

    @Test("what is posted, finished and left waiting", arguments: accidents)
    func accident(_ accident: Accident) throws {
        var device = AccidentDevice(names: accident.names ?? [:])
        for step in accident.steps { try device.take(step) }
        #expect(device.posts == accident.posts)
        #expect(device.finished == accident.finished)
        #expect(device.machine.pending.map(\.transactionID).sorted() == accident.waiting)
    }
}

private struct Table: Decodable {
    let accidents: [Accident]
}

/// One row of the table.
struct Accident: Decodable, CustomTestStringConvertible {
    let name: String
    let names: [String: String]?
    let steps: [Step]
    let posts: [String]
    let finished: [String]
    let waiting: [String]

    var testDescription: String { name }

    /// Something that happens; each step has one of the first members, and what that takes.
    struct Step: Decodable {
        var login, intent, sheet, seen, restored, givenAgain, answer, noAnswer: String?
        var restart, readable, foreground, woken: Bool?
        var account, product, token, username, proof, origin, ordered, asker, ends, state, reason: String?
        var finish, revoked, told: Bool?

        enum CodingKeys: String, CodingKey {
            case login, intent, sheet, seen, restored, answer, restart, readable, foreground, woken, account, product
            case token, username, proof, origin, ordered, asker, ends, state, reason, finish, revoked, told
            case givenAgain = "given_again"
            case noAnswer = "no_answer"
        }
    }
}

/// A device with one queue, whose journal is what the machine wrote.
private struct AccidentDevice {
    let names: [String: String]
    var machine: QueueMachine
    var journal: [JournalRecord] = []
    var posts: [String] = []
    var finished: [String] = []
    private var tokens: [String: UUID] = [:]
    /// Whether the store can be told of what is finished.
    private var isStoreThere = true

    init(names: [String: String]) {
        self.names = names
        machine = QueueMachine(limits: QueueLimits(), legacyAccount: { names[$0] })
        perform(machine.start())
    }

    mutating func take(_ step: Accident.Step) throws {
        if step.restart != nil { return restart(isReadable: step.readable ?? true) }
        if step.readable == true { return handle(.journalRead(journal)) }
        if let account = step.login { return handle(.loggedIn(account)) }
        if step.foreground == true { return handle(.broughtForward) }
        if step.woken == true { return handle(.woken) }
        if let id = step.intent {
            return handle(
                .intentOpened(
                    PurchaseIntent(
                        id: token(id), account: try #require(step.account), productID: try #require(step.product),
                        isKnownToServer: true)))
        }
        if let id = step.sheet {
            let word = try #require(step.ends)
            let ends = try #require(PurchaseIntent.State(text: word, transactionID: nil))
            return handle(.intentEnded(token(id), ends))
        }
        if let id = step.seen {
            var ordered: UUID?
            if let word = step.ordered { ordered = token(word) }
            return handle(.seen(try transaction(id, step), ordered: ordered))
        }
        if let id = step.restored {
            var restored = try transaction(id, step)
            restored.origin = .restored
            return handle(.restored(restored, asker: try #require(step.asker)))
        }
        if let id = step.givenAgain {
            return handle(.givenAgain(try transaction(id, step), asker: try #require(step.asker)))
        }
        if let id = step.noAnswer {
            return handle(.posted(key(id, step), .failed(.unavailable("no answer", retryAfter: nil))))
        }
        let id = try #require(step.answer)
        let answer = PurchaseAnswer(
            id: "sub_\(id)", state: try #require(step.state), isFinish: step.finish ?? false, reason: step.reason)
        isStoreThere = step.told ?? true
        handle(.posted(key(id, step), .answered(answer)))
    }

    private mutating func restart(isReadable: Bool) {
        let names = names
        machine = QueueMachine(limits: QueueLimits(), legacyAccount: { names[$0] })
        machine.isBlind = !isReadable
        isStoreThere = true
        if isReadable { for record in journal { machine.replay(record) } }
        perform(machine.start())
    }

    private mutating func handle(_ event: QueueEvent) { perform(machine.handle(event)) }

    private mutating func perform(_ actions: [QueueAction]) {
        var told: [PurchaseKey] = []
        for action in actions {
            switch action {
            case .write(let record): journal.append(record)
            case .post(let key, let order):
                let isSigned = order.transaction.proof != .receipt
                let proof = isSigned ? "signed" : order.isNumberOnly ? "number" : "receipt"
                posts.append("\(key.id) by \(order.account): \(proof)")
            case .finish(let key, _):
                finished.append(key.id)
                if isStoreThere { told.append(key) }
            case .wait, .tell, .inform, .log: break
            }
        }
        for key in told { handle(.finished(key, isDone: true)) }
    }

    private func key(_ id: String, _ step: Accident.Step) -> PurchaseKey {
        PurchaseKey(id: id, isRevoked: step.revoked ?? false)
    }

    private mutating func transaction(_ id: String, _ step: Accident.Step) throws -> StoreTransaction {
        var named: UUID?
        if let word = step.token { named = token(word) }
        return StoreTransaction(
            id: id, productID: try #require(step.product), accountToken: named, username: step.username,
            origin: step.origin.flatMap(StoreTransaction.Origin.init(rawValue:)) ?? .purchase,
            isRevoked: step.revoked ?? false,
            proof: step.proof == "signed" ? .signedTransaction("e30.\(id).AA") : .receipt)
    }

    /// The UUID that a word of the table stands for.
    private mutating func token(_ word: String) -> UUID {
        if let known = tokens[word] { return known }
        let made = UUID()
        tokens[word] = made
        return made
    }
}
