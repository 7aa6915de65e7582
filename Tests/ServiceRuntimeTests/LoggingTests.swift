import Foundation
import Logging
import Testing

@testable import ServiceRuntime

@Suite("Log lines")
struct LoggingTests {
    @Test("a JSON line has the time in UTC with milliseconds, and flattened fields")
    func jsonLine() throws {
        let line = LogLine(
            time: timespec(tv_sec: 1_614_265_330, tv_nsec: 7_999_999), level: .warning, service: "intake", logger: nil,
            message: "a \"quoted\"\nline\u{1}",
            fields: LogLine.fields(of: [
                "nested": ["a": "1", "b": ["x", "y"]], "count": .stringConvertible(3), "share": .stringConvertible(0.5),
                "good": .stringConvertible(true), "level": "mine", "infinite": .stringConvertible(Double.infinity),
            ]))
        let text = String(decoding: line.encoded(.json), as: UTF8.self)
        #expect(
            text == #"{"time":"2021-02-25T15:02:10.007Z","level":"warning","service":"intake","#
                + #""message":"a \"quoted\"\nline\u0001","count":3,"field_level":"mine","good":true,"infinite":"inf","#
                + #""nested.a":"1","nested.b.0":"x","nested.b.1":"y","share":0.5}"# + "\n")
        let parsed = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
        #expect(parsed?["message"] as? String == "a \"quoted\"\nline\u{1}")
    }

    @Test("a readable line keeps to one line, whatever is in it")
    func textLine() {
        let line = LogLine(
            time: timespec(tv_sec: 0, tv_nsec: 0), level: .info, service: "intake", logger: "hb",
            message: "done\u{1B}[31m\n2026 forged",
            fields: LogLine.fields(of: ["a": "plain", "b": "two words", "c": "", "d": "x=\"y\"", "e": "1\r\n2"]))
        #expect(
            String(decoding: line.encoded(.text), as: UTF8.self)
                == #"1970-01-01T00:00:00.000Z INFO     intake/hb: done\u001b[31m\n2026 forged "#
                + #"a=plain b="two words" c="" d="x=\"y\"" e="1\r\n2""# + "\n")
    }

    @Test("endless texts and fields are cut")
    func bounded() {
        let many = Dictionary(
            uniqueKeysWithValues: (0..<500).map { ("k\($0)", Logger.MetadataValue.string("v")) })
        let line = LogLine(
            time: LogLine.now(), level: .info, service: "s", logger: nil,
            message: String(repeating: "ü", count: 100_000), fields: LogLine.fields(of: many))
        let text = String(decoding: line.encoded(.json), as: UTF8.self)
        #expect(text.utf8.count < LogLine.textBytesMaximum + 2000)
        #expect(text.contains("ü…\"") && text.contains("\"k0\"") && text.hasSuffix("}\n"))
    }

