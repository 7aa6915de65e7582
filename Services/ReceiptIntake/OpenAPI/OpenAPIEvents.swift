import Foundation
import Messages

/// Events in the OpenAPI document: a webhook for each type, and their schemas, out of the published files.
enum OpenAPIEvents {
    private typealias Object = [String: Any]

    /// The document's part `webhooks`, in YAML.
    static let webhooks: String = {
        let examples = object(EventSchemas.examples)
        return "webhooks:\n"
            + types.map { webhook($0.type, schema: $0.schema, meaning: $0.meaning, example: examples[$0.type]) }
            .joined()
    }()

    /// The schemas of events, in YAML; it goes on in `schemas`.
    ///
    /// The environment is the document's own: two enumerations of the same words are one mistake in generated Go.
    static let schemas: String = definitions.filter { $0.key != "EventEnvironment" }.sorted { $0.key < $1.key }
        .map { "    \($0.key):\n\(lines($0.value, indentation: 6))\n" }.joined()
        .replacing("#/$defs/EventEnvironment", with: "#/components/schemas/Environment")
        .replacing("#/$defs/", with: "#/components/schemas/")

    private static var definitions: [String: Object] {
        object(EventSchemas.schema)["$defs"] as? [String: Object] ?? [:]
    }

    /// Every type with its schema, in the order of the file.
    private static var types: [(type: String, schema: String, meaning: String)] {
        let definitions = definitions
        return (object(EventSchemas.schema)["allOf"] as? [Object] ?? []).compactMap { choice in
            let condition = (choice["if"] as? Object)?["properties"] as? [String: Object]
            guard let type = condition?["type"]?["const"] as? String,
                let schema = ((choice["then"] as? Object)?["$ref"] as? String)?.split(separator: "/").last
            else { return nil }
            let meaning = definitions[String(schema)]?["description"] as? String ?? ""
            return (type, String(schema), meaning)
        }
    }

    private static func webhook(_ type: String, schema: String, meaning: String, example: Any?) -> String {
        let words = type.split { $0 == "." || $0 == "_" }.map { $0.prefix(1).uppercased() + $0.dropFirst() }
        return """
              \(type):
                post:
                  operationId: on\(words.dropFirst().joined())
                  tags: [events]
                  summary: '\(meaning.replacing("'", with: "''"))'
                  security: []
                  parameters:
                    - $ref: '#/components/parameters/WebhookId'
                    - $ref: '#/components/parameters/WebhookTimestamp'
                    - $ref: '#/components/parameters/WebhookSignature'
                  requestBody:
                    required: true
                    content:
                      application/json:
                        schema: { $ref: '#/components/schemas/\(schema)' }
                        examples:
                          \(schema):
                            value:
            \(lines(example ?? Object(), indentation: 18))
                  responses:
                    '2XX': { $ref: '#/components/responses/WebhookTaken' }
                    '410': { $ref: '#/components/responses/WebhookUnwanted' }
                    default: { $ref: '#/components/responses/WebhookAgain' }

            """
    }

    /// JSON, which is YAML, on lines of its own.
    private static func lines(_ value: Any, indentation: Int) -> String {
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
        let data = (try? JSONSerialization.data(withJSONObject: value, options: options)) ?? Data("{}".utf8)
        let margin = String(repeating: " ", count: indentation)
        return String(decoding: data, as: UTF8.self).split(separator: "\n").map { margin + $0 }.joined(separator: "\n")
    }

    /// The files are compiled in, and tests read them.
    private static func object(_ bytes: [UInt8]) -> Object {
        (try? JSONSerialization.jsonObject(with: Data(bytes)) as? Object) ?? [:]
    }
}
