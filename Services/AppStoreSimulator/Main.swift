import ArgumentParser
import BuildVersion

/// The simulator, and the laboratory's commands, which call a running one.
@main
struct SimulatorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app-store-simulator",
        abstract: "Plays the App Store under a root certificate of its own. For development and tests only.",
        discussion: "`serve` may be left out: app-store-simulator --port 8099 --state DIR.",
        version: "app-store-simulator \(CountersignVersion.text)",
        subcommands: [
            ServeCommand.self, TriggerCommand.self, ListenCommand.self, StoryCommand.self, LoadCommand.self,
            WebhookReceiverCommand.self,
        ],
        defaultSubcommand: ServeCommand.self)
}
