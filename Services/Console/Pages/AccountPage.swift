/// What an account has, and where it came from.
enum AccountPage {
    /// The parameters that say where the other lists beside the ledger go on.
    private static let (boughtCursor, tokensCursor) = ("bought_after", "tokens_after")

    @Sendable
    static func make(_ page: PageRequest) async throws -> Page {
        let name = try page.part("id")
        let path = "/v1/accounts/\(IntakeClient.part(name))"
        let environment = page.query("environment")
        let view = try await page.get(path, ["environment": environment, "expired": "true"])
        let transactions = try await page.also(
            path + "/transactions", ["environment": environment, "after": page.query(boughtCursor)])
        let ledger = try await page.also(path + "/ledger", ["environment": environment, "after": page.query("after")])
        let tokens = try await page.also(path + "/tokens", ["after": page.query(tokensCursor)])
        let views = try await page.also("/v1/views", ["account": name, "after": page.query(ViewTable.cursor)])
        let texts = page.texts
        var blocks = view["complete"] == false ? [Block.notice(.waiting, texts("account.incomplete"))] : []
        blocks += [has(view, page), subscriptions(view, page)]
        blocks += lists(view, transactions, ledger, tokens, page)
        blocks.append(ViewTable.make("account.views", views ?? .null, page))
        blocks += acts(name, view["environment"].text ?? "production", page)
        return Page(title: texts("account.title", name), blocks: blocks)
    }

    private static func has(_ view: JSON, _ page: PageRequest) -> Block {
        let texts = page.texts
        return .table(
            Table(
                texts("account.balances"), ["item", "amount"].map { texts("column.\($0)") },
                view["balances"].list.map { [Cell.code($0["item"].text), Cell.number($0["amount"].text)] },
                empty: texts("account.no_balances")))
    }

    /// Subscriptions with their periods on one line of time, drawn as a table that says the dates.
    private static func subscriptions(_ view: JSON, _ page: PageRequest) -> Block {
        let texts = page.texts
        return .table(
            Table(
                texts("account.subscriptions"),
                ["product_id", "state", "since", "ends", "renews", "purchase"].map { texts("column.\($0)") },
                view["subscriptions"].list.map { row in
                    return [
                        Cell.code(row["product_id"].text), page.state(row["state"]), Cell.time(row["purchased_at"]),
                        Cell.time(row["expires_at"]), Cell(row["will_renew"].text.map { texts("yes_no.\($0)") }),
                        Cell.code(
                            row["transaction_id"].text,
                            href: row["transaction_id"].text.map {
                                page.purchasePath(view["environment"].text, $0)
                            }),
                    ]
                }, empty: texts("account.no_subscriptions")))
    }

    private static func lists(
        _ view: JSON, _ transactions: JSON?, _ ledger: JSON?, _ tokens: JSON?, _ page: PageRequest
    ) -> [Block] {
        let (texts, environment) = (page.texts, view["environment"].text)
        let entitlements = Table(
            texts("account.entitlements"),
            ["entitlement", "active", "granted_at", "ends", "purchase"].map { texts("column.\($0)") },
            view["entitlements"].list.map { row in
                [
                    Cell.code(row["entitlement"].text), Cell(row["active"].text.map { texts("yes_no.\($0)") }),
                    Cell.time(row["granted_at"]), Cell.time(row["expires_at"]),
                    Cell.code(
                        row["transaction_id"].text,
                        href: row["transaction_id"].text.map { page.purchasePath(environment, $0) }),
                ]
            }, empty: texts("account.no_entitlements"))
        let bought = page.table(
            "account.transactions", transactions ?? .null,
            columns: ["transaction_id", "product_id", "state", "reason", "purchased_at"],
            empty: "account.no_transactions", cursor: boughtCursor
        ) { row in
            [
                Cell.code(
                    row["transaction_id"].text,
                    href: row["transaction_id"].text.map { page.purchasePath(environment, $0) }),
                Cell.code(row["product_id"].text), page.state(row["state"]), page.reason(row["reason"]),
                Cell.time(row["purchased_at"]),
            ]
        }
        let lines = page.table(
            "account.ledger", ledger ?? .null, columns: ["kind", "item", "amount", "at", "purchase"],
            empty: "account.no_ledger"
        ) { row in
            [
                Cell(texts.word("entry", row["kind"].text ?? "")), Cell.code(row["item"].text),
                Cell.number(row["amount"].text), Cell.time(row["created_at"]),
                Cell.code(
                    row["transaction_id"].text ?? row["spend_id"].text,
                    href: row["transaction_id"].text.map { page.purchasePath(environment, $0) }),
            ]
        }
        let known = page.table(
            "account.tokens", tokens ?? .null, columns: ["token", "at"], empty: "account.no_tokens",
            cursor: tokensCursor
        ) { row in
            [
                Cell.code(row["token"].text ?? row["account_token"].text ?? row["id"].text),
                Cell.time(row["created_at"]),
            ]
        }
        return [.table(entitlements), bought, lines, known]
    }

    private static func acts(_ name: String, _ environment: String, _ page: PageRequest) -> [Block] {
        let here = ["account": name, "environment": environment]
        let forms = [Act.adjust, .askApple, .forget].filter { page.person.may($0.permission) }
            .map { Block.form(ActForm.make($0, page, hidden: here)) }
        return forms.isEmpty ? [] : [.heading(page.texts("acts.title"))] + forms
    }
}
