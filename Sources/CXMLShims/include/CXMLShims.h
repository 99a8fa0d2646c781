/* libxml2's push parser as a tokenizer: bytes in, records out. */
#ifndef RECAST_CXML_SHIMS_H
#define RECAST_CXML_SHIMS_H
#ifdef __swift__
/* See CEvent.h. */
#pragma clang module import SwiftGlibc
#endif
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct recast_xml recast_xml;

/* What a record is. */
enum {
    RECAST_XML_START = 1,     /* A start tag; the element's name as it is written, prefix and all. */
    RECAST_XML_ATTRIBUTE = 2, /* The name of an attribute of that tag; its value follows. */
    RECAST_XML_VALUE = 3,
    RECAST_XML_END = 4,  /* An end tag; no bytes. */
    RECAST_XML_TEXT = 5, /* Character data, also of CDATA sections; may come in any pieces. */
};

/* The head of a record. `length` bytes follow it, without padding. */
typedef struct {
    uint32_t kind;
    uint32_t length;
    /* Where the parser stood, in bytes from the first one of the call that gave the record. */
    uint32_t offset;
} recast_xml_record;

/* Why a document was refused: libxml2's codes by what they mean to a caller. */
enum {
    RECAST_XML_FINE = 0,
    RECAST_XML_SYNTAX = 1,    /* Not well-formed. */
    RECAST_XML_DOCTYPE = 2,   /* There is a document type declaration. */
    RECAST_XML_ENTITY = 3,    /* A reference to an entity that isn't one of the five, or one that can't be read. */
    RECAST_XML_CHARACTER = 4, /* A character that XML 1.0 excludes, itself or by reference. */
    RECAST_XML_MISMATCH = 5,  /* An end tag that isn't that of the open element. */
    RECAST_XML_REPEATED = 6,  /* An attribute that a tag has twice. */
    RECAST_XML_TRAILING = 7,  /* Something after the root element, or an end before it is complete. */
    RECAST_XML_NO_ROOT = 8,   /* Something else than markup before the root element. */
    RECAST_XML_LIMIT = 9,     /* A limit of libxml2's own. */
    RECAST_XML_MEMORY = 10,   /* No memory. */
    RECAST_XML_NAME = 11,     /* A name that can't be read. */
    RECAST_XML_ENCODING = 12, /* The declaration names an encoding that can't be read. */
};

/* A parser for one document; NULL when there is no memory. Any thread may make one and hand it on. */
recast_xml *recast_xml_create(void);
/* Frees the parser and all it holds, wherever it stands. */
void recast_xml_destroy(recast_xml *parser);
/* Parses the next bytes, which are UTF-8 without a byte order mark; `is_last` says that none follow. The records of the
   call before are gone. Returns one of the reasons above; once it isn't RECAST_XML_FINE, every further call returns it
   again. CDATA sections must come whole in one call. */
int recast_xml_parse(recast_xml *parser, const uint8_t *bytes, size_t count, bool is_last);
/* The records of the last call, until the next one; they hold good also when it failed. */
const uint8_t *recast_xml_records(const recast_xml *parser, size_t *count);
/* Where the first fault was found, in bytes from the document's first one. */
uint64_t recast_xml_fault_offset(const recast_xml *parser);
/* The library's version, as 20914; another text may follow the digits. */
const char *recast_xml_version(void);
#endif
