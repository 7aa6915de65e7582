import ServiceRuntime
import Synchronization

/// What the provider, the proxy or the demo says of somebody.
struct Identity: Sendable, Equatable {
    /// Never given to another: `sub`.
    let subject: String
    /// Only an address that the provider has verified; anybody can claim another.
    var email: String?
    /// What it calls itself; not unique.
    var name: String?
    var groups: [String] = []

    /// What is shown, and what intake writes down of who acted.
    ///
    /// Nobody can take another's: a name that its owner may choose has the subject behind it.
    var shown: String {
        if let email { return String(email.prefix(200)) }
        guard let name, name != subject else { return String(subject.prefix(200)) }
        return "\(name.prefix(100)) (\(subject.prefix(90)))"
    }
}

/// Who has which role, from a YAML file; nobody without an entry gets in, and of several entries the highest role counts.
///
/// ```yaml
/// people:
///   - group: countersign-support       # a group of the provider, as its claim or the proxy's header has it
///     role: support                    # viewer, support, operator or admin
///   - email: kim@studio.example        # an address that the provider has verified
///     role: admin
///   - sub: "248289761001"              # what the provider knows somebody by
///     role: viewer
/// ```
struct PeopleFile: Sendable, Equatable {
    enum Limit {
        static let entries = 1_000
        /// Between looks at the file.
        static let interval = Duration.seconds(2)
    }

    /// Who is meant.
    enum Who: Sendable, Hashable {
        case group(String)
        /// In small letters.
        case email(String)
        case subject(String)
    }

    let roles: [Who: Role]

    /// Reads the file.
    ///
    /// - Throws: `SettingsFileError`.
    static func load(path: String) throws(SettingsFileError) -> PeopleFile {
        let loaded = try SettingsFile.load(StrictlyNamed<PeopleDocument>.self, path: path)
        let entries = loaded.value.value.people.map(\.value)
        guard entries.count <= Limit.entries else {
            throw SettingsFileError(path: path, problem: "it has more than \(Limit.entries) people")
        }
        var roles: [Who: Role] = [:]
        for (number, entry) in entries.enumerated() {
            func mistake(_ problem: String) -> SettingsFileError {
                let line = loaded.lines.line(of: [SettingsStep(stringValue: "people"), SettingsStep(intValue: number)])
                return SettingsFileError(path: path, problem: problem, line: line)
            }
            guard let who = entry.who else {
                throw mistake("an entry has one of `group`, `email` and `sub`, and it is not empty")
            }
            guard let role = Role(rawValue: entry.role) else {
                let names = Role.allCases.map(\.rawValue).joined(separator: ", ")
                throw mistake("`\(entry.role)` is no role; there are \(names)")
            }
            guard roles.updateValue(role, forKey: who) == nil else { throw mistake("an entry is there twice") }
        }
        return PeopleFile(roles: roles)
    }

    /// Somebody with the highest role that an entry gives; nil for who has none.
    func person(_ identity: Identity) -> Person? {
        let who =
            [Who.subject(identity.subject)] + identity.groups.map(Who.group)
            + (identity.email.map { [.email($0.lowercased())] } ?? [])
        guard let role = who.compactMap({ roles[$0] }).max() else { return nil }
        return Person(id: identity.subject, name: identity.shown, role: role)
    }
}

/// The people file that is in use now.
final class People: Sendable {
    private let file: Mutex<PeopleFile>

    init(_ file: PeopleFile) {
        self.file = Mutex(file)
    }

    /// Another one counts from the next request on, for who is logged in, too.
    func use(_ new: PeopleFile) { file.withLock { $0 = new } }

    func person(_ identity: Identity) -> Person? { file.withLock { $0 }.person(identity) }
}

/// The people file as it is written; `PeopleFile` says what it means.
struct PeopleDocument: NamedFields {
    let people: [StrictlyNamed<Entry>]

    enum CodingKeys: String, CodingKey, CaseIterable { case people }

    struct Entry: NamedFields {
        let group: String?
        let email: String?
        let sub: String?
        let role: String

        enum CodingKeys: String, CodingKey, CaseIterable { case group, email, sub, role }

        /// Nil unless there is one.
        var who: PeopleFile.Who? {
            switch (group, email, sub) {
            case (let group?, nil, nil) where !group.isEmpty: .group(group)
            case (nil, let email?, nil) where !email.isEmpty: .email(email.lowercased())
            case (nil, nil, let sub?) where !sub.isEmpty: .subject(sub)
            default: nil
            }
        }
    }
}
