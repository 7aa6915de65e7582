/// What is sold: the catalogue in use, its products with what they give, and which version decides purchases.
enum CataloguePage {
    @Sendable
    static func make(_ page: PageRequest) async throws -> Page {
        let texts = page.texts
        let view = try await page.get("/v1/catalogue", ["environment": page.query("environment")])
        var blocks: [Block] = []
        if view["versions"].list.isEmpty { blocks.append(.notice(.waiting, texts("catalogue.none"))) }
        if view["readable"] == .bool(false) { blocks.append(.notice(.bad, texts("catalogue.unreadable"))) }
        let deciding = view["versions"].list.filter { ($0["orders"].integer ?? 0) > 0 }
        if deciding.count > 1 { blocks.append(.notice(.waiting, texts("catalogue.several"))) }
        blocks.append(.table(products(view, page)))
        blocks.append(.table(versions(view, page)))
        return Page(title: texts("place.catalogue"), place: .catalogue, blocks: blocks)
    }

    private static func products(_ view: JSON, _ page: PageRequest) -> Table {
        let texts = page.texts
        var table = Table(
            texts("catalogue.products", view["version_in_use"].text ?? "–"),
            ["product_id", "product_type", "grants", "entitlements", "prices", "restore", "by_version"].map {
                texts("column.\($0)")
            },
            view["products"].list.map { product in
                [
                    Cell.code(
                        product["product_id"].text,
                        href: product["product_id"].text.map {
                            "\(page.base)/orders?product_id=\(IntakeClient.part($0))"
                        }),
                    Cell(texts.word("product_type", product["product_type"].text ?? "")),
                    Cell(grants(product)), Cell(joined(product["entitlements"].list.compactMap(\.text))),
                    Cell(prices(product["prices_milliunits"])), Cell.code(product["restore"].text),
                    Cell(
                        joined(
                            product["sold"].list.map {
                                "\($0["version"].text ?? "?"): \($0["orders"].text ?? "0")"
                            })),
                ]
            }, empty: texts("catalogue.no_products"))
        table.filter = page.filter([page.environmentChoice()])
        return table
    }

    /// `100 gem, 1 badge`, and for how long it is good.
    private static func grants(_ product: JSON) -> String? {
        let items = product["items"].list.map { "\($0["amount"].text ?? "") \($0["item"].text ?? "")" }
        return joined(items + [product["duration"].text].compactMap(\.self))
    }

    private static func prices(_ prices: JSON) -> String? {
        guard case .object(let members) = prices else { return nil }
        return joined(
            members.sorted { $0.key < $1.key }.compactMap { Money.text($0.value, .string($0.key)) })
    }

    private static func joined(_ texts: [String]) -> String? {
        texts.isEmpty ? nil : texts.joined(separator: ", ")
    }

    private static func versions(_ view: JSON, _ page: PageRequest) -> Table {
        let texts = page.texts
        return Table(
            texts("catalogue.versions"),
            ["version", "state", "loaded_at", "orders", "newest_order_at"].map { texts("column.\($0)") },
            view["versions"].list.map { version in
                [
                    Cell.number(version["version"].text), page.state(version["in_use"].isTrue ? "in_use" : "replaced"),
                    Cell.time(version["loaded_at"]), Cell.number(version["orders"].text),
                    Cell.time(version["newest_order_at"]),
                ]
            }, empty: texts("catalogue.none"))
    }
}
