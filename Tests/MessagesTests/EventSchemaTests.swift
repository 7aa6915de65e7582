import Foundation
import Messages
import PurchaseModel
import SchemaTesting
import Testing

/// The published schema and the published examples of events; that events fit it is tested where they are written
/// (`EventSchemaCheck` in FulfillmentTests).
@Suite("Schemas of events")
struct EventSchemaTests {
    private typealias Object = [String: Any]

    private func object(_ bytes: [UInt8]) throws -> Object {
        try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? Object)
    }

    private func types() throws -> Set<String> {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Shared/Messages/PurchaseEvent+Types.swift")
        let text = try String(contentsOf: file, encoding: .utf8)
        return Set(text.matches(of: /"(iap\.[a-z_]+\.[a-z_]+)"/).map { String($0.1) })
    }

    @Test func `there is a schema of every type, chosen by the type`() throws {
        let document = try object(EventSchemas.schema)
        let checker = SchemaChecker(document: document)
        var described: Set<String> = []
        for choice in try #require(document["allOf"] as? [Object]) {
            let condition = ((choice["if"] as? Object)?["properties"] as? Object)?["type"] as? Object
            let type = try #require(condition?["const"] as? String)
            let schema = try checker.resolve(try #require((choice["then"] as? Object)?["$ref"]))
            #expect(((schema["properties"] as? Object)?["type"] as? Object)?["const"] as? String == type)
            #expect(described.insert(type).inserted, "\(type) is chosen twice")
        }
        #expect(try described == types())
        #expect(document["$schema"] as? String == "https://json-schema.org/draft/2020-12/schema")
    }

    @Test func `every example fits the schema, and reads back as the event that it is`() throws {
        let checker = try SchemaChecker(json: EventSchemas.schema)
        let examples = try object(EventSchemas.examples)
        #expect(try Set(examples.keys) == types())
        for (type, value) in examples {
            #expect(try checker.flaws(of: value).isEmpty, "\(type)")
            let bytes = [UInt8](try JSONSerialization.data(withJSONObject: value))
            let event = try MessageCoding.decode(PurchaseEvent.self, from: bytes)
            #expect(event.type == type)
            // Whatever the example says is a member that the code knows.
            let again = try object(try MessageCoding.encode(event))
            #expect(
                NSDictionary(dictionary: again) == NSDictionary(dictionary: try #require(value as? Object)), "\(type)")
        }
    }

    @Test func `all schemas of a type have the same envelope, and none is closed`() throws {
        let definitions = try #require(try object(EventSchemas.schema)["$defs"] as? [String: Object])
        let envelope = try #require((definitions["Event"]?["properties"] as? Object)?.keys)
        for (name, schema) in definitions {
            #expect(schema["additionalProperties"] == nil, "\(name) is closed to added members")
            guard name.hasSuffix("Event") else { continue }
            #expect(try #require((schema["properties"] as? Object)?.keys).sorted() == envelope.sorted(), "\(name)")
        }
    }

    @Test func `a type and members of tomorrow are taken, and what is wrong of today's is not`() throws {
        let open = try SchemaChecker(json: EventSchemas.schema, isClosed: false)
        let examples = try #require(try object(EventSchemas.examples) as? [String: Object])
        var event = try #require(examples[PurchaseEvent.fulfilled])
        event["tomorrow"] = ["a": 1]
        #expect(try open.flaws(of: event).isEmpty)
        event["type"] = "iap.transaction.dreamt_of"
        #expect(try open.flaws(of: event).isEmpty)
        for (member, value) in [("id", "evt_1"), ("environment", "xcode"), ("data", [String]()), ("timestamp", 5)]
            as [(String, Any)]
        {
            var wrong = try #require(examples[PurchaseEvent.fulfilled])
            wrong[member] = value
            #expect(try !open.flaws(of: wrong).isEmpty, "\(member)")
        }
        var lacking = try #require(examples[PurchaseEvent.subscriptionRenewed])
        var data = try #require(lacking["data"] as? Object)
        data["subscription"] = nil
        lacking["data"] = data
        #expect(try !open.flaws(of: lacking).isEmpty)
    }
}
