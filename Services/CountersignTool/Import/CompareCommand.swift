import ArgumentParser
import Foundation
import Persistence
import PurchaseModel
import ServiceRuntime

extension ImportCommand {
    /// `countersign import compare`.
    struct Compare: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "compare", abstract: "Compares an older system's grants with Countersign's orders.",
            discussion: """
                Compares what the lines of an import say (account, product, quantity, items, granted) with the orders that \
                they lead to, and names the orders that no line of the app's imports names. Ends with 2 where they differ.
                """)

        private enum Limit {
            static let page = 5_000
            /// Differences of one kind that are named on the terminal.
            static let examples = 5
            /// Orders that no line names, and those that several do, at the most.
            static let unnamed = 100_000
        }

        @Argument(help: "The number of an import: countersign import report lists them.") var id: Int64
        @Option(help: "Writes all differences to this CSV file; it has accounts' names.") var csv: String?
        @OptionGroup var printing: PrintingOptions

        func run() async throws {
            try await failingPlainly {
                let settings = try await ToolSettings.load()
                let catalogue = try catalogue(settings.reader)
                let command = self
                let differences = try await settings.withDatabase { pool in
                    try await command.differences(ImportStore(pool: pool), catalogue)
                }
                if let csv { try write(differences, to: csv) }
                try printing.answer(differences, text(differences, hasCatalogue: catalogue != nil))
                guard differences.isEmpty else { throw ToolExit.found }
            }
        }

        /// Nil where none is named: items are not compared then.
        private func catalogue(_ settings: SettingReader) throws -> Catalogue? {
            try settings.string("catalogue.file").map { try CatalogueFile.load(path: $0).catalogue }
        }

        @inline(never)
        private func differences(_ store: ImportStore, _ catalogue: Catalogue?) async throws -> [Difference] {
            guard let file = try await store.find(id) else { throw ToolFailure("there is no import \(id)") }
            var differences: [Difference] = []
            var line: Int64 = 0
            while true {
                let page = try await store.compared(of: id, after: line, limit: Limit.page)
                guard let last = page.last else { break }
                for row in page {
                    let product = row.order.flatMap { catalogue?.product(app: file.app, id: $0.productId) }
                    differences += ShadowComparison.differences(row, product: product)
                }
                line = last.line
            }
            differences += try await store.grantedRepeatedly(in: id, limit: Limit.unnamed).map { purchase in
                Difference(
                    kind: .grantedRepeatedlyThere, line: purchase.lines.first,
                    environment: purchase.key.environment.rawValue, transactionId: purchase.key.transactionId,
                    there: "lines \(purchase.lines.map { "\($0)" }.joined(separator: " "))",
                    here: "once")
            }
            differences += try await store.ungrantedThere(app: file.app, limit: Limit.unnamed).map { order in
                Difference(
                    kind: .notGrantedThere, line: nil, environment: order.key.environment.rawValue,
                    transactionId: order.key.transactionId, there: nil, here: order.account?.text)
            }
            return differences
        }

        private func write(_ differences: [Difference], to path: String) throws {
            let lines = [Difference.header] + differences.map { $0.fields.map(CSVText.written).joined(separator: ",") }
            do {
                try Data((lines.joined(separator: "\n") + "\n").utf8).write(
                    to: URL(filePath: path), options: .atomic)
            } catch {
                throw ToolFailure("\(path) cannot be written: \(error.localizedDescription)")
            }
        }

        private func text(_ differences: [Difference], hasCatalogue: Bool) -> String {
            var lines: [String] = []
            for kind in Difference.Kind.allCases {
                let those = differences.filter { $0.kind == kind }
                guard !those.isEmpty else { continue }
                lines.append("\(those.count) \(kind.words)")
                for difference in those.prefix(Limit.examples) {
                    let parts = [
                        difference.line.map { "line \($0)" }, difference.transactionId,
                        difference.there.map { "there \($0)" }, difference.here.map { "here \($0)" },
                    ]
                    lines.append("    " + parts.compactMap(\.self).joined(separator: ", "))
                }
            }
            if differences.isEmpty { lines.append("both systems say the same") }
            if !hasCatalogue { lines.append("items are not compared: COUNTERSIGN_CATALOGUE_FILE is not set") }
            return lines.joined(separator: "\n")
        }
    }
}
