#include "SchemaFile.h"

static const char text[] = {
#embed "../schema.sql" suffix(, 0)
};

const char *schema_file(void) { return text; }
