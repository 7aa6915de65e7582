/// A purchase: its story, how it stands, and what can be done now.
enum PurchasePage {
    @Sendable
    static func make(_ page: PageRequest) async throws -> Page {
        let (environment, id) = (try page.part("environment"), try page.part("id"))
        let path = "/v1/orders/\(IntakeClient.part(id))"
        let order = try await page.get(path, ["environment": environment])
        let story = try await page.also(path + "/why", ["environment": environment])
        let (texts, transaction) = (page.texts, order["transaction"])
        var blocks = [headline(order, transaction, texts)]
        if let story { blocks.append(.story(heading: texts("purchase.story"), lines(story, texts))) }
        blocks.append(facts(order, transaction, page))
        blocks += tables(order, environment: JSON.string(environment), page)
        if let extensions = try await extensions(order, transaction, environment, page) { blocks.append(extensions) }
        blocks += acts(order, transaction, environment, page)
        return Page(
            title: texts("purchase.title", transaction["product_id"].text ?? id), place: .orders, blocks: blocks)
    }

    /// The first sentence: what there is to know.
    private static func headline(_ order: JSON, _ transaction: JSON, _ texts: Texts) -> Block {
        let account = order["account"].text ?? ""
        switch transaction["state"].text {
        case "granted": return .notice(.good, texts("purchase.granted", account))
        case "parked":
            return .notice(.waiting, texts("purchase.parked", texts.word("reason", transaction["reason"].text ?? "")))
        case "revoked": return .notice(.bad, texts("purchase.revoked", account))
        default: return .notice(.plain, transaction["state"].text ?? "")
        }
    }

    private static func lines(_ story: JSON, _ texts: Texts) -> [StoryLine] {
        story["sentences"].list.map { StoryLine(at: Cell.time($0["at"]), text: texts.sentence($0)) }
    }

    private static func facts(_ order: JSON, _ transaction: JSON, _ page: PageRequest) -> Block {
        let texts = page.texts
        var facts = [
            Fact(texts("column.state"), page.state(transaction["state"])),
            Fact(texts("column.account"), page.account(order["account"], in: order["environment"])),
            Fact(texts("column.environment"), page.environment(order["environment"])),
            Fact(texts("column.product_id"), Cell.code(transaction["product_id"].text)),
            Fact(texts("column.quantity"), Cell(transaction["quantity"].text)),
        ]
        if let price = Money.text(transaction["price_milliunits"], transaction["currency"]) {
            facts.append(Fact(texts("column.price"), Cell(price)))
        }
        for name in ["purchased_at", "expires_at", "created_at", "granted_at", "revoked_at"]
        where transaction[name] != .null {
            facts.append(Fact(texts("column.\(name)"), Cell.time(transaction[name])))
        }
        let ids = order["transaction_ids"].list.map { Cell.code($0.text) }
        facts.append(Fact(texts("column.transaction_id"), values: ids))
        if let reason = transaction["reason"].text {
            facts.append(Fact(texts("column.reason"), Cell(texts.word("reason", reason)), Cell.code(reason)))
        }
        return .facts(heading: texts("purchase.facts"), facts)
    }

    private static func tables(_ order: JSON, environment: JSON, _ page: PageRequest) -> [Block] {
        let texts = page.texts
        func table(_ name: String, _ columns: [String], _ row: (JSON) -> [Cell]) -> Block {
            .table(
                Table(
                    texts("purchase.\(name)"), columns.map { texts("column.\($0)") }, order[name].list.map(row),
                    empty: texts("purchase.no_\(name)")))
        }
        return [
            table("entries", ["kind", "account", "item", "amount", "at"]) { entry in
                [
                    Cell(texts.word("entry", entry["kind"].text ?? "")),
                    page.account(entry["account"], in: environment),
                    Cell.code(entry["item"].text), Cell.number(entry["amount"].text), Cell.time(entry["created_at"]),
                ]
            },
            table("submissions", ["id", "account", "kind", "state", "received_at"]) { submission in
                [
                    Cell.code(
                        submission["id"].text,
                        href: submission["id"].text.map { "\(page.base)/submissions/\(IntakeClient.part($0))" }),
                    page.account(submission["account"], in: environment),
                    Cell(texts.word("kind", submission["kind"].text ?? "")), page.state(submission["state"]),
                    Cell.time(submission["received_at"]),
                ]
            },
            table("deliveries", ["endpoint", "state", "attempts", "answer", "delivered_at"]) { delivery in
                [
                    WebhooksPage.endpoint(delivery, page), page.state(delivery["state"]),
                    Cell.number(delivery["attempts"].text),
                    Cell(delivery["last_status"].text ?? delivery["last_error"].text),
                    Cell.time(delivery["delivered_at"]),
                ]
            },
        ]
    }

