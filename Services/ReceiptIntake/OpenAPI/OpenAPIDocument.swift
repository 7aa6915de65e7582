import OpenAPIFile
import PurchaseModel
import ServiceRuntime

/// The OpenAPI document: `Document/openapi.yaml`, and in the places that it marks `#[…]` what stands in tables elsewhere.
enum OpenAPIDocument {
    /// The document in YAML.
    static let text = String(cString: openapi_file())
        .replacing("#[webhooks]\n", with: OpenAPIEvents.webhooks)
        .replacing("    #[event schemas]\n", with: OpenAPIEvents.schemas)
        .replacing("[] #[reasons]", with: list(Reason.all.map(\.code.rawValue)))
        .replacing("[] #[problem codes]", with: list(ProblemKind.all.map(\.code)))

    private static func list(_ words: [String]) -> String { "[\(words.joined(separator: ", "))]" }
}
