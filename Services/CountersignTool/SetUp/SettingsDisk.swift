import Foundation

/// What writing settings needs of the file system.
///
/// Every error is a sentence with the path.
enum SettingsDisk {
    /// Keeps other commands from changing the files of a folder meanwhile.
    struct Lock: ~Copyable {
        private let descriptor: Int32

        /// - Throws: `ToolFailure` when another command has it.
        init(_ folder: String) throws(ToolFailure) {
            descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard descriptor >= 0 else { throw failure("\(folder) cannot be opened") }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                close(descriptor)
                throw ToolFailure("another countersign is changing the files of \(folder)")
            }
        }

        borrowing func release() { close(descriptor) }
    }

    /// Makes a folder and those around it, unless it is there.
    static func makeFolder(_ path: String, mode: mode_t) throws(ToolFailure) {
        guard !FileManager.default.fileExists(atPath: path) else { return }
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: Int(mode)])
        } catch {
            throw ToolFailure("the folder \(path) cannot be made")
        }
    }

    /// Makes a file that must not be there yet, and has it on the disk.
    static func create(_ path: String, _ text: String, mode: mode_t) throws(ToolFailure) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)
        guard descriptor >= 0 else {
            throw errno == EEXIST
                ? ToolFailure("\(path) is there already; it is left alone") : failure("\(path) cannot be made")
        }
        defer { close(descriptor) }
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw unwritten(path) }
            bytes = bytes.dropFirst(count)
        }
        guard fsync(descriptor) == 0 else { throw unwritten(path) }
    }

    /// Makes the file that is to take another's place: in its folder, with its mode and its owner.
    ///
    /// - Returns: its path.
    static func createBeside(_ path: String, _ text: String, mode: mode_t) throws(ToolFailure) -> String {
        let target = resolved(path)
        let folder = (target as NSString).deletingLastPathComponent
        let copy = "\(folder)/.\((target as NSString).lastPathComponent).\(getpid())"
        try create(copy, text, mode: mode)
        guard let old = try? FileManager.default.attributesOfItem(atPath: target),
            let owner = old[.ownerAccountID] as? NSNumber, let group = old[.groupOwnerAccountID] as? NSNumber,
            let mode = old[.posixPermissions] as? NSNumber
        else { return copy }
        let isOwned = chown(copy, owner.uint32Value, group.uint32Value) == 0
        guard isOwned, chmod(copy, mode.uint32Value) == 0 else {
            let error = failure("\(copy) cannot get the owner and the mode of \(target)")
            unlink(copy)
            throw error
        }
        return copy
    }

    /// Puts a file in another's place at once.
    static func rename(_ copy: String, to path: String) throws(ToolFailure) {
        let target = resolved(path)
        guard Foundation.rename(copy, target) == 0 else { throw failure("\(target) cannot be replaced") }
        // The rename itself is in the folder.
        let folder = open((target as NSString).deletingLastPathComponent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { return }
        fsync(folder)
        close(folder)
    }

    /// The text of a file that an option names, without white space around it.
    static func input(_ path: String, bytesMaximum: Int = 64 << 10) throws(ToolFailure) -> String {
        guard let handle = FileHandle(forReadingAtPath: path),
            let data = try? handle.read(upToCount: bytesMaximum + 1), let text = String(validating: data, as: UTF8.self)
        else { throw ToolFailure("\(path) cannot be read as text") }
        guard data.count <= bytesMaximum else { throw ToolFailure("\(path) has more than \(bytesMaximum) bytes") }
        let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !trimmed.isEmpty else { throw ToolFailure("\(path) is empty") }
        return trimmed
    }

    /// Where a symbolic link leads: the link stays, what it names is replaced.
    private static func resolved(_ path: String) -> String {
        URL(filePath: path).resolvingSymlinksInPath().path
    }

    private static func unwritten(_ path: String) -> ToolFailure {
        let error = failure("\(path) cannot be written")
        unlink(path)
        return error
    }

    private static func failure(_ problem: String) -> ToolFailure {
        ToolFailure("\(problem): \(String(cString: strerror(errno)))")
    }
}
