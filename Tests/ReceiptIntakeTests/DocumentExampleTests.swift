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

    @Test func `it lists every reason and every kind of problem, and no marked place stays empty`() throws {
        let schemas = try #require((try document()["components"] as? Object)?["schemas"] as? [String: Object])
        let code = (schemas["Problem"]?["properties"] as? [String: Object])?["code"]
        #expect(schemas["Reason"]?["x-extensible-enum"] as? [String] == Reason.all.map(\.code.rawValue))
        #expect(code?["x-extensible-enum"] as? [String] == ProblemKind.all.map(\.code))
        #expect(schemas["TransactionFulfilledEvent"] != nil)
        #expect(!OpenAPIDocument.text.contains("#["))
    }

    @Test func `a request that names no environment means production, except for lists of an app`() throws {
        let document = try document()
        let checker = SchemaChecker(document: document)
        func resolved(_ value: Object?) throws -> Object? {
            try value?["$ref"].map { try checker.resolve($0) } ?? value
        }
        var count = 0
        for (path, item) in try #require(document["paths"] as? [String: [String: Object]]) {
            for (method, operation) in item {
                let parameters = try (operation["parameters"] as? [Object] ?? []).map { try resolved($0) }
                let query = parameters.first { $0?["name"] as? String == "environment" }??["schema"] as? Object
                let body = (operation["requestBody"] as? Object)?["content"] as? [String: Object]
                let schema = try resolved(body?["application/json"]?["schema"] as? Object)
                let member = (schema?["properties"] as? [String: Object])?["environment"]
                guard let environment = query ?? member else { continue }
                count += 1
                // What is worked out of rows is of one environment.
                let figures = ["/v1/overview", "/v1/subscription-figures", "/v1/catalogue"]
                let isListOfApp = method == "get" && !path.contains("{") && !figures.contains(path)
                #expect((environment["default"] as? String == "production") != isListOfApp, "\(method) \(path)")
            }
        }
        #expect(count >= 9)
    }

    @Test func `every time is named alike`() throws {
        let document = try document()
        let schemas = try #require((document["components"] as? Object)?["schemas"] as? [String: Object])
        // What Standard Webhooks names so, what a sentence or an attempt has, and what has no end yet.
        let others: Set = ["timestamp", "at", "failing_since"]
        var count = 0
        for (name, schema) in schemas {
            for (member, value) in schema["properties"] as? [String: Object] ?? [:] where !others.contains(member) {
                let isTime = ["Time", "EventTime"].contains { value["$ref"] as? String == "#/components/schemas/\($0)" }
                #expect(isTime == member.hasSuffix("_at"), "\(name).\(member)")
                #expect(value["format"] as? String != "date-time", "\(name).\(member)")
                if isTime { count += 1 }
            }
        }
        #expect(count > 60)
    }

    @Test func `no schema is closed to added members`() throws {
        #expect(!OpenAPIDocument.text.contains("additionalProperties: false"))
        #expect(!OpenAPIDocument.text.contains("\"additionalProperties\""))
    }
}
