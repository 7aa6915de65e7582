import BlockingThreads
import Foundation

/// Reads a file's lines on a thread of its own.
actor ImportReader {
    enum Limit {
        /// Lines of one batch, and the bytes after which it ends.
        static let lines = 200
        static let bytes = 8 << 20
        /// Lines of one record: a quote that nobody closes takes no more of them along.
        static let linesOfRecord = 100
    }

    /// What one line came to.
    struct Entry: Sendable {
        /// From 1, as an editor counts; of a folder the file's place.
        let number: Int64
        let record: Result<ImportRecord, ImportFlaw>
    }

    /// Some lines, one after the other; blank ones are left out.
    struct Batch: Sendable {
        var entries: [Entry] = []
        /// The line of the file with which it ends.
        var end: Int64
        /// Whether the file has no more.
        var isLast = false
    }

    private let executor = ThreadExecutor(name: "import-reader")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private let file: ImportFile
    private var lines: LineReader?
    /// Lines that are read again before others.
    private var returned: [LineReader.Line] = []
    private var gzip: Process?
    private var files: [String] = []
    private var place: Int64 = 0
    private var header: [ImportField?] = []
    private var separator = UInt8(ascii: ",")
    /// Whether an object had a member that was given for the account.
    private var hasAccounts = false

    init(_ file: ImportFile) {
        self.file = file
    }

    /// Opens the file and reads the names of its columns.
    ///
    /// - Returns: the columns that mean nothing here.
    /// - Throws: `ToolFailure`; what opening it gives.
    func open() throws -> [String] {
        if file.isFolder {
            files = try file.files()
            return []
        }
        lines = LineReader(file.isCompressed ? try unpacked() : try FileHandle(forReadingFrom: file.url))
        return file.format == .csv ? try readHeader() : []
    }

    /// Ends the thread.
    nonisolated func close() { executor.stop() }

    /// The next lines behind one; those before it are passed over.
    ///
    /// - Throws: `ToolFailure` where the file is damaged; what reading it gives.
    func next(after done: Int64) throws -> Batch {
        var batch = Batch(end: max(done, place))
        var bytes = 0
        while batch.entries.count < Limit.lines, bytes < Limit.bytes {
            guard let (number, line) = try nextRecord() else {
                try finish()
                batch.isLast = true
                break
            }
            guard number > done else { continue }
            batch.end = place
            if case .bytes(let text) = line { bytes += text.count }
            if let record = record(line) { batch.entries.append(Entry(number: number, record: record)) }
        }
        // Posted without their accounts, all of them would be nobody's.
        if done == 0, file.format == .jsonl, !batch.entries.isEmpty, !hasAccounts,
            let name = file.columns.first(where: { $0.value == .account })?.key
        {
            throw ToolFailure("\(file.name): none of the first \(batch.entries.count) objects has \(name)")
        }
        return batch
    }

    // MARK: - Lines

    /// The next record with the number of its first line.
    private func nextRecord() throws -> (Int64, LineReader.Line)? {
        if file.isFolder { return try nextFile() }
        guard let first = try nextLine() else { return nil }
        let number = place
        guard file.format == .csv, case .bytes(var bytes) = first else { return (number, first) }
        var further: [LineReader.Line] = []
        var isOpen = self.isOpen(bytes)
        while isOpen ?? false, further.count < Limit.linesOfRecord - 1, bytes.count <= LineReader.bytesMaximum,
            let line = try nextLine()
        {
            further.append(line)
            guard case .bytes(let more) = line else { break }
            bytes.append(UInt8(ascii: "\n"))
            bytes += more
            isOpen = self.isOpen(bytes)
        }
        if isOpen == false { return (number, .bytes(bytes)) }
        // The first line opened a quote that no line closes well: it is refused alone, and the others are read by themselves.
        returned = further + returned
        place -= Int64(further.count)
        return (number, first)
    }

    /// Whether a record goes on in the next line; nil where no line can make it one.
    private func isOpen(_ bytes: [UInt8]) -> Bool? {
        do {
            _ = try CSVText.fields(bytes, separator: separator)
            return false
        } catch .open {
            return true
        } catch {
            return nil
        }
    }

    private func nextLine() throws -> LineReader.Line? {
        guard let line = try returned.isEmpty ? lines?.next() : returned.removeFirst() else { return nil }
        place += 1
        return line
    }

    private func nextFile() throws -> (Int64, LineReader.Line)? {
        guard Int(place) < files.count else { return nil }
        let url = file.url.appending(path: files[Int(place)])
        place += 1
        let handle = try FileHandle(forReadingFrom: url)
        defer { try? handle.close() }
        let data = try handle.read(upToCount: LineReader.bytesMaximum + 1) ?? Data()
        guard data.count <= LineReader.bytesMaximum else { return (place, .tooLong) }
        // A receipt as the app has it is no text.
        return (place, .bytes(data.first == 0x30 ? Array(data.base64EncodedString().utf8) : Array(data)))
    }

    private func unpacked() throws -> FileHandle {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["gzip", "-dc", file.url.path]
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardInput = FileHandle.nullDevice
        try process.run()
        gzip = process
        return pipe.fileHandleForReading
    }

    private func finish() throws {
        guard let gzip else { return }
        gzip.waitUntilExit()
        guard gzip.terminationStatus == 0 else {
            throw ToolFailure("\(file.name): gzip ended with \(gzip.terminationStatus); unpack it and import that")
        }
    }

    // MARK: - Records

    private func readHeader() throws -> [String] {
        guard case .bytes(var bytes)? = try nextLine() else { throw ToolFailure("\(file.name) is empty") }
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.removeFirst(3) }
        separator = CSVText.separator(of: bytes)
        // A name may have several lines, too.
        (returned, place) = ([.bytes(bytes)], 0)
        guard case (_, .bytes(let line))? = try nextRecord(),
            let names = try? CSVText.fields(line, separator: separator)
        else {
            throw ToolFailure("\(file.name): its first line does not name columns: \(ImportFlaw.csvMalformed.detail)")
        }
        let trimmed = names.map { $0.trimmingCharacters(in: .whitespaces) }
        header = trimmed.map { file.field($0) ?? file.field($0.lowercased()) }
        for name in file.columns.keys.sorted() where !trimmed.contains(name) {
            throw ToolFailure("\(file.name): no column is \(name)")
        }
        for field in ImportField.allCases where header.count(where: { $0 == field }) > 1 {
            throw ToolFailure("\(file.name): two columns are \(field.rawValue)")
        }
        guard ImportField.proofs.contains(where: header.contains) else {
            throw ToolFailure(
                "\(file.name): no column is signed_transaction, receipt, transaction_id or order_id; name one with "
                    + "--column transaction_id=NAME")
        }
        return zip(names, header).filter { $1 == nil }.map(\.0)
    }

    private func record(_ line: LineReader.Line) -> Result<ImportRecord, ImportFlaw>? {
        guard case .bytes(let bytes) = line else { return .failure(.lineTooLong) }
        guard bytes.contains(where: { $0 > UInt8(ascii: " ") }) else { return nil }
        guard String(validating: bytes, as: UTF8.self) != nil else { return .failure(.notUTF8) }
        do {
            return .success(try ImportRecord(try fields(bytes)))
        } catch {
            return .failure(error)
        }
    }

    private func fields(_ bytes: [UInt8]) throws(ImportFlaw) -> [ImportField: String] {
        switch file.format {
        case .csv:
            guard let values = try? CSVText.fields(bytes, separator: separator) else { throw .csvMalformed }
            guard values.count == header.count else { throw .fieldCount(values.count, header.count) }
            var fields: [ImportField: String] = [:]
            for (field, value) in zip(header, values) {
                guard let field else { continue }
                // Of an account every byte counts.
                fields[field] = field == .account ? value : value.trimmingCharacters(in: .whitespaces)
            }
            return fields
        case .jsonl:
            guard let object = try? JSONDecoder().decode(JSONFields.self, from: Data(bytes)) else {
                throw .jsonMalformed
            }
            if object.has(.account, in: file) { hasAccounts = true }
            return try object.fields(of: file)
        case .lines:
            let text = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
            return [Self.proofField(of: text): text]
        }
    }

    /// What a proof by itself is: a receipt begins with the letter that DER's first byte is in base64.
    private static func proofField(of text: String) -> ImportField {
        if text.utf8.count(where: { $0 == UInt8(ascii: ".") }) == 2 { return .signedTransaction }
        return text.utf8.first == UInt8(ascii: "M") || text.utf8.count > ImportRecord.Limit.idCharacters
            ? .receipt : .transactionId
    }
}

