#include "CConsole.h"

#include <string.h>

/* The files as they are, put in by the compiler (C23's #embed, which clang has in earlier modes too). */
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char index_html[] = {
#embed "page/index.html"
};
static const unsigned char style_css[] = {
#embed "page/style.css"
};
static const unsigned char console_js[] = {
#embed "page/console.js"
};
static const unsigned char api_js[] = {
#embed "page/api.js"
};
static const unsigned char dom_js[] = {
#embed "page/dom.js"
};
static const unsigned char list_js[] = {
#embed "page/list.js"
};
static const unsigned char detail_js[] = {
#embed "page/detail.js"
};
static const unsigned char bodies_js[] = {
#embed "page/bodies.js"
};
static const unsigned char readers_js[] = {
#embed "page/readers.js"
};
static const unsigned char flags_js[] = {
#embed "page/flags.js"
};
static const unsigned char fields_js[] = {
#embed "page/fields.js"
};
static const unsigned char replay_js[] = {
#embed "page/replay.js"
};
static const unsigned char routes_js[] = {
#embed "page/routes.js"
};
static const unsigned char try_js[] = {
#embed "page/try.js"
};
static const unsigned char samples_js[] = {
#embed "page/samples.js"
};
static const unsigned char route_js[] = {
#embed "page/route.js"
};
static const unsigned char options_js[] = {
#embed "page/options.js"
};
static const unsigned char uploads_js[] = {
#embed "page/uploads.js"
};

#define HTML "text/html; charset=utf-8"
#define CSS "text/css; charset=utf-8"
#define SCRIPT "text/javascript; charset=utf-8"
#define FILE_OF(name, type, bytes) {name, type, bytes, sizeof bytes}

/* The page first. ConsolePageTests compare the folder with this list. */
static const recast_console_file files[] = {
    FILE_OF("index.html", HTML, index_html),
    FILE_OF("style.css", CSS, style_css),
    FILE_OF("console.js", SCRIPT, console_js),
    FILE_OF("api.js", SCRIPT, api_js),
    FILE_OF("dom.js", SCRIPT, dom_js),
    FILE_OF("list.js", SCRIPT, list_js),
    FILE_OF("detail.js", SCRIPT, detail_js),
    FILE_OF("bodies.js", SCRIPT, bodies_js),
    FILE_OF("readers.js", SCRIPT, readers_js),
    FILE_OF("fields.js", SCRIPT, fields_js),
    FILE_OF("flags.js", SCRIPT, flags_js),
    FILE_OF("replay.js", SCRIPT, replay_js),
    FILE_OF("routes.js", SCRIPT, routes_js),
    FILE_OF("try.js", SCRIPT, try_js),
    FILE_OF("samples.js", SCRIPT, samples_js),
    FILE_OF("route.js", SCRIPT, route_js),
    FILE_OF("options.js", SCRIPT, options_js),
    FILE_OF("uploads.js", SCRIPT, uploads_js),
};

size_t recast_console_file_count(void) { return sizeof files / sizeof files[0]; }
const recast_console_file *recast_console_file_at(size_t index) { return &files[index]; }

const recast_console_file *recast_console_file_named(const char *name, size_t length) {
    for (size_t index = 0; index < recast_console_file_count(); index++) {
        if (strlen(files[index].name) == length && memcmp(files[index].name, name, length) == 0) return &files[index];
    }
    return NULL;
}
