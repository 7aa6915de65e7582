import ArgumentParser
import Foundation
import Testing

@testable import CountersignTool

/// What holds for every subcommand of `countersign`, whoever adds one.
struct EveryCommandTests {
    /// A command that does something, and its words.
    private struct Leaf {
        let words: [String]
        let type: any ParsableCommand.Type

        var name: String { words.joined(separator: " ") }
    }

    /// Commands that cannot print JSON, and why: think twice before you add one.
    private static let withoutJSON: [String: String] = [:]

    private func leaves(
        of type: any ParsableCommand.Type = Countersign.self, _ words: [String] = ["countersign"]
    ) -> [Leaf] {
        let children = type.configuration.subcommands
        guard !children.isEmpty else { return [Leaf(words: words, type: type)] }
        return children.flatMap { leaves(of: $0, words + [$0._commandName]) }
    }

    private func help(_ leaf: Leaf) -> String { leaf.type.helpMessage(columns: 400) }

    @Test("every command prints JSON when it is asked for it")
    func json() {
        let leaves = leaves()
        #expect(leaves.count > 40, "\(leaves.count)")
        for leaf in leaves where Self.withoutJSON[leaf.name] == nil {
            #expect(
                help(leaf).contains("--json"),
                "`\(leaf.name)` has no --json, and EveryCommandTests has no reason why not")
        }
    }

    @Test("every command says what it does in a sentence")
    func texts() {
        for leaf in leaves() {
            let abstract = leaf.type.configuration.abstract
            #expect(!abstract.isEmpty && abstract.hasSuffix("."), "`\(leaf.name)`: \(abstract)")
        }
    }

    @Test("what acts by hand asks for a reason, and takes who acts")
    func reasons() {
        for leaf in leaves() where help(leaf).contains("--reason") && help(leaf).contains("for the audit log") {
            #expect(help(leaf).contains("--actor"), "`\(leaf.name)` takes --reason and no --actor")
        }
    }

    @Test(
        "the table of the tool's page has every command, or the group that it is of",
        .enabled(if: Self.readme != nil, "SKIPPED: no sources here"))
    func readmeNamesAll() throws {
        let readme = try #require(Self.readme)
        for leaf in leaves() {
            let word = leaf.words.dropFirst().first ?? ""
            let isNamed = readme.contains("`\(word)`") || readme.contains("`\(word) ")
            #expect(isNamed, "deploy/site/pages/tool.md does not name `\(leaf.name)`")
        }
    }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    private static let readme = try? String(
        contentsOf: root.appending(path: "deploy/site/pages/tool.md"), encoding: .utf8)

    @Test("no page of the runbook has a person type SQL", .enabled(if: Self.readme != nil, "SKIPPED: no sources here"))
    func runbooks() throws {
        let folder = Self.root.appending(path: "deploy/monitoring/runbook")
        let pages = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "md" }
        #expect(pages.count > 20)
        for page in pages {
            let text = try String(contentsOf: page, encoding: .utf8)
            for word in ["psql ", "SELECT ", "DELETE FROM ", "UPDATE "] {
                #expect(!text.contains(word), "\(page.lastPathComponent) has \(word)")
            }
        }
    }

    @Test(
        "bash, zsh and fish get a script that completes commands, options and their values",
        arguments: ["bash", "zsh", "fish"])
    func completion(shell: String) throws {
        let script = Countersign.completionScript(for: try #require(CompletionShell(rawValue: shell)))
        for word in [
            "inspect", "undelivered", "resend", "--rejected-reason", "production", "sandbox", "abandoned", "undecided",
        ] {
            // fish writes an option without its dashes.
            let written = shell == "fish" && word.hasPrefix("--") ? String(word.dropFirst(2)) : word
            #expect(script.contains(written), "\(shell): \(word)")
        }
    }
}
