#ifndef COUNTERSIGN_OPENAPI_FILE_H
#define COUNTERSIGN_OPENAPI_FILE_H

/// The text of `openapi.yaml`, UTF-8 that ends with a zero; it lives as long as the process.
const char *_Nonnull openapi_file(void);

#endif
