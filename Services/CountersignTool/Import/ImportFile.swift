import Crypto
import Foundation

/// How lines of a file are to be understood.
enum ImportFormat: String, CaseIterable {
    /// The first line names the columns.
    case csv
    /// A JSON object a line.
    case jsonl
    /// Nothing but a proof a line: a signed transaction, a receipt in base64, or a transaction id.
    case lines

    /// By the ending of a file's name.
    init?(name: String) {
        let name = name.lowercased().hasSuffix(".gz") ? String(name.dropLast(3)) : name
        switch name.split(separator: ".").last?.lowercased() {
        case "csv", "tsv": self = .csv
        case "jsonl", "ndjson": self = .jsonl
        case "txt", "list": self = .lines
        default: return nil
        }
    }
}

/// What is imported: a file, also one of gzip, or a folder with a proof in each file.
struct ImportFile: Sendable {
    enum Limit {
        /// The most files of a folder.
        static let files = 1_000_000
        static let chunkBytes = 1 << 20
    }

    let url: URL
    let format: ImportFormat
    /// Which field a column is, where it has another name.
    let columns: [String: ImportField]
    let isFolder: Bool

    /// - Throws: `ToolFailure` where there is no such file, or its format is not known.
    init(path: String, format: ImportFormat?, columns: [String: ImportField]) throws {
        url = URL(filePath: path)
        self.columns = columns
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else {
            throw ToolFailure("\(path): there is no such file")
        }
        self.isFolder = isFolder.boolValue
        guard let known = self.isFolder ? .lines : format ?? ImportFormat(name: url.lastPathComponent) else {
            throw ToolFailure("\(path): say what it is: --format csv, jsonl or lines")
        }
        self.format = known
    }

    /// The field that a column is: where one was given for a field, the column with the field's own name means something else.
    func field(_ column: String) -> ImportField? {
        if let field = columns[column] { return field }
        guard let field = ImportField(rawValue: column), !columns.values.contains(field) else { return nil }
        return field
    }

    var name: String { url.lastPathComponent }
    var isCompressed: Bool { !isFolder && url.pathExtension.lowercased() == "gz" }

    /// The files of a folder, sorted by their names; those that begin with a dot are left out.
    ///
    /// - Throws: `ToolFailure`; what reading the folder gives.
    func files() throws -> [String] {
        let names = try FileManager.default.contentsOfDirectory(atPath: url.path).filter { !$0.hasPrefix(".") }
        guard names.count <= Limit.files else { throw ToolFailure("\(name) has more than \(Limit.files) files") }
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// SHA-256 of what is in it, and of how it is read: the same file is imported once.
    ///
    /// - Throws: what reading it gives.
    func fingerprint(environment: String) throws -> [UInt8] {
        var hash = SHA256()
        let mapping = columns.map { "\($0.key)=\($0.value.rawValue)" }.sorted()
        for part in [format.rawValue, environment] + mapping { Self.add(part, to: &hash) }
        if isFolder {
            for file in try files() {
                Self.add(file, to: &hash)
                try Self.add(url.appending(path: file), to: &hash)
            }
        } else {
            try Self.add(url, to: &hash)
        }
        return Array(hash.finalize())
    }

    private static func add(_ text: String, to hash: inout SHA256) {
        withUnsafeBytes(of: UInt64(text.utf8.count).bigEndian) { hash.update(bufferPointer: $0) }
        hash.update(data: Array(text.utf8))
    }

    private static func add(_ file: URL, to hash: inout SHA256) throws {
        let handle = try FileHandle(forReadingFrom: file)
        defer { try? handle.close() }
        while let chunk = try handle.read(upToCount: Limit.chunkBytes), !chunk.isEmpty { hash.update(data: chunk) }
    }
}
