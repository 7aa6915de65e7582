import PurchaseModel
import Yams

/// Reads a catalogue node by node, so that every mistake is told with its line.
struct CatalogueDocument {
    private let root: Node?
    private var mistakes = CatalogueMistakes()

    /// Reads the YAML.
    ///
    /// - Throws: `CatalogueMistakes`.
    init(_ text: String) throws(CatalogueMistakes) {
        do {
            root = try Yams.compose(yaml: text)
        } catch {
            var mistakes = CatalogueMistakes()
            let flaw = YAMLFlaw(error)
            mistakes.add(flaw.line, flaw.problem)
            throw mistakes
        }
    }

    /// What the document says.
    ///
    /// - Throws: `CatalogueMistakes`, all of them.
    consuming func catalogue() throws(CatalogueMistakes) -> Catalogue {
        if let mapping = root?.mapping {
            for (key, _) in mapping where key.string != "apps" {
                mistakes.add(key.mark?.line, "`\(key.string ?? "?")` is not a field of a catalogue")
            }
        }
        guard let apps = root?.mapping?["apps"]?.mapping else {
            mistakes.add(root?.mark?.line, "`apps` is missing, a mapping of bundle ids to products")
            throw mistakes
        }
        var products: [String: [Catalogue.Product]] = [:]
        for (key, value) in apps {
            guard let app = key.string, let list = value.sequence else {
                mistakes.add(key.mark?.line, "an app has a list of products")
                continue
            }
            if !(1...CatalogueEntry.nameLengthMaximum).contains(app.utf8.count) {
                mistakes.add(key.mark?.line, "a bundle id is a text of 1 to \(CatalogueEntry.nameLengthMaximum) bytes")
            }
            products[app] = read(list, of: app)
        }
        guard mistakes.mistakes.isEmpty else { throw mistakes }
        return Catalogue(products)
    }

    private mutating func read(_ list: Node.Sequence, of app: String) -> [Catalogue.Product] {
        var lines: [String: Int] = [:]
        var products: [Catalogue.Product] = []
        for node in list {
            var entry = CatalogueEntry(node, app: app)
            if let product = entry.product() { products.append(product) }
            if let id = entry.id {
                if let first = lines[id] {
                    entry.mistakes.add(node.mark?.line, "\(id) of \(app) stands on line \(first) already")
                } else {
                    lines[id] = node.mark?.line ?? 0
                }
            }
            mistakes.mistakes += entry.mistakes.mistakes
        }
        return products
    }
}
