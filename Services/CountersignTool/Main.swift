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
        subcommands: [
            InitCommand.self, AppCommand.self, KeyCommand.self, WebhookCommand.self, AppleCommand.self,
            MigrateCommand.self, TopicsCommand.self, DoctorCommand.self, InspectCommand.self, AuditCommand.self,
            WaitingCommand.self, DatabaseCommand.self, CertificatesCommand.self, ActsCommand.self,
            RedriveCommand.self, NotificationsCommand.self, ConsumptionCommand.self, RevenueCommand.self,
            RatesCommand.self, ClaimCommand.self, BindingsCommand.self,
            AdjustCommand.self, MessagesCommand.self, DeadLettersCommand.self, ExportCommand.self, ForgetCommand.self,
            CutOverCommand.self,
            ImportCommand.self,
            LostCommand.self, SweepCommand.self, ReconcileCommand.self, EventsCommand.self,
        ])
}
