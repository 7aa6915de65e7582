#include "SchemaFile.h"

static const char text[] = {
#embed "../schema.sql" suffix(, 0)
};

const char *schema_file(void) { return text; }

static const char rights[] = {
#embed "../../../deploy/postgres/rights.sql" suffix(, 0)
};

const char *rights_file(void) { return rights; }
