import ArgumentParser
import Foundation
import ServiceRuntime

/// `countersign init`: a directory of settings, with keys made and hashed.
struct InitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init", abstract: "Writes a directory of settings for a new installation.",
        discussion: """
            Asks for what no option says, if a person is at the terminal. Files that are there are added to, and nothing is \
            written over. The API key of the backend is shown once; the other secrets are files of mode 600.
            """)

    @Option(
        name: .customLong("dir"), help: "The folder; without it that of the file COUNTERSIGN_APPS_FILE names.",
        completion: .directory)
    var folder: String?
    @Option(help: "The bundle id of the first app.") var bundleId: String?
    @OptionGroup var connect: AppStoreConnectOptions
    @Option(help: "Brokers, host:port with commas between them.") var kafka: String?
    @Option(
        help: "A file with the database's address, postgresql://…; it is copied to the secrets.", completion: .file())
    var postgresUrlFile: String?
    @Option(help: "Where the backend takes webhooks, https://…") var webhookUrl: String?
    @Flag(inversion: .prefixedNo, help: "Creates a secret for the players' JWTs.") var jwt = true
    @Option(
        help: "A new file that the API key is written to, with mode 600, instead of being shown.", completion: .file())
    var apiKeyOutput: String?
    @OptionGroup var printing: PrintingOptions

    func validate() throws {
        if let kafka, !InitPlan.isBrokers(kafka) {
            throw ValidationError("--kafka is host:port, or several with commas between them")
        }
    }

    func run() async throws {
        try await failingPlainly {
            let settings = try await ToolSettings.load()
            var folder = folder
            if try folder == nil && settings.reader.string("apps.file") == nil {
                folder = try Terminal.required(nil, "--dir", "The folder of the settings")
            }
            let places = try SettingsPlaces(folder: folder, settings: settings)
            let plan = try plan(places)
            let key = SecretText.apiKey()
            var change = SettingsChange(in: places)
            try plan.add(to: &change, in: places, apiKey: key)
            if let apiKeyOutput {
                try SettingsDisk.create(apiKeyOutput, key + "\n", mode: SettingsChange.Limit.secretMode)
            }
            do { try change.apply() } catch {
                if let apiKeyOutput { try? FileManager.default.removeItem(atPath: apiKeyOutput) }
                throw error
            }
            try tell(plan, change, places, key)
        }
    }

    private func plan(_ places: SettingsPlaces) throws -> InitPlan {
        var connect = connect
        let isAsking = bundleId == nil
        let bundleId = try Terminal.required(bundleId, "--bundle-id", "The bundle id of the first app")
        if isAsking { try connect.askForMissing() }
        let app = NewApp(
            bundleId: bundleId, appAppleId: connect.appAppleId,
            sharedSecret: try connect.sharedSecretFile.map { try SettingsDisk.input($0) }, key: try connect.key(),
            sharesKey: true)
        let kafka = isAsking ? Terminal.optional(kafka, "Kafka's brokers, host:port,…") : kafka
        if let kafka, !InitPlan.isBrokers(kafka) { throw ToolFailure("\(kafka) is not host:port,…") }
        var postgres = try postgresUrlFile.map { try SettingsDisk.input($0) }
        if isAsking, postgres == nil { postgres = Terminal.secret("The database's address, postgresql://…") }
        let webhook =
            isAsking ? Terminal.optional(webhookUrl, "Where the backend takes webhooks, https://…") : webhookUrl
        return InitPlan(
            app: app, kafka: kafka, postgres: postgres, webhookURL: webhook, makesJWTSecret: jwt)
    }

    private func tell(_ plan: InitPlan, _ change: SettingsChange, _ places: SettingsPlaces, _ key: String) throws {
        var report = SetUpReport(change, in: places)
        report.apiKeyFile = apiKeyOutput
        if apiKeyOutput == nil { report.apiKey = key }
        report.next = Self.next(plan, places)
        var lines = change.paths.map { "wrote \($0)" } + report.systemd
        lines.append(
            apiKeyOutput.map { "the API key of the backend is in \($0)" }
                ?? "the API key of the backend, which is not shown again: \(key)")
        lines += ["next:"] + report.next.map { "- \($0)" }
        try printing.answer(report, lines.joined(separator: "\n"))
    }

    private static func next(_ plan: InitPlan, _ places: SettingsPlaces) -> [String] {
        var lines: [String] = []
        if plan.kafka == nil { lines.append("set COUNTERSIGN_KAFKA_BOOTSTRAP_SERVERS in \(places.variables)") }
        if !FileManager.default.fileExists(atPath: "\(places.secrets)/\(InitPlan.postgresName)") {
            lines.append("write the database's address to \(places.secrets)/\(InitPlan.postgresName), mode 600")
        }
        lines.append("list what \(plan.app.bundleId) sells in \(places.catalogue)")
        if plan.app.key == nil { lines.append("give it a key of the App Store Server API in \(places.apps)") }
        lines.append("`countersign migrate`, `countersign topics`, `countersign doctor`")
        lines.append("`countersign apple check \(plan.app.bundleId)`, once Apple's notifications come to intake")
        return lines
    }
}
