import ArgumentParser
import Foundation
import ServiceRuntime
import Testing

@testable import CountersignTool

/// Keys for backends: made with a name and scopes, listed, changed one for another.
@Suite struct KeyCommandTests {
    /// A folder with an apps file, which goes away with its last reference.
    private final class Folder: Sendable {
        let path = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
            .appending(path: "countersign-keys-\(UUID().uuidString)").path

        init(_ apps: String) throws {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            try apps.write(toFile: "\(path)/apps.yaml", atomically: true, encoding: .utf8)
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        func add(_ key: NewKey) throws {
            var change = SettingsChange(in: try SettingsPlaces(folder: path, environment: [:]))
            try key.add(to: &change)
            try change.apply()
        }

        func remove(_ digits: String) throws {
            let places = try SettingsPlaces(folder: path, environment: [:])
            let removal = try ServerKeyRemoval(digits)
            var change = SettingsChange(in: places)
            try removal.remove(try removal.key(in: try apps(), path: places.apps), from: &change)
            try change.apply()
        }

        func text() throws -> String { try String(contentsOfFile: "\(path)/apps.yaml", encoding: .utf8) }

        func apps() throws -> AppsFile { try AppsFile.load(path: "\(path)/apps.yaml", environment: [:]) }
    }

    private static func key(_ text: String, _ scopes: Set<ServerKey.Scope> = [.post, .read]) -> NewKey {
        NewKey(sha256: SecretText.sha256(of: text), name: "backend", scopes: scopes)
    }

    @Test func aKeyIsWrittenWithItsNameAndItsScopes() throws {
        for apps in [
            "apps:\n  - bundle_id: a\n",
            "authentication:\n  api_keys_sha256: [\(String(repeating: "a", count: 64))]\napps: [{ bundle_id: a }]\n",
            "authentication:\n  api_keys: []  # none yet\napps: [{ bundle_id: a }]\n",
        ] {
            let folder = try Folder(apps)
            try folder.add(Self.key("csk_one"))
            try folder.add(Self.key("csk_two"))
            let keys = try #require(try folder.apps().apps["a"]).authentication.serverKeys.filter { $0.name != nil }
            #expect(
                keys
                    == ["csk_one", "csk_two"].map {
                        ServerKey(name: "backend", sha256: SecretText.sha256(of: $0), scopes: [.post, .read])
                    })
        }
    }

    @Test func aTestKeyIsWrittenListedAndNamedAsOne() throws {
        let folder = try Folder("apps:\n  - bundle_id: a\n")
        let text = SecretText.apiKey(isTest: true)
        #expect(text.hasPrefix("csk_test_") && text.count == 73)
        var key = Self.key(text)
        key.isTest = true
        try folder.add(key)
        let apps = try folder.apps()
        #expect(apps.apps["a"]?.authentication.serverKeys.map(\.isTest) == [true])
        let list = KeyList(apps, pages: [])
        #expect(list.lines.map(\.environment) == ["sandbox"] && list.text.contains("post,read (sandbox)"))
        for bad in [["--test"], ["--test", "--name", "ci", "--scopes", "post,operate"]] {
            #expect(throws: (any Error).self) { try KeyCommand.Create.parse(bad) }
        }
        #expect(try KeyCommand.Create.parse(["--test", "--name", "ci", "--scopes", "post,read"]).test)
    }

