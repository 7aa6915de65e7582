import Configuration
import Foundation
import Testing

@testable import ServiceRuntime

@Suite("Settings")
struct SettingReaderTests {
    @Test("a value is read, a missing one gets its default, a blank one counts as missing")
    func defaults() throws {
        let settings = SettingReader(["a": " text ", "blank": "  ", "n": "7", "yes": "YES", "no": "0"])
        #expect(try settings.string("a", default: "other") == "text")
        #expect(try settings.string("blank", default: "other") == "other")
        #expect(try settings.string("missing") == nil)
        #expect(try settings.int("n", default: 1, in: 1...10) == 7)
        #expect(try settings.int("missing", default: 1, in: 1...10) == 1)
        #expect(try settings.bool("yes", default: false))
        #expect(try !settings.bool("no", default: true))
    }

    @Test("a missing setting is told by the name of its variable")
    func missing() {
        #expect(
            mistake { try SettingReader([:]).requiredString("kafka.bootstrap_servers", expected: "a list of brokers") }
                == "COUNTERSIGN_KAFKA_BOOTSTRAP_SERVERS (kafka.bootstrap_servers in the configuration file) is required "
                + "but not set: it must be a list of brokers.")
    }

    @Test("a wrong number says what was expected and what was found", arguments: ["abc", "0", "70000", "1.5", "0x10"])
    func wrongNumber(text: String) {
        let settings = SettingReader(["http.port": text])
        #expect(
            mistake { try settings.int("http.port", default: 80, in: 1...65_535) }
                == "COUNTERSIGN_HTTP_PORT must be a whole number from 1 to 65535, but is \"\(text)\".")
    }

    @Test("durations are seconds, decimals allowed, within limits")
    func durations() throws {
        let settings = SettingReader(["a": "2.5", "b": "0", "c": "-1", "d": "nan", "e": "1e300", "f": "five"])
        #expect(try settings.duration("a", default: .zero) == .milliseconds(2500))
        #expect(try settings.duration("b", default: .seconds(9)) == .zero)
        #expect(try settings.duration("missing", default: .seconds(9)) == .seconds(9))
        for key in ["c", "d", "e", "f"] {
            #expect(throws: SettingError.self) { try settings.duration(key, default: .zero) }
        }
        #expect(
            mistake { try settings.duration("a", default: .zero, in: .seconds(3)...Duration.seconds(4)) }
                == "COUNTERSIGN_A must be a number of seconds from 3 to 4, but is \"2.5\".")
    }

    @Test("a choice names its possibilities")
    func choices() throws {
        #expect(try SettingReader(["log.format": "JSON"]).choice("log.format", default: LogFormat.text) == .json)
        #expect(
            mistake { try SettingReader(["log.format": "xml"]).choice("log.format", default: LogFormat.text) }
                == "COUNTERSIGN_LOG_FORMAT must be one of json, text, but is \"xml\".")
    }

    @Test("a list is split at commas")
    func lists() throws {
        #expect(try SettingReader(["l": "a, b,,c "]).stringList("l") == ["a", "b", "c"])
        #expect(try SettingReader([:]).stringList("l", default: ["x"]) == ["x"])
    }

    @Test("a secret comes from its setting or from its file, never from both")
    func secrets() throws {
        let file = try TemporaryFile("  hunter2\n")
        #expect(try SettingReader(["postgres.url": "direct"]).requiredSecret("postgres.url").value == "direct")
        #expect(try SettingReader(["postgres.url_file": file.path]).requiredSecret("postgres.url").value == "hunter2")
        #expect(try SettingReader([:]).secret("postgres.url") == nil)
        let both = mistake {
            try SettingReader(["postgres.url": "hunter2", "postgres.url_file": file.path]).secret("postgres.url")
        }
        #expect(both.contains("COUNTERSIGN_POSTGRES_URL_FILE") && !both.contains("hunter2"))
        #expect(mistake { try SettingReader([:]).requiredSecret("postgres.url") }.contains("COUNTERSIGN_POSTGRES_URL"))
    }

    @Test("a file that cannot serve says why")
    func files() throws {
        let empty = try TemporaryFile(" \n")
        let large = try TemporaryFile(String(repeating: "x", count: SettingReader.secretFileBytesMaximum + 1))
        let binary = try TemporaryFile(Data([0xFF, 0xFE]))
        func secret(_ path: String) -> String {
            mistake { try SettingReader(["k_file": path]).secret("k") }
        }
        #expect(secret(empty.path).hasSuffix("is empty."))
        #expect(try SettingReader(["k_file": empty.path]).secret("k", isOptional: true) == nil)
        #expect(
            mistake { try SettingReader(["k_file": "/nonexistent/x"]).secret("k", isOptional: true) }
                .contains("does not exist"))
        #expect(secret(large.path).hasSuffix("has more than 65536 bytes."))
        #expect(secret(binary.path).hasSuffix("is not UTF-8 text."))
        #expect(secret("/tmp").hasSuffix("is a folder."))
        #expect(
            secret("/nonexistent/x")
                == "COUNTERSIGN_K_FILE must name a readable file, but \"/nonexistent/x\" does not exist.")
    }

    @Test("a value that was given as a number or a truth is read all the same")
    func typedProvider() throws {
        let provider = InMemoryProvider(values: [
            "http.port": 8080, "flag": true, "wait": 1.5, "list": ConfigValue(.stringArray(["a"]), isSecret: false),
        ])
        let settings = SettingReader(ConfigReader(provider: provider))
        #expect(try settings.listenAddress("http", port: 1) == ListenAddress(host: "127.0.0.1", port: 8080))
        #expect(try settings.bool("flag", default: false))
        #expect(try settings.duration("wait", default: .zero) == .milliseconds(1500))
        #expect(
            mistake { try settings.string("list") } == "COUNTERSIGN_LIST must be a single value, but is \"a list\".")
    }

    @Test("a long or many-lined wrong value does not spoil the sentence")
    func longValue() {
        let text = mistake { try SettingReader(["n": String(repeating: "9\n", count: 500)]).int("n", in: 0...1) }
        #expect(text.count < 200 && !text.contains("\n"))
    }
}

