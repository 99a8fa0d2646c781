#include "CXMLMemory.h"
#include <libxml/xmlmemory.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local long blocks;
static _Thread_local long taken;
static _Thread_local long left = -1;

static int fails(void) { return left >= 0 && left-- == 0; }

static void *counted(void *block) {
    if (block != NULL) {
        blocks++;
        taken++;
    }
    return block;
}

static void counting_free(void *block) {
    if (block != NULL) blocks--;
    free(block);
}

static void *counting_malloc(size_t size) { return fails() ? NULL : counted(malloc(size)); }

static void *counting_realloc(void *block, size_t size) {
    if (fails()) return NULL;
    void *larger = realloc(block, size);
    if (block == NULL) counted(larger);
    return larger;
}

static char *counting_strdup(const char *text) { return fails() ? NULL : counted(strdup(text)); }

void recast_xml_count_memory(void) {
    (void)xmlMemSetup(counting_free, counting_malloc, counting_realloc, counting_strdup);
}

long recast_xml_blocks(void) { return blocks; }

long recast_xml_blocks_taken(void) { return taken; }

void recast_xml_fail_after(long count) { left = count; }
