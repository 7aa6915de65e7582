#ifndef COUNTERSIGN_EVENT_FILES_H
#define COUNTERSIGN_EVENT_FILES_H

/// The text of `events.json`, UTF-8 that ends with a zero; it lives as long as the process.
const char *_Nonnull event_schema_file(void);

/// The text of `examples.json`, UTF-8 that ends with a zero; it lives as long as the process.
const char *_Nonnull event_examples_file(void);

#endif
