import ServiceRuntime

/// The process: configuration, assembly, run.
@main
struct Main {
    static func main() async {
        await ServiceProcess.run(ServiceIdentity(name: "notification", adminPort: 9403)) { context in
            try Assembly(Configuration(context.settings), context: context).services
        }
    }
}
