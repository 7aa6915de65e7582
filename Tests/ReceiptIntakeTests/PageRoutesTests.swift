import Foundation
import HTTPTypes
import HummingbirdTesting
import Messages
import PurchaseModel
import SchemaTesting
import Testing

@testable import ReceiptIntake
@testable import ServiceRuntime

/// The pages that problems and reasons lead to, and the files about events.
@Suite("Pages")
struct PageTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized

    private static func sources(_ folder: String) throws -> [String] {
        let files = FileManager.default.enumerator(at: root.appending(path: folder), includingPropertiesForKeys: nil)
        let paths = (files?.allObjects as? [URL] ?? []).filter { $0.pathExtension == "swift" }
        return try paths.map { try String(contentsOf: $0, encoding: .utf8) }
    }

    @Test func `every type of problem that intake makes has a page, with its status`() throws {
        let pages = Dictionary(uniqueKeysWithValues: ProblemPage.all.map { ($0.slug, $0.statuses) })
        let names = [
            "badRequest": 400, "unauthorized": 401, "forbidden": 403, "notFound": 404, "methodNotAllowed": 405,
            "requestTimeout": 408,
            "conflict": 409, "gone": 410, "contentTooLarge": 413, "unsupportedMediaType": 415,
            "unprocessableContent": 422, "tooManyRequests": 429, "serviceUnavailable": 503,
        ]
        var made: Set<String> = []
        for text in try Self.sources("Services/ReceiptIntake") {
            for match in text.matches(of: /ProblemDetails\(\s*"([a-z-]+)",\s*title:\s*[^,]+,\s*status:\s*\.([a-zA-Z]+)/)
            {
                let slug = String(match.1)
                made.insert(slug)
                let status = try #require(names[String(match.2)], "\(match.2)")
                #expect(pages[slug]?.contains(status) == true, "\(slug) with \(status) has no page")
            }
        }
        #expect(made.count > 25)
        // A type that needs no initialiser of its own: of the middleware, and one with more members.
        let others: Set = ["internal-server-error", "balance-insufficient"]
        #expect(Set(pages.keys).subtracting(made) == others, "a page of a problem that nothing makes")
    }

    @Test func `every reason that the code names has a page, and no other`() throws {
        let pages = Reason.all.map(\.code.rawValue)
        #expect(Set(pages).count == pages.count, "two pages of one reason")
        var named: Set<String> = []
        for folder in ["Shared/PurchaseModel", "Shared/AppStore", "Services/VerificationWorker"] {
            for text in try Self.sources(folder) {
                named.formUnion(
                    text.matches(of: /(?:ReasonCode|RejectionCode)\(rawValue: "([a-z0-9_]+)"\)/).map { String($0.1) })
            }
        }
        for text in try Self.sources("Shared/AppStoreServerAPI/VerifyReceipt") {
            named.formUnion(text.matches(of: /Self\(rawValue: "([a-z0-9_]+)"\)/).map { String($0.1) })
        }
        #expect(named == Set(pages))
    }

    @Test(.enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment))
    func `the type of a real problem leads to its page, and its reason to another`() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let problem = try await intake.send(.get, "/v1/accounts/a?app=x", token: nil)
                let type = try #require(problem.fields["type"] as? String)
                let page = try await intake.send(.get, type, token: nil)
                #expect(page.status == 200 && page.text.hasPrefix("authentication-required\n"))
                #expect(page.headers[.contentType] == "text/plain; charset=utf-8")
                for path in ["/problems", "/reasons", "/reasons/product_unknown"] {
                    #expect(try await intake.send(.get, path, token: nil).status == 200, "\(path)")
                }
                for path in ["/problems/none", "/reasons/none", "/problems/%00", "/reasons/%2e%2e"] {
                    #expect(try await intake.send(.get, path, token: nil).slug == "not-found", "\(path)")
                }
                let schema = try await intake.send(.get, "/schemas/events.json", token: nil)
                #expect(schema.headers[.contentType] == "application/schema+json")
                #expect(Array(schema.text.utf8) == EventSchemas.schema)
                #expect(
                    Array(try await intake.send(.get, "/schemas/examples.json", token: nil).text.utf8)
                        == EventSchemas.examples)
            }
        }
    }
}
