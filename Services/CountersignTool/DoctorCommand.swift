import ArgumentParser
import Kafka
import Persistence
import Postgres
import ServiceRuntime

/// `countersign doctor`: looks at everything, says what is wrong and how to mend it.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Checks settings, database, broker, services and backlog; exits with 2 if something is wrong.",
        discussion: "The console shows what it found last, where the database's role may write that.")

    @Option(help: "The admin address of a service, such as http://127.0.0.1:9100; may be given several times.")
    var service: [String] = []

    @Option(help: "Seconds after which something that is due counts as overdue.")
    var grace = 60.0

    @Flag(
        inversion: .prefixedNo,
        help: "Compares the tables with each other, which reads them whole; by itself only up to 200000 orders.")
    var consistency: Bool?

    @OptionGroup var printing: PrintingOptions

    func validate() throws {
        guard (0...86_400).contains(grace) else { throw ValidationError("--grace is from 0 to 86400 seconds") }
    }

    func run() async throws {
        try await failingPlainly {
            let settings = try await ToolSettings.load()
            var findings: [Finding] = []
            func report(_ new: [Finding]) {
                findings += new
                if !printing.json { for finding in new { print(finding.text) } }
            }
            report(SettingsCheck(settings: settings.reader).run())
            report(await database(settings))
            report(await broker(settings))
            if !service.isEmpty { report(await services()) }
            await keep(findings, settings)
            let wrong = findings.count { $0.level == .wrong }
            let warnings = findings.count { $0.level == .warning }
            if printing.json {
                print(try ToolOutput.json(findings))
            } else {
                print(wrong == 0 ? "\nhealthy, \(warnings) warnings" : "\n\(wrong) wrong, \(warnings) warnings")
            }
            guard wrong == 0 else { throw ToolExit.found }
        }
    }

    /// Writes them down for the console.
    ///
    /// A role that only reads, or a database that is away, is no failure of the doctor.
    private func keep(_ findings: [Finding], _ settings: ToolSettings) async {
        let remarks = findings.map {
            DoctorRemark(level: $0.level.rawValue, subject: $0.subject, detail: $0.detail, remedy: $0.remedy)
        }
        do {
            try await settings.withAnySchema { try await DoctorReportStore(pool: $0).write(remarks) }
        } catch {
            ToolOutput.note("note: the console shows what it found before; this was not written down: \(error)")
        }
    }

    private func database(_ settings: ToolSettings) async -> [Finding] {
        do {
            let eventAge = try settings.reader.duration("event.alarm_age", default: EventStore.WaitingLimit.ageDefault)
            return try await settings.withAnySchema { pool in
                try await DatabaseCheck(
                    pool: pool, grace: .seconds(grace), comparesTables: consistency, eventAge: eventAge
                ).run()
            }
        } catch {
            return [
                .wrong("PostgreSQL", "\(error)", remedy: "is it running, and is COUNTERSIGN_POSTGRES_URL right?")
            ]
        }
    }

    private func broker(_ settings: ToolSettings) async -> [Finding] {
        do {
            return try await settings.withKafka { admin in
                await KafkaCheck(admin: admin, grace: .seconds(grace)).run()
            }
        } catch {
            return [
                .wrong("Kafka", "\(error)", remedy: "is it running, and is COUNTERSIGN_KAFKA_BOOTSTRAP_SERVERS right?")
            ]
        }
    }

    private func services() async -> [Finding] {
        var findings: [Finding] = []
        for base in service { findings += await ServiceCheck(base: base).run() }
        return findings
    }
}
