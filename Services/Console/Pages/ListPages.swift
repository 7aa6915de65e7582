/// Purchases, the newest first.
enum OrdersPage {
    private static let filters = ["environment", "state", "reason", "account", "product_id", "since", "until", "after"]

    @Sendable
    static func make(_ page: PageRequest) async throws -> Page {
        let list = try await page.get(
            "/v1/orders", Dictionary(filters.map { ($0, page.query($0)) }) { first, _ in first })
        let table = page.table(
            "orders.list", list,
            columns: [
                "transaction_id", "product_id", "account", "state", "reason", "price", "environment", "created_at",
            ],
            empty: "orders.none",
            filter: page.filter([
                page.choice("state", ["granted", "parked", "revoked"], word: "state"),
                page.choice("environment", ["production", "sandbox"], word: "environment"),
                page.textField("account"), page.textField("product_id"), page.textField("since"),
            ])
        ) { row in
            [
                page.purchase(row), Cell.code(row["product_id"].text),
                page.account(row["account"], in: row["environment"]), page.state(row["state"]),
                page.reason(row["reason"]), Cell.number(Money.text(row["price_milliunits"], row["currency"])),
                page.environment(row["environment"]), Cell.time(row["created_at"]),
            ]
        }
        return Page(title: page.texts("place.orders"), place: .orders, blocks: [table])
    }
}

/// What Apple's servers said.
enum NotificationsPage {
    @Sendable
    static func make(_ page: PageRequest) async throws -> Page {
        let list = try await page.get(
            "/v1/apple-notifications",
            [
                "environment": page.query("environment"), "type": page.query("type"), "since": page.query("since"),
                "after": page.query("after"),
            ])
        let table = page.table(
            "notifications.list", list,
            columns: ["type", "environment", "purchase", "state", "signed_at", "created_at"],
            empty: "notifications.none",
            filter: page.filter([
                page.textField("type"), page.choice("environment", ["production", "sandbox"], word: "environment"),
            ])
        ) { row in
            [
                Cell.code([row["type"].text, row["subtype"].text].compactMap { $0 }.joined(separator: " ")),
                page.environment(row["environment"]),
                row["transaction_ids"].list.first.map { page.purchase(row, $0) } ?? Cell(nil),
                page.state(row["state"]), Cell.time(row["signed_at"]), Cell.time(row["created_at"]),
            ]
        }
        return Page(title: page.texts("place.notifications"), place: .notifications, blocks: [table])
    }
}

/// Requests for a refund that Apple asked about.
enum RefundsPage {
    @Sendable
    static func make(_ page: PageRequest) async throws -> Page {
        let list = try await page.get(
            "/v1/refund-requests",
            [
                "environment": page.query("environment"), "state": page.query("state"), "after": page.query("after"),
            ])
        let table = page.table(
            "refunds.list", list,
            columns: ["id", "purchase", "account", "product_id", "state", "requested_at", "deadline_at"],
            empty: "refunds.none",
            filter: page.filter([
                page.choice(
                    "state", ["asked", "ready", "done", "refused", "lapsed", "withdrawn"], word: "refund_state"),
                page.choice("environment", ["production", "sandbox"], word: "environment"),
            ])
        ) { row in
            [
                Cell.code(
                    row["id"].text, href: row["id"].text.map { "\(page.base)/refunds/\(IntakeClient.part($0))" }),
                page.purchase(row), page.account(row["account"], in: row["environment"]),
                Cell.code(row["product_id"].text), Cell(page.texts.word("refund_state", row["state"].text ?? "")),
                Cell.time(row["requested_at"]), Cell.time(row["deadline_at"]),
            ]
        }
        return Page(title: page.texts("place.refunds"), place: .refunds, blocks: [table])
    }
}

/// What Apple was told about a refund, or would be told now.
enum RefundPage {
    @Sendable
    static func make(_ page: PageRequest) async throws -> Page {
        let view = try await page.get("/v1/refund-requests/\(IntakeClient.part(try page.part("id")))")
        let (texts, would) = (page.texts, view["would_send"])
        var facts = [
            Fact(texts("column.purchase"), page.purchase(view)),
            Fact(texts("column.account"), page.account(view["account"], in: view["environment"])),
            Fact(texts("column.state"), Cell(texts.word("refund_state", view["state"].text ?? ""))),
            Fact(texts("column.request_reason"), Cell.code(view["request_reason"].text)),
            Fact(texts("column.consented"), Cell(view["consented"].text.map { texts("yes_no.\($0)") })),
            Fact(texts("column.requested_at"), Cell.time(view["requested_at"])),
            Fact(texts("column.deadline_at"), Cell.time(view["deadline_at"])),
            Fact(texts("column.withheld"), Cell(view["withheld"].text)),
        ]
        if let sent = view["sent"].text { facts.append(Fact(texts("column.sent"), Cell.code(sent))) }
        let preview = ["delivered", "sample_content_provided", "consumption_percentage", "refund_preference"].map {
            Fact($0, Cell.code(would[$0].text))
        }
        let items = Table(
            texts("refund.items"), ["item", "granted", "used"].map { texts("column.\($0)") },
            view["items"].list.map {
                [Cell.code($0["item"].text), Cell.number($0["granted"].text), Cell.number($0["used"].text)]
            }, empty: texts("refund.no_items"))
        return Page(
            title: texts("refund.title"), place: .refunds,
            blocks: [.facts(heading: nil, facts), .facts(heading: texts("refund.preview"), preview), .table(items)])
    }
}

/// Who did what by hand, and who looked at whose data.
enum LogPage {
    @Sendable
    static func make(_ page: PageRequest) async throws -> Page {
        let names = ["actor", "action", "since", "after"]
        let list = try await page.get(
            "/v1/audit-log", Dictionary(names.map { ($0, page.query($0)) }) { first, _ in first })
        let views = try await page.get(
            "/v1/views",
            [
                "actor": page.query("actor"), "since": page.query("since"), "after": page.query(ViewTable.cursor),
            ])
        let table = page.table(
            "log.list", list, columns: ["at", "actor", "action", "subject", "why"], empty: "log.none",
            filter: page.filter([page.textField("actor"), page.textField("action")])
        ) { row in
            [
                Cell.time(row["at"]), Cell(row["actor"].text),
                Cell(page.texts.word("action", row["action"].text ?? "")),
                Cell.code(row["subject"].text), Cell(row["reason"].text),
            ]
        }
        return Page(
            title: page.texts("place.log"), place: .log, blocks: [table, ViewTable.make("log.views", views, page)])
    }
}
