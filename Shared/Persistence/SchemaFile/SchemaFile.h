#ifndef COUNTERSIGN_SCHEMA_FILE_H
#define COUNTERSIGN_SCHEMA_FILE_H

/// The text of `schema.sql`, UTF-8 that ends with a zero; it lives as long as the process.
const char *_Nonnull schema_file(void);

/// The text of `rights.sql`, in the same way.
const char *_Nonnull rights_file(void);

/// The text of the migration to version 2, in the same way.
const char *_Nonnull migration_0002(void);

#endif
