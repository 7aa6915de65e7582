/// What a load does and in which order: everything about it that chance decides, decided by a seed.
struct LoadPlan: Sendable, Equatable {
    /// How much of everything.
    struct Settings: Sendable, Equatable {
        /// Genuine purchases.
        var count: Int
        /// Accounts that buy, `player-1` and on.
        var accounts: Int
        /// The share of the purchases that is posted twice, from 0 to 1.
        var duplicateShare: Double
        /// Forged transactions beside the purchases, as a share of their number.
        var forgeryShare: Double
        /// The same seed is the same plan.
        var seed: UInt64
        /// The kinds of proof that the purchases have in turn; at least one.
        var proofs: [LoadProofKind] = [.signedTransaction]
    }

    /// One thing to do.
    enum Step: Sendable, Equatable {
        /// Post a purchase: once, or twice at the same moment.
        case post(purchase: Int, copies: Int)
        /// Post a purchase again that was begun before.
        case postAgain(purchase: Int)
        /// Post a forgery.
        case forge(forgery: Int)
    }

    /// A purchase that is posted again comes at most so many purchases after its first time.
    static let repeatDistanceMaximum = 200

    /// The account of each purchase.
    let buyers: [String]
    /// The kind of proof that each purchase is posted as.
    let proofs: [LoadProofKind]
    /// The account that posts each forgery.
    let forgers: [String]
    /// In the order of their start.
    let steps: [Step]

    init(_ settings: Settings) {
        var generator = SeededGenerator(seed: settings.seed)
        let count = settings.count
        func accounts(_ number: Int) -> [String] {
            (0..<number).map { _ in "player-\(Int.random(in: 1...settings.accounts, using: &generator))" }
        }
        buyers = accounts(count)
        proofs = (0..<count).map { settings.proofs[$0 % settings.proofs.count] }
        forgers = accounts(Int((Double(count) * settings.forgeryShare).rounded()))
        let repeated = (0..<count).shuffled(using: &generator)
            .prefix(Int((Double(count) * settings.duplicateShare).rounded()))
        // Half of them race their own first copy, the other half come when that may be settled already.
        let atOnce = Set(repeated.prefix((repeated.count + 1) / 2))
        var timed: [(time: Double, step: Step)] = (0..<count).map { purchase in
            (Double(purchase), .post(purchase: purchase, copies: atOnce.contains(purchase) ? 2 : 1))
        }
        for purchase in repeated.dropFirst(atOnce.count) {
            let distance = Double.random(in: 0.5...Double(Self.repeatDistanceMaximum), using: &generator)
            timed.append((Double(purchase) + distance, .postAgain(purchase: purchase)))
        }
        for forgery in forgers.indices {
            timed.append((Double.random(in: 0...Double(count), using: &generator), .forge(forgery: forgery)))
        }
        steps = timed.sorted { $0.time < $1.time }.map(\.step)
    }
}
