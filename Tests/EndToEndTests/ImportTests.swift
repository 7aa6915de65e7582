import Foundation
import Messages
import Postgres
import ProcessTesting
import Synchronization
import Testing

extension EndToEnd {
    /// What an older system granted is taken over by the real tool, which is killed, and the real services.
    @Suite("Import")
    struct ImportTests {
        private static let app = "com.example.moved"
        private static let columns = "account,transaction_id,signed_transaction,product_id,quantity,items,granted"

        /// What the older system has of a purchase.
        private struct Row {
            let sale: IntakeClient.Sale
            var account: String
            var product = "gems.100"
            var items = "gem=100"
            var granted = "true"

            var line: String {
                "\(account),\(sale.transactionId),\(sale.signedTransaction),\(product),1,\(items),\(granted)"
            }
        }

        private func gems(_ client: IntakeClient, count: Int) async throws -> [IntakeClient.Sale] {
            try await client.sell(
                ["bundleId": Self.app, "productId": "gems.100", "type": "Consumable"], count: count)
        }

        private func periods(_ client: IntakeClient) async throws -> [IntakeClient.Sale] {
            var sales: [IntakeClient.Sale] = []
            for number in 0..<4 {
                sales += try await client.sell([
                    "bundleId": Self.app, "productId": "vip.month", "type": "Auto-Renewable Subscription",
                    "account": "moved-\(number)",
                ])
            }
            return sales
        }

        /// The older system's table: four hundred purchases, and some lines that are not in order.
        private func table(_ client: IntakeClient) async throws -> (rows: [Row], text: String) {
            var rows = try await gems(client, count: 400).enumerated().map { number, sale in
                Row(sale: sale, account: "mover-\(number % 40)")
            }
            rows += try await periods(client).enumerated().map { number, sale in
                Row(sale: sale, account: "subscriber-\(number)", product: "vip.month", items: "gem=50")
            }
            rows[7].items = "gem=250"
            rows[8].granted = "false"
            var lines = [Self.columns] + rows.map(\.line)
            // Line 406: signed by nobody. 407: nothing to read. 408: the first line once more. 409: again, of another account.
            let forged = rows[0].sale.signedTransaction.dropLast(8) + "AAAAAAAA"
            lines.append("mover-x,1,\(forged),gems.100,1,gem=100,true")
            lines.append("mover-y,,,gems.100,1,gem=100,true")
            lines.append(rows[0].line)
            var stolen = rows[1]
            stolen.account = "mover-z"
            lines.append(stolen.line)
            return (rows, lines.joined(separator: "\n") + "\n")
        }

        /// A millisecond after the newest purchase, by the store's clock.
        private func cutOver(after rows: [Row]) throws -> Date {
            struct Payload: Decodable { let purchaseDate: Double }
            let dates = try rows.map { row in
                var payload = String(row.sale.signedTransaction.split(separator: ".")[1])
                    .replacing("-", with: "+").replacing("_", with: "/")
                payload += String(repeating: "=", count: (4 - payload.utf8.count % 4) % 4)
                let data = try #require(Data(base64Encoded: payload))
                return try JSONDecoder().decode(Payload.self, from: data).purchaseDate
            }
            return Date(timeIntervalSince1970: ((dates.max() ?? 0) + 1) / 1_000)
        }

        @discardableResult
        private func tool(_ stack: Stack, _ arguments: String..., fails: Bool = false) async throws -> String {
            let result = try await stack.built("countersign", arguments).run()
            #expect((result.status == 0) != fails, "\(arguments): \(result.output.suffix(2_000))")
            return result.output
        }

        /// Starts the import while nothing is settled, and kills it in the middle of the file.
        private func killed(_ stack: Stack, _ database: Database, _ file: URL) async throws {
            try await stack.command(["kill", "fulfillment"])
            let program = try stack.built(
                "countersign", ["import", file.path, "--app", Self.app, "--in-flight", "150"])
            let running = try program.start()
            let begun = try await database.wait(
                for: 1, within: .seconds(30),
                "SELECT count(*) AS n FROM imports WHERE app = $1 AND lines_done >= 150", [.text(Self.app)])
            #expect(begun == 1)
            running.kill()
            #expect(try await running.ended().wasKilled)
            let finished = try await database.number(
                "SELECT count(*) AS n FROM imports WHERE app = $1 AND finished_at IS NOT NULL", [.text(Self.app)])
            #expect(finished == 0)
            try await stack.command(["start", "fulfillment"])
        }

