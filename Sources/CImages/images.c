/* What a picture is, and the way from one to another: read, turned, written. */
#include "images.h"

#ifdef RECAST_IMAGES

bool recast_image_is_built_in(void) { return true; }

void recast_image_look(const uint8_t *bytes, size_t count, recast_image_header *header) {
    memset(header, 0, sizeof *header);
    header->orientation = 1;
    if (count >= 3 && memcmp(bytes, "\xFF\xD8\xFF", 3) == 0) jpeg_look(bytes, count, header);
    else if (count >= 8 && memcmp(bytes, "\x89PNG\r\n\x1A\n", 8) == 0) png_look(bytes, count, header);
    else if (count >= 12 && memcmp(bytes, "RIFF", 4) == 0 && memcmp(bytes + 8, "WEBP", 4) == 0) webp_look(bytes, count, header);
}

static bool swaps(const recast_image_header *header) { return header->orientation >= 5; }

/* What a decoder has beside the rows: tables, and what a block of them needs. */
enum { CODEC = 512 * 1024 };

/* What libwebp takes to write pixels without loss beside those: tables, tiles of `bits` a side or larger with their statistics, of which
   it has at most 2,600, and what it finds to refer back to. Measured with noise, which is the worst. */
static size_t lossless_memory(size_t width, size_t height, unsigned bits) {
    enum { TABLES = 1024 * 1024, TILE = 18 * 1024, MOST_TILES = 2600 };
    size_t tiles;
    do tiles = (((width - 1) >> bits) + 1) * (((height - 1) >> bits) + 1);
    while (tiles > MOST_TILES && ++bits < 32);
    return TABLES + TILE * tiles + 24 * width * height;
}

/* What it takes to write so many pixels, at most, beside them. With loss that is by the quality: of a JPEG there is the output three times
   while its buffer is doubled, and from 90 on its colours have their full size; of a WebP besides what stands for all coefficients until
   the last of them is known. Measured with noise of black and white, which is the worst. */
static size_t output_memory(const recast_image_header *header, const recast_image_options *options) {
    size_t out = (size_t)options->width * options->height;
    bool is_fine = options->quality >= 90;
    if (options->format == RECAST_IMAGE_JPEG) return (is_fine ? 15 : 8) * out;
    /* A little more than the pixels; and once more while it grows. */
    if (options->format != RECAST_IMAGE_WEBP) return 2 * 4 * out;
    if (header->is_lossless) return 20 * out + lossless_memory(options->width, options->height, 3);
    /* Alpha is without loss too, and of few colours. */
    return (is_fine ? 34 : 26) * out + (header->has_alpha ? lossless_memory(options->width, options->height, 5) : 0);
}

/* Copies that are held at once, at most, of what stands beside the pixels: of all of it what was read, and the output, whose buffer is
   twice as large and comes beside the one before it, or is there twice beside what a PNG has of XMP; of a profile its library's own
   besides. */
enum { COPIES_OF_EXTRAS = 4, COPIES_OF_COLOURS = 5 };

size_t recast_image_memory(const recast_image_header *header, const recast_image_options *options) {
    size_t width = header->width, height = header->height, pixels = width * height;
    size_t out = (size_t)options->width * options->height;
    uint32_t to_width = swaps(header) ? options->height : options->width;
    uint32_t to_height = swaps(header) ? options->width : options->height;
    size_t memory = CODEC + 4 * out + COPIES_OF_COLOURS * header->colours;
    if (options->keeps_metadata) memory += COPIES_OF_EXTRAS * header->extras;
    if (swaps(header) || header->orientation > 1) memory += 4 * out;
    memory += output_memory(header, options);
    switch (header->kind) {
    case RECAST_IMAGE_JPEG:
        memory += scaler_memory(header->width, header->height, to_width, to_height) + 64 * width;
        /* The coefficients of all components, of two bytes, in whole units of up to four blocks of eight a side. */
        if (header->is_whole) {
            size_t units = ((width + 31) / 32 * 32) * ((height + 31) / 32 * 32);
            memory += 2 * units * (size_t)(header->components > 0 ? header->components : 1);
        }
        break;
    case RECAST_IMAGE_PNG:
        memory += scaler_memory(header->width, header->height, to_width, to_height) + 16 * width;
        if (header->is_whole) memory += 4 * pixels + 8 * height;
        break;
    default:
        /* Without loss all pixels are there at once; else rows, and alpha, which is without loss. */
        memory += header->is_lossless ? 5 * pixels : header->has_alpha ? 2 * pixels : 64 * width;
        memory += 64 * width;
        break;
    }
    return memory;
}

static enum recast_image_status read_picture(
    const uint8_t *bytes, size_t count, const recast_image_header *header, const recast_image_options *options,
    picture *picture, metadata *metadata, const char **reason) {
    picture->width = swaps(header) ? options->height : options->width;
    picture->height = swaps(header) ? options->width : options->height;
    picture->pixels = malloc((size_t)picture->width * picture->height * 4);
    if (!picture->pixels) return RECAST_IMAGE_NO_MEMORY;
    bool keeps = options->keeps_metadata;
    switch (header->kind) {
    case RECAST_IMAGE_JPEG: return jpeg_read(bytes, count, header, keeps, picture, metadata, reason);
    case RECAST_IMAGE_PNG: return png_read(bytes, count, header, keeps, picture, metadata, reason);
    case RECAST_IMAGE_WEBP: return webp_read(bytes, count, header, keeps, picture, metadata, reason);
    default: return RECAST_IMAGE_BAD;
    }
}

