import ChanceTesting
import CountersignClient
import Foundation
import StoreTesting

/// The life of one app on one phone: players buy, the app dies, the network breaks, Apple gives money back.
///
/// The seed decides everything but how long the real server takes.
actor AppLife {
    static let product = "gems.100"
    private static let stepsMaximum = 12

    /// What a life comes to.
    struct Result: Sendable {
        let seed: UInt64
        /// Each paid transaction, and whose it must be.
        var purchases: [(id: String, buyer: String?, isRefunded: Bool)] = []
        var violations: [String] = []
        var kills = 0
        var launches = 0
    }

    private let seed: UInt64
    private let stack: LifeStack
    private let record = LifeRecord()
    private let network: LifeNetwork
    private let apple: FakeAppStore
    private let folder: URL
    private let accounts: [String]
    private let appleID: String
    private let isStoreKit1: Bool
    private var chance: SplitMix
    private var queue: PurchaseQueue?
    private var end = LifeEnd()
    private var launchFaults: Misbehaviour = []
    private var account: String?
    private var result: Result

    init(seed: UInt64, stack: LifeStack) {
        self.seed = seed
        self.stack = stack
        var chance = SplitMix(seed: seed)
        let name = "\(stack.run)-\(seed)"
        isStoreKit1 = chance.happens(40)
        accounts = (0..<Int.random(in: 1...3, using: &chance)).map { "player-\($0)-of-\(name)" }
        appleID = "apple-id-of-\(name)"
        folder = stack.folder.appending(path: name)
        network = LifeNetwork(stack.transport, record)
        apple = FakeAppStore(
            seller: SimulatorSeller(
                client: stack.client, record: record, app: LifeStack.app, appleID: appleID,
                isStoreKit1: isStoreKit1))
        self.chance = chance
        result = Result(seed: seed)
    }

    /// Lives it to its end.
    func live() async throws -> Result {
        try await launch()
        for _ in 0..<Int.random(in: 4...Self.stepsMaximum, using: &chance) { try await step() }
        try await settleEverything()
        await queue?.stop()
        try? FileManager.default.removeItem(at: folder)
        for transaction in await apple.sold {
            result.purchases.append(
                (transaction.id, await record.buyer(of: transaction), await record.refunded.contains(transaction.id)))
        }
        result.violations += await record.violations
        return result
    }

    private func step() async throws {
        switch Int.random(in: 0..<100, using: &chance) {
        case 0..<45: try await buy()
        case 45..<57:
            await kill()
            try await launch()
        case 57..<67: await logIn()
        case 67..<71:
            account = nil
            await queue?.logOut()
        case 71..<83: network.set(LifeNetwork.State.allCases.randomElement(using: &chance) ?? .up)
        case 83..<88: try await apple.approve()
        case 88..<93: try await refund()
        case 93..<97: await queue?.enterForeground()
        default: if let account { _ = try? await queue?.restore(for: account) }
        }
    }

    // MARK: Launches

    private func launch() async throws {
        result.launches += 1
        end = LifeEnd()
        launchFaults = []
        if chance.happens(30) { launchFaults.insert(.isSilentAtLaunch) }
        if chance.happens(30) { launchFaults.insert(.showsFinished) }
        if isStoreKit1, chance.happens(50) { launchFaults.insert(.forgetsTokens) }
        await apple.misbehave(launchFaults)
        let (apple, client, appleID, end, folder) = (apple, stack.client, appleID, end, folder)
        var limits = QueueLimits()
        limits.serverWait = 1
        limits.restorePatience = 20
        let store = FakeStore(apple) { _ in
            Data(base64Encoded: try await client.receipt(app: LifeStack.app, account: appleID))
        }
        let queue = try await PurchaseQueue.open(
            QueueConfiguration(
                server: stack.intake, app: LifeStack.app, folder: folder, outcomePatience: 40, limits: limits),
            store: LifeStore(store: store, record: record), transport: network,
            credentials: LifeLogIn(secret: stack.secret), time: LifeTime(),
            storage: { LifeStorage(try PurchaseQueue.journalFile(in: folder), end) })
        await queue.start()
        self.queue = queue
        account = nil
        if chance.happens(80) { await logIn() }
    }

    private func kill() async {
        result.kills += 1
        end.kill(share: Double.random(in: 0...1, using: &chance))
        await queue?.stop()
        queue = nil
    }

    private func logIn() async {
        guard let name = accounts.randomElement(using: &chance) else { return }
        account = name
        await queue?.logIn(name)
    }

    // MARK: What people do

    private func buy() async throws {
        guard let queue, let account else { return }
        var faults = launchFaults
        let sheet: [Misbehaviour] = [
            .givesEarlierAsSuccess, .hidesNewest, .failsAfterPaying, .failsWithoutPaying, .asksForApproval,
            .isCancelled, .isInterrupted, .failsToFinishOnce,
        ]
        if chance.happens(50), let fault = sheet.randomElement(using: &chance) { faults.insert(fault) }
        await apple.misbehave(faults)
        await record.press(account)
        if chance.happens(35) {
            // The app dies somewhere between the press of the button and the answer.
            let purchase = Task { _ = try? await queue.purchase(Self.product, for: account) }
            // The instant of its death is chance.
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...80, using: &chance)))
            await kill()
            await purchase.value
            try await launch()
        } else if chance.happens(25) {
            let purchase = Task { _ = try? await queue.purchase(Self.product, for: account) }
            // The instant at which the player changes is chance.
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...40, using: &chance)))
            await logIn()
            await purchase.value
        } else {
            _ = try? await queue.purchase(Self.product, for: account)
        }
        await apple.misbehave(launchFaults)
    }

    private func refund() async throws {
        guard var transaction = await apple.sold.randomElement(using: &chance) else { return }
        guard await !record.refunded.contains(transaction.id) else { return }
        await record.refund(transaction.id)
        try await stack.client.control("POST", "transactions/\(transaction.id)/refund", "{}")
        transaction.isRevoked = true
        guard !isStoreKit1 else { return }
        transaction.proof = .signedTransaction(try await stack.client.signed(transaction.id))
        await apple.bringAgain(transaction)
    }

    // MARK: The end

    /// Everything works again, and everybody logs in: nothing is left.
    private func settleEverything() async throws {
        await kill()
        network.set(.up)
        try await launch()
        launchFaults.remove(.showsFinished)
        await apple.misbehave(launchFaults)
        try await apple.approve()
        let deadline = ContinuousClock.now + .seconds(90)
        while ContinuousClock.now < deadline {
            for name in accounts {
                await queue?.logIn(name)
                await queue?.settle()
            }
            if await apple.unfinishedIDs.isEmpty, await queue?.pending().isEmpty ?? false { return }
            // Pauses of the queue end by time, of which nobody is told.
            try await Task.sleep(for: .milliseconds(50))
            await queue?.networkIsReachable()
        }
        result.violations.append(
            "not empty in the end: \(await apple.unfinishedIDs), \(await queue?.pending() ?? [])")
    }
}
