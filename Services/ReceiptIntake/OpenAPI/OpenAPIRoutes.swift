import Hummingbird
import HummingbirdCore
import ServiceRuntime

/// `GET /openapi.yaml` and `GET /openapi.json`: the description of every route, for everybody.
struct OpenAPIRoutes: Sendable {
    /// The document as it was written.
    @Sendable
    func yaml(_ request: Request, _ context: IntakeContext) async throws -> Response {
        Self.inYAML.response
    }

    /// The document for programs.
    ///
    /// - Throws: `YamlError`, `YAMLText.NotJSON`, which the tests rule out.
    @Sendable
    func json(_ request: Request, _ context: IntakeContext) async throws -> Response {
        try Self.inJSON.get().response
    }

    /// The type's registration is RFC 9512.
    private static let inYAML = PublicDocument(Array(OpenAPIDocument.text.utf8), contentType: "application/yaml")

    /// Made once: reading YAML takes longer than everything else that intake does for a request.
    private static let inJSON = Result {
        PublicDocument(try YAMLText.json(OpenAPIDocument.text), contentType: "application/json")
    }
}
