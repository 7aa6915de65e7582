import Foundation

/// What `${…}` means while a story runs.
///
/// | name | is |
/// |---|---|
/// | `bundleId` | the app's bundle id in this run |
/// | `run` | the run's suffix |
/// | `start`, `now` | virtual milliseconds: when the story began, and at this step |
/// | `receiver` | the URL of the story's receiver |
/// | `account.NAME`, `device.NAME` | the id in this run of an account or a device of the story |
/// | `player.NAME`, `uuid.NAME` | a lower-case UUID: the same name is the same one within a run |
/// | anything else | what a step kept with `as` |
struct StoryScope: Sendable {
    /// The names that are always there.
    static let builtIns = ["bundleId", "run", "start", "now", "receiver", "account", "device", "player", "uuid"]

    /// `${…}` means nothing here.
    struct Unknown: Error, CustomStringConvertible {
        let name: String

        /// What a step would have had to keep.
        var root: String { name.prefix { $0 != "." && $0 != "[" }.description }

        var description: String { "${\(name)} is not there" }
    }

    let run: String
    let bundleId: String
    var start: Int64 = 0
    var now: Int64 = 0
    var receiver: String?
    private(set) var kept: [String: JSONValue] = [:]

    init(run: String, bundleId: String) {
        self.run = run
        self.bundleId = bundleId
    }

    mutating func keep(_ name: String, _ value: JSONValue) {
        kept[name] = value
    }

    /// The id of an account or a device of the story in this run.
    func unique(_ name: String) -> String { "\(name)-\(run)" }

    /// Replaces each `${…}`; one that is the whole text keeps its type.
    ///
    /// - Throws: `Unknown`.
    func resolve(_ value: JSONValue) throws -> JSONValue {
        switch value {
        case .text(let text): try resolve(text)
        case .list(let list): .list(try list.map(resolve))
        case .map(let map): .map(try map.mapValues(resolve))
        default: value
        }
    }

    /// The names within `${…}`, as they stand in a text.
    static func references(in text: String) -> [String] {
        pieces(of: text).compactMap { if case .reference(let name) = $0 { name } else { nil } }
    }

    private func resolve(_ text: String) throws -> JSONValue {
        let pieces = Self.pieces(of: text)
        if pieces.count == 1, case .reference(let name) = pieces[0] { return try value(of: name) }
        var result = ""
        for piece in pieces {
            switch piece {
            case .plain(let text): result += text
            case .reference(let name): result += try value(of: name).plain
            }
        }
        return .text(result)
    }

    private enum Piece {
        case plain(String)
        case reference(String)
    }

    private static func pieces(of text: String) -> [Piece] {
        var pieces: [Piece] = []
        var rest = text[...]
        while let open = rest.range(of: "${"), let close = rest[open.upperBound...].firstIndex(of: "}") {
            if open.lowerBound > rest.startIndex { pieces.append(.plain(String(rest[..<open.lowerBound]))) }
            pieces.append(.reference(String(rest[open.upperBound..<close])))
            rest = rest[rest.index(after: close)...]
        }
        if !rest.isEmpty { pieces.append(.plain(String(rest))) }
        return pieces
    }

    private func value(of reference: String) throws -> JSONValue {
        let parts = reference.split(separator: ".", maxSplits: 1).map(String.init)
        switch (parts.first, parts.count) {
        case ("bundleId", 1): return .text(bundleId)
        case ("run", 1): return .text(run)
        case ("start", 1): return .whole(start)
        case ("now", 1): return .whole(now)
        case ("receiver", 1):
            guard let receiver else { throw Unknown(name: reference) }
            return .text(receiver)
        case ("account", 2), ("device", 2): return .text(unique(parts[1]))
        case ("player", 2), ("uuid", 2): return .text(Self.uuid(of: "\(run)/\(reference)"))
        default: break
        }
        guard let path = StoryPath(reference), let value = path.value(in: .map(kept)) else {
            throw Unknown(name: reference)
        }
        return value
    }

    /// A UUID that a text decides: two rounds of FNV-1a, which is not for secrets.
    private static func uuid(of text: String) -> String {
        var bytes: [UInt8] = []
        for seed in [0xCBF2_9CE4_8422_2325, 0x8422_2325_CBF2_9CE4] as [UInt64] {
            var hash = seed
            for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
            bytes += withUnsafeBytes(of: hash.bigEndian, Array.init)
        }
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }.uuidString.lowercased()
    }
}
