import ServiceRuntime

/// Takes purchases from apps, writes them down, and answers with their outcome.
@main
struct Main {
    /// The version in logs and metrics.
    static let version = "0.1.0"

    static func main() async {
        await ServiceProcess.run(ServiceIdentity(name: "receipt-intake", version: version)) { context in
            try await Assembly(context, configuration: try Configuration(context.settings)).services()
        }
    }
}
