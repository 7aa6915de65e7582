#ifndef COUNTERSIGN_SCHEMA_FILE_H
#define COUNTERSIGN_SCHEMA_FILE_H

/// The text of `schema.sql`, UTF-8 that ends with a zero; it lives as long as the process.
const char *_Nonnull schema_file(void);

#endif
