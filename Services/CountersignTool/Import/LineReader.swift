import Foundation

/// Cuts a file, or what another program writes, into lines.
struct LineReader {
    /// The longest line, in bytes: a receipt of 4 MB in base64, with some fields beside it.
    static let bytesMaximum = 8 << 20
    private static let chunkBytes = 1 << 20

    /// A line without its end.
    enum Line: Equatable {
        case bytes([UInt8])
        /// It has more than ``LineReader/bytesMaximum`` bytes, which were passed over.
        case tooLong
    }

    private let handle: FileHandle
    private var buffer: [UInt8] = []
    /// Where the next line begins.
    private var start = 0
    private var isAtEnd = false

    init(_ handle: FileHandle) {
        self.handle = handle
    }

    /// The next line; nil after the last.
    ///
    /// A last line needs no end.
    ///
    /// - Throws: what reading the file gives.
    mutating func next() throws -> Line? {
        var searched = start
        var isTooLong = false
        while true {
            if let end = newline(from: searched) {
                defer { start = end + 1 }
                return isTooLong ? .tooLong : line(upTo: end)
            }
            guard !isAtEnd else {
                defer { start = buffer.count }
                if isTooLong { return .tooLong }
                return start < buffer.count ? line(upTo: buffer.count) : nil
            }
            if buffer.count - start > Self.bytesMaximum {
                isTooLong = true
                buffer.removeAll(keepingCapacity: true)
                start = 0
            } else if start > 0 {
                buffer.removeFirst(start)
                start = 0
            }
            searched = buffer.count
            let chunk = try handle.read(upToCount: Self.chunkBytes) ?? Data()
            if chunk.isEmpty { isAtEnd = true } else { buffer.append(contentsOf: chunk) }
        }
    }

    private func line(upTo end: Int) -> Line {
        guard end - start <= Self.bytesMaximum else { return .tooLong }
        let end = end > start && buffer[end - 1] == UInt8(ascii: "\r") ? end - 1 : end
        return .bytes(Array(buffer[start..<end]))
    }

    private func newline(from place: Int) -> Int? {
        buffer.withUnsafeBytes { bytes in
            guard place < bytes.count, let base = bytes.baseAddress,
                let found = memchr(base + place, Int32(UInt8(ascii: "\n")), bytes.count - place)
            else { return nil }
            return UnsafeRawPointer(found) - base
        }
    }
}
