/// What is in use: keys, what the doctor found, and who may do what.
enum SettingsPage {
    @Sendable
    static func make(_ page: PageRequest) async throws -> Page {
        let texts = page.texts
        let endpoints = try await page.also("/v1/webhooks/endpoints")
        let settings = try await page.also("/v1/settings") ?? .null
        let facts = [
            Fact(texts("column.app"), Cell.code(page.app)),
            Fact(texts("settings.you"), Cell(page.person.name), Cell(texts("role.\(page.person.role.rawValue)"))),
            Fact(texts("settings.intake"), Cell.code(page.intake.address)),
            Fact(texts("settings.endpoints"), Cell(String(endpoints?["data"].list.count ?? 0))),
        ]
        var blocks: [Block] = [
            .facts(heading: nil, facts), .table(findings(settings["doctor"], page)), .table(keys(settings, page)),
            .table(roles(texts)),
        ]
        if page.person.may(.endSessions) {
            blocks.append(.links(heading: nil, [Cell(texts("permission.endSessions"), href: "/sessions")]))
        }
        return Page(title: texts("place.settings"), place: .settings, blocks: blocks)
    }

    /// What is wrong comes first.
    private static func findings(_ doctor: JSON, _ page: PageRequest) -> Table {
        let texts = page.texts
        let order = ["wrong", "warning", "good"]
        let rows = order.flatMap { level in doctor["findings"].list.filter { $0["level"].text == level } }
        return Table(
            doctor["looked_at"].text.map { texts("settings.doctor", Cell.inUTC($0)) } ?? texts("settings.doctor_never"),
            ["level", "subject", "detail", "remedy"].map { texts("settings.\($0)") },
            rows.map { finding in
                let level = finding["level"].text ?? ""
                let tone: Tone =
                    switch level {
                    case "good": .good
                    case "warning": .waiting
                    default: .bad
                    }
                return [
                    Cell.state(texts.word("level", level), tone), Cell(finding["subject"].text),
                    Cell(finding["detail"].text), Cell(finding["remedy"].text),
                ]
            }, empty: texts("settings.no_findings"))
    }

    private static func keys(_ settings: JSON, _ page: PageRequest) -> Table {
        let texts = page.texts
        return Table(
            texts("settings.keys"), ["name", "fingerprint", "scopes", "last_use"].map { texts("settings.\($0)") },
            settings["keys"].list.map { key in
                [
                    Cell(key["name"].text), Cell.code(key["fingerprint"].text),
                    Cell(key["scopes"].list.compactMap(\.text).joined(separator: ", ")),
                    key["last_used_at"].text == nil ? Cell(texts("settings.unused")) : Cell.time(key["last_used_at"]),
                ]
            }, empty: texts("settings.no_keys"))
    }

    private static func roles(_ texts: Texts) -> Table {
        Table(
            texts("settings.roles"),
            [texts("column.permission")] + Role.allCases.map { texts("role.\($0.rawValue)") },
            Permission.allCases.map { permission in
                [Cell(texts("permission.\(permission.rawValue)"))]
                    + Role.allCases.map { Cell($0 >= permission.least ? texts("yes_no.true") : texts("yes_no.false")) }
            }, empty: "")
    }
}