@Suite("Configuration sources")
struct ConfigurationSourcesTests {
    @Test("the environment wins over the file, and an empty variable does not hide the file")
    func precedence() async throws {
        let file = try TemporaryFile(
            """
            postgres:
              url: from-file
              pool_size: 12
            kafka: {bootstrap_servers: "a:1,b:2"}
            trusted:
              roots: [one, two]
            """)
        let reader = try await ConfigurationSources.reader(environment: [
            "COUNTERSIGN_CONFIG": file.path, "COUNTERSIGN_POSTGRES_URL": "from-environment",
            "COUNTERSIGN_KAFKA_BOOTSTRAP_SERVERS": "", "POSTGRES_URL": "not ours",
        ])
        let settings = SettingReader(reader)
        #expect(try settings.requiredSecret("postgres.url").value == "from-environment")
        #expect(try settings.int("postgres.pool_size", default: 1, in: 1...64) == 12)
        #expect(try settings.requiredString("kafka.bootstrap_servers") == "a:1,b:2")
        #expect(try settings.stringList("trusted.roots") == ["one", "two"])
    }

    @Test("a key of the file that is no setting is a mistake with its line")
    func unknownKey() async throws {
        let file = try TemporaryFile("http: {port: 8080}\npostgres:\n  url: from-file\n  poolsize: 12\n")
        do {
            _ = try await ConfigurationSources.reader(environment: ["COUNTERSIGN_CONFIG": file.path])
            Issue.record("the file was accepted")
        } catch {
            #expect(error.description.contains("line 4: `postgres.poolsize`"), "\(error)")
            #expect(!error.description.contains("from-file"))
        }
        #expect(KnownSettings.firstUnknown(in: "postgres.url: x") == .init(key: "postgres.url", line: 1))
    }

    @Test("the list of settings is what the services read")
    func knownSettings() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        var read: Set<String> = []
        var texts = ""
        for folder in ["Shared", "Services"] {
            let files = FileManager.default.enumerator(
                at: root.appending(path: folder), includingPropertiesForKeys: nil)
            while let file = files?.nextObject() as? URL {
                guard file.pathExtension == "swift", !file.path.contains("/AppStoreSimulator/"),
                    file.lastPathComponent != "KnownSettings.swift"
                else { continue }
                let text = try String(contentsOf: file, encoding: .utf8)
                texts += text
                for call in text.matches(of: /[sS]ettings\.([a-zA-Z]+)\(\s*"([a-z_.]+)"/) {
                    let key = String(call.2)
                    switch call.1 {
                    case "listenAddress": read.formUnion(["\(key).host", "\(key).port"])
                    case "secret", "requiredSecret": read.formUnion([key, "\(key)_file"])
                    case "string", "requiredString", "int", "bool", "duration", "choice", "stringList", "addressRanges":
                        read.insert(key)
                    default: continue
                    }
                }
            }
        }
        #expect(read.count > 40)
        #expect(read.subtracting(KnownSettings.keys).isEmpty)
        // Some are read by functions of their own, which are given the key.
        let unread = KnownSettings.keys.subtracting(read).filter { !texts.contains("\"\($0)\"") }
        #expect(unread.isEmpty)
    }

    @Test("without a file the environment is enough")
    func environmentOnly() async throws {
        let reader = try await ConfigurationSources.reader(environment: ["COUNTERSIGN_TRUSTED_ROOTS": "a,b"])
        #expect(try SettingReader(reader).stringList("trusted.roots") == ["a", "b"])
    }

    @Test("a file that is missing or no mapping is a mistake, told without its content")
    func badFile() async throws {
        let file = try TemporaryFile("- hunter2\n- {")
        for path in [file.path, "/nonexistent/x.yaml"] {
            do {
                _ = try await ConfigurationSources.reader(environment: ["COUNTERSIGN_CONFIG": path])
                Issue.record("\(path) was accepted")
            } catch {
                #expect(error.variable == "COUNTERSIGN_CONFIG")
                #expect(!error.description.contains("hunter2"))
            }
        }
    }
}

/// The sentence of the mistake that `body` makes.
private func mistake<Value>(_ body: () throws -> Value) -> String {
    do {
        _ = try body()
        return "no mistake"
    } catch {
        return "\(error)"
    }
}
