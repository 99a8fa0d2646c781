/* Pictures and what stands beside them: bytes that are owned, EXIF, a turn, white behind what is transparent. */
#include "images.h"
#include <sched.h>

/* About 50 microseconds of work; to give way where nobody waits takes a half of one. */
enum { SLICE = 8192 };

/* A thread makes one picture after the other. That the libraries call back from deep inside keeps it from being handed on. */
static _Thread_local struct {
    size_t done;
    const recast_image_asker *asker;
    bool is_stopped;
} work;

void work_begin(const recast_image_asker *asker) {
    work.done = 0;
    work.asker = asker;
    work.is_stopped = false;
}

bool work_end(void) {
    work.asker = NULL;
    return work.is_stopped;
}

bool pixels_done(size_t count) {
    work.done += count;
    if (work.done < SLICE) return !work.is_stopped;
    work.done = 0;
    sched_yield();
    if (work.asker && !work.asker->is_waiting(work.asker->context)) work.is_stopped = true;
    return !work.is_stopped;
}

bool blob_set(blob *blob, const uint8_t *bytes, size_t count) {
    free(blob->bytes);
    blob->bytes = NULL;
    blob->count = 0;
    return blob_append(blob, bytes, count);
}

bool blob_append(blob *blob, const void *bytes, size_t count) {
    if (count == 0) return true;
    uint8_t *grown = realloc(blob->bytes, blob->count + count);
    if (!grown) return false;
    memcpy(grown + blob->count, bytes, count);
    blob->bytes = grown;
    blob->count += count;
    return true;
}

void metadata_free(metadata *metadata) {
    free(metadata->icc.bytes);
    free(metadata->exif.bytes);
    free(metadata->xmp.bytes);
    free(metadata->segments.bytes);
    free(metadata->chunks.bytes);
    memset(metadata, 0, sizeof *metadata);
}

/* A TIFF structure in the byte order that it names (TIFF 6.0 section 2, Exif 3.0 section 4.6). */
typedef struct tiff {
    uint8_t *bytes;
    size_t count;
    bool is_little;
} tiff;

static uint32_t tiff16(const tiff *tiff, size_t at) {
    const uint8_t *bytes = tiff->bytes + at;
    return tiff->is_little ? (uint32_t)(bytes[0] | bytes[1] << 8) : (uint32_t)(bytes[0] << 8 | bytes[1]);
}

static uint32_t tiff32(const tiff *tiff, size_t at) {
    return tiff->is_little ? little32(tiff->bytes + at) : big32(tiff->bytes + at);
}

static void tiff_put(const tiff *tiff, size_t at, int size, uint32_t value) {
    for (int byte = 0; byte < size; byte++) {
        int shift = 8 * (tiff->is_little ? byte : size - 1 - byte);
        tiff->bytes[at + (size_t)byte] = (uint8_t)(value >> shift);
    }
}

/* The first folder's place; 0 where it is none. */
static size_t tiff_begin(tiff *tiff, uint8_t *bytes, size_t count) {
    if (count < 8) return 0;
    tiff->bytes = bytes;
    tiff->count = count;
    if (bytes[0] == 'I' && bytes[1] == 'I') tiff->is_little = true;
    else if (bytes[0] == 'M' && bytes[1] == 'M') tiff->is_little = false;
    else return 0;
    if (tiff16(tiff, 2) != 42) return 0;
    return tiff32(tiff, 4);
}

/* The place of the entry with that tag in the folder at `folder`; 0 where there is none. */
static size_t tiff_find(const tiff *tiff, size_t folder, uint32_t tag) {
    if (folder < 8 || folder > tiff->count || tiff->count - folder < 2) return 0;
    size_t count = tiff16(tiff, folder), at = folder + 2;
    for (; count > 0 && tiff->count - at >= 12; count--, at += 12) {
        if (tiff16(tiff, at) == tag) return at;
    }
    return 0;
}

enum { SHORT = 3, LONG = 4, ORIENTATION = 0x0112, EXIF_FOLDER = 0x8769, PIXELS_WIDE = 0xA002, PIXELS_HIGH = 0xA003 };

bool is_tiff(const uint8_t *bytes, size_t count) {
    tiff tiff;
    /* Only read. */
    return tiff_begin(&tiff, (uint8_t *)bytes, count) != 0;
}

int exif_orientation(const uint8_t *bytes, size_t count) {
    tiff tiff;
    /* Only read. */
    size_t folder = tiff_begin(&tiff, (uint8_t *)bytes, count);
    size_t entry = folder ? tiff_find(&tiff, folder, ORIENTATION) : 0;
    if (!entry || tiff16(&tiff, entry + 2) != SHORT || tiff32(&tiff, entry + 4) != 1) return 1;
    uint32_t value = tiff16(&tiff, entry + 8);
    return value >= 1 && value <= 8 ? (int)value : 1;
}

