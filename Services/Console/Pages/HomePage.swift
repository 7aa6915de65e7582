/// Whether money is safe, in one look.
enum HomePage {
    enum Limit {
        /// Seconds between looks of an open page.
        static let refreshSeconds = 10
    }

    @Sendable
    static func make(_ page: PageRequest) async throws -> Page {
        let environment = page.query("environment")
        let view = try await page.get("/v1/overview", ["environment": environment])
        let texts = page.texts
        var blocks: [Block] = [.tiles(tiles(view, page))]
        let alarms = view["alarms"].list
        if alarms.isEmpty { blocks.insert(.notice(.good, texts("home.all_well")), at: 0) }
        if !alarms.isEmpty { blocks.append(alarmTable(alarms, page)) }
        blocks.append(chart(view["purchases"], texts))
        blocks.append(webhooks(view["webhooks"], page))
        return Page(
            title: texts("place.home"), place: .home, blocks: blocks, refreshSeconds: Limit.refreshSeconds)
    }

    /// A number that was counted to a limit.
    static func counted(_ number: JSON, _ part: JSON) -> String {
        (number.text ?? "0") + (part["at_least"].isTrue ? "+" : "")
    }

    private static func tiles(_ view: JSON, _ page: PageRequest) -> [Tile] {
        let texts = page.texts
        let (undelivered, purchases, waiting) = (view["undelivered"], view["purchases"], view["submissions"])
        let needs = undelivered["needs_somebody"].integer ?? 0
        var tiles = [
            Tile(
                name: texts("home.undelivered"), value: Cell(counted(undelivered["count"], undelivered)),
                note: texts("home.needs_somebody", String(needs)),
                tone: (needs > 0 ? Tone.bad : .good).rawValue, href: page.base + "/undelivered"),
            Tile(
                name: texts("home.oldest"), value: Cell.time(undelivered["oldest_at"]),
                tone: (undelivered["oldest_at"] == .null ? Tone.good : .waiting).rawValue),
            Tile(
                name: texts("home.last_hour"), value: Cell(counted(purchases["last_hour"], purchases)),
                href: page.base + "/orders"),
            Tile(
                name: texts("home.waiting"), value: Cell(counted(waiting["waiting"], waiting)),
                note: waiting["oldest_at"].text.map { texts("home.since", Cell.inUTC($0)) }),
        ]
        for notification in view["notifications"].list {
            let environment = texts.word("environment", notification["environment"].text ?? "")
            tiles.append(
                Tile(
                    name: texts("home.notification", environment), value: Cell.time(notification["at"]),
                    note: notification["type"].text, href: page.base + "/notifications"))
        }
        if view["notifications"].list.isEmpty {
            tiles.append(
                Tile(
                    name: texts("home.notification", ""), value: Cell(texts("home.never")),
                    note: texts("home.never_help"), tone: Tone.waiting.rawValue))
        }
        return tiles
    }

    private static func alarmTable(_ alarms: [JSON], _ page: PageRequest) -> Block {
        let texts = page.texts
        return .table(
            Table(
                texts("home.alarms"), ["alarm", "reason", "count", "since", "runbook"].map { texts("column.\($0)") },
                alarms.map { alarm in
                    [
                        Cell.state(texts.word("alarm", alarm["code"].text ?? ""), .bad),
                        alarm["endpoint"].text.map { Cell.code($0) } ?? page.reason(alarm["reason"]),
                        Cell.number(counted(alarm["count"], alarm)), Cell.time(alarm["oldest_at"]),
                        page.runbook(alarm["runbook"]),
                    ]
                }, empty: texts("home.all_well")))
    }

    private static func chart(_ purchases: JSON, _ texts: Texts) -> Block {
        let minutes = purchases["minutes"].list.map { minute in
            (
                name: String((minute["at"].text ?? "").dropFirst(11).prefix(5)),
                value: minute["purchases"].integer ?? 0, text: minute["purchases"].text ?? "0"
            )
        }
        return .chart(
            Chart(
                heading: texts("home.chart"),
                summary: texts("home.chart_says", counted(purchases["last_hour"], purchases)), values: minutes))
    }

    private static func webhooks(_ endpoints: JSON, _ page: PageRequest) -> Block {
        let texts = page.texts
        return .table(
            Table(
                texts("home.webhooks"),
                ["endpoint", "state", "pending", "abandoned", "since"].map { texts("column.\($0)") },
                endpoints.list.map { endpoint in
                    [
                        Cell.code(endpoint["endpoint"].text, href: page.base + "/webhooks"),
                        page.state(endpoint["enabled"].isTrue ? "enabled" : "disabled"),
                        Cell.number(counted(endpoint["pending"], endpoint)),
                        Cell.number(counted(endpoint["abandoned"], endpoint)),
                        Cell.time(endpoint["oldest_pending_at"]),
                    ]
                }, empty: texts("home.webhooks_well")))
    }
}
