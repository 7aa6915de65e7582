import ServiceRuntime

/// Takes purchases from apps, writes them down, and answers with their outcome.
@main
struct Main {
    static func main() async {
        await ServiceProcess.run(ServiceIdentity(name: "receipt-intake", adminPort: 9401)) { context in
            try await Assembly(context, configuration: try Configuration(context.settings)).services()
        }
    }
}
