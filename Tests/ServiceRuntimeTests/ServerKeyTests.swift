import Foundation
import Testing

@testable import ServiceRuntime

@Suite("Server API keys of the apps file")
struct ServerKeyTests {
    private static func hash(_ digit: Character) -> String { String(repeating: digit, count: 64) }

    private static func entry(_ name: String, _ digit: Character, _ scopes: String = "[post]") -> String {
        "{ name: \(name), sha256: \(hash(digit)), scopes: \(scopes) }"
    }

    private func keys(_ fields: String) throws -> [ServerKey] {
        let file = try TemporaryFile("authentication: { \(fields) }\napps: [{ bundle_id: a }]")
        return try AppsFile.load(path: file.path, environment: [:]).apps["a"]?.authentication.serverKeys ?? []
    }

    private func problem(_ fields: String) -> String {
        do {
            return "no mistake: \(try keys(fields))"
        } catch {
            return (error as? SettingsFileError)?.problem ?? "\(error)"
        }
    }

    @Test("a key without a name may do what every key could before, and nothing of an operator's")
    func unnamed() throws {
        let keys = try keys("api_keys_sha256: [\(Self.hash("A"))]")
        #expect(keys.map(\.sha256) == [Self.hash("a")])
        #expect(keys.map(\.scopes) == [[.post, .read, .spend]])
        #expect(keys.map(\.name) == [nil] && keys.map(\.label) == ["unnamed"])
    }

    @Test("a key with a name has the scopes that stand beside it; the two lists go together")
    func named() throws {
        let keys = try keys(
            "api_keys_sha256: [\(Self.hash("a"))], api_keys: [\(Self.entry("desk", "b", "[read, operate, read]"))]")
        #expect(keys.count == 2)
        #expect(keys.last == ServerKey(name: "desk", sha256: Self.hash("b"), scopes: [.read, .operate]))
        #expect(keys.last?.fingerprint == "bbbbbbbb")
    }

    @Test("a key of the sandbox is a test key, and no other environment is a key's")
    func test() throws {
        func entry(_ environment: String) -> String {
            "api_keys: [{ name: ci, sha256: \(Self.hash("a")), scopes: [post], environment: \(environment) }]"
        }
        #expect(
            try keys(entry("sandbox")) == [ServerKey(name: "ci", sha256: Self.hash("a"), scopes: [.post], isTest: true)]
        )
        #expect(
            problem(entry("production"))
                == "line 1: the `environment` of a key of ci is sandbox, which makes it a test key, or is left out")
    }

    @Test("a name has two keys at a time: the one in use, and the one that takes its place")
    func rotation() throws {
        let two = [Self.entry("backend", "a"), Self.entry("backend", "b"), Self.entry("desk", "c")]
        #expect(try keys("api_keys: [\(two.joined(separator: ", "))]").count == 3)
        let three = two + [Self.entry("backend", "d")]
        #expect(
            problem("api_keys: [\(three.joined(separator: ", "))]")
                == "line 1: backend has more than 2 keys, the one in use and the one that takes its place; remove one that "
                + "is not used any more")
    }

    @Test(
        "a mistake is told in a sentence",
        arguments: [
            ("[\(entry("b", "a")), \(entry("c", "a"))]", "a key of c is listed twice"),
            (
                "[\(entry("b", "a", "[]"))]",
                "a key of b has no `scopes`; there are post, read, spend, sign, operate, staff"
            ),
            (
                "[\(entry("b", "a", "[post, write]"))]",
                "a scope of b is \"write\", not one of post, read, spend, sign, operate, staff"
            ),
            ("[{ name: b, key: csk_hunter2 }]", "`key` has no meaning here"),
            ("[\(entry("\"\"", "a"))]", "the `name` of a key has 1 to 64 letters"),
        ])
    func mistakes(list: String, sentence: String) {
        let problem = problem("api_keys: \(list)")
        #expect(problem.contains(sentence), "\(problem)")
        #expect(!problem.contains("hunter2"))
    }

    @Test("a key is in one of the lists, so that nobody wonders which scopes hold")
    func inBothLists() {
        let problem = problem("api_keys_sha256: [\(Self.hash("A"))], api_keys: [\(Self.entry("b", "a"))]")
        #expect(problem.contains("a key of b is listed twice"), "\(problem)")
    }

    @Test("a list that grew by itself is a mistake")
    func tooMany() throws {
        func hashes(_ count: Int) -> String {
            (0..<count).map { String(repeating: "0", count: 61) + String(1000 + $0).suffix(3) }.joined(separator: ", ")
        }
        #expect(try keys("api_keys_sha256: [\(hashes(100))]").count == 100)
        #expect(problem("api_keys_sha256: [\(hashes(101))]").contains("more than 100 server API keys"))
    }
}
