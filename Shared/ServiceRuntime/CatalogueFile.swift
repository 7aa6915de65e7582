public import PurchaseModel

/// What the studio sells, from a YAML file.
///
/// ```yaml
/// apps:
///   com.example.game:
///     - { id: gems.100, type: consumable, grants: { gem: 100 } }
///     - { id: pro, type: non_consumable, entitlements: [pro] }
/// ```
public enum CatalogueFile {
    /// Reads the file.
    ///
    /// - Throws: `SettingsFileError`, for a file, a type or an amount that cannot be meant.
    public static func load(path: String) throws -> Catalogue {
        let document = try SettingsFile.load(Document.self, path: path)
        var apps: [String: [Catalogue.Product]] = [:]
        for (app, entries) in document.apps {
            apps[app] = try entries.map { try product($0, app: app, path: path) }
            guard Set(entries.map(\.id)).count == entries.count else {
                throw SettingsFileError(path: path, problem: "a product of \(app) is listed twice")
            }
        }
        return Catalogue(apps)
    }

    private static func product(_ entry: Document.Entry, app: String, path: String) throws -> Catalogue.Product {
        let type = ProductType(rawValue: entry.type)
        guard ProductType.known.contains(type) else {
            let known = ProductType.known.map(\.rawValue).joined(separator: ", ")
            throw SettingsFileError(
                path: path, problem: "the type of \(entry.id) of \(app) is \"\(entry.type)\", not one of \(known)")
        }
        let items = try (entry.grants ?? [:]).sorted { $0.key < $1.key }.map { item, amount in
            guard amount >= 1, amount <= OrderDecision.amountMaximum else {
                throw SettingsFileError(
                    path: path,
                    problem: "\(entry.id) of \(app) grants \(amount) of \(item); "
                        + "an amount is from 1 to \(OrderDecision.amountMaximum)")
            }
            return Catalogue.ItemGrant(item: item, amount: amount)
        }
        return Catalogue.Product(id: entry.id, type: type, items: items, entitlements: entry.entitlements ?? [])
    }

    private struct Document: Decodable {
        let apps: [String: [Entry]]

        struct Entry: Decodable {
            let id: String
            let type: String
            let grants: [String: Int64]?
            let entitlements: [String]?
        }
    }
}
