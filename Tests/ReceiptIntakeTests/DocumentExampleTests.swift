import Foundation
import Messages
import PurchaseModel
import SchemaTesting
import ServiceRuntime
import Testing

@testable import ReceiptIntake

/// What the OpenAPI document shows and promises beside its routes.
@Suite("The OpenAPI document's examples and webhooks")
struct DocumentExampleTests {
    private typealias Object = [String: Any]

    private func document() throws -> Object {
        let json = try YAMLText.json(OpenAPIDocument.text)
        return try #require(try JSONSerialization.jsonObject(with: Data(json)) as? Object)
    }

    /// Every media type of JSON that an operation takes or answers, with its place.
    private func bodies(_ document: Object) throws -> [(place: String, body: Object)] {
        let checker = SchemaChecker(document: document)
        var found: [(place: String, body: Object)] = []
        for part in ["paths", "webhooks"] {
            for (path, item) in try #require(document[part] as? [String: [String: Object]], "\(part)") {
                for (method, operation) in item {
                    var contents: [(String, Object)] = [("request", operation["requestBody"] as? Object ?? [:])]
                    for (status, response) in operation["responses"] as? [String: Object] ?? [:] {
                        contents.append((status, try response["$ref"].map { try checker.resolve($0) } ?? response))
                    }
                    for (name, holder) in contents {
                        for (type, body) in holder["content"] as? [String: Object] ?? [:] where type.hasSuffix("json") {
                            found.append(("\(method) \(path) \(name) \(type)", body))
                        }
                    }
                }
            }
        }
        return found
    }

    @Test func `every body of JSON has an example, and each example fits its schema`() throws {
        let document = try document()
        let checker = SchemaChecker(document: document)
        // These answer with whole files, which are no example of anything.
        let files = ["/openapi.json", "/schemas/"]
        let bodies = try bodies(document)
        #expect(bodies.count > 100)
        for (place, body) in bodies where !files.contains(where: { place.contains($0) }) {
            let schema = try #require(body["schema"] as? Object, "\(place)")
            let examples = try #require(body["examples"] as? [String: Object], "\(place) has no example")
            #expect(!examples.isEmpty)
            for (name, example) in examples {
                let whole = try example["$ref"].map { try checker.resolve($0) } ?? example
                let value = try #require(whole["value"], "\(name)")
                let flaws = try checker.flaws(of: value, by: schema)
                #expect(flaws.isEmpty, "\(place), \(name): \(flaws)")
            }
        }
    }

    @Test func `there is a webhook for each type of event, with the published example and schema`() throws {
        let document = try document()
        let examples = try #require(document["webhooks"] as? Object)
        let published = try #require(
            try JSONSerialization.jsonObject(with: Data(EventSchemas.examples)) as? Object)
        #expect(examples.keys.sorted() == published.keys.sorted())
        #expect(examples.count > 25)
    }

    @Test func `it lists every reason and every type of problem, and no marked place stays empty`() throws {
        let schemas = try #require((try document()["components"] as? Object)?["schemas"] as? [String: Object])
        let type = (schemas["Problem"]?["properties"] as? [String: Object])?["type"]
        #expect(schemas["Reason"]?["x-extensible-enum"] as? [String] == Reason.all.map(\.code.rawValue))
        #expect(type?["x-extensible-enum"] as? [String] == ProblemPage.all.map { ProblemDetails.typePrefix + $0.slug })
        #expect(schemas["TransactionFulfilledEvent"] != nil)
        #expect(!OpenAPIDocument.text.contains("#["))
    }

    @Test func `no schema is closed to added members`() throws {
        #expect(!OpenAPIDocument.text.contains("additionalProperties: false"))
        #expect(!OpenAPIDocument.text.contains("\"additionalProperties\""))
    }
}
