import ArgumentParser
import Foundation
import PersistenceTesting
import Testing

@testable import CountersignTool

/// Names of commands: those that people knew before still work, and a person who reads `--help` finds today's.
struct FormerNamesTests {
    /// The command that the words name, and how many of the words did so.
    private func command(_ words: [String]) -> (type: any ParsableCommand.Type, named: Int) {
        var (type, named): (any ParsableCommand.Type, Int) = (Countersign.self, 0)
        for word in words {
            guard let next = type.configuration.subcommands.first(where: { $0._commandName == word }) else { break }
            (type, named) = (next, named + 1)
        }
        return (type, named)
    }

    @Test("every former name leads to a command, with what follows it, and after `help`")
    func table() {
        for (former, current) in FormerNames.table {
            #expect(command(current).named == current.count, "\(current) is no command")
            #expect(command(former).named == 0, "\(former) is the name of a command today")
            let rest = ["production", "--reason", former[0]]
            #expect(FormerNames.replaced(in: former + rest) == current + rest)
            #expect(FormerNames.replaced(in: ["help"] + former) == ["help"] + current)
        }
    }

    @Test(
        "today's names and everything else stay as they are",
        arguments: [
            [], ["help"], ["--help"], ["--version"], ["doctor"], ["apple", "sweep"], ["queue", "waiting"],
            ["adjust", "--reason", "lost"], ["inspect", "claim"], ["help", "help", "lost"],
        ])
    func others(arguments: [String]) {
        #expect(FormerNames.replaced(in: arguments) == arguments)
    }

    @Test("former names run", .enabled(if: ToolProcess.isReady, ToolProcess.missing))
    func processes() async throws {
        try await TestDatabase.with { pool in
            let tool = try await ToolProcess(pool)
            for (former, current) in FormerNames.table {
                let (old, new) = (try await tool.run(former + ["--help"]), try await tool.run(current + ["--help"]))
                #expect(old.status == 0 && old.output == new.output, "\(former): \(old.errors)")
                #expect(new.output.contains("countersign \(current.joined(separator: " "))"), "\(new.output)")
            }
            for arguments in [["lost"], ["waiting", "events"], ["audit", "--rules"], ["notifications", "list"]] {
                #expect(try await tool.run(arguments).status == 0, "\(arguments)")
            }
        }
    }

    @Test("--help has every command in a group with a title")
    func groups() {
        let configuration = Countersign.configuration
        #expect(configuration.ungroupedSubcommands.isEmpty)
        let help = Countersign.helpMessage(columns: 200)
        for group in configuration.groupedSubcommands {
            #expect(help.contains(group.name.uppercased()), "\(group.name): \(help)")
            for type in group.subcommands {
                #expect(help.contains("\n  \(type._commandName)"), "\(type._commandName)")
                #expect(!type.configuration.abstract.isEmpty, "\(type._commandName)")
            }
        }
        let names = configuration.subcommands.map { $0._commandName }
        #expect(Set(names).count == names.count, "\(names)")
    }

    @Test(
        "documents name commands that exist, by today's names",
        .enabled(if: !Self.pages.isEmpty, "SKIPPED: no sources here"))
    func documents() throws {
        var found = 0
        for page in Self.pages {
            let text = try String(contentsOf: page, encoding: .utf8)
            for match in text.matches(of: /(?:`|\n *(?:\$ |sudo )?)countersign ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?/) {
                let words = [String(match.1), match.2.map(String.init) ?? ""].filter { !$0.isEmpty && $0 != "help" }
                guard let first = words.first else { continue }
                found += 1
                let (type, named) = command(words)
                #expect(named > 0, "\(page.lastPathComponent): there is no command \(first)")
                let isGroup = named == 1 && words.count == 2 && !type.configuration.subcommands.isEmpty
                #expect(
                    !isGroup || type.configuration.defaultSubcommand != nil,
                    "\(page.lastPathComponent): there is no command \(words.joined(separator: " "))")
            }
        }
        #expect(found > 200, "\(found)")
    }

    /// Every document of the repository.
    private static let pages: [URL] = {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return ["Services", "Shared", "Tests", "deploy"].flatMap { folder in
            let files = FileManager.default.enumerator(
                at: root.appending(path: folder), includingPropertiesForKeys: nil)
            return (files?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == "md" }
        } + [root.appending(path: "README.md")].filter { FileManager.default.fileExists(atPath: $0.path) }
    }()
}
