#include "shims.h"
#include <openssl/bio.h>
#include <stdlib.h>
#include <string.h>

static int wire_read(BIO *bio, char *bytes, size_t room, size_t *count) {
    recast_tls_wire *wire = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (wire->input_count == 0) {
        BIO_set_retry_read(bio);
        return 0;
    }
    size_t taken = room < wire->input_count ? room : wire->input_count;
    memcpy(bytes, wire->input, taken);
    wire->input += taken;
    wire->input_count -= taken;
    *count = taken;
    return 1;
}

static int wire_write(BIO *bio, const char *bytes, size_t count, size_t *written) {
    recast_tls_wire *wire = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    size_t needed = wire->output_count + count;
    if (needed > wire->output_capacity) {
        size_t capacity = wire->output_capacity * 2;
        if (capacity < needed) capacity = needed;
        if (capacity < 20 * 1024) capacity = 20 * 1024;
        uint8_t *larger = realloc(wire->output, capacity);
        if (larger == NULL) return 0;
        wire->output = larger;
        wire->output_capacity = capacity;
    }
    memcpy(wire->output + wire->output_count, bytes, count);
    wire->output_count = needed;
    *written = count;
    return 1;
}

static long wire_control(BIO *bio, int command, long number, void *pointer) {
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

static int wire_begin(BIO *bio) {
    BIO_set_init(bio, 1);
    return 1;
}

/* Made once, by whichever thread is first; the method never changes and is never freed. */
static BIO_METHOD *wire_method;
static CRYPTO_ONCE wire_once = CRYPTO_ONCE_STATIC_INIT;

static void wire_make_method(void) {
    BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "recast wire");
    if (method == NULL) return;
    BIO_meth_set_read_ex(method, wire_read);
    BIO_meth_set_write_ex(method, wire_write);
    BIO_meth_set_ctrl(method, wire_control);
    BIO_meth_set_create(method, wire_begin);
    wire_method = method;
}

recast_tls_wire *recast_tls_wire_create(void) {
    if (!CRYPTO_THREAD_run_once(&wire_once, wire_make_method) || wire_method == NULL) return NULL;
    recast_tls_wire *wire = calloc(1, sizeof *wire);
    if (wire == NULL) return NULL;
    BIO *bio = BIO_new(wire_method);
    if (bio == NULL) {
        free(wire);
        return NULL;
    }
    BIO_set_data(bio, wire);
    wire->bio = bio;
    return wire;
}

void recast_tls_wire_free(recast_tls_wire *wire) {
    if (wire == NULL) return;
    BIO_free(wire->bio);
    free(wire->output);
    free(wire);
}

void recast_tls_wire_shrink(recast_tls_wire *wire, size_t limit) {
    if (wire->output_capacity <= limit || wire->output_count > 0) return;
    free(wire->output);
    wire->output = NULL;
    wire->output_capacity = 0;
}
