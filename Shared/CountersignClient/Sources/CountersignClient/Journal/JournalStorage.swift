#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Where a journal's bytes are.
///
/// Its methods block; ``JournalWriter`` calls them on a thread of its own, one at a time.
package protocol JournalStorage: AnyObject {
    /// All bytes; empty where there is no journal yet.
    ///
    /// - Throws: `JournalStorageError`.
    func read() throws -> [UInt8]
    /// Adds bytes at the end; they are on disk when it returns. After an error none of them is there.
    ///
    /// - Throws: `JournalStorageError`.
    func append(_ bytes: [UInt8]) throws
    /// Puts other bytes in place of all, or leaves all as it was.
    ///
    /// - Throws: `JournalStorageError`.
    func replace(with bytes: [UInt8]) throws
    /// Keeps the bytes as they are under another name, for whoever can read them.
    ///
    /// - Throws: `JournalStorageError`.
    func setAside(as suffix: String) throws
    /// What was set aside under a name; nil where nothing was.
    func readSetAside(as suffix: String) -> [UInt8]?
    /// Removes what was set aside.
    func removeSetAside(as suffix: String)
    /// Lets go of the file and its lock.
    func close()
}

/// What the system answered to a call.
package struct JournalStorageError: Error, CustomStringConvertible {
    package let description: String
    /// Whether another process has the journal.
    package var isInUse = false
    /// Whether there is no journal, and none could be made: nothing of it is missing.
    package var isAbsent = false

    package init(_ description: String, isInUse: Bool = false, isAbsent: Bool = false) {
        self.description = description
        self.isInUse = isInUse
        self.isAbsent = isAbsent
    }

    init(_ call: String) {
        description = "\(call): \(String(cString: strerror(errno)))"
    }

    /// What a call that makes a file answered; before the first unlock it may refuse a file that is there.
    fileprivate init(opening path: String, _ call: String) {
        self.init(call)
        isAbsent = JournalFile.isAbsent(path)
    }
}

/// A journal in a file, with a lock that one process has.
final class JournalFile: JournalStorage {
    private let path: String
    private var descriptor: CInt = -1
    private var lock: CInt = -1
    private var length: off_t = 0

    /// Makes the folder, protects it, takes the lock and opens the file.
    ///
    /// - Parameter protect: sets what files of the folder are made with; before any is made.
    /// - Throws: `JournalStorageError`.
    init(folder: URL, protect: (URL) -> Void = JournalFile.protect) throws {
        path = folder.appendingPathComponent("purchases.journal").path
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        } catch {
            throw JournalStorageError("the folder cannot be made: \(error)", isAbsent: Self.isAbsent(folder.path))
        }
        protect(folder)
        lock = open(folder.appendingPathComponent("purchases.lock").path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw JournalStorageError(opening: path, "open of the lock") }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            let error = JournalStorageError(
                "another process, or another queue, has \(folder.path)", isInUse: errno == EWOULDBLOCK)
            close()
            throw error
        }
        do {
            try openFile()
        } catch {
            close()
            throw error
        }
    }

    deinit {
        close()
    }

    private func openFile() throws {
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw JournalStorageError(opening: path, "open of the journal") }
        length = lseek(descriptor, 0, SEEK_END)
        guard length >= 0 else { throw JournalStorageError("lseek") }
    }

    func read() throws -> [UInt8] {
        try Self.readAll(descriptor, length: Int(length))
    }

    func append(_ bytes: [UInt8]) throws {
        do {
            try Self.write(bytes, to: descriptor, at: length)
            try Self.flush(descriptor)
            length += off_t(bytes.count)
        } catch {
            // What was written of it goes; where even that fails, the checksum tells.
            _ = ftruncate(descriptor, length)
            throw error
        }
    }

    func replace(with bytes: [UInt8]) throws {
        let new = path + ".new"
        let replacement = open(new, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard replacement >= 0 else { throw JournalStorageError("open of the new journal") }
        do {
            try Self.write(bytes, to: replacement, at: 0)
            try Self.flush(replacement)
            guard rename(new, path) == 0 else { throw JournalStorageError("rename") }
        } catch {
            _ = Self.closeDescriptor(replacement)
            _ = unlink(new)
            throw error
        }
        _ = Self.closeDescriptor(descriptor)
        descriptor = replacement
        length = off_t(bytes.count)
        flushFolder()
    }

    func setAside(as suffix: String) throws {
        guard rename(path, "\(path).\(suffix)") == 0 else { throw JournalStorageError("rename") }
        _ = Self.closeDescriptor(descriptor)
        flushFolder()
        try openFile()
    }

    func readSetAside(as suffix: String) -> [UInt8]? {
        let other = open("\(path).\(suffix)", O_RDONLY | O_CLOEXEC)
        guard other >= 0 else { return nil }
        defer { _ = Self.closeDescriptor(other) }
        let length = lseek(other, 0, SEEK_END)
        return length < 0 ? nil : try? Self.readAll(other, length: Int(length))
    }

    func removeSetAside(as suffix: String) {
        _ = unlink("\(path).\(suffix)")
    }

    func close() {
        if descriptor >= 0 { _ = Self.closeDescriptor(descriptor) }
        // Closing alone leaves the lock with a child that was forked a moment ago, until it has begun its program.
        if lock >= 0 {
            _ = flock(lock, LOCK_UN)
            _ = Self.closeDescriptor(lock)
        }
        descriptor = -1
        lock = -1
    }

    private func flushFolder() {
        let folder = open(URL(fileURLWithPath: path).deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)
        guard folder >= 0 else { return }
        _ = fsync(folder)
        _ = Self.closeDescriptor(folder)
    }
}

extension JournalFile {
    private static func readAll(_ descriptor: CInt, length: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: length)
        var position = 0
        while position < length {
            let count = bytes.withUnsafeMutableBytes { buffer in
                pread(descriptor, buffer.baseAddress?.advanced(by: position), length - position, off_t(position))
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw JournalStorageError("read") }
            if count == 0 { break }
            position += count
        }
        bytes.removeLast(length - position)
        return bytes
    }

    private static func write(_ bytes: [UInt8], to descriptor: CInt, at offset: off_t) throws {
        var position = 0
        while position < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                pwrite(
                    descriptor, buffer.baseAddress?.advanced(by: position), bytes.count - position,
                    offset + off_t(position))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw JournalStorageError("write") }
            position += count
        }
    }

    private static func flush(_ descriptor: CInt) throws {
        #if canImport(Darwin)
            // fsync leaves bytes in the drive's own memory there.
            if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
        #endif
        guard fsync(descriptor) == 0 else { throw JournalStorageError("fsync") }
    }

    /// Whether there certainly is no such file; one that may not be looked for may be there.
    fileprivate static func isAbsent(_ path: String) -> Bool {
        access(path, F_OK) != 0 && errno == ENOENT
    }

    private static func closeDescriptor(_ descriptor: CInt) -> CInt {
        #if canImport(Darwin)
            Darwin.close(descriptor)
        #elseif canImport(Glibc)
            Glibc.close(descriptor)
        #elseif canImport(Musl)
            Musl.close(descriptor)
        #endif
    }

    /// Readable after the first unlock, so that an app in the background can write; in no backup, since another device's
    /// store has other transactions.
    static func protect(_ folder: URL) {
        #if canImport(Darwin)
            try? FileManager.default.setAttributes(
                [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication], ofItemAtPath: folder.path)
            var folder = folder
            var values = URLResourceValues()
            values.isExcludedFromBackup = true
            try? folder.setResourceValues(values)
        #endif
    }
}
