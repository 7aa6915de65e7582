#include "SchemaFile.h"

static const char text[] = {
#embed "../schema.sql" suffix(, 0)
};

const char *schema_file(void) { return text; }

static const char rights[] = {
#embed "../../../deploy/postgres/rights.sql" suffix(, 0)
};

const char *rights_file(void) { return rights; }

static const char second[] = {
#embed "../Migrations/0002_what_0_2_0_needs.sql" suffix(, 0)
};

const char *migration_0002(void) { return second; }
