import Foundation
import HTTPTypes
import HummingbirdTesting
import Messages
import Persistence
import PurchaseModel
import SchemaTesting
import ServiceRuntime
import Testing

@testable import ReceiptIntake

@Suite(
    "The OpenAPI document",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct ReadingDocumentTests {
    private typealias Object = [String: Any]

    @Test("the document has every route of the router, and no other")
    func routes() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let paths = try #require(try await Self.document(intake)["paths"] as? [String: Object])
                let described = paths.flatMap { path, item in item.keys.map { "\($0.uppercased()) \(path)" } }
                let routed = intake.routes.map { "\($0.method.rawValue) \($0.path)" }
                #expect(described.sorted() == routed.sorted())
                #expect(routed.count >= 12)
            }
        }
    }

    @Test("every answer says its version, problems too, and a request for another one is refused")
    func versions() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let name = HTTPField.Name.countersignVersion
                for path in ["/problems", "/v1/events", "/nowhere"] {
                    for version in [nil] + APIVersion.allCases {
                        let headers: HTTPFields = version.map { [name: $0.rawValue] } ?? [:]
                        let answer = try await intake.send(.get, path, token: nil, headers: headers)
                        #expect(answer.headers[name] == (version ?? .oldest).rawValue, "\(path)")
                        #expect(answer.slug != "version-unknown", "\(path)")
                    }
                    let other = try await intake.send(.get, path, token: nil, headers: [name: "2020-01-01"])
                    #expect(other.status == 400 && other.slug == "version-unknown", "\(path)")
                    #expect(other.headers[name] == APIVersion.oldest.rawValue && other.headers[.requestId] != nil)
                    #expect(other.fields["field"] as? String == "Countersign-Version")
                }
                let info = try #require(try await Self.document(intake)["info"] as? Object)
                #expect(info["version"] as? String == APIVersion.newest.rawValue)
            }
        }
    }

    @Test("every path of the document takes its method, and answers each other with 405")
    func methods() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let paths = try #require(try await Self.document(intake)["paths"] as? [String: Object])
                for (template, item) in paths {
                    let path = template.replacing("{uuid}", with: UUID().uuidString).replacing("{id}", with: "x")
                        .replacing("{transaction_id}", with: "1").replacing("{original_transaction_id}", with: "1")
                        .replacing("{endpoint}", with: "we_none")
                        .replacing("{code}", with: template.hasPrefix("/problems") ? "not-found" : "unclaimed")
                        .replacing("{event}", with: "evt_none")
                    let own = item.keys.map { $0.uppercased() }
                    #expect(!own.isEmpty)
                    let others = ["QUERY", "LOCK", "ANYTHING"].compactMap { HTTPRequest.Method($0) }
                    for method in [.get, .head, .post, .put, .patch, .delete, .options] + others {
                        let answer = try await intake.send(method, path, token: nil)
                        if own.contains(method.rawValue) {
                            // Nothing was sent: who need no credentials hear of that.
                            #expect([200, 400, 401].contains(answer.status), "\(method) \(path)")
                        } else {
                            let allowed = answer.headers[.allow]?.split(separator: ",").map {
                                $0.trimmingCharacters(in: .whitespaces)
                            }
                            #expect(answer.status == 405, "\(method) \(path)")
                            #expect(allowed?.sorted() == own.sorted(), "\(method) \(path)")
                        }
                    }
                }
            }
        }
    }

    @Test("both forms are one document, for everybody, and every reference in it leads somewhere")
    func forms() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let yaml = try await intake.send(.get, "/openapi.yaml", token: nil)
                #expect(yaml.headers[.contentType] == "application/yaml")
                #expect(yaml.text == OpenAPIDocument.text)
                #expect(yaml.text.hasPrefix("openapi: 3.1.0\n"))
                let document = try await Self.document(intake)
                // A comma in an unquoted sentence begins a member without a value.
                let hasNull = Self.hasNull(document)
                #expect(!hasNull)
                let checker = SchemaChecker(document: document)
                let references = Self.references(in: document)
                #expect(references.count > 30)
                for reference in references { #expect(throws: Never.self) { try checker.resolve(reference) } }
                let components = try #require(document["components"] as? [String: Object])
                for (kind, parts) in components where kind != "securitySchemes" {
                    for name in parts.keys {
                        let isUsed = references.contains("#/components/\(kind)/\(name)")
                        #expect(isUsed, "nothing refers to \(kind)/\(name)")
                    }
                }
            }
        }
    }

    private static func hasNull(_ value: Any) -> Bool {
        // The `next` of the last page is null.
        if let object = value as? Object { return object.contains { $0.key != "next" && hasNull($0.value) } }
        if let list = value as? [Any] { return list.contains(where: hasNull) }
        return value is NSNull
    }

    private static func references(in value: Any) -> Set<String> {
        var found: Set<String> = []
        if let list = value as? [Any] { for item in list { found.formUnion(references(in: item)) } }
        for (key, item) in value as? Object ?? [:] {
            if key == "$ref", let text = item as? String { found.insert(text) }
            found.formUnion(references(in: item))
        }
        return found
    }

    private static func document(_ intake: TestIntake) async throws -> Object {
        let answer = try await intake.send(.get, "/openapi.json", token: nil)
        #expect(answer.status == 200)
        #expect(answer.headers[.contentType] == "application/json")
        return answer.fields
    }

    @Test("real answers of every route are as the document says, problems too")
    func answers() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url, waitersMaximum: 10) { intake in
                let rows = ReadingFixture(pool: database.pool)
                try await rows.storyOfOneOrder()
                try await rows.order("2000009", account: "player-1", reason: "product_unknown", at: 20)
                try await rows.order("2000010", account: "player-1", reason: "revoked_by_apple", at: 20, revoked: 15)
                try await rows.furtherId("2000011", of: "2000010", submission: "s1", at: 30)
                try await rows.entitle("player-1", to: "pass", by: "2", endsIn: -60)
                try await rows.storyOfAChequeredLife()
                var answers = try await SampleRequest.all(intake, database)
                answers.append(("GET", "/openapi.json", try await intake.send(.get, "/openapi.json", token: nil)))
                for path in [
                    "/openapi.yaml", "/problems", "/reasons", "/schemas/events.json", "/schemas/examples.json",
                ] {
                    answers.append(("GET", path, try await intake.send(.get, path, token: nil)))
                }
                for (path, name) in [("/problems/{code}", "not-found"), ("/reasons/{code}", "unclaimed")] {
                    let asked = path.replacing(/\{.*\}/, with: name)
                    answers.append(("GET", path, try await intake.send(.get, asked, token: nil)))
                    answers.append(("GET", path, try await intake.send(.get, asked + "x", token: nil)))
                }
                let document = try await Self.document(intake)
                var seen: Set<String> = []
                for (method, path, answer) in answers {
                    seen.insert("\(method) \(path) \(answer.status)")
                    let flaws = try Self.flaws(of: answer, method, path, document)
                    #expect(flaws.isEmpty, "\(method) \(path) \(answer.status): \(flaws) in \(answer.text)")
                }
                for route in intake.routes {
                    let name = "\(route.method.rawValue) \(route.path)"
                    // Forgetting and sweeps are only written down.
                    let isWrittenDown = ["/v1/accounts/{id}/forget", "/v1/sweeps"].contains(route.path)
                    let good = isWrittenDown ? ["202"] : ["200", "201"]
                    #expect(good.contains { seen.contains("\(name) \($0)") }, "no answer of \(route.path)")
                }
                for more in [
                    "POST /v1/purchases 202", "GET /v1/purchases/{id} 202", "GET /v1/accounts/{id} 409",
                    "POST /v1/accounts/{id}/spend 409", "POST /v1/webhooks/resend 202",
                    "POST /v1/orders/{transaction_id}/assign 202", "POST /v1/orders/{transaction_id}/assign 409",
                    "POST /v1/accounts/{id}/adjustments 409",
                ] {
                    #expect(seen.contains(more))
                }
                #expect(seen.filter { $0.hasSuffix("422") }.count >= 7)
            }
        }
    }

    /// What of an answer is not as the document says.
    private static func flaws(
        of answer: TestIntake.Answer, _ method: String, _ path: String, _ document: Object
    ) throws -> [String] {
        let checker = SchemaChecker(document: document)
        let paths = document["paths"] as? [String: [String: Object]]
        let operation = try #require(paths?[path]?[method.lowercased()])
        let responses = operation["responses"] as? [String: Object]
        guard var response = responses?["\(answer.status)"] else { return ["the status is not described"] }
        if let reference = response["$ref"] { response = try checker.resolve(reference) }
        var flaws: [String] = []
        for (name, header) in response["headers"] as? [String: Object] ?? [:] {
            let described = try checker.resolve(header["$ref"] ?? "")
            let schema = described["schema"] as? Object
            guard let field = HTTPField.Name(name), let value = answer.headers[field] else {
                if described["required"] as? Bool == true { flaws.append("the header \(name) is missing") }
                continue
            }
            flaws += try checker.flaws(of: value, by: try #require(schema), at: name)
        }
        let type = String((answer.headers[.contentType] ?? "").prefix { $0 != ";" })
        guard let content = (response["content"] as? [String: Object])?[type], let schema = content["schema"] as? Object
        else { return flaws + ["the content type \(type) is not described"] }
        let value: Any = type.hasSuffix("json") ? answer.fields : answer.text
        return flaws + (try checker.flaws(of: value, by: schema))
    }

    @Test("the checker finds what is wrong, and refuses what it does not know")
    func checker() throws {
        let checker = SchemaChecker(document: ["a": ["type": "string", "pattern": "^x"]])
        let schema: Object = [
            "type": "object", "required": ["n"], "additionalProperties": false,
            "properties": [
                "n": ["type": "integer", "minimum": 1.0] as Object, "s": ["$ref": "#/a"],
                "b": ["type": ["boolean", "null"]],
                "l": ["type": "array", "uniqueItems": true, "items": ["enum": ["p", "q"]]] as Object,
            ] as Object,
        ]
        func flaws(_ json: String) throws -> Int {
            try checker.flaws(of: try JSONSerialization.jsonObject(with: Data(json.utf8)), by: schema).count
        }
        #expect(try flaws(#"{"n":1,"s":"xy","b":true,"l":["p","q"]}"#) == 0)
        #expect(try flaws(#"{"n":2.0,"b":null}"#) == 0)
        for bad in [
            "[]", "{}", #"{"n":true}"#, #"{"n":1.5}"#, #"{"n":"1"}"#, #"{"n":0}"#, #"{"n":1,"s":"y"}"#,
            #"{"n":1,"s":1}"#,
            #"{"n":1,"b":1}"#, #"{"n":1,"b":0}"#, #"{"n":1,"l":["r"]}"#, #"{"n":1,"l":["p","p"]}"#,
            #"{"n":1,"l":{}}"#, #"{"n":1,"z":1}"#,
        ] {
            #expect(try flaws(bad) > 0, "\(bad)")
        }
        for unknown: Object in [
            ["prefixItems": [1]], ["oneOf": [1]], ["type": "text"], ["$ref": "#/b"], ["items": "a"], ["pattern": 1],
        ] {
            #expect(throws: SchemaChecker.BadSchema.self) { try checker.flaws(of: [] as [Any], by: unknown) }
        }
    }
}
