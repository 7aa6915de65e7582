import ArgumentParser
import Foundation
import Messages
import Persistence
import Postgres
import PurchaseModel

/// `countersign cut-over`: until when an older system granted what was bought.
struct CutOverCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cut-over", abstract: "Sets and lists cut-overs: until when an older system granted purchases.",
        subcommands: [Set.self, List.self])

    /// `countersign cut-over set`.
    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set", abstract: "Sets the cut-over of an app, or of one of its products.",
            discussion: """
                What was bought before it is recorded as granted by the older system: no items are credited, and no event \
                tells of it unless --events says so. Entitlements and subscriptions are known and go on. With --open the \
                older system grants everything, until a time is set. It decides what is recorded from now on; what is in \
                the books stays as it is.
                """)

        @Option(help: "The bundle id of the app.") var app: String
        @Option(help: "One product, which may have another cut-over than the rest.") var product: String?
        @Option(help: "production or sandbox.") var environment = StoreEnvironment.production
        @Option(help: "The time: 2026-12-01, or 2026-12-01T04:00:00.000Z.") var at: String?
        @Flag(help: "No end: the older system still grants everything.") var open = false
        @Flag(help: "Events tell of what the older system granted, as it is recorded, with granted_elsewhere: true.")
        var events = false
        @OptionGroup var audit: AuditOptions

        @OptionGroup var printing: PrintingOptions

        /// What was set, for programs.
        struct Report: Encodable, Sendable {
            let app: String
            let environment: StoreEnvironment
            let product: String?
            /// Nil while the older system grants everything.
            let cutOver: Date?
            let events: Bool
            let auditId: Int64
            /// Bought before it and granted here already; they stay so.
            let grantedHere: Int64
            /// Bought later and recorded as granted by the older system; they stay so.
            let grantedElsewhere: Int64
        }

        func validate() throws {
            guard (at == nil) == open else { throw ValidationError("say --at TIME, or --open") }
            guard !app.isEmpty, product != "" else { throw ValidationError("--app and --product name something") }
            _ = try date()
        }

        func run() async throws {
            try await failingPlainly {
                let cutOver = CutOver(date: try date(), isAnnounced: events)
                let key = CutOvers.Key(environment: environment, app: app, productId: product ?? "")
                let (actor, reason) = (audit.who, audit.reason)
                let set = try await ToolSettings.load().withDatabase { pool in
                    try await CutOverStore(pool: pool).set(cutOver, for: key, actor: actor, reason: reason)
                }
                guard let set else {
                    throw ToolFailure(
                        "the table cut_overs is locked, by a backup perhaps: nothing is changed; try again when that is over"
                    )
                }
                var lines = ["\(CutOverText.sentence(key, cutOver)), audit \(set.auditId)"]
                if set.recorded.grantedHere > 0 {
                    lines.append("\(set.recorded.grantedHere) bought before it are granted here already, and stay so")
                }
                if set.recorded.grantedElsewhere > 0 {
                    lines.append(
                        "\(set.recorded.grantedElsewhere) bought later are recorded as granted by the older system, and "
                            + "stay so")
                }
                let report = Report(
                    app: app, environment: environment, product: product, cutOver: cutOver.date, events: events,
                    auditId: set.auditId, grantedHere: set.recorded.grantedHere,
                    grantedElsewhere: set.recorded.grantedElsewhere)
                try printing.answer(report, lines.joined(separator: "\n"))
            }
        }

        private func date() throws -> Date? {
            guard let at else { return nil }
            guard let date = WebhookSelection.time(at) else {
                throw ValidationError("--at is a day or a time: 2026-12-01, 2026-12-01T04:00:00.000Z")
            }
            return date
        }
    }

    /// `countersign cut-over list`.
    struct List: DatabaseLook {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Lists the cut-overs, and who set them.")

        @Option(help: "Of one app only.") var app: String?
        @OptionGroup var printing: PrintingOptions

        func look(_ pool: PostgresPool) async throws -> [CutOverText] {
            try await CutOverStore(pool: pool).rows(app: app).map(CutOverText.init)
        }

        func text(_ rows: [CutOverText]) -> String {
            rows.isEmpty ? "there is none" : rows.map(\.text).joined(separator: "\n")
        }
    }
}

/// A cut-over, for people and programs.
struct CutOverText: Encodable, Sendable {
    let app: String
    let environment: String
    /// Nil for every product without one of its own.
    let product: String?
    /// Nil while the older system grants everything.
    let cutOver: String?
    let events: Bool
    let changedAt: String
    let actor: String
    let reason: String

    let text: String

    enum CodingKeys: String, CodingKey {
        case app, environment, product, cutOver, events, changedAt, actor, reason
    }

    init(_ row: CutOverStore.Row) {
        app = row.key.app
        environment = row.key.environment.rawValue
        product = row.key.productId.isEmpty ? nil : row.key.productId
        cutOver = row.cutOver.date.map { MessageCoding.text($0) }
        events = row.cutOver.isAnnounced
        changedAt = MessageCoding.text(row.changedAt)
        actor = row.actor
        reason = row.reason
        text = "\(Self.sentence(row.key, row.cutOver)), set \(changedAt) by \(actor): \(reason)"
    }

    static func sentence(_ key: CutOvers.Key, _ cutOver: CutOver) -> String {
        let what = key.productId.isEmpty ? key.app : "\(key.app) \(key.productId)"
        let events = cutOver.isAnnounced ? ", with events" : ""
        guard let date = cutOver.date else {
            return "\(what), \(key.environment.rawValue): the older system grants everything\(events)"
        }
        return "\(what), \(key.environment.rawValue): the older system granted what was bought before "
            + MessageCoding.text(date) + events
    }
}
