/* JPEG, PNG and WebP made smaller, from memory to memory: libjpeg-turbo, libpng and libwebp behind one door. Bytes in, bytes out;
   no global state, so any number of threads may be in it at once. */
#ifndef RECAST_CIMAGES_H
#define RECAST_CIMAGES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the three libraries are built in; everything else says `RECAST_IMAGE_OTHER` where not. */
bool recast_image_is_built_in(void);

/* The three libraries, by the numbers of `recast_image_version`. */
enum recast_image_library { RECAST_IMAGE_LIBJPEG, RECAST_IMAGE_LIBPNG, RECAST_IMAGE_LIBWEBP };

/* The version of a library that the process has loaded, as 0x010203 for 1.2.3; 0 where it isn't built in. libjpeg-turbo tells nobody
   its version: that is the one that was built with. */
uint32_t recast_image_version(enum recast_image_library library);

enum recast_image_kind {
    /* None of the three, or one with several pictures: an animated WebP or PNG. */
    RECAST_IMAGE_OTHER,
    RECAST_IMAGE_ANIMATED,
    /* One of the three by its first bytes, whose header can't be read. */
    RECAST_IMAGE_BROKEN,
    RECAST_IMAGE_JPEG,
    RECAST_IMAGE_PNG,
    RECAST_IMAGE_WEBP
};

/* Segments of a JPEG, and chunks of a PNG or a WebP: to look at more of them would keep others waiting. */
enum { RECAST_IMAGE_MOST_PARTS = 1000000 };

/* What is wrong with a header. */
enum recast_image_lack {
    RECAST_IMAGE_NO_HEADER,
    RECAST_IMAGE_NO_SIZE,
    /* JPEG: other than 8 bits a sample. */
    RECAST_IMAGE_DEPTH,
    RECAST_IMAGE_NO_SCAN,
    /* Its parts can be read in more than one way: readers would see other pictures. */
    RECAST_IMAGE_AMBIGUOUS,
    /* More than `RECAST_IMAGE_MOST_PARTS`. */
    RECAST_IMAGE_MANY_PARTS
};

/* What a header says. */
typedef struct recast_image_header {
    enum recast_image_kind kind;
    /* Pixels, as stored. */
    uint32_t width, height;
    /* EXIF's orientation, 1 to 8; 1 where none is said. */
    int orientation;
    bool has_alpha;
    bool is_gray;
    /* Whether the pixels can only be had all at once: a JPEG in several scans, an interlaced PNG, any WebP. */
    bool is_whole;
    /* A WebP without loss. */
    bool is_lossless;
    /* JPEG: its components. */
    int components;
    /* Bytes beside the pixels: those of the colours, which stay in any case (the profile, unpacked), and those that may stay. At most as
       many are copied at once. */
    size_t colours, extras;
    /* `BROKEN`: what is wrong with it. */
    enum recast_image_lack lack;
} recast_image_header;

/* What is wanted. */
typedef struct recast_image_options {
    /* Pixels, as the picture is shown. At most what it has. */
    uint32_t width, height;
    enum recast_image_kind format;
    /* 1 to 100; for JPEG and lossy WebP. */
    int quality;
    /* Whether EXIF, XMP and comments stay. The colour profile does in any case. */
    bool keeps_metadata;
} recast_image_options;

/* Whether anybody still waits for the picture. It is called every few thousand pixels, on the thread that makes it. */
typedef struct recast_image_asker {
    bool (*is_waiting)(const void *context);
    const void *context;
} recast_image_asker;

/* `STOPPED`: nobody waits for it any more. */
enum recast_image_status { RECAST_IMAGE_DONE, RECAST_IMAGE_BAD, RECAST_IMAGE_NO_MEMORY, RECAST_IMAGE_STOPPED };

/* What has come out. */
typedef struct recast_image_result {
    /* By `recast_image_free`. */
    uint8_t *bytes;
    size_t count;
    /* Where there is nothing: why; a text that stays. */
    const char *reason;
} recast_image_result;

/* Reads the header, and no more: takes time for the number of its segments only, and allocates nothing but what zlib takes to read the
   length of a PNG's profile, 40 KiB. */
void recast_image_look(const uint8_t *bytes, size_t count, recast_image_header *header);

/* Bytes that `recast_image_convert` allocates at most, beside the input. */
size_t recast_image_memory(const recast_image_header *header, const recast_image_options *options);

/* Makes a picture of that size and format. Pixels that are cut off or corrupt are an error, never a grey half. It stops when `asker` no
   longer waits; NULL: somebody waits, whatever happens. */
enum recast_image_status recast_image_convert(
    const uint8_t *bytes, size_t count, const recast_image_header *header, const recast_image_options *options,
    const recast_image_asker *asker, recast_image_result *result);

/* Whether there is anything that isn't needed to show the picture, which `recast_image_strip` would leave out. Allocates nothing, and reads
   a JPEG to its end: about a nanosecond for each byte. */
bool recast_image_has_extras(const uint8_t *bytes, size_t count, const recast_image_header *header);

/* The same picture without all that isn't needed to show it, also between its pixels and behind its end; they stay byte for byte. */
enum recast_image_status recast_image_strip(
    const uint8_t *bytes, size_t count, const recast_image_header *header, recast_image_result *result);

void recast_image_free(recast_image_result *result);
#endif
