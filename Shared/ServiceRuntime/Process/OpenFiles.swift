import Foundation

/// How many files, sockets among them, the process may have open.
///
/// Source: getrlimit(2), RLIMIT_NOFILE. A shell's soft limit is often 1,024, and a process may raise it up to the hard one.
package enum OpenFiles {
    /// Makes room for so many, as far as the hard limit lets it.
    ///
    /// - Returns: how many the process may have open from now on.
    package static func makeRoom(for count: Int) -> Int {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return count }
        let wanted = min(rlim_t(max(0, count)), limit.rlim_max)
        if limit.rlim_cur < wanted {
            var raised = limit
            raised.rlim_cur = wanted
            if setrlimit(resource, &raised) == 0 { limit = raised }
        }
        return Int(clamping: limit.rlim_cur)
    }
}
