import PurchaseModel
import ServiceRuntime
import Testing

/// `restore` and `take_back` as studios write them.
@Suite("Catalogue policies")
struct CataloguePolicyTests {
    private func product(_ lines: String) throws -> Catalogue.Product {
        let text = "apps:\n  game:\n    - id: p\n" + lines.split(separator: "\n").map { "      \($0)\n" }.joined()
        let catalogue = try CatalogueFile.read(text, path: "catalogue.yaml").catalogue
        return try #require(catalogue.product(app: "game", id: "p"))
    }

    private func mistake(_ lines: String) -> String {
        do {
            _ = try product(lines)
            return "no mistake"
        } catch {
            return "\(error)"
        }
    }

    @Test("what is not written is the default: nothing changes hands, and as much is taken as there is")
    func defaults() throws {
        let product = try product("type: auto_renewable\ngrants: { gem: 5 }")
        #expect(product.restore == .keep)
        #expect(product.takeBacks.isEmpty)
        #expect(product.takeBack(of: "gem") == .toZero)
    }

    @Test("what Apple is told about a refund is nothing unless the catalogue says so, and its mistakes are told")
    func refunds() throws {
        #expect(try product("type: consumable").refund == .silent)
        let refund = try product(
            "type: consumable\nrefund: { preference: grant_prorated, when_consumed: decline, sample_content: true }"
        ).refund
        #expect(refund == RefundPolicy(preference: .grantProrated, whenConsumed: .decline, hasSample: true))
        for (written, told) in [
            ("decline", "is not a mapping"),
            ("{ preference: maybe }", "is not one of decline, grant_full, grant_prorated"),
            ("{ when: decline }", "`when` in `refund`"), ("{ sample_content: perhaps }", "is not true or false"),
        ] {
            let mistake = mistake("type: consumable\nrefund: \(written)")
            #expect(mistake.contains(told), "\(mistake)")
        }
    }

    @Test("a policy stands alone", arguments: RestorePolicy.allCases)
    func policyAlone(_ policy: RestorePolicy) throws {
        let rule = try product("type: non_consumable\nrestore: \(policy.rawValue)").restore
        #expect(rule == RestoreRule(policy: policy))
    }

    @Test("every type that lasts may be restored", arguments: ["non_consumable", "auto_renewable", "non_renewing"])
    func lastingTypes(_ type: String) throws {
        let duration = type == "non_renewing" ? "\nduration: P30D" : ""
        #expect(try product("type: \(type)\(duration)\nrestore: transfer").restore.policy == .transfer)
    }

    @Test("a policy has its limits, and the defaults of those that are not said")
    func limits() throws {
        let transfer = try product("type: auto_renewable\nrestore: { policy: transfer, transfers: 2, per: P3M }")
            .restore
        #expect(transfer.transfersMaximum == 2)
        #expect(transfer.period.description == "P3M")
        let share = try product("type: auto_renewable\nrestore: { policy: share, accounts: 2 }").restore
        #expect(share.accountsMaximum == 2)
        #expect(share.transfersMaximum == RestoreRule.Default.transfers)
        let inactive = try product("type: auto_renewable\nrestore: { policy: transfer_if_inactive, per: P1W }").restore
        #expect(inactive.transfersMaximum == RestoreRule.Default.transfers)
        #expect(inactive.period.description == "P1W")
    }

    @Test("a family member's copy and a purchase after a lapse have policies, where they can be")
    func familyAndNewPurchase() throws {
        let usual = try product("type: auto_renewable\nentitlements: [vip]")
        #expect(usual.assigned == .hold && usual.bundled == .hold)
        let marked = try product("type: consumable\ngrants: { gem: 5 }\nassigned: entitlements\nbundled: all")
        #expect(marked.assigned == .entitlements && marked.bundled == .all)
        #expect(usual.family == .entitlements && usual.restore.newPurchase == .payer)
        let other = try product("type: auto_renewable\nfamily: all\nnew_purchase: owner\nrestore: transfer")
        #expect(other.family == .all && other.restore.newPurchase == .owner && other.restore.policy == .transfer)
        for mistake in [
            "type: consumable\nfamily: all", "type: auto_renewable\nfamily: some",
            "type: auto_renewable\nassigned: some", "type: auto_renewable\nbundled: payer",
            "type: non_consumable\nnew_purchase: payer", "type: auto_renewable\nnew_purchase: apple",
        ] {
            #expect(throws: (any Error).self) { try product(mistake) }
        }
    }

