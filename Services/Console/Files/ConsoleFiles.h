#ifndef COUNTERSIGN_CONSOLE_FILES_H
#define COUNTERSIGN_CONSOLE_FILES_H

// The text of each file of this folder, UTF-8 that ends with a zero; it lives as long as the process.

const char *_Nonnull console_css(void);
const char *_Nonnull console_js(void);
const char *_Nonnull console_layout(void);
const char *_Nonnull console_blocks(void);
const char *_Nonnull console_cell(void);
const char *_Nonnull console_form(void);
const char *_Nonnull console_fields(void);
const char *_Nonnull console_login(void);
const char *_Nonnull console_texts_en(void);
const char *_Nonnull console_texts_zh(void);
const char *_Nonnull console_texts_ko(void);

#endif
