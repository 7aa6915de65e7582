#include "ConsoleFiles.h"

static const char css[] = {
#embed "console.css" suffix(, 0)
};

static const char js[] = {
#embed "console.js" suffix(, 0)
};

static const char layout[] = {
#embed "layout.mustache" suffix(, 0)
};

static const char blocks[] = {
#embed "blocks.mustache" suffix(, 0)
};

static const char cell[] = {
#embed "cell.mustache" suffix(, 0)
};

static const char form[] = {
#embed "form.mustache" suffix(, 0)
};

static const char fields[] = {
#embed "fields.mustache" suffix(, 0)
};

static const char login[] = {
#embed "login.mustache" suffix(, 0)
};

static const char texts_en[] = {
#embed "texts.en.yaml" suffix(, 0)
};

static const char texts_zh[] = {
#embed "texts.zh.yaml" suffix(, 0)
};

static const char texts_ko[] = {
#embed "texts.ko.yaml" suffix(, 0)
};

const char *console_css(void) { return css; }
const char *console_js(void) { return js; }
const char *console_layout(void) { return layout; }
const char *console_blocks(void) { return blocks; }
const char *console_cell(void) { return cell; }
const char *console_form(void) { return form; }
const char *console_fields(void) { return fields; }
const char *console_login(void) { return login; }
const char *console_texts_en(void) { return texts_en; }
const char *console_texts_zh(void) { return texts_zh; }
const char *console_texts_ko(void) { return texts_ko; }