    @Test func aThirdKeyOfANameIsRefusedAndChangesNothing() throws {
        let folder = try Folder("apps:\n  - bundle_id: a\n")
        try folder.add(Self.key("csk_one"))
        try folder.add(Self.key("csk_two"))
        #expect {
            try folder.add(Self.key("csk_three"))
        } throws: { error in
            "\(error)".contains("nothing was changed") && "\(error)".contains("backend has more than 2 keys")
        }
        #expect(try folder.apps().apps["a"]?.authentication.serverKeys.count == 2)
    }

    @Test func scopesAreReadFromOneWord() {
        #expect(ScopeList(argument: "post,read")?.scopes == [.post, .read])
        for text in ["", "post,", "all", "post read"] { #expect(ScopeList(argument: text) == nil) }
        #expect(throws: (any Error).self) { try KeyCommand.Create.parse(["--name", "backend"]) }
        #expect(throws: (any Error).self) { try KeyCommand.Create.parse(["--scopes", "post"]) }
        #expect(throws: Never.self) { try KeyCommand.Create.parse(["--scopes", "post", "--name", "backend"]) }
    }

    @Test func theListSaysWhoseForWhatAndWhetherItIsUsed() throws {
        let folder = try Folder(
            """
            authentication:
              api_keys_sha256: [\(SecretText.sha256(of: "csk_plain"))]
            apps:
              - bundle_id: a
              - bundle_id: b
            """)
        try folder.add(Self.key("csk_old"))
        try folder.add(Self.key("csk_new", [.post, .operate]))
        let apps = try folder.apps()
        let keys = try #require(apps.apps["a"]).authentication.serverKeys
        let pages = [3, 4].map { count in
            MetricsPage(
                """
                # TYPE countersign_server_key_uses_total counter
                countersign_server_key_uses_total{key="backend",fingerprint="\(keys[1].fingerprint)"} \(count)
                countersign_server_key_uses_total_of_something_else{key="backend"} 9
                """)
        }
        let list = KeyList(apps, pages: pages)
        #expect(list.lines.map(\.name) == ["backend", "backend", "unnamed"])
        #expect(list.lines.map(\.uses) == [7, 0, 0])
        #expect(list.lines.map(\.scopes) == [["post", "read"], ["post", "operate"], ["post", "read", "spend"]])
        #expect(list.lines.allSatisfy { $0.apps == ["a", "b"] })
        let lines = list.text.split(separator: "\n")
        #expect(lines.first == "NAME     KEY       SCOPES           APPS       USES")
        #expect(lines.dropFirst().first == "backend  \(keys[1].fingerprint)  post,read        every app  7")
        #expect(KeyList(apps, pages: []).lines.allSatisfy { $0.uses == nil })
        #expect(!KeyList(apps, pages: []).text.contains("USES"))
    }

    @Test func aKeyIsRemovedWhereverItStandsAndNothingElseChanges() throws {
        let (old, new) = (SecretText.sha256(of: "csk_old"), SecretText.sha256(of: "csk_new"))
        let folder = try Folder(
            """
            # head
            authentication:
              api_keys:   # two at a time
                - name: backend
                  sha256: \(old)
                  # since May
                  scopes: [post]
                # the new one
                - { name: backend, sha256: \(new), scopes: [post] }
            apps:
              - bundle_id: a
              - bundle_id: b
                authentication:
                  api_keys: [{ name: shared, sha256: \(new), scopes: [read] }, { name: other, sha256: \(old), scopes: [read] }]
              - bundle_id: c
                authentication: { api_keys_sha256: ["\(old.uppercased())"] }
            """)
        try folder.remove(String(old.prefix(8)).uppercased())
        #expect(
            try folder.text() == """
                # head
                authentication:
                  api_keys:   # two at a time
                    # the new one
                    - { name: backend, sha256: \(new), scopes: [post] }
                apps:
                  - bundle_id: a
                  - bundle_id: b
                    authentication:
                      api_keys: [{ name: shared, sha256: \(new), scopes: [read] }]
                  - bundle_id: c
                    authentication: { api_keys_sha256: [] }
                """)
        try folder.remove(new)
        #expect(try folder.text().contains("  api_keys: []   # two at a time\n    # the new one\n"))
        #expect(try folder.apps().apps.values.allSatisfy { $0.authentication.serverKeys.isEmpty })
    }

    @Test func whatIsNoKeyOrSeveralIsNotRemoved() throws {
        let folder = try Folder(
            "authentication: { api_keys_sha256: [\(String(repeating: "a", count: 64)), "
                + "\(String(repeating: "a", count: 63))b] }\napps: [{ bundle_id: a }]\n")
        let before = try folder.text()
        for (digits, problem) in [
            ("aaaaaaaa", "several keys"), ("bbbbbbbb", "no key"), ("aaaaaaa", "at least 8"),
            ("backend-1", "at least 8"),
        ] {
            #expect { try folder.remove(digits) } throws: { "\($0)".contains(problem) }
        }
        #expect(try folder.text() == before)
        try folder.remove(String(repeating: "a", count: 64))
        #expect(try folder.text().contains("[\(String(repeating: "a", count: 63))b] }"))
    }

    @Test func aPageOfMetricsIsReadWithItsLabels() {
        let page = MetricsPage(
            "# HELP a_total What it is.\na_total{x=\"1 \\\"2\\\"\",y=\"}\"} 2.5\na_total 3\na_total_more 4\n")
        #expect(
            page.samples("a_total") == [
                MetricsPage.Sample(labels: ["x": "1 \"2\"", "y": "}"], value: 2.5),
                MetricsPage.Sample(labels: [:], value: 3),
            ])
        #expect(page.samples("b").isEmpty)
    }
}
