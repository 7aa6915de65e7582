import Foundation
import Messages
import Persistence
import ProcessTesting
import PurchaseModel
import Testing

@testable import CountersignTool

/// What is read in files of older systems, and what is refused in them.
@Suite("Reading an import")
struct ImportReaderTests {
    private static let jws = "eyJhbGciOiJFUzI1NiJ9.\(payload).c2ln"
    private static let payload = Data(#"{"transactionId":"2000000123456789"}"#.utf8).base64EncodedString()
        .replacing("=", with: "")
    private static let receipt = "MIITtgYJKoZI"

    /// All that a reader finds behind a line, as `number account kind proof`, or the flaw's code.
    private func lines(
        _ text: String, named name: String, after done: Int64 = 0, columns: [String: ImportField] = [:]
    ) async throws -> (lines: [String], unknown: [String], end: Int64) {
        let folder = FileManager.default.temporaryDirectory.appending(path: "import-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let url = folder.appending(path: name)
        try Data(text.utf8).write(to: url)
        return try await lines(ImportFile(path: url.path, format: nil, columns: columns), after: done)
    }

    private func lines(_ file: ImportFile, after done: Int64) async throws -> (
        lines: [String], unknown: [String], end: Int64
    ) {
        let reader = ImportReader(file)
        defer { reader.close() }
        let unknown = try await reader.open()
        var found: [String] = []
        var end = done
        while true {
            let batch = try await reader.next(after: end)
            found += batch.entries.map { entry in
                switch entry.record {
                case .success(let record):
                    "\(entry.number) \(record.account?.text ?? "-") \(record.kind.rawValue) \(record.proof)"
                case .failure(let flaw): "\(entry.number) \(flaw.code)"
                }
            }
            end = batch.end
            if batch.isLast { return (found, unknown, end) }
        }
    }

    @Test func `a table is read by the names of its columns, in quotes and without`() async throws {
        let text = #"""
            \#u{FEFF}user,Transaction_ID,note,signed_transaction
            alice,1,plain,
            "bob, the ""first""",2,"two
            lines",
            carol,,,\#(Self.jws)

            ,3,,
            dora,4
            """#
        let read = try await lines(text, named: "t.csv", columns: ["user": .account])
        #expect(
            read.lines == [
                "2 alice transaction_id 1", #"3 bob, the "first" transaction_id 2"#,
                "5 carol signed_transaction \(Self.jws)", "7 - transaction_id 3", "8 csv_malformed",
            ])
        #expect(read.unknown == ["note"] && read.end == 8)
        let rest = try await lines(text, named: "t.csv", after: 4, columns: ["user": .account])
        #expect(rest.lines == Array(read.lines.dropFirst(2)))
    }

    @Test func `semicolons and tabs divide a table, too`() async throws {
        for (separator, name) in [(";", "a.csv"), ("\t", "a.tsv")] {
            let text = ["account", "transaction_id"].joined(separator: separator) + "\r\na,b\(separator)7\r\n"
            #expect(try await lines(text, named: name).lines == ["2 a,b transaction_id 7"])
        }
    }

    @Test func `JSON lines have the same names`() async throws {
        let text = """
            {"account":"alice","transaction_id":2000000123456789,"items":{"gem":100},"granted":true}
            {"account":"bob","receipt":"\(Self.receipt)","transaction_id":"5","other":[1]}
            [1]
            {"account":"carol"}
            """
        let read = try await lines(text, named: "t.jsonl").lines
        #expect(
            read == [
                "1 alice transaction_id 2000000123456789", "2 bob receipt \(Self.receipt)", "3 json_malformed",
                "4 no_proof",
            ])
    }

    @Test func `a column that was given comes before one with the field's own name`() async throws {
        let columns = ["user_id": ImportField.account]
        let object = #"{"account":"4711","user_id":"u-7","transaction_id":"1"}"#
        // Members come in no order: each run of a program has another.
        let text = (0..<20).map { object.replacing("\"1\"", with: "\"\($0)\"") }.joined(separator: "\n")
        let read = try await lines(text, named: "t.jsonl", columns: columns).lines
        #expect(read == (0..<20).map { "\($0 + 1) u-7 transaction_id \($0)" })
        let table = "account,user_id,transaction_id\n4711,u-7,1\n"
        let rows = try await lines(table, named: "t.csv", columns: columns)
        #expect(rows.lines == ["2 u-7 transaction_id 1"] && rows.unknown == ["account"])
        let both = try await lines(
            #"{"a":"x","b":"y","receipt":"MII"}"#, named: "t.jsonl", columns: ["a": .account, "b": .account])
        #expect(both.lines == ["1 account_twice"])
    }

    @Test func `a column of which the first lines have nothing is there`() async throws {
        let text = #"{"user_id":null,"transaction_id":"1"}"#
        let read = try await lines(text, named: "t.jsonl", columns: ["user_id": .account])
        #expect(read.lines == ["1 - transaction_id 1"])
    }

    @Test func `a column that is nowhere is no column`() async throws {
        let columns = ["usr_id": ImportField.account]
        for (name, text) in [
            ("t.csv", "user_id,transaction_id\nu-7,1\n"), ("t.jsonl", #"{"user_id":"u-7","transaction_id":"1"}"#),
        ] {
            await #expect(throws: ToolFailure.self) { try await lines(text, named: name, columns: columns) }
        }
    }

    @Test func `a member that cannot be read is not taken for a missing one`() async throws {
        let text = """
            {"account":12297829382473034410,"transaction_id":"1"}
            {"account":{"id":7},"transaction_id":"2"}
            {"account":null,"transaction_id":"3"}
            {"account":"a","transaction_id":"4","items":{"gem":1.5}}
            """
        #expect(
            try await lines(text, named: "t.jsonl").lines == [
                "1 12297829382473034410 transaction_id 1", "2 account_invalid", "3 - transaction_id 3",
                "4 items_invalid",
            ])
    }

    @Test func `a quote that nobody closes costs its own line`() async throws {
        let text = #"""
            account,transaction_id,note
            alice,1,19" wide
            bob,2,"never closed
            carol,3,"closed"
            dora,4,"over" here
            erin,5,
            fred,6,"to the end
            """#
        let plain = (0..<300).map { "x,\($0),\n" }.joined()
        #expect(
            try await lines(text + "\n" + plain, named: "t.csv").lines.prefix(8) == [
                "2 csv_malformed", "3 csv_malformed", "4 carol transaction_id 3", "5 csv_malformed",
                "6 erin transaction_id 5", "7 csv_malformed", "8 x transaction_id 0", "9 x transaction_id 1",
            ])
        let last = try await lines(text, named: "t.csv")
        #expect(last.lines.last == "7 csv_malformed" && last.lines.count == 6 && last.end == 7)
        // What was read before is passed over by the same numbers.
        let rest = try await lines(text + "\n" + plain, named: "t.csv", after: 3).lines
        #expect(rest.first == "4 carol transaction_id 3" && rest.count == 304)
    }

    @Test func `a line may be a proof, and a file of a folder`() async throws {
        let text = "\(Self.jws)\n2000000123\n\n\(Self.receipt)\nnot a proof at all\n"
        let read = try await lines(text, named: "t.txt").lines
        #expect(
            read == [
                "1 - signed_transaction \(Self.jws)", "2 - transaction_id 2000000123", "4 - receipt \(Self.receipt)",
                "5 transaction_id_invalid",
            ])
        let folder = FileManager.default.temporaryDirectory.appending(path: "import-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let bytes = try #require(Data(base64Encoded: Self.receipt))
        try bytes.write(to: folder.appending(path: "b.receipt"))
        try Data("\(Self.jws)\n".utf8).write(to: folder.appending(path: "a.jws"))
        try Data().write(to: folder.appending(path: ".hidden"))
        let files = try await self.lines(ImportFile(path: folder.path, format: nil, columns: [:]), after: 0)
        #expect(files.lines == ["1 - signed_transaction \(Self.jws)", "2 - receipt \(Self.receipt)"])
    }

    @Test func `a line that is too long is refused, and the next is read`() async throws {
        let text = "1\n" + String(repeating: "A", count: LineReader.bytesMaximum + 9) + "\n2"
        #expect(
            try await lines(text, named: "t.txt").lines == [
                "1 - transaction_id 1", "2 line_too_long", "3 - transaction_id 2",
            ])
    }

    @Test func `a file of gzip is unpacked, and one that is cut off is no whole file`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "import-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let ids = (0..<3_000).map { "\($0)" }
        let plain = folder.appending(path: "ids.txt")
        try Data(ids.joined(separator: "\n").utf8).write(to: plain)
        try await Program(path: "/usr/bin/env", arguments: ["gzip", plain.path]).result()
        let packed = folder.appending(path: "ids.txt.gz")
        let file = try ImportFile(path: packed.path, format: nil, columns: [:])
        #expect(try await lines(file, after: 0).lines.count == 3_000)
        let half = try Data(contentsOf: packed)
        try half.prefix(half.count / 2).write(to: packed)
        await #expect(throws: ToolFailure.self) { try await lines(file, after: 0) }
    }

    @Test func `what is no table of purchases is refused as a whole`() async throws {
        for text in ["", "account,name\na,b\n", "account,account,receipt\na,b,c\n"] {
            await #expect(throws: ToolFailure.self) { try await lines(text, named: "t.csv") }
        }
        #expect(throws: ToolFailure.self) { try ImportFile(path: "/nowhere.csv", format: nil, columns: [:]) }
    }

    @Test func `a fingerprint is that of the bytes, and of how they are read`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "import-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func fingerprint(_ name: String, _ text: String, _ columns: [String: ImportField] = [:]) throws -> [UInt8] {
            let url = folder.appending(path: name)
            try Data(text.utf8).write(to: url)
            return try ImportFile(path: url.path, format: nil, columns: columns).fingerprint(environment: "")
        }
        let first = try fingerprint("a.csv", "transaction_id\n1\n")
        #expect(try fingerprint("b.csv", "transaction_id\n1\n") == first)
        #expect(try fingerprint("a.csv", "transaction_id\n2\n") != first)
        #expect(try fingerprint("a.txt", "transaction_id\n1\n") != first)
        #expect(try fingerprint("a.csv", "transaction_id\n1\n", ["x": .account]) != first)
    }
}

/// What the fields of a line may be.
@Suite("An import's record")
struct ImportRecordTests {
    @Test func `a record says what is posted, and what the older system did`() throws {
        let record = try ImportRecord([
            .account: "alice", .receipt: "MIIT\ntgYJ", .transactionId: "7", .productId: "gems.100", .quantity: "2",
            .items: "gem=100;dust=5", .environment: "Sandbox", .appAccountToken: "6BA7B810-9DAD-11D1-80B4-00C04FD430C8",
        ])
        #expect(record.kind == .receipt && record.proof == "MIITtgYJ" && record.namedTransactionId == "7")
        #expect(record.claim.items == ["gem": 100, "dust": 5] && record.claim.quantity == 2)
        #expect(record.environment == .sandbox && record.token != nil && record.account?.text == "alice")
        let refused = try ImportRecord([.account: "alice", .transactionId: "7", .granted: "no"])
        #expect(refused.account == nil && !refused.claim.isGranted)
        let order = try ImportRecord([.orderId: "mv7kq2xh0p"])
        #expect(order.kind == .orderId && order.proof == "MV7KQ2XH0P")
    }

    @Test(arguments: [
        ([ImportField.transactionId: "a b"], "transaction_id_invalid"),
        ([.transactionId: String(repeating: "1", count: 65)], "transaction_id_invalid"),
        ([.receipt: "{\"receipt\""], "receipt_invalid"), ([.receipt: "MIIT=tgY"], "receipt_invalid"),
        ([.signedTransaction: "a.b"], "signed_transaction_invalid"),
        ([.transactionId: "1", .account: "a\nb"], "account_invalid"),
        ([.transactionId: "1", .account: "forgotten-6ba7b810-9dad-11d1-80b4-00c04fd430c8"], "account_invalid"),
        ([.transactionId: "1", .quantity: "0"], "quantity_invalid"),
        ([.transactionId: "1", .items: "gem"], "items_invalid"),
        ([.transactionId: "1", .granted: "perhaps"], "granted_invalid"),
        ([.transactionId: "1", .environment: "staging"], "environment_invalid"),
        ([.transactionId: "1", .account: "a", .appAccountToken: "x"], "app_account_token_invalid"),
        ([.transactionId: "1", .appAccountToken: "6BA7B810-9DAD-11D1-80B4-00C04FD430C8"], "token_without_account"),
        ([.account: "a", .transactionId: ""], "no_proof"),
        ([.transactionId: "1", .productId: "a\u{0}"], "product_id_invalid"),
    ])
    func `what cannot be posted is refused with its reason`(fields: [ImportField: String], code: String) {
        let flaw = #expect(throws: ImportFlaw.self) { try ImportRecord(fields) }
        #expect(flaw?.code == code)
    }

    @Test func `an import's submission is never a post's, and the same line is the same`() throws {
        let record = try ImportRecord([.account: "alice", .transactionId: "7"])
        let id = ImportRun.identifier(record, app: "com.example.game")
        #expect(id.hasPrefix("sub_") && id.count == 36)
        #expect(id == ImportRun.identifier(record, app: "com.example.game"))
        #expect(id != ImportRun.identifier(record, app: "com.example.other"))
        #expect(
            id
                != ImportRun.identifier(
                    try ImportRecord([.account: "bob", .transactionId: "7"]), app: "com.example.game"))
    }

    @Test func `what waits for Apple does not hold up an import for ever`() {
        var flight = ImportFlight()
        let start = ContinuousClock.now
        func message(_ id: String, _ kind: ProofKind) -> SubmissionMessage {
            SubmissionMessage(
                submissionId: id, app: "a", account: "", kind: kind, proof: "1", attempt: 0, correlationId: "c")
        }
        flight.add((0..<250).map { message("lookup-\($0)", .transactionId) }, now: start)
        #expect(!flight.hasRoom(2_000))
        let waiting = Set(flight.ids)
        let hadOutcome = flight.keep(waiting.subtracting(["lookup-1"]), now: start + .seconds(1))
        #expect(hadOutcome)
        #expect(flight.hasRoom(2_000) && !flight.hasRoom(249))
        let hadAnother = flight.keep(waiting, now: start + ImportRun.Limit.patience)
        #expect(!hadAnother)
        #expect(flight.count == 0)
    }
}
