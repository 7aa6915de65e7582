/// Which schema a database has, and which programs work with it.
package struct SchemaState: Hashable, Sendable {
    /// The version it is at; 0 where there is no schema yet.
    package private(set) var version: Int64 = 0
    /// The oldest version whose programs work with it: the largest number that one of its migrations states.
    package private(set) var compatibleFrom: Int64 = 0

    /// As it is after another migration.
    func followed(by migration: Migrator.Migration) -> SchemaState {
        SchemaState(version: migration.version, compatibleFrom: max(compatibleFrom, migration.compatibleFrom))
    }

    /// Lets a program pass whose own newest version is `known`, or who brings the schema to it.
    ///
    /// - Throws: `SchemaError`.
    func requireNotTooNew(for known: Int64) throws(SchemaError) {
        guard compatibleFrom <= known else { throw SchemaError(found: self, known: known) }
    }

    /// Lets a program pass whose own newest version is `known`.
    ///
    /// - Throws: `SchemaError`.
    func requireUsable(by known: Int64) throws(SchemaError) {
        try requireNotTooNew(for: known)
        guard version >= known else { throw SchemaError(found: self, known: known) }
    }
}

/// A program does not work with the database's schema.
package struct SchemaError: Error, CustomStringConvertible, Sendable {
    /// The schema of the database.
    package let found: SchemaState
    /// The newest version that the program knows.
    package let known: Int64

    /// What is wrong and what to do.
    package var description: String {
        guard found.compatibleFrom > known else {
            return
                "the database's schema is at version \(found.version), this program needs \(known): run `countersign migrate`"
        }
        return "the database's schema is at version \(found.version), too new for this program: it knows \(known), and "
            + "programs from schema version \(found.compatibleFrom) on work with it. Update it"
    }
}
