import Foundation

extension SettingReader {
    /// The most bytes a file with a secret may have.
    package static let secretFileBytesMaximum = 64 << 10

    /// A secret, or `nil` when it is not set.
    ///
    /// The value may stand in the setting itself, or in a file that the setting with `_file` appended names
    /// (`COUNTERSIGN_POSTGRES_URL_FILE`); white space around the file's content is dropped. Not both.
    ///
    /// - Parameters:
    ///   - key: The dotted key.
    ///   - isOptional: Whether an empty file is as good as no setting: what systemd hands over (`SetCredential=`) in place of a
    ///     secret that nobody has written. A file that is not there is a mistake all the same. Default: false.
    /// - Throws: ``SettingError``, which never shows the value.
    package func secret(_ key: String, isOptional: Bool = false) throws(SettingError) -> Redacted<String>? {
        let fileKey = SettingName.fileKey(for: key)
        let inline = try text(key, isSecret: true)
        guard let path = try text(fileKey) else { return inline.map(Redacted.init) }
        guard inline == nil else {
            throw .invalid(
                fileKey, expected: "left out when \(SettingName.variable(for: key)) is set as well", found: path)
        }
        let content = try contents(of: path, key: fileKey, bytesMaximum: Self.secretFileBytesMaximum)
        let value = content.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !value.isEmpty else {
            if isOptional { return nil }
            throw .unreadable(fileKey, path: path, reason: "is empty")
        }
        return Redacted(value)
    }

    /// A secret that must be set, by itself or by its file.
    ///
    /// - Parameters:
    ///   - key: The dotted key.
    ///   - expected: What the value must be, for the error's sentence.
    package func requiredSecret(_ key: String, expected: String = "") throws(SettingError) -> Redacted<String> {
        guard let secret = try secret(key) else { throw .missing(key, expected: expected) }
        return secret
    }

    /// The host and port a server of this process listens on: `<name>.host` and `<name>.port`.
    ///
    /// - Parameters:
    ///   - name: `http` or `admin`.
    ///   - host: The address when none is set. Default: `127.0.0.1`, so that nothing is open to the network unasked.
    ///   - port: The port when none is set; 0 lets the system choose.
    package func listenAddress(
        _ name: String, host: String = "127.0.0.1", port: Int
    ) throws(SettingError) -> ListenAddress {
        ListenAddress(
            host: try string("\(name).host", default: host),
            port: try int("\(name).port", default: port, in: 0...65_535))
    }

    // Reading a local file blocks its thread for a moment; settings are read once, before anything else runs.
    private func contents(of path: String, key: String, bytesMaximum: Int) throws(SettingError) -> String {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw .unreadable(key, path: path, reason: errno == ENOENT ? "does not exist" : "cannot be opened")
        }
        guard status.st_mode & S_IFMT != S_IFDIR else {
            throw .unreadable(key, path: path, reason: "is a folder")
        }
        guard Int(status.st_size) <= bytesMaximum else {
            throw .unreadable(key, path: path, reason: "has more than \(bytesMaximum) bytes")
        }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw .unreadable(key, path: path, reason: "cannot be opened")
        }
        guard let text = String(data: data, encoding: .utf8) else {
            throw .unreadable(key, path: path, reason: "is not UTF-8 text")
        }
        return text
    }
}

/// Where a server listens.
package struct ListenAddress: Sendable, Hashable {
    /// A host name or address.
    package var host: String
    /// A port; 0 lets the system choose one.
    package var port: Int
}
