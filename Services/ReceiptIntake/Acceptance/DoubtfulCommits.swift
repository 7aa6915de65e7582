import Synchronization

/// Submissions whose commit ended with an error: it may have happened all the same, as where the server died before its answer.
///
/// Such a row is posted again as one that exists, and nobody has sent it to the workers.
final class DoubtfulCommits: Sendable {
    private let maximum: Int
    private let ids = Mutex<Set<String>>([])

    /// - Parameter maximum: the most ids that are remembered; beyond it the older ones are left to the redrive.
    init(maximum: Int) {
        self.maximum = maximum
    }

    /// Remembers ids.
    func add(_ new: [String]) {
        ids.withLock { ids in
            if ids.count + new.count > maximum { ids.removeAll() }
            ids.formUnion(new.prefix(maximum))
        }
    }

    /// Forgets ids that are known to be written now.
    ///
    /// - Returns: those that were in doubt.
    func settle(_ written: some Collection<String>) -> Set<String> {
        ids.withLock { ids in
            guard !ids.isEmpty else { return [] }
            return Set(written.filter { ids.remove($0) != nil })
        }
    }
}
