import ServiceRuntime

/// What a studio's people see and do, in a browser.
@main
struct Main {
    static func main() async {
        await ServiceProcess.run(ServiceIdentity(name: "console", adminPort: 9404)) { context in
            try Assembly(context, configuration: Configuration(context.settings)).services()
        }
    }
}
