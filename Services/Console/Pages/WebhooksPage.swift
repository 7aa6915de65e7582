/// How the studio's own servers are told: endpoints, deliveries, attempts.
enum WebhooksPage {
    /// The parameter that says where the list of endpoints goes on.
    private static let endpointsCursor = "endpoints_after"

    @Sendable
    static func make(_ page: PageRequest) async throws -> Page {
        let texts = page.texts
        let endpoints = try await page.get("/v1/webhooks/endpoints", ["after": page.query(endpointsCursor)])
        let names = ["endpoint", "event", "state", "after"]
        let deliveries = try await page.get(
            "/v1/webhooks/deliveries", Dictionary(names.map { ($0, page.query($0)) }) { first, _ in first })
        let known = page.table(
            "webhooks.endpoints", endpoints,
            columns: ["endpoint", "address", "state", "succeeded_at", "failing_since"],
            empty: "webhooks.no_endpoints", cursor: endpointsCursor
        ) { row in
            [
                Cell.code(row["id"].text), Cell.code(row["url"].text),
                page.state(row["enabled"].isTrue ? "enabled" : "disabled"), Cell.time(row["succeeded_at"]),
                Cell.time(row["failing_since"]),
            ]
        }
        var blocks = [known]
        if page.person.may(.changeEndpoints) {
            for row in endpoints["data"].list {
                guard let id = row["id"].text else { continue }
                let acts: [Act] = row["enabled"].isTrue ? [.ping, .disable] : [.enable]
                for act in acts { blocks.append(.form(ActForm.make(act, page, hidden: ["endpoint": id]))) }
            }
        }
        blocks.append(
            page.table(
                "webhooks.deliveries", deliveries,
                columns: ["endpoint", "type", "state", "attempts", "answer", "created_at", "due_at"],
                empty: "webhooks.none",
                filter: page.filter([
                    page.choice("state", ["pending", "delivered", "abandoned"], word: "state"),
                    page.textField("endpoint"), page.textField("event"),
                ])
            ) { row in
                [
                    endpoint(row, page), Cell.code(row["type"].text), page.state(row["state"]),
                    Cell.number(row["attempts"].text), Cell(row["last_error"].text ?? row["last_status"].text),
                    Cell.time(row["created_at"]), Cell.time(row["due_at"]),
                ]
            })
        return Page(title: texts("place.webhooks"), place: .webhooks, blocks: blocks)
    }

    /// A delivery's endpoint, with a link to its attempts.
    static func endpoint(_ row: JSON, _ page: PageRequest) -> Cell {
        guard let event = row["event"].text ?? row["event_id"].text, let endpoint = row["endpoint"].text else {
            return Cell.code(row["endpoint"].text)
        }
        return Cell.code(
            endpoint, href: "\(page.base)/webhooks/\(IntakeClient.part(event))/\(IntakeClient.part(endpoint))")
    }
}

/// Every attempt of one delivery.
enum AttemptsPage {
    @Sendable
    static func make(_ page: PageRequest) async throws -> Page {
        let (event, endpoint) = (try page.part("event"), try page.part("endpoint"))
        let list = try await page.get(
            "/v1/webhooks/deliveries/\(IntakeClient.part(event))/\(IntakeClient.part(endpoint))/attempts",
            ["after": page.query("after")])
        let table = page.table(
            "webhooks.attempts", list, columns: ["number", "at", "milliseconds", "status", "answer"],
            empty: "webhooks.no_attempts"
        ) { row in
            [
                Cell.number(row["number"].text), Cell.time(row["at"]), Cell.number(row["milliseconds"].text),
                Cell(row["status"].text), Cell(row["error"].text ?? row["answer"].text),
            ]
        }
        var blocks = [table]
        if page.person.may(.resend) {
            blocks.append(.form(ActForm.make(.resend, page, hidden: ["event": event, "endpoint": endpoint])))
        }
        return Page(title: page.texts("webhooks.delivery", endpoint), place: .webhooks, blocks: blocks)
    }
}
