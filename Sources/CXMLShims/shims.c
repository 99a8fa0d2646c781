#include "CXMLShims.h"
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/xmlerror.h>
#include <libxml/xmlmemory.h>
#include <pthread.h>
#include <string.h>

struct recast_xml {
    xmlParserCtxtPtr context;
    /* The records of the call at hand. */
    uint8_t *records;
    size_t used, room;
    /* Bytes given to libxml2 before the call at hand. */
    uint64_t before;
    uint64_t fault_offset;
    int fault;
    /* Whether libxml2 has raised an error or a warning in the call at hand. */
    bool complained;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The context's place in the document. */
static uint64_t place(const recast_xml *parser) {
    const xmlParserInput *input = parser->context->input;
    if (input == NULL || input->cur == NULL || input->base == NULL) return parser->before;
    return (uint64_t)input->consumed + (uint64_t)(input->cur - input->base);
}

/* Keeps the first fault. libxml2 calls nothing but `failed` once disableSAX is set. The parser isn't stopped by
   xmlStopParser: that frees the buffer which libxml2's caller of an error still reads. */
static void fail(recast_xml *parser, int fault) {
    if (parser->fault == RECAST_XML_FINE) {
        parser->fault = fault;
        parser->fault_offset = place(parser);
    }
    parser->context->disableSAX = 1;
}

/* Writes a record whose bytes are `first` and `second`. */
static void record(recast_xml *parser, uint32_t kind, const void *first, size_t first_length, const void *second,
                   size_t second_length) {
    if (parser->fault != RECAST_XML_FINE) return;
    size_t length = first_length + second_length;
    size_t wanted = sizeof(recast_xml_record) + length;
    if (wanted > parser->room - parser->used) {
        size_t room = parser->room * 2 > parser->used + wanted ? parser->room * 2 : parser->used + wanted;
        uint8_t *records = xmlRealloc(parser->records, room);
        if (records == NULL) {
            fail(parser, RECAST_XML_MEMORY);
            return;
        }
        parser->records = records;
        parser->room = room;
    }
    uint64_t at = place(parser);
    recast_xml_record head = {
        .kind = kind,
        .length = (uint32_t)length,
        .offset = at > parser->before ? (uint32_t)(at - parser->before) : 0,
    };
    uint8_t *target = parser->records + parser->used;
    memcpy(target, &head, sizeof head);
    if (first_length > 0) memcpy(target + sizeof head, first, first_length);
    if (second_length > 0) memcpy(target + sizeof head + first_length, second, second_length);
    parser->used += wanted;
}

static size_t length_of(const xmlChar *text) { return text == NULL ? 0 : strlen((const char *)text); }

/* Writes a record that is a name as it is written: `prefix:local`, or `local` without a prefix. */
static void record_name(recast_xml *parser, uint32_t kind, const xmlChar *prefix, const xmlChar *local) {
    if (prefix == NULL) {
        record(parser, kind, local, length_of(local), NULL, 0);
        return;
    }
    size_t length = length_of(prefix);
    size_t at = parser->used + sizeof(recast_xml_record) + length;
    /* The prefix is recorded with a byte of its own terminator, which becomes the colon. */
    record(parser, kind, prefix, length + 1, local, length_of(local));
    if (parser->fault == RECAST_XML_FINE) parser->records[at] = ':';
}

static void start_element(void *owner, const xmlChar *local, const xmlChar *prefix, const xmlChar *uri,
                          int namespace_count, const xmlChar **namespaces, int attribute_count, int defaulted_count,
                          const xmlChar **attributes) {
    recast_xml *parser = owner;
    (void)uri;
    (void)defaulted_count;
    record_name(parser, RECAST_XML_START, prefix, local);
    for (int at = 0; at < namespace_count; at++) {
        const xmlChar *declared = namespaces[2 * at], *value = namespaces[2 * at + 1];
        if (declared == NULL) {
            record(parser, RECAST_XML_ATTRIBUTE, "xmlns", 5, NULL, 0);
        } else {
            record(parser, RECAST_XML_ATTRIBUTE, "xmlns:", 6, declared, length_of(declared));
        }
        record(parser, RECAST_XML_VALUE, value, length_of(value), NULL, 0);
    }
    for (int at = 0; at < attribute_count; at++) {
        /* Local name, prefix, URI, begin and end of the value, which no NUL follows. */
        const xmlChar **attribute = attributes + 5 * at;
        record_name(parser, RECAST_XML_ATTRIBUTE, attribute[1], attribute[0]);
        record(parser, RECAST_XML_VALUE, attribute[3], (size_t)(attribute[4] - attribute[3]), NULL, 0);
    }
}

static void end_element(void *owner, const xmlChar *local, const xmlChar *prefix, const xmlChar *uri) {
    (void)local;
    (void)prefix;
    (void)uri;
    record(owner, RECAST_XML_END, NULL, 0, NULL, 0);
}

static void characters(void *owner, const xmlChar *text, int length) {
    if (length > 0) record(owner, RECAST_XML_TEXT, text, (size_t)length, NULL, 0);
}

/* The text of a whole CDATA section. Its line ends are made line feeds here (XML 1.0 section 2.11): libxml2's push
   parser leaves them as they are, in these sections alone. */
static void section(void *owner, const xmlChar *text, int length) {
    recast_xml *parser = owner;
    size_t start = parser->used + sizeof(recast_xml_record);
    characters(parser, text, length);
    if (parser->fault != RECAST_XML_FINE || length <= 0 || memchr(text, '\r', (size_t)length) == NULL) return;
    uint8_t *bytes = parser->records + start;
    uint32_t kept = 0;
    for (int at = 0; at < length; at++) {
        if (text[at] == '\r' && at + 1 < length && text[at + 1] == '\n') continue;
        bytes[kept++] = text[at] == '\r' ? '\n' : text[at];
    }
    memcpy(bytes - sizeof(recast_xml_record) + offsetof(recast_xml_record, length), &kept, sizeof kept);
    parser->used = start + kept;
}

/* libxml2 has read the name and the identifiers of the DOCTYPE, and nothing of what they name. */
static void doctype(void *owner, const xmlChar *name, const xmlChar *public_id, const xmlChar *system_id) {
    recast_xml *parser = owner;
    (void)name;
    (void)public_id;
    (void)system_id;
    fail(parser, RECAST_XML_DOCTYPE);
    xmlStopParser(parser->context);
}

/* The five are known to libxml2 without asking. */
static xmlEntityPtr no_entity(void *owner, const xmlChar *name) {
    (void)name;
    fail(owner, RECAST_XML_ENTITY);
    return NULL;
}

static void no_reference(void *owner, const xmlChar *name) { (void)no_entity(owner, name); }

static xmlParserInputPtr no_input(void *owner, const xmlChar *public_id, const xmlChar *system_id) {
    (void)public_id;
    (void)no_entity(owner, system_id);
    return NULL;
}

static int reason(int code) {
    switch (code) {
        case XML_ERR_NO_MEMORY: return RECAST_XML_MEMORY;
        case XML_ERR_NAME_TOO_LONG: return RECAST_XML_LIMIT;
        case XML_ERR_INVALID_CHAR:
        case XML_ERR_INVALID_CHARREF:
        case XML_ERR_INVALID_ENCODING: return RECAST_XML_CHARACTER;
        case XML_ERR_INVALID_HEX_CHARREF:
        case XML_ERR_INVALID_DEC_CHARREF:
        case XML_ERR_UNDECLARED_ENTITY:
        case XML_WAR_UNDECLARED_ENTITY:
        case XML_ERR_ENTITYREF_SEMICOL_MISSING:
        case XML_ERR_ENTITYREF_NO_NAME:
        case XML_ERR_ENTITY_IS_EXTERNAL: return RECAST_XML_ENTITY;
        case XML_NS_ERR_ATTRIBUTE_REDEFINED:
        case XML_ERR_ATTRIBUTE_REDEFINED: return RECAST_XML_REPEATED;
        case XML_ERR_TAG_NAME_MISMATCH: return RECAST_XML_MISMATCH;
        case XML_ERR_DOCUMENT_END: return RECAST_XML_TRAILING;
        case XML_ERR_DOCUMENT_EMPTY: return RECAST_XML_NO_ROOT;
        case XML_NS_ERR_QNAME:
        case XML_NS_ERR_COLON:
        case XML_ERR_NAME_REQUIRED: return RECAST_XML_NAME;
        case XML_ERR_UNKNOWN_ENCODING:
        case XML_ERR_UNSUPPORTED_ENCODING: return RECAST_XML_ENCODING;
        default: return RECAST_XML_SYNTAX;
    }
}

static void failed(void *owner, xmlErrorPtr error) {
    recast_xml *parser = owner;
    parser->complained = true;
    if (error == NULL || error->level < XML_ERR_ERROR) return;
    /* A prefix that nobody declares is part of a name like any other: XML 1.0 knows no namespaces. */
    if (error->code == XML_NS_ERR_UNDEFINED_NAMESPACE) return;
    fail(parser, reason(error->code));
}

recast_xml *recast_xml_create(void) {
    pthread_once(&once, xmlInitParser);
    recast_xml *parser = xmlMalloc(sizeof *parser);
    if (parser == NULL) return NULL;
    memset(parser, 0, sizeof *parser);
    xmlSAXHandler handler = {
        .startElementNs = start_element,
        .endElementNs = end_element,
        .characters = characters,
        /* The same as `characters`: then libxml2 doesn't guess which white space matters. */
        .ignorableWhitespace = characters,
        .cdataBlock = section,
        .internalSubset = doctype,
        .externalSubset = doctype,
        .getEntity = no_entity,
        .getParameterEntity = no_entity,
        .resolveEntity = no_input,
        .reference = no_reference,
        .serror = failed,
        .initialized = XML_SAX2_MAGIC,
    };
    parser->context = xmlCreatePushParserCtxt(&handler, parser, NULL, 0, NULL);
    if (parser->context == NULL) {
        xmlFree(parser);
        return NULL;
    }
    /* NOENT makes libxml2 give the five entities as the characters they stand for, in attributes too; no others exist
       without a DOCTYPE. IGNORE_ENC: the bytes are UTF-8, which the caller has checked. */
    if (xmlCtxtUseOptions(parser->context, XML_PARSE_NOENT | XML_PARSE_NONET | XML_PARSE_IGNORE_ENC) != 0) {
        recast_xml_destroy(parser);
        return NULL;
    }
    /* As if libxml2 had detected it: it would wait for four bytes and might see EBCDIC in them. */
    parser->context->charset = XML_CHAR_ENCODING_UTF8;
    return parser;
}

void recast_xml_destroy(recast_xml *parser) {
    if (parser == NULL) return;
    xmlDocPtr document = parser->context->myDoc;
    xmlFreeParserCtxt(parser->context);
    /* No callback makes a document; should libxml2 have made one, it is freed with its parser. */
    if (document != NULL) xmlFreeDoc(document);
    xmlFree(parser->records);
    xmlFree(parser);
}

int recast_xml_parse(recast_xml *parser, const uint8_t *bytes, size_t count, bool is_last) {
    static const size_t most = 64 * 1024 * 1024;
    parser->used = 0;
    if (parser->fault != RECAST_XML_FINE) return parser->fault;
    /* libxml2 counts in int. */
    if (count > most) {
        fail(parser, RECAST_XML_LIMIT);
        return parser->fault;
    }
    int code = xmlParseChunk(parser->context, (const char *)bytes, (int)count, is_last);
    /* What libxml2 refused without an error of its own. */
    if (parser->fault == RECAST_XML_FINE && code != XML_ERR_OK) fail(parser, reason(code));
    parser->before += count;
    /* libxml2 keeps a copy of the thread's last error, with words of the document in it. */
    if (parser->complained) xmlResetLastError();
    parser->complained = false;
    return parser->fault;
}

const uint8_t *recast_xml_records(const recast_xml *parser, size_t *count) {
    *count = parser->used;
    return parser->records;
}

uint64_t recast_xml_fault_offset(const recast_xml *parser) { return parser->fault_offset; }

const char *recast_xml_version(void) { return xmlParserVersion; }