    @Test("take_back is for all items, or for those that are named")
    func takeBacks() throws {
        let all = try product("type: consumable\ngrants: { gem: 5, dust: 1 }\ntake_back: to_negative")
        #expect(all.takeBacks == ["gem": .toNegative, "dust": .toNegative])
        let some = try product("type: consumable\ngrants: { gem: 5, dust: 1 }\ntake_back: { gem: leave }")
        #expect(some.takeBack(of: "gem") == .leave)
        #expect(some.takeBack(of: "dust") == .toZero)
    }

    @Test(
        "what cannot be meant is refused, with its line",
        arguments: [
            ("type: consumable\nrestore: keep", "line 5: p of game has a `restore`; a consumable is used up"),
            (
                "type: non_consumable\nrestore: move",
                "line 5: the restore policy of p of game is not one of keep, transfer"
            ),
            ("type: non_consumable\nrestore: [keep]", "line 5: the restore policy of p of game is not one of"),
            ("type: non_consumable\nrestore: { transfers: 1 }", "line 5: `restore` of p of game lacks `policy`"),
            ("type: non_consumable\nrestore:\n  policy: transfer\n  limit: 1", "line 7: `limit` in `restore` of p"),
            (
                "type: non_consumable\nrestore:\n  policy: transfer\n  transfers: 0",
                "line 7: `transfers` of p of game is a whole number from 1 to 1000"
            ),
            (
                "type: non_consumable\nrestore:\n  policy: transfer\n  transfers: 1.5",
                "line 7: `transfers` of p of game is a whole number"
            ),
            ("type: non_consumable\nrestore:\n  policy: transfer\n  per: month", "line 7: `per` of p of game is not P"),
            (
                "type: non_consumable\nrestore:\n  policy: share\n  accounts: 1",
                "line 7: `accounts` of p of game is a whole number from 2 to 1000"
            ),
            (
                "type: non_consumable\nrestore:\n  policy: share\n  transfers: 3",
                "line 7: `transfers` of p of game limits nothing: it is for transfer and transfer_if_inactive, not for share"
            ),
            (
                "type: non_consumable\nrestore:\n  policy: keep\n  accounts: 3",
                "line 7: `accounts` of p of game limits nothing: it is for share, not for keep"
            ),
            (
                "type: consumable\ngrants: { gem: 1 }\ntake_back:\n  gem: to_zero\n  dust: leave",
                "line 8: `take_back` of p of game names dust, which it does not grant"
            ),
            (
                "type: consumable\ngrants: { gem: 1 }\ntake_back:\n  gem: half",
                "line 7: `take_back` of p of game is not one of to_zero, to_negative, leave"
            ),
            ("type: consumable\ngrants: { gem: 1 }\ntake_back: none", "line 6: `take_back` of p of game is not one of"),
            ("type: non_consumable\ntake_back: leave", "line 5: p of game has a `take_back`, and `grants` nothing"),
        ])
    func refused(_ lines: String, _ expected: String) {
        let told = mistake(lines)
        #expect(told.contains(expected), "\(told)")
    }

    @Test("mistakes of both policies are told together, and the rest of the product with them")
    func together() {
        let told = mistake("type: consumable\ngrants: { gem: 0 }\nrestore: keep\ntake_back: { dust: leave }")
        #expect(told.contains("line 5: p of game, gem: an amount"))
        #expect(told.contains("line 6: p of game has a `restore`"))
        #expect(told.contains("line 7: `take_back` of p of game names dust"))
    }
}
