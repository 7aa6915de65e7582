import ArgumentParser
import Foundation
import Persistence
import PurchaseModel
import ServiceRuntime

/// `countersign refunds`: what Apple is told about refund requests.
struct RefundsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refunds", abstract: "Shows Countersign's answers to Apple's refund requests.",
        subcommands: [Show.self])

    /// `countersign refunds preview`.
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "preview",
            abstract: "Shows the answer that Apple would get about a purchase, and the answers it got; sends nothing.",
            discussion: """
                By the ledger as it is, and by the policy of the product in the catalogue that COUNTERSIGN_CATALOGUE_FILE names.
                """)

        @Argument(help: "Any of Apple's transaction ids of the purchase.") var transaction: String
        @Option(help: "production or sandbox; both without it.") var environment: StoreEnvironment?
        @OptionGroup var printing: PrintingOptions

        func run() async throws {
            try await failingPlainly {
                let settings = try await ToolSettings.load()
                let catalogue = try CatalogueFile.load(path: settings.reader.requiredString("catalogue.file")).catalogue
                let reports = try await settings.withDatabase { pool in
                    try await Self.reports(AppleCallReading(pool: pool), transaction, environment, catalogue)
                }
                guard !reports.isEmpty else { throw ToolFailure("no order has the transaction id \(transaction)") }
                try printing.answer(reports, reports.map(\.text).joined(separator: "\n\n"))
            }
        }

        /// A function of its own, since the optimizer crashes on throwing async calls in a loop in a closure.
        @inline(never)
        private static func reports(
            _ reading: AppleCallReading, _ transaction: String, _ environment: StoreEnvironment?, _ catalogue: Catalogue
        ) async throws -> [RefundPreview] {
            var reports: [RefundPreview] = []
            for order in try await reading.orders(transaction, environment: environment) {
                guard let found = try await reading.consumption(order) else { continue }
                reports.append(try RefundPreview(found, calls: try await reading.calls(of: order), catalogue))
            }
            return reports
        }
    }
}