static void exif_put(const tiff *tiff, size_t entry, uint32_t value) {
    if (!entry || tiff32(tiff, entry + 4) != 1) return;
    uint32_t type = tiff16(tiff, entry + 2);
    if (type == SHORT && value <= 0xFFFF) tiff_put(tiff, entry + 8, 2, value);
    if (type == LONG) tiff_put(tiff, entry + 8, 4, value);
}

void exif_settle(uint8_t *bytes, size_t count, uint32_t width, uint32_t height, bool is_turned) {
    tiff tiff;
    size_t folder = tiff_begin(&tiff, bytes, count);
    if (!folder) return;
    exif_put(&tiff, tiff_find(&tiff, folder, ORIENTATION), 1);
    /* The next folder is the preview's, whose pixels stay as they were stored: it would be shown lying. */
    if (is_turned && folder >= 8 && folder <= count && count - folder >= 2) {
        size_t next = 2 + 12 * (size_t)tiff16(&tiff, folder);
        if (count - folder >= next + 4) tiff_put(&tiff, folder + next, 4, 0);
    }
    size_t pointer = tiff_find(&tiff, folder, EXIF_FOLDER);
    if (!pointer || tiff16(&tiff, pointer + 2) != LONG) return;
    size_t inner = tiff32(&tiff, pointer + 8);
    exif_put(&tiff, tiff_find(&tiff, inner, PIXELS_WIDE), width);
    exif_put(&tiff, tiff_find(&tiff, inner, PIXELS_HIGH), height);
}

/* As an attribute or as an element, as XMP's writers have it: tiff:Orientation="6", <tiff:Orientation>6<. */
void xmp_settle(uint8_t *bytes, size_t count) {
    static const char name[] = "tiff:Orientation";
    enum { NAME = sizeof name - 1 };
    for (size_t at = 0; at < count; at++) {
        const uint8_t *mark = memchr(bytes + at, name[0], count - at);
        if (!mark) return;
        at = (size_t)(mark - bytes);
        if (count - at < NAME || memcmp(mark, name, NAME) != 0) continue;
        size_t value = at + NAME;
        while (value < count && memchr(" \t\r\n=>\"'", bytes[value], 8)) value++;
        bool is_number = count - value >= 2 && bytes[value] >= '2' && bytes[value] <= '8';
        if (is_number && memchr("\"'< \t\r\n", bytes[value + 1], 7)) bytes[value] = '1';
    }
}

/* Exif 3.0 section 4.6.5.1: where the stored picture's first row and first column are in the picture that is seen. */
bool picture_turn(picture *picture, int orientation) {
    if (orientation <= 1 || orientation > 8) return true;
    size_t width = picture->width, height = picture->height;
    const uint32_t *from = (const uint32_t *)(const void *)picture->pixels;
    uint32_t *to = malloc(width * height * 4);
    if (!to) return false;
    bool swaps = orientation >= 5;
    size_t wide = swaps ? height : width;
    for (size_t y = 0; y < height; y++) {
        for (size_t x = 0; x < width; x++) {
            size_t column = x, row = y;
            switch (orientation) {
            case 2: column = width - 1 - x; break;
            case 3: column = width - 1 - x; row = height - 1 - y; break;
            case 4: row = height - 1 - y; break;
            case 5: column = y; row = x; break;
            case 6: column = height - 1 - y; row = x; break;
            case 7: column = height - 1 - y; row = width - 1 - x; break;
            case 8: column = y; row = width - 1 - x; break;
            default: break;
            }
            to[row * wide + column] = from[y * width + x];
        }
        if (!pixels_done(width)) {
            free(to);
            return false;
        }
    }
    free(picture->pixels);
    picture->pixels = (uint8_t *)to;
    if (swaps) {
        picture->width = (uint32_t)height;
        picture->height = (uint32_t)width;
    }
    return true;
}

bool picture_flatten(picture *picture) {
    if (!picture->has_alpha) return true;
    uint8_t *pixels = picture->pixels;
    for (uint32_t row = 0; row < picture->height; row++) {
        for (uint32_t at = 0; at < picture->width; at++, pixels += 4) {
            unsigned alpha = pixels[3];
            for (int lane = 0; lane < 3; lane++) {
                pixels[lane] = (uint8_t)((pixels[lane] * alpha + 255 * (255 - alpha) + 127) / 255);
            }
            pixels[3] = 255;
        }
        if (!pixels_done(picture->width)) return false;
    }
    picture->has_alpha = false;
    return true;
}
