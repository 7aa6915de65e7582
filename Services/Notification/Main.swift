import ServiceRuntime

/// The process: configuration, assembly, run.
@main
struct Main {
    /// The version in logs, metrics and the `user-agent` of every webhook.
    static let version = "0.1.0"

    static func main() async {
        await ServiceProcess.run(ServiceIdentity(name: "notification", version: version)) { context in
            try Assembly(Configuration(context.settings), context: context).services
        }
    }
}
