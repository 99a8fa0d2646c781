#include "shims.h"
#include <stdlib.h>
#include <string.h>

/* Which of a listener's certificates may be for a name, without asking each: there may be thousands, and asking one takes its names
   apart. What is found is asked by OpenSSL all the same, so that a hash decides nothing. */

/* Names of one certificate that are looked at; one with more is asked each time. */
#define NAMES 65536

static uint64_t hash_of(const char *name, size_t count, bool is_pattern) {
    uint64_t hash = is_pattern ? 0x9E3779B97F4A7C15 : 0xCBF29CE484222325;
    for (size_t at = 0; at < count; at++) {
        unsigned char byte = (unsigned char)name[at];
        if (byte >= 'A' && byte <= 'Z') byte += 'a' - 'A';
        hash = (hash ^ byte) * 0x100000001B3;
    }
    return hash;
}

static int compare(const void *one, const void *other) {
    const recast_tls_name *left = one, *right = other;
    if (left->hash != right->hash) return left->hash < right->hash ? -1 : 1;
    return left->number < right->number ? -1 : left->number > right->number;
}

/* Adds an entry to a list that doubles. */
static bool add(recast_tls_name **list, size_t *count, uint64_t hash, size_t number) {
    if ((*count & (*count - 1)) == 0) {
        recast_tls_name *more = realloc(*list, (*count == 0 ? 1 : *count * 2) * sizeof **list);
        if (more == NULL) return false;
        *list = more;
    }
    (*list)[(*count)++] = (recast_tls_name){hash, number};
    return true;
}

void recast_tls_forget_names(recast_tls_context *context) {
    free(context->names);
    free(context->unlisted);
    context->names = context->unlisted = NULL;
    context->name_count = context->unlisted_count = 0;
}

bool recast_tls_list_names(recast_tls_context *context) {
    recast_tls_forget_names(context);
    char *text = malloc(NAMES);
    bool is_done = text != NULL;
    for (size_t number = 0; is_done && number <= context->alternative_count; number++) {
        const recast_tls_context *own = number == 0 ? context : context->alternatives[number - 1];
        size_t count = 0;
        if (!recast_tls_names(own, text, NAMES, &count)) {
            is_done = add(&context->unlisted, &context->unlisted_count, 0, number);
            continue;
        }
        for (size_t start = 0; is_done && start < count;) {
            const char *name = text + start;
            size_t length = (size_t)((const char *)memchr(name, '\n', count - start) - name);
            bool is_pattern = length > 2 && name[0] == '*' && name[1] == '.';
            size_t skipped = is_pattern ? 2 : 0;
            is_done = add(
                &context->names, &context->name_count, hash_of(name + skipped, length - skipped, is_pattern), number);
            start += length + 1;
        }
    }
    free(text);
    if (is_done) qsort(context->names, context->name_count, sizeof *context->names, compare);
    else recast_tls_forget_names(context);
    return is_done;
}

/* A run of entries. */
typedef struct {
    const recast_tls_name *at, *end;
} run;

static run find(const recast_tls_context *context, uint64_t hash) {
    size_t low = 0, high = context->name_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (context->names[middle].hash < hash) low = middle + 1;
        else high = middle;
    }
    run found = {context->names + low, context->names + low};
    while (found.end < context->names + context->name_count && found.end->hash == hash) found.end++;
    return found;
}

bool recast_tls_certificate_for(
    const recast_tls_context *context, const char *name, size_t count, unsigned flags, bool takes_patterns,
    size_t *number) {
    const char *dot = memchr(name, '.', count);
    run runs[3] = {
        {context->unlisted, context->unlisted + context->unlisted_count}, find(context, hash_of(name, count, false))};
    if (takes_patterns && dot != NULL) runs[2] = find(context, hash_of(dot + 1, (size_t)(name + count - dot - 1), true));
    for (;;) {
        /* The first certificate of those that are left; one that is in several runs is asked once. */
        size_t next = SIZE_MAX;
        for (size_t at = 0; at < 3; at++)
            if (runs[at].at < runs[at].end && runs[at].at->number < next) next = runs[at].at->number;
        if (next == SIZE_MAX) return false;
        for (size_t at = 0; at < 3; at++)
            while (runs[at].at < runs[at].end && runs[at].at->number == next) runs[at].at++;
        const recast_tls_context *own = next == 0 ? context : context->alternatives[next - 1];
        X509 *certificate = SSL_CTX_get0_certificate(own->ssl);
        if (certificate == NULL || X509_check_host(certificate, name, count, flags, NULL) != 1) continue;
        *number = next;
        return true;
    }
}
