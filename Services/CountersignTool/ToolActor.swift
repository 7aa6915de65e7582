import Foundation

/// Who acts, for the audit log, where no option says it.
enum ToolActor {
    /// The user of the session, also through sudo.
    static var sessionUser: String {
        let environment = ProcessInfo.processInfo.environment
        return environment["SUDO_USER"] ?? environment["USER"] ?? NSUserName()
    }
}