/* A profile for gray says nothing of colours, and the other way round. */
static void check_profile(metadata *metadata, bool is_gray) {
    if (metadata->icc.count >= 20 && (memcmp(metadata->icc.bytes + 16, "GRAY", 4) == 0) == is_gray) {
        if (is_gray || memcmp(metadata->icc.bytes + 16, "RGB ", 4) == 0) return;
    }
    /* Of what can't be unpacked nobody knows what it says, if anything: it stays where it came from. */
    if (metadata->icc.bytes) metadata->icc_chunk = NULL;
    free(metadata->icc.bytes);
    metadata->icc = (blob){NULL, 0};
}

enum recast_image_status recast_image_convert(
    const uint8_t *bytes, size_t count, const recast_image_header *header, const recast_image_options *options,
    const recast_image_asker *asker, recast_image_result *result) {
    memset(result, 0, sizeof *result);
    result->reason = "it can't be decoded";
    picture picture = {0};
    metadata metadata = {0};
    work_begin(asker);
    enum recast_image_status status =
        read_picture(bytes, count, header, options, &picture, &metadata, &result->reason);
    if (status == RECAST_IMAGE_DONE && !picture_turn(&picture, header->orientation)) status = RECAST_IMAGE_NO_MEMORY;
    if (status == RECAST_IMAGE_DONE) {
        bool is_turned = header->orientation > 1;
        if (metadata.exif.bytes) {
            exif_settle(metadata.exif.bytes, metadata.exif.count, picture.width, picture.height, is_turned);
        }
        /* EXIF has said how the picture is shown; XMP, which some readers take first, may have said the same. */
        if (is_turned && metadata.xmp.bytes) xmp_settle(metadata.xmp.bytes, metadata.xmp.count);
        /* WebP has no gray. */
        check_profile(&metadata, picture.is_gray && options->format != RECAST_IMAGE_WEBP);
        switch (options->format) {
        case RECAST_IMAGE_JPEG:
            status = RECAST_IMAGE_STOPPED;
            if (picture_flatten(&picture)) status = jpeg_write(&picture, &metadata, options->quality, result);
            break;
        case RECAST_IMAGE_PNG: status = png_write(&picture, &metadata, result); break;
        default: status = webp_write(&picture, &metadata, options->quality, header->is_lossless, result); break;
        }
    }
    free(picture.pixels);
    metadata_free(&metadata);
    /* Whatever those that were stopped have taken it for. */
    if (work_end()) status = RECAST_IMAGE_STOPPED;
    if (status != RECAST_IMAGE_DONE) recast_image_free(result);
    return status;
}

bool sieve_keep(sieve *sieve, const void *bytes, size_t count) {
    if (!sieve->output) return !sieve->has_extras;
    if (!blob_append(sieve->output, bytes, count)) sieve->lacks_memory = true;
    return !sieve->lacks_memory;
}

static bool sift(const uint8_t *bytes, size_t count, const recast_image_header *header, sieve *sieve) {
    switch (header->kind) {
    case RECAST_IMAGE_JPEG: return jpeg_sift(bytes, count, sieve);
    case RECAST_IMAGE_PNG: return png_sift(bytes, count, sieve);
    case RECAST_IMAGE_WEBP: return webp_sift(bytes, count, sieve);
    default: return false;
    }
}

bool recast_image_has_extras(const uint8_t *bytes, size_t count, const recast_image_header *header) {
    sieve sieve = {0};
    /* Of a file whose parts can't be told nobody knows; to strip it says so. */
    return !sift(bytes, count, header, &sieve) || sieve.has_extras;
}

enum recast_image_status recast_image_strip(
    const uint8_t *bytes, size_t count, const recast_image_header *header, recast_image_result *result) {
    memset(result, 0, sizeof *result);
    result->reason = "its parts can't be told";
    blob output = {NULL, 0};
    sieve sieve = {.output = &output};
    bool is_told = sift(bytes, count, header, &sieve);
    if (is_told && !sieve.lacks_memory) {
        result->bytes = output.bytes;
        result->count = output.count;
        return RECAST_IMAGE_DONE;
    }
    free(output.bytes);
    return sieve.lacks_memory ? RECAST_IMAGE_NO_MEMORY : RECAST_IMAGE_BAD;
}

#else

bool recast_image_is_built_in(void) { return false; }

void recast_image_look(const uint8_t *bytes, size_t count, recast_image_header *header) {
    (void)bytes;
    (void)count;
    memset(header, 0, sizeof *header);
    header->orientation = 1;
}

size_t recast_image_memory(const recast_image_header *header, const recast_image_options *options) {
    (void)header;
    (void)options;
    return 0;
}

enum recast_image_status recast_image_convert(
    const uint8_t *bytes, size_t count, const recast_image_header *header, const recast_image_options *options,
    const recast_image_asker *asker, recast_image_result *result) {
    (void)options;
    (void)asker;
    return recast_image_strip(bytes, count, header, result);
}

enum recast_image_status recast_image_strip(
    const uint8_t *bytes, size_t count, const recast_image_header *header, recast_image_result *result) {
    (void)bytes;
    (void)count;
    (void)header;
    memset(result, 0, sizeof *result);
    result->reason = "pictures are left out of this program";
    return RECAST_IMAGE_BAD;
}

bool recast_image_has_extras(const uint8_t *bytes, size_t count, const recast_image_header *header) {
    (void)bytes;
    (void)count;
    (void)header;
    return false;
}

#endif

void recast_image_free(recast_image_result *result) {
    free(result->bytes);
    result->bytes = NULL;
    result->count = 0;
}
