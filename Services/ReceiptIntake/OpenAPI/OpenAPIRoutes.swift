import Hummingbird
import HummingbirdCore
import ServiceRuntime

/// `GET /openapi.yaml` and `GET /openapi.json`: the description of every route, for everybody.
struct OpenAPIRoutes: Sendable {
    /// The document, the only copy: the parts of one text, with an example beside each schema.
    static let document = OpenAPIExamples.besideSchemas(of: paths + OpenAPIParts.yaml) + schemas + OpenAPIExamples.yaml

    private static let paths: String =
        OpenAPIPaths.yaml + OpenAPIPaths.intentsAndNotifications + OpenAPIPaths.offers + OpenAPIPaths.wallet
        + OpenAPIPaths.webhooks + OpenAPIPaths.endpoints + OpenAPIPaths.deliveries + OpenAPIPaths.forgetting
        + OpenAPIPaths.consents + OpenAPIPaths.events + OpenAPIPaths.sweeps + OpenAPIPaths.pages
        + OpenAPIEvents.webhooks

    private static let schemas: String =
        OpenAPISchemas.yaml + OpenAPISchemas.orders
        + OpenAPISchemas.intentsAndNotifications + OpenAPISchemas.wallet + OpenAPISchemas.webhooks
        + OpenAPISchemas.forgetting + OpenAPISchemas.consents + OpenAPISchemas.offers + OpenAPISchemas.endpoints
        + OpenAPISchemas.deliveries + OpenAPISchemas.events + OpenAPISchemas.sweeps + OpenAPISchemas.pages
        + OpenAPIEvents.schemas

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
    private static let inYAML = PublicDocument(Array(document.utf8), contentType: "application/yaml")

    /// Made once: reading YAML takes longer than everything else that intake does for a request.
    private static let inJSON = Result {
        PublicDocument(try YAMLText.json(document), contentType: "application/json")
    }
}
