import ArgumentParser
import BuildVersion

/// The operator's tool: one subcommand a file.
@main
struct Countersign: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "countersign",
        abstract: "Sets up, inspects and repairs an installation of Countersign.",
        discussion: "Reads the same COUNTERSIGN_… environment variables as the services.",
        version: "countersign \(CountersignVersion.text)",
        groupedSubcommands: [
            CommandGroup(
                name: "Set up and upgrade",
                subcommands: [
                    InitCommand.self, AppCommand.self, KeyCommand.self, MigrateCommand.self, TopicsCommand.self,
                    ImportCommand.self, CutOverCommand.self,
                ]),
            CommandGroup(
                name: "Look",
                subcommands: [
                    DoctorCommand.self, UndeliveredCommand.self, InspectCommand.self, QueueCommand.self,
                    BooksCommand.self, AuditLogCommand.self, DatabaseCommand.self, KafkaCommand.self,
                    DeadLettersCommand.self, CertificatesCommand.self, RevenueCommand.self, RatesCommand.self,
                ]),
            CommandGroup(
                name: "Purchases and accounts",
                subcommands: [
                    OrdersCommand.self, SubmissionsCommand.self, AppleCommand.self, RefundsCommand.self,
                    AdjustCommand.self, ExportCommand.self, ForgetCommand.self,
                ]),
            CommandGroup(
                name: "Webhooks and events", subcommands: [WebhookCommand.self, EventsCommand.self]),
        ])

    /// Old names work, too: see ``FormerNames``.
    static func main() async {
        await main(FormerNames.replaced(in: Array(CommandLine.arguments.dropFirst())))
    }
}
