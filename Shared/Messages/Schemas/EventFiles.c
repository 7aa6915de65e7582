#include "EventFiles.h"

static const char schema[] = {
#embed "events.json" suffix(, 0)
};

const char *event_schema_file(void) { return schema; }

static const char examples[] = {
#embed "examples.json" suffix(, 0)
};

const char *event_examples_file(void) { return examples; }
