import ArgumentParser
import Persistence
import Postgres

/// `countersign rates`: the dated rates that estimates are made of.
struct RatesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rates", abstract: "Shows and adds the dated rates of commission and tax.",
        subcommands: [List.self, Set.self])

    /// `countersign rates list`.
    struct List: DatabaseLook {
        static let configuration = CommandConfiguration(commandName: "list", abstract: "Shows every rate, by day.")

        @OptionGroup var printing: PrintingOptions

        func look(_ pool: PostgresPool) async throws -> RateStore.Rates { try await RateStore(pool: pool).rates() }

        func text(_ rates: RateStore.Rates) -> String { RateList.text(rates) }
    }

    /// `countersign rates set`.
    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set", abstract: "Adds a rate that is valid from a day on; existing rows are never changed.",
            discussion: """
                A row holds until a later one begins; one for the same day takes the older one's place. Estimates of all
                orders from that day on change with it, also of those that are there already.
                """,
            subcommands: [SetCommissionRate.self, SetTaxRate.self, SetAppProgram.self])
    }
}

/// What every row needs.
struct RateRowOptions: ParsableArguments {
    @Option(help: "The first day on which it holds, in UTC: 2026-03-15.") var from: RevenueDay
    @Option(help: "Why, for the audit log: the source of the rate.") var reason: String
    @Option(help: "Who, for the audit log; the user of the session by default.") var actor: String?

    @OptionGroup var printing: PrintingOptions

    /// The row that was added, for programs.
    struct Report: Encodable, Sendable {
        let from: RevenueDay
        /// What holds from then on.
        let sentence: String
        let auditId: Int64
    }

    func validate() throws {
        guard !reason.allSatisfy(\.isWhitespace) else { throw ValidationError("--reason says why, in a sentence") }
    }

    /// Adds the row, and says so.
    func add(_ row: RateStore.NewRow, _ sentence: String) async throws {
        let (from, reason, actor) = (from, reason, actor ?? ToolActor.sessionUser)
        let audit = try await ToolSettings.load().withDatabase { pool in
            try await RateStore(pool: pool).add(row, from: from, actor: actor, reason: reason)
        }
        try printing.answer(
            Report(from: from, sentence: sentence, auditId: audit),
            "from \(from): \(sentence) (audit \(audit))")
    }

    static func storefront(_ text: String) throws -> String {
        guard text.utf8.count == 3, text.utf8.allSatisfy((UInt8(ascii: "A")...UInt8(ascii: "Z")).contains) else {
            throw ValidationError("--storefront is a country of ISO 3166-1 alpha-3, such as CHN")
        }
        return text
    }

    static func ppm(_ text: String) throws -> Int32 {
        guard let ppm = MoneyText.ppm(text) else {
            throw ValidationError("--rate is a percentage from 0 to 100 with up to four digits after the point: 12.5")
        }
        return ppm
    }
}

/// `countersign rates set commission`.
struct SetCommissionRate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "commission", abstract: "Apple's commission, as a share of the price without tax.")

    @Option(help: "standard or small_business.") var program: RateStore.Program
    @Option(help: "one_time, subscription_first_year or subscription_later.") var kind: RateStore.Kind
    @Option(help: "A country, such as CHN; without it the rate holds wherever a storefront has none of its own.")
    var storefront: String?
    @Option(help: "In per cent: 12.5.") var rate: String
    @OptionGroup var row: RateRowOptions

    func validate() throws {
        if let storefront { _ = try RateRowOptions.storefront(storefront) }
        _ = try RateRowOptions.ppm(rate)
    }

    func run() async throws {
        try await failingPlainly {
            let ppm = try RateRowOptions.ppm(rate)
            try await row.add(
                .commission(program: program, storefront: storefront, kind: kind, ppm: ppm),
                "Apple keeps \(MoneyText.percentage(Int64(ppm))) of \(kind.rawValue) of \(program.rawValue), "
                    + (storefront ?? "everywhere else"))
        }
    }
}

/// `countersign rates set tax`.
struct SetTaxRate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tax", abstract: "The tax in a storefront, as a share of the price without tax.")

    @Option(help: "A country, such as DEU.") var storefront: String
    @Option(help: "In per cent: 19.") var rate: String
    @Flag(inversion: .prefixedNo, help: "The price includes the tax, because Apple collects and remits it.")
    var included: Bool
    @OptionGroup var row: RateRowOptions

    func validate() throws {
        _ = try RateRowOptions.storefront(storefront)
        _ = try RateRowOptions.ppm(rate)
    }

    func run() async throws {
        try await failingPlainly {
            let ppm = try RateRowOptions.ppm(rate)
            try await row.add(
                .tax(storefront: storefront, ppm: ppm, isIncluded: included),
                "the tax of \(storefront) is \(MoneyText.percentage(Int64(ppm))), "
                    + (included ? "in the price" : "not in the price"))
        }
    }
}

/// `countersign rates set program`.
struct SetAppProgram: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "program", abstract: "Which of Apple's programs an app is in; the default is standard."
    )

    @Option(help: "The app's bundle id.") var app: String
    @Option(help: "standard or small_business.") var program: RateStore.Program
    @OptionGroup var row: RateRowOptions

    func validate() throws {
        guard !app.isEmpty else { throw ValidationError("--app must be named") }
    }

    func run() async throws {
        try await failingPlainly {
            try await row.add(.program(app: app, program: program), "\(app) is in the program \(program.rawValue)")
        }
    }
}