/// The members of a JSON object that can be fields.
struct JSONFields: Decodable {
    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Nil is what cannot be a field.
    private var members: [String: String?] = [:]
    private var items: [String: String] = [:]
    private var names: Set<String> = []

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Name.self)
        names = Set(container.allKeys.map(\.stringValue))
        for name in container.allKeys where try !container.decodeNil(forKey: name) {
            members.updateValue(Self.text(of: name, in: container), forKey: name.stringValue)
            guard let amounts = try? container.decode([String: Int64].self, forKey: name) else { continue }
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            items[name.stringValue] = String(decoding: try encoder.encode(amounts), as: UTF8.self)
        }
    }

    private static func text(of name: Name, in container: KeyedDecodingContainer<Name>) -> String? {
        if let text = try? container.decode(String.self, forKey: name) { return text }
        if let number = try? container.decode(Int64.self, forKey: name) { return "\(number)" }
        if let number = try? container.decode(UInt64.self, forKey: name) { return "\(number)" }
        return (try? container.decode(Bool.self, forKey: name)).map { "\($0)" }
    }

    func has(_ field: ImportField, in file: ImportFile) -> Bool { names.contains { file.field($0) == field } }

    func fields(of file: ImportFile) throws(ImportFlaw) -> [ImportField: String] {
        var fields: [ImportField: String] = [:]
        for (name, value) in members {
            guard let field = file.field(name) else { continue }
            guard fields[field] == nil else { throw .twice(field) }
            guard let value = value ?? (field == .items ? items[name] : nil) else {
                let kind = field == .items ? "an object of whole numbers" : "a text, a whole number, true or false"
                throw .invalid(field, kind)
            }
            fields[field] = value
        }
        return fields
    }
}