    @Test("a handler writes its own, the provider's and the line's fields, the line's winning")
    func handler() throws {
        let pipe = try LogPipe()
        let provider = Logger.MetadataProvider { ["from": "provider", "request": "r1"] }
        var logger = Logger(label: "other") { label in
            LineLogHandler(
                label: label, service: "intake", settings: LogSettings(format: .json, level: .info),
                output: pipe.output, metadataProvider: provider)
        }
        logger[.app] = "com.example.game"
        logger.debug("not shown")
        logger.with(.count, "1").info("shown", metadata: .fields([.count: "2", .error: "none"]))
        let fields = try #require(
            try JSONSerialization.jsonObject(with: Data(pipe.readLine().utf8)) as? [String: String])
        #expect(fields["logger"] == "other" && fields["service"] == "intake" && fields["app"] == "com.example.game")
        #expect(fields["count"] == "2" && fields["request"] == "r1" && fields["message"] == "shown")
    }

    @Test("lines for the journal begin with the priority of their level, and no others do")
    func priorities() throws {
        let pipe = try LogPipe()
        for hasPriorities in [true, false] {
            let settings = LogSettings(format: .text, level: .trace, hasPriorities: hasPriorities)
            let logger = settings.logger(ServiceIdentity(name: "intake"), output: pipe.output)
            for level in Logger.Level.allCases { logger.log(level: level, "a line") }
        }
        let starts = pipe.drain().split(separator: "\n").map { $0.prefix(3) }
        #expect(starts.prefix(7) == ["<7>", "<7>", "<6>", "<5>", "<4>", "<3>", "<2>"])
        #expect(starts.count == 14 && starts.dropFirst(7).allSatisfy { !$0.hasPrefix("<") })
    }

    @Test("priorities are written where standard error is the journal's, or where the setting says so")
    func prioritiesBySetting() throws {
        let pipe = try LogPipe()
        let journal = try #require(pipe.output.stream)
        func writes(_ setting: String?, _ journal: String?) throws -> Bool {
            let settings = SettingReader(setting.map { ["log.priorities": $0] } ?? [:])
            return try LogSettings(settings, output: pipe.output, journal: journal).hasPriorities
        }
        #expect(try writes(nil, journal))
        // The variable is inherited by a program whose output goes elsewhere.
        #expect(try !writes(nil, "1:2") && !writes(nil, nil) && !writes(nil, "nonsense"))
        #expect(try writes("true", nil) && !writes("false", journal))
    }

    @Test("a secret in a log line is redacted")
    func redacted() {
        let secret = Redacted("hunter2")
        var dumped = ""
        dump(secret, to: &dumped)
        for text in ["\(secret)", String(reflecting: [secret]), "\(Optional(secret) as Any)", dumped] {
            #expect(!text.contains("hunter2"))
        }
        #expect(secret.value == "hunter2")
    }

    @Test("lines of many writers do not mix")
    func concurrentWriters() async throws {
        let file = try TemporaryFile("")
        let descriptor = open(file.path, O_WRONLY | O_APPEND)
        defer { close(descriptor) }
        let output = LogOutput(descriptor: descriptor)
        await withTaskGroup(of: Void.self) { group in
            for writer in 0..<8 {
                group.addTask {
                    for _ in 0..<200 {
                        output.write(Array("\(String(repeating: "\(writer)", count: 900))\n".utf8)) { _ in [] }
                    }
                }
            }
        }
        let lines = try String(contentsOfFile: file.path, encoding: .utf8).split(separator: "\n")
        #expect(lines.count == 1600)
        #expect(lines.allSatisfy { $0.count == 900 && Set($0).count == 1 })
    }

    @Test("a reader that stops reading costs lines, not the process; then it learns how many")
    func stalledReader() throws {
        let pipe = try LogPipe()
        let line = Array((String(repeating: "x", count: 999) + "\n").utf8)
        let start = ContinuousClock.now
        for _ in 0..<500 { pipe.output.write(line) { Array("\($0) dropped\n".utf8) } }
        // The first line that does not fit waits its time; the others do not.
        #expect(ContinuousClock.now - start < .seconds(5))
        let dropped = pipe.output.droppedLines
        #expect(dropped > 300)
        pipe.drain()
        pipe.output.write(Array("back\n".utf8)) { Array("\($0) dropped\n".utf8) }
        #expect(pipe.output.droppedLines == 0)
        let rest = pipe.drain()
        #expect(rest.hasSuffix("\(dropped) dropped\nback\n"))
    }

    @Test("a reader that is gone is no error")
    func readerGone() throws {
        signal(SIGPIPE, SIG_IGN)
        let pipe = try LogPipe()
        pipe.closeReader()
        pipe.output.write([0x0A]) { _ in [] }
        #expect(pipe.output.droppedLines == 1)
    }

    @Test("the format and level come from the settings, and JSON is written where no terminal is")
    func settings() throws {
        let pipe = try LogPipe()
        let plain = try LogSettings(SettingReader([:]), output: pipe.output)
        #expect(plain.format == .json && plain.level == .info)
        let given = try LogSettings(SettingReader(["log.format": "text", "log.level": "debug"]), output: pipe.output)
        #expect(given.format == .text && given.level == .debug)
        #expect(throws: SettingError.self) { try LogSettings(SettingReader(["log.level": "loud"])) }
    }
}

/// A pipe with a log at one end.
private final class LogPipe: Sendable {
    let output: LogOutput
    private let pipe = Pipe()

    init() throws {
        output = LogOutput(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        let reader = pipe.fileHandleForReading.fileDescriptor
        #expect(fcntl(reader, F_SETFL, O_NONBLOCK) == 0)
    }

    /// Reads all there is.
    @discardableResult func drain() -> String {
        var text = ""
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(pipe.fileHandleForReading.fileDescriptor, &buffer, buffer.count)
            guard count > 0 else { return text }
            text += String(decoding: buffer[..<count], as: UTF8.self)
        }
    }

    func readLine() -> String { drain() }
    func closeReader() { try? pipe.fileHandleForReading.close() }
}
