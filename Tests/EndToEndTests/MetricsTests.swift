import Messages
import Testing

extension EndToEnd {
    /// What an operator sees on the admin ports.
    @Suite("Metrics")
    struct MetricsTests {
        private static let processes = [
            "receipt-intake", "verification-worker-1", "fulfillment", "notification",
        ]

        /// A family of a page: its name and whether the line above its type is its help.
        private func families(_ page: [String]) -> [(name: String, hasHelp: Bool)] {
            page.indices.filter { page[$0].hasPrefix("# TYPE ") }.map { index in
                let name = page[index].split(separator: " ")[2]
                return (String(name), index > 0 && page[index - 1].hasPrefix("# HELP \(name) "))
            }
        }

        @Test(
            "every family of every process has its line of HELP, after a purchase", arguments: processes)
        func help(process: String) async throws {
            try await withStack { stack, client, _ in
                let sale = try #require(
                    try await client.sell([
                        "bundleId": "com.example.game", "productId": "gems.100", "type": "Consumable",
                    ]).first)
                let purchase = try await client.purchase(
                    sale.signedTransaction, app: "com.example.game", account: "metrics")
                #expect(purchase.state == "fulfilled")
                let families = families(try await AdminPort(client, stack, process).page())
                #expect(families.count > 15)
                for family in families { #expect(family.hasHelp, "\(family.name) has no HELP") }
            }
        }
    }
}