    /// What was asked of Apple for a subscription.
    private static func extensions(
        _ order: JSON, _ transaction: JSON, _ environment: String, _ page: PageRequest
    ) async throws -> Block? {
        guard order["subscription"] != .null, let id = transaction["original_transaction_id"].text else { return nil }
        let list = try await page.also(
            "/v1/subscriptions/\(IntakeClient.part(id))/extensions", ["environment": environment])
        let texts = page.texts
        return .table(
            Table(
                texts("purchase.extensions"),
                ["asked_at", "actor", "days", "apple_reason", "state", "renews_at", "why"].map {
                    texts("column.\($0)")
                },
                (list ?? .null)["data"].list.map { row in
                    [
                        Cell.time(row["asked_at"]), Cell(row["actor"].text), Cell.number(row["days"].text),
                        Cell(texts.word("apple_reason", row["apple_reason"].text ?? "")), page.state(row["state"]),
                        row["renews_at"] == .null
                            ? Cell(
                                row["code"].text.map { texts.word("apple_code", $0) }
                                    ?? row["outcome"].text.map { texts.word("call_outcome", $0) })
                            : Cell.time(row["renews_at"]),
                        Cell(row["reason"].text),
                    ]
                }, empty: texts("purchase.no_extensions")))
    }

    /// The acts that are possible now, and why the others are not.
    private static func acts(
        _ order: JSON, _ transaction: JSON, _ environment: String, _ page: PageRequest
    ) -> [Block] {
        let texts = page.texts
        let id = order["transaction_ids"].list.first?.text ?? transaction["transaction_id"].text ?? ""
        let here = ["environment": environment, "transaction_id": id]
        var acts: [Block] = [.heading(texts("acts.title"))]
        if page.person.may(.assign) {
            var form = ActForm.make(.assign, page, hidden: here)
            if transaction["state"].text != "parked" || order["account"].text != nil {
                form.refusal = texts("assign.refusal")
            }
            acts.append(.form(form))
        }
        if page.person.may(.askApple) { acts.append(.form(ActForm.make(.askApple, page, hidden: here))) }
        if page.person.may(.extend), order["subscription"] != .null,
            let original = transaction["original_transaction_id"].text
        {
            let subscription = ["environment": environment, "original_transaction_id": original]
            acts.append(.form(ActForm.make(.extend, page, hidden: subscription)))
        }
        if page.person.may(.retry), let submission = order["submissions"].list.first?["id"].text {
            var form = ActForm.make(.retry, page, hidden: ["submission_id": submission])
            if transaction["state"].text == "granted" { form.refusal = texts("retry.refusal") }
            acts.append(.form(form))
        }
        if page.person.may(.resend), let event = order["events"].list.last?["id"].text {
            acts.append(.form(ActForm.make(.resend, page, hidden: ["event": event])))
        }
        return acts.count == 1 ? [.notice(.plain, texts("acts.none"))] : acts
    }
}

/// What was posted, and what came of it.
enum SubmissionPage {
    @Sendable
    static func make(_ page: PageRequest) async throws -> Page {
        let id = try page.part("id")
        let view = try await page.get("/v1/submissions/\(IntakeClient.part(id))")
        let texts = page.texts
        var facts = [
            Fact(texts("column.state"), page.state(view["state"])),
            Fact(texts("column.reason"), page.reason(view["reason"])),
            Fact(texts("column.account"), page.account(view["account"], in: .null)),
            Fact(texts("column.kind"), Cell(texts.word("kind", view["kind"].text ?? ""))),
            Fact(texts("column.request_id"), Cell.code(view["request_id"].text)),
            Fact(texts("column.attempts"), Cell(view["attempts"].text)),
        ]
        for name in ["received_at", "settled_at", "due_at", "alarmed_at"] where view[name] != .null {
            facts.append(Fact(texts("column.\(name)"), Cell.time(view[name])))
        }
        if let detail = view["detail"].text { facts.append(Fact(texts("column.detail"), Cell(detail))) }
        let transactions = Table(
            texts("submission.transactions"),
            ["transaction_id", "product_id", "state", "reason"].map { texts("column.\($0)") },
            view["transactions"].list.map { row in
                [
                    page.purchase(row), Cell.code(row["product_id"].text), page.state(row["state"]),
                    page.reason(row["reason"]),
                ]
            }, empty: texts("submission.no_transactions"))
        var blocks: [Block] = [.facts(heading: nil, facts), .table(transactions)]
        if page.person.may(.retry) {
            var form = ActForm.make(.retry, page, hidden: ["submission_id": id])
            if view["state"].text == "fulfilled" { form.refusal = texts("retry.refusal") }
            blocks.append(.form(form))
        }
        return Page(title: texts("submission.title"), place: .orders, blocks: blocks)
    }
}
