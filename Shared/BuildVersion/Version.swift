/// Which Countersign this is: the one place that says so, for all programs and scripts.
package enum CountersignVersion {
    /// The version, by Semantic Versioning 2.0.0; `deploy/release` and `deploy/package` read this line.
    package static let number = "0.2.0"

    /// The commit as 40 hexadecimal digits; nil in a build of a working tree, which may hold anything.
    package static var commit: String? { commit(stamp: commitStamp) }

    /// What `--version` prints: `0.1.0 (commit 1f1161c…)`, or `0.1.0 (development)` where the commit is not known.
    package static var text: String {
        "\(number) (\(commit.map { "commit \($0)" } ?? "development"))"
    }

    /// The commit in what `git archive` may have replaced.
    static func commit(stamp: String) -> String? {
        stamp.utf8.count == 40 && stamp.allSatisfy(\.isHexDigit) ? stamp : nil
    }
}
