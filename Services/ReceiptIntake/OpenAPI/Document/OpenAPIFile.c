#include "OpenAPIFile.h"

static const char text[] = {
#embed "openapi.yaml" suffix(, 0)
};

const char *openapi_file(void) { return text; }
