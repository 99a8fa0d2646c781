/* What the files of this folder share. */
#ifndef RECAST_IMAGES_H
#define RECAST_IMAGES_H
#include "CImages.h"
#include <stdlib.h>
#include <string.h>

/* A picture of the size that is wanted: four bytes a pixel, red, green, blue and alpha. */
typedef struct picture {
    uint32_t width, height;
    uint8_t *pixels;
    bool has_alpha, is_gray;
} picture;

/* The picture that this thread makes, for `pixels_done`: begun, and at its end whether it was stopped. */
void work_begin(const recast_image_asker *asker);
bool work_end(void);

/* Work on so many pixels was done: every few thousand of them it lets threads go first that answer others. A thread of the lowest class
   alone doesn't: it is driven away by a tick of the clock only, which takes 4 ms, also where somebody more important wakes up. False:
   nobody waits for the picture any more. Whoever hears it ends, as with a fault, and `recast_image_convert` says why. */
bool pixels_done(size_t count) __attribute__((warn_unused_result));

/* Bytes that are owned, or none. */
typedef struct blob {
    uint8_t *bytes;
    size_t count;
} blob;

/* What stands beside the pixels. */
typedef struct metadata {
    /* The colour profile. */
    blob icc;
    /* The chunk of a PNG that it came in, whole, where it stands in the input; also where no profile can be had of it. */
    const uint8_t *icc_chunk;
    /* A TIFF structure, without "Exif\0\0". */
    blob exif;
    blob xmp;
    /* JPEG segments that only a JPEG has, from their marker on, one behind the other. */
    blob segments;
    /* PNG chunks that only a PNG has, whole. */
    blob chunks;
} metadata;

bool blob_set(blob *blob, const uint8_t *bytes, size_t count);
bool blob_append(blob *blob, const void *bytes, size_t count);
void metadata_free(metadata *metadata);

/* Makes rows of one size to rows of another, as they come: first between the rows, then in the row. */
typedef struct scaler scaler;
/* A scaler that writes into `picture`, whose size is at most the source's; NULL: no memory. */
scaler *scaler_make(uint32_t width, uint32_t height, picture *picture);
/* Where the next row of the source goes: 4 * width bytes. */
uint8_t *scaler_row(scaler *scaler);
/* The row was written. False: nobody waits for the picture. */
bool scaler_push(scaler *scaler) __attribute__((warn_unused_result));
void scaler_free(scaler *scaler);
size_t scaler_memory(uint32_t width, uint32_t height, uint32_t to_width, uint32_t to_height);
/* Whether rows become others: of a picture that keeps its size each pixel passes as it is. */
bool scaler_changes(const scaler *scaler);
/* Alpha: colours count as much as they are seen. Done to the rows of a picture that is scaled, and undone by `scaler_push`; what is little
   seen is only nearly what it was behind that. */
void premultiply(uint8_t *pixels, size_t count);
void unpremultiply(uint8_t *pixels, size_t count);

/* Turns the picture to how it is shown. False: no memory, or nobody waits for it. */
bool picture_turn(picture *picture, int orientation) __attribute__((warn_unused_result));
/* Puts the picture in front of white. False: nobody waits for it. */
bool picture_flatten(picture *picture) __attribute__((warn_unused_result));

/* Why a picture is refused that a library takes for another one than was looked at. */
static const char ambiguous[] = "its parts can be read in more than one way";

/* Reading and writing a format. A reader gives a picture of the stored orientation, `picture->width` and `height` wanted. */
enum recast_image_status jpeg_read(
    const uint8_t *bytes, size_t count, const recast_image_header *header, bool keeps, picture *picture,
    metadata *metadata, const char **reason);
enum recast_image_status jpeg_write(
    const picture *picture, const metadata *metadata, int quality, recast_image_result *result);
enum recast_image_status png_read(
    const uint8_t *bytes, size_t count, const recast_image_header *header, bool keeps, picture *picture,
    metadata *metadata, const char **reason);
enum recast_image_status png_write(const picture *picture, const metadata *metadata, recast_image_result *result);
enum recast_image_status webp_read(
    const uint8_t *bytes, size_t count, const recast_image_header *header, bool keeps, picture *picture,
    metadata *metadata, const char **reason);
enum recast_image_status webp_write(
    const picture *picture, const metadata *metadata, int quality, bool is_lossless, recast_image_result *result);

/* What is in EXIF: whether it begins as a TIFF structure does; the orientation, 1 where none is. */
bool is_tiff(const uint8_t *bytes, size_t count);
int exif_orientation(const uint8_t *tiff, size_t count);
/* Says in EXIF that the picture stands upright and is of that size, where it says something else. One that was turned has no preview. */
void exif_settle(uint8_t *tiff, size_t count, uint32_t width, uint32_t height, bool is_turned);
/* Says in XMP that the picture stands upright. */
void xmp_settle(uint8_t *xmp, size_t count);

void jpeg_look(const uint8_t *bytes, size_t count, recast_image_header *header);
void png_look(const uint8_t *bytes, size_t count, recast_image_header *header);
void webp_look(const uint8_t *bytes, size_t count, recast_image_header *header);

/* Goes through a file for what is needed to show the picture, and nothing else. What is known to be needed stays, not what isn't known to
   tell of a place: there is always another kind of metadata. */
typedef struct sieve {
    /* What stays; NULL: nobody wants it. */
    blob *output;
    /* Whether anything goes. */
    bool has_extras;
    bool lacks_memory;
} sieve;

/* False: no more has to be looked at. There is no memory, or all that is asked is known. */
bool sieve_keep(sieve *sieve, const void *bytes, size_t count);

/* False: the file's parts can't be told. */
bool jpeg_sift(const uint8_t *bytes, size_t count, sieve *sieve);
bool png_sift(const uint8_t *bytes, size_t count, sieve *sieve);
bool webp_sift(const uint8_t *bytes, size_t count, sieve *sieve);

static inline uint32_t big32(const uint8_t *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}
static inline uint32_t little32(const uint8_t *at) {
    return (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}
#endif
