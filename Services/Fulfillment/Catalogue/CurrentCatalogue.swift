import PurchaseModel
import ServiceRuntime

/// The catalogue that is in use now, under the number by which orders name it.
actor CurrentCatalogue {
    /// Writes a text down, and returns its number; see `CatalogueStore.version(of:)`.
    typealias Numbering = @Sendable (_ text: String) async throws -> Int64

    private let numbering: Numbering
    private var loaded: CatalogueFile.Loaded

    /// - Parameter loaded: the catalogue to begin with.
    init(_ loaded: CatalogueFile.Loaded, numbering: @escaping Numbering) {
        self.loaded = loaded
        self.numbering = numbering
    }

    /// The text in use.
    var text: String { loaded.text }

    /// The catalogue in use, with its number, which is asked for once.
    ///
    /// - Throws: `PostgresError`: nothing may be granted by a catalogue without a number.
    func current() async throws -> Catalogue {
        if loaded.catalogue.version != nil { return loaded.catalogue }
        let asked = loaded
        let numbered = asked.catalogue.numbered(try await numbering(asked.text))
        // Another may have been loaded meanwhile: this one is what was asked for all the same.
        if asked.text == loaded.text { loaded.catalogue = numbered }
        return numbered
    }

    /// Uses another one from the next batch on.
    ///
    /// - Returns: its number.
    /// - Throws: `PostgresError`; then the one before stays in use.
    func replace(with other: CatalogueFile.Loaded) async throws -> Int64 {
        let number = try await numbering(other.text)
        loaded = CatalogueFile.Loaded(catalogue: other.catalogue.numbered(number), text: other.text)
        return number
    }
}
