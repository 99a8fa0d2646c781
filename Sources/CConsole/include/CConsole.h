/* The files of the console's page, as they are in the binary. */
#ifndef RECAST_CCONSOLE_H
#define RECAST_CCONSOLE_H

#include <stddef.h>

typedef struct {
    /* As the page asks for it behind /console/, "style.css"; the page itself is "index.html". */
    const char *name;
    /* As a Content-Type has it, with the charset. */
    const char *media_type;
    /* UTF-8, without a NUL at the end. */
    const unsigned char *bytes;
    size_t count;
} recast_console_file;

size_t recast_console_file_count(void);
/* The file of that number, from 0, which is less than the count. Valid as long as the program runs. */
const recast_console_file *recast_console_file_at(size_t index);
/* The file with that name, of `length` bytes without a NUL; NULL where there is none. */
const recast_console_file *recast_console_file_named(const char *name, size_t length);
#endif