        private struct Summary: Decodable {
            struct Group: Decodable {
                let fate: String
                let reason: String?
                let lines: Int64
            }
            struct File: Decodable { let id, linesDone: Int64 }
            let file: File
            let grantedElsewhere, grantedHere: Int64
            let groups: [Group]

            func lines(_ fate: String) -> Int64 { groups.filter { $0.fate == fate }.reduce(0) { $0 + $1.lines } }

            init(_ output: String) throws {
                let decoder = JSONDecoder()
                decoder.keyDecodingStrategy = .convertFromSnakeCase
                let start = try #require(output.firstIndex(of: "{"))
                self = try decoder.decode(Self.self, from: Data(output[start...].utf8))
            }

            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: CodingKeys.self)
                file = try container.decode(File.self, forKey: .file)
                grantedElsewhere = try container.decode(Int64.self, forKey: .grantedElsewhere)
                grantedHere = try container.decode(Int64.self, forKey: .grantedHere)
                groups = try container.decode([Group].self, forKey: .groups)
            }

            private enum CodingKeys: String, CodingKey { case file, grantedElsewhere, grantedHere, groups }
        }

        @Test func `an import that is killed goes on, beside posts of the same, and pays nobody twice`() async throws {
            try await withStack { stack, client, database in
                let (rows, text) = try await table(client)
                let folder = FileManager.default.temporaryDirectory.appending(path: "import-\(UUID().uuidString)")
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                defer { try? FileManager.default.removeItem(at: folder) }
                let file = folder.appending(path: "grants.csv")
                try Data(text.utf8).write(to: file)
                let cutOver = MessageCoding.text(try self.cutOver(after: rows))
                let refusal = "has no cut-over for all products in production"
                let early = try await tool(stack, "import", file.path, "--app", Self.app, fails: true)
                #expect(early.contains(refusal), "\(early)")
                // Of the sandbox, or of one product, it says nothing of the others.
                for rule in [["--environment", "sandbox"], ["--product", "nothing.else"]] {
                    try await tool(
                        stack, "cut-over", "set", "--app", Self.app, "--open", "--reason", "trial", rule[0], rule[1])
                }
                let still = try await tool(stack, "import", file.path, "--app", Self.app, fails: true)
                #expect(still.contains(refusal), "\(still)")
                try await tool(stack, "cut-over", "set", "--app", Self.app, "--at", cutOver, "--reason", "moving")
                try await killed(stack, database, file)

                let refused = folder.appending(path: "refused.csv")
                let some = rows.filter { $0.granted == "true" && $0.product == "gems.100" }.prefix(60)
                async let posted = post(some, client)
                let output = try await tool(
                    stack, "import", file.path, "--app", Self.app, "--refused", refused.path, "--json")
                #expect(try await posted == 60)
                let summary = try Summary(output)
                try expect(summary, refused)
                try await expectBooks(database, orders: Int64(rows.count), lines: 408)
                try await importedAgain(stack, database, file, folder, summary)
                try await expectDifferences(stack, database, summary, rows)

                // Afterwards everything is granted here.
                let later = try #require(try await gems(client, count: 1).first)
                let purchase = try await client.purchase(later.signedTransaction, app: Self.app, account: "mover-0")
                #expect(purchase.state == "fulfilled")
                let gems = try await database.number(
                    "SELECT sum(amount)::int8 AS n FROM ledger_entries WHERE app = $1", [.text(Self.app)])
                #expect(gems == 100)
                let audit = try await tool(stack, "books", "check")
                #expect(audit.contains("clean: every rule holds"))
            }
        }

        /// Posts as the players' apps do, and counts those that are told to finish.
        private func post(_ rows: ArraySlice<Row>, _ client: IntakeClient) async throws -> Int {
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for row in rows {
                    let (jws, account) = (row.sale.signedTransaction, row.account)
                    group.addTask {
                        let purchase = try await client.purchase(jws, app: Self.app, account: account)
                        return purchase.state == "fulfilled" && purchase.finish
                    }
                }
                var count = 0
                for try await isFulfilled in group where isFulfilled { count += 1 }
                return count
            }
        }

        private func expect(_ summary: Summary, _ refused: URL) throws {
            #expect(summary.file.linesDone == 409)
            // Whoever of import and post comes first has brought it.
            #expect(summary.lines("recorded") + summary.lines("known") + summary.lines("in_doubt") == 404)
            #expect(summary.lines("repeated") == 1)
            #expect(summary.lines("refused") == 1 && summary.lines("rejected") == 2)
            #expect(summary.lines("undecided") == 0 && summary.grantedHere == 0)
            let lines = try String(contentsOf: refused, encoding: .utf8).split(separator: "\n")
            let fates = lines.dropFirst().map { $0.split(separator: ",").prefix(3).joined(separator: ",") }
            #expect(fates.contains { $0.hasPrefix("406,rejected,") }, "\(fates)")
            #expect(fates.contains("407,refused,no_proof"), "\(fates)")
            #expect(fates.contains("409,rejected,belongs_to_another_account"), "\(fates)")
            #expect(!lines.joined().contains("eyJ"))
        }

        private func expectBooks(_ database: Database, orders: Int64, lines: Int64) async throws {
            let app: [PostgresValue] = [.text(Self.app)]
            let elsewhere = try await database.number(
                "SELECT count(*) AS n FROM orders WHERE app = $1 AND granted_elsewhere", app)
            #expect(elsewhere == orders)
            for (table, column) in [("ledger_entries", "app"), ("events", "app")] {
                let count = try await database.number("SELECT count(*) AS n FROM \(table) WHERE \(column) = $1", app)
                #expect(count == 0, "\(table)")
            }
            let written = try await database.number(
                "SELECT count(*) AS n FROM import_lines JOIN imports ON id = import_id WHERE app = $1", app)
            #expect(written == lines)
            let active = try await database.number(
                "SELECT count(*) AS n FROM subscriptions WHERE app = $1 AND account LIKE 'subscriber-%'", app)
            #expect(active == 4)
        }

        /// The same file reads nothing; another one with the same lines knows them all.
        private func importedAgain(
            _ stack: Stack, _ database: Database, _ file: URL, _ folder: URL, _ first: Summary
        ) async throws {
            let before = try await state(database)
            let again = try Summary(try await tool(stack, "import", file.path, "--app", Self.app, "--json"))
            #expect(again.file.id == first.file.id && again.groups.count == first.groups.count)
            let copy = folder.appending(path: "copy.csv.gz")
            let text = try String(contentsOf: file, encoding: .utf8)
            let plain = folder.appending(path: "copy.csv")
            try Data((text + "\n\n").utf8).write(to: plain)
            _ = try await Program(path: "/usr/bin/env", arguments: ["gzip", plain.path]).result()
            let other = try Summary(try await tool(stack, "import", copy.path, "--app", Self.app, "--json"))
            #expect(other.file.id != first.file.id)
            // What a line brought is the line's still: both files have it.
            #expect(other.lines("recorded") == first.lines("recorded"))
            #expect(try await state(database) == before)
        }

        private func state(_ database: Database) async throws -> [Int64] {
            var counts: [Int64] = []
            for table in ["orders", "submissions", "entitlements", "events", "ledger_entries", "subscriptions"] {
                counts.append(
                    try await database.number(
                        "SELECT count(*) AS n FROM \(table) WHERE app = $1", [.text(Self.app)]))
            }
            return counts
        }

        private func expectDifferences(
            _ stack: Stack, _ database: Database, _ summary: Summary, _ rows: [Row]
        ) async throws {
            struct Difference: Decodable {
                let kind: String
                let line: Int64?
                let there, here: String?
            }
            let output = try await tool(stack, "import", "compare", "\(summary.file.id)", "--json", fails: true)
            let start = try #require(output.firstIndex(of: "["))
            let found = try JSONDecoder().decode([Difference].self, from: Data(output[start...].utf8))
            let told = Set(found.map { "\($0.kind) \($0.line.map { "\($0)" } ?? "-")" })
            #expect(
                told.isSuperset(of: [
                    "not_genuine_here 406", "another_account 409", "another_amount 9", "granted_repeatedly_there 2",
                    "granted_repeatedly_there 3",
                ]), "\(told)")
            #expect(found.first { $0.kind == "another_amount" }?.there == "gem=250")
        }
    }
}
