import Foundation

/// One row as it is now; without `row` it was removed.
struct JournalChange: Sendable {
    enum Table: String, Sendable {
        case apps, products, accounts, devices, downloads, deferredPurchases, transactions, subscriptions
        case refundRequests, consumptionAnswers, notifications, externalPurchases, massExtensions
        case offerNonces
        case settings
    }

    let table: Table
    let id: String
    /// JSON.
    let row: Data?
}

/// The one file that keeps the store: a line for each change, whole or not at all.
///
/// A line is `table TAB id TAB row` for each row, joined by TAB, and ends in a line feed: a line that was cut short by a
/// crash has none and is dropped. Opening writes it anew, with one line a row, so it does not grow for ever. Written to
/// the system before the change is answered (a killed process loses nothing) and to the disk when ``sync()`` is called.
///
/// Not safe to share: the ``Store`` owns it, on a thread of its own.
final class Journal {
    enum Limit {
        /// Bytes of one line; more is taken for damage.
        static let lineBytes = 256 * 1_048_576
    }

    private let url: URL
    private var handle: FileHandle?

    init(url: URL) {
        self.url = url
    }

    /// Reads every line into `take`; a missing file has none.
    func read(_ take: (JournalChange) throws -> Void) throws {
        guard FileManager.default.fileExists(atPath: url.path) else { return }
        let bytes = [UInt8](try Data(contentsOf: url))
        var start = 0
        while let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) {
            try Self.parse(bytes[start..<end]).forEach(take)
            start = end + 1
        }
    }

    /// Replaces the file by one that holds these rows, and keeps it open for what follows.
    func rewrite(_ changes: [JournalChange]) throws {
        let partial = url.appendingPathExtension("partial")
        guard
            FileManager.default.createFile(
                atPath: partial.path, contents: nil, attributes: [.posixPermissions: 0o600]),
            let handle = FileHandle(forWritingAtPath: partial.path)
        else { throw StateDirectoryError(description: "cannot write \(partial.path)") }
        for change in changes { try handle.write(contentsOf: Self.line([change])) }
        try handle.synchronize()
        guard rename(partial.path, url.path) == 0 else {
            throw StateDirectoryError(description: "cannot write \(url.path)")
        }
        self.handle = handle
    }

    /// Adds one line with all of these.
    func append(_ changes: [JournalChange]) throws {
        guard !changes.isEmpty else { return }
        try handle?.write(contentsOf: Self.line(changes))
    }

    /// Forces it to the disk.
    func sync() throws {
        try handle?.synchronize()
    }

    private static func line(_ changes: [JournalChange]) -> Data {
        var line = Data()
        for (index, change) in changes.enumerated() {
            if index > 0 { line.append(UInt8(ascii: "\t")) }
            // Ids are escaped like JSON text, so that neither TAB nor line feed occurs in them.
            line.append(contentsOf: Data("\(change.table.rawValue)\t\(JSONText.quoted(change.id))\t".utf8))
            if let row = change.row { line.append(row) }
        }
        line.append(UInt8(ascii: "\n"))
        return line
    }

    /// Reads over bytes and not over `Data`: that took two thirds of a start.
    private static func parse(_ line: ArraySlice<UInt8>) throws -> [JournalChange] {
        let fields = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
        guard line.count <= Limit.lineBytes, fields.count % 3 == 0 else { throw Self.damaged }
        return try stride(from: 0, to: fields.count, by: 3).map { index in
            guard let table = JournalChange.Table(rawValue: String(decoding: fields[index], as: UTF8.self)),
                let id = identifier(fields[index + 1])
            else { throw Self.damaged }
            return JournalChange(table: table, id: id, row: fields[index + 2].isEmpty ? nil : Data(fields[index + 2]))
        }
    }

    /// An id as JSON text; nil when it is none.
    private static func identifier(_ text: ArraySlice<UInt8>) -> String? {
        let quote = UInt8(ascii: "\"")
        guard text.count >= 2, text.first == quote, text.last == quote else { return nil }
        guard text.contains(UInt8(ascii: "\\")) else {
            return String(decoding: text.dropFirst().dropLast(), as: UTF8.self)
        }
        return try? JSONDecoder().decode(String.self, from: Data(text))
    }

    private static let damaged = StateDirectoryError(
        description: "the store's journal is damaged; remove it to start with an empty store")
}
