/* PNG (its third edition) by libpng. A picture without interlace comes row by row; an interlaced one is whole before it is scaled. */
#ifdef RECAST_IMAGES
#include "images.h"
#include <png.h>
#include <zlib.h>

enum {
    SIGNATURE = 8, FRAME = 12,
    /* A profile's header and the number of its tags (ICC.1:2022 section 7), and bytes of one that is taken. */
    SHORTEST_PROFILE = 132, LONGEST_PROFILE = 8 * 1024 * 1024
};

static const char xmp_key[] = "XML:com.adobe.xmp";

/* MARK: Chunks */

typedef struct chunk {
    const uint8_t *begin, *content;
    size_t count;
} chunk;

/* The chunk at `*at`, which then stands behind it. False at the end, and where one is cut off. */
static bool next_chunk(const uint8_t *bytes, size_t count, size_t *at, chunk *chunk) {
    if (count - *at < FRAME) return false;
    size_t length = big32(bytes + *at);
    if (length > count - *at - FRAME) return false;
    chunk->begin = bytes + *at;
    chunk->content = chunk->begin + 8;
    chunk->count = length;
    *at += FRAME + length;
    return true;
}

static bool is_chunk(const chunk *chunk, const char *type) { return memcmp(chunk->begin + 4, type, 4) == 0; }

static bool is_text(const chunk *chunk) {
    return is_chunk(chunk, "tEXt") || is_chunk(chunk, "zTXt") || is_chunk(chunk, "iTXt");
}

/* What the numbers mean as colours, where no profile says it. */
static bool is_colour(const chunk *chunk) {
    return is_chunk(chunk, "sRGB") || is_chunk(chunk, "gAMA") || is_chunk(chunk, "cHRM") || is_chunk(chunk, "cICP")
        || is_chunk(chunk, "mDCV") || is_chunk(chunk, "cLLI");
}

/* Whether a chunk is needed to show the picture: those without which none can be read, whose names begin with a capital letter, what is
   transparent, the colours, and the shape of the pixels. */
static bool is_needed(const chunk *chunk) {
    return (chunk->begin[4] & 0x20) == 0 || is_colour(chunk) || is_chunk(chunk, "iCCP") || is_chunk(chunk, "sBIT")
        || is_chunk(chunk, "tRNS") || is_chunk(chunk, "bKGD") || is_chunk(chunk, "pHYs");
}

/* Unpacks the first `count` bytes of the profile in an `iCCP` chunk: a name of at most 79 bytes, zero, zero for deflate, and data of zlib,
   of which at most `most` are looked at. Returns how many there are. */
static size_t unpack(const chunk *chunk, size_t most, uint8_t *bytes, size_t count) {
    const uint8_t *name_end = memchr(chunk->content, 0, chunk->count < 80 ? chunk->count : 80);
    if (!name_end) return 0;
    size_t begin = (size_t)(name_end - chunk->content) + 2;
    if (begin > chunk->count || name_end[1] != 0) return 0;
    z_stream stream;
    memset(&stream, 0, sizeof stream);
    /* Only read. Both lengths are below 2^32: a chunk's by its format, and the profile's by its bound. */
    stream.next_in = (Bytef *)chunk->content + begin;
    stream.avail_in = (uInt)(chunk->count - begin < most ? chunk->count - begin : most);
    stream.next_out = bytes;
    stream.avail_out = (uInt)count;
    if (inflateInit(&stream) != Z_OK) return 0;
    /* Where all of it is wanted, zlib needs no window. What is behind the wanted bytes may be anything. */
    (void)inflate(&stream, Z_FINISH);
    size_t made = count - stream.avail_out;
    inflateEnd(&stream);
    return made;
}

/* The length of the profile in a chunk by its own header; 0: it has none that is taken. */
static size_t profile_count(const chunk *chunk) {
    /* Deflate's longest code tables and four bytes; in millions of empty blocks nothing is looked for. */
    enum { MOST = 4096 };
    uint8_t length[4];
    if (unpack(chunk, MOST, length, sizeof length) < sizeof length) return 0;
    size_t count = big32(length);
    return count < SHORTEST_PROFILE || count > LONGEST_PROFILE ? 0 : count;
}

/* Keeps what an `iCCP` chunk has. The library would take less: it has rules for profiles that their writers don't. False: no memory. */
static bool keep_profile(const chunk *chunk, metadata *metadata) {
    /* Readers pass over a chunk whose checksum is wrong. */
    uLong sum = crc32(0, chunk->begin + 4, (uInt)chunk->count + 4);
    if (sum != big32(chunk->content + chunk->count)) return true;
    metadata->icc_chunk = chunk->begin;
    size_t count = profile_count(chunk);
    if (!count) return true;
    uint8_t *profile = malloc(count);
    if (!profile) return false;
    if (unpack(chunk, chunk->count, profile, count) == count && memcmp(profile + 36, "acsp", 4) == 0) {
        metadata->icc.bytes = profile;
        metadata->icc.count = count;
    } else {
        free(profile);
    }
    return true;
}

/* Adds what is copied of a chunk, if anything is. */
static void count_chunk(const chunk *chunk, size_t *profiles, recast_image_header *header) {
    enum { MOST_PROFILES = 8 };
    if (is_chunk(chunk, "iCCP")) {
        /* One is taken; of many nobody looks which, since that takes time. */
        (*profiles)++;
        if (*profiles <= MOST_PROFILES) header->colours += chunk->count + profile_count(chunk);
        else if (*profiles == MOST_PROFILES + 1) header->colours += chunk->count + LONGEST_PROFILE;
    } else if (is_colour(chunk)) {
        header->colours += FRAME + chunk->count;
    } else if (is_text(chunk) || is_chunk(chunk, "eXIf") || is_chunk(chunk, "tIME")) {
        header->extras += FRAME + chunk->count;
    }
}

void png_look(const uint8_t *bytes, size_t count, recast_image_header *header) {
    header->kind = RECAST_IMAGE_BROKEN;
    header->lack = RECAST_IMAGE_NO_HEADER;
    size_t at = SIGNATURE;
    chunk chunk;
    if (!next_chunk(bytes, count, &at, &chunk) || !is_chunk(&chunk, "IHDR") || chunk.count != 13) return;
    header->width = big32(chunk.content);
    header->height = big32(chunk.content + 4);
    if (header->width == 0 || header->height == 0 || header->width > INT32_MAX || header->height > INT32_MAX) {
        header->lack = RECAST_IMAGE_NO_SIZE;
        return;
    }
    int type = chunk.content[9];
    header->is_gray = type == 0 || type == 4;
    header->has_alpha = type == 4 || type == 6;
    header->is_whole = chunk.content[12] == 1;
    header->kind = RECAST_IMAGE_PNG;
    size_t profiles = 0;
    bool has_exif = false;
    for (size_t parts = 2; next_chunk(bytes, count, &at, &chunk); parts++) {
        if (parts > RECAST_IMAGE_MOST_PARTS) {
            header->kind = RECAST_IMAGE_BROKEN;
            header->lack = RECAST_IMAGE_MANY_PARTS;
            return;
        }
        /* Some readers take the last size. */
        if (is_chunk(&chunk, "IHDR")) {
            header->kind = RECAST_IMAGE_BROKEN;
            header->lack = RECAST_IMAGE_AMBIGUOUS;
            return;
        }
        if (is_chunk(&chunk, "acTL")) header->kind = RECAST_IMAGE_ANIMATED;
        count_chunk(&chunk, &profiles, header);
        if (is_chunk(&chunk, "tRNS")) header->has_alpha = true;
        /* The first one counts, as it does for libpng. */
        if (is_chunk(&chunk, "eXIf") && !has_exif) {
            has_exif = true;
            header->orientation = exif_orientation(chunk.content, chunk.count);
        }
        if (is_chunk(&chunk, "IEND")) break;
    }
}

bool png_sift(const uint8_t *bytes, size_t count, sieve *sieve) {
    size_t at = SIGNATURE;
    chunk chunk;
    if (!sieve_keep(sieve, bytes, SIGNATURE)) return true;
    while (next_chunk(bytes, count, &at, &chunk)) {
        if (!is_needed(&chunk)) {
            sieve->has_extras = true;
        } else if (!sieve_keep(sieve, chunk.begin, FRAME + chunk.count)) {
            return true;
        }
        if (is_chunk(&chunk, "IEND")) {
            /* Editors have left there what was cut off the picture. */
            if (at < count) sieve->has_extras = true;
            return true;
        }
    }
    /* It is cut off, and what a reader would take for pixels may be something else. */
    return false;
}

/* MARK: Reading */

typedef struct codec {
    png_structp png;
    png_infop info;
    /* The input, as far as it was not read; or the output. */
    const uint8_t *bytes;
    size_t count;
    blob output;
    const char *reason;
    bool is_memory;
    scaler *scaler;
    uint8_t *pixels;
    /* A profile, and the content of its chunk. */
    uint8_t *profile, *packed;
} codec;

/* No text of the library's goes out: it may quote the input. */
static void fail(png_structp png, png_const_charp message) {
    codec *codec = png_get_error_ptr(png);
    codec->is_memory |= strstr(message, "memory") != NULL;
    png_longjmp(png, 1);
}

static void say_nothing(png_structp png, png_const_charp message) {
    (void)png;
    (void)message;
}

static void take(png_structp png, png_bytep bytes, size_t count) {
    codec *codec = png_get_io_ptr(png);
    if (count > codec->count) {
        codec->reason = "it is cut off";
        png_longjmp(png, 1);
    }
    memcpy(bytes, codec->bytes, count);
    codec->bytes += count;
    codec->count -= count;
}

static bool keep_chunks(const uint8_t *bytes, size_t count, bool keeps, metadata *metadata) {
    size_t at = SIGNATURE;
    chunk chunk;
    bool has_pixels = false;
    while (next_chunk(bytes, count, &at, &chunk)) {
        if (is_chunk(&chunk, "IDAT")) has_pixels = true;
        bool is_profile = is_chunk(&chunk, "iCCP") && !has_pixels && !metadata->icc_chunk;
        if (is_profile && !keep_profile(&chunk, metadata)) return false;
        if (is_colour(&chunk) && !blob_append(&metadata->chunks, chunk.begin, FRAME + chunk.count)) return false;
        if (is_chunk(&chunk, "IEND")) break;
        if (!keeps) continue;
        bool is_xmp = is_chunk(&chunk, "iTXt") && chunk.count > sizeof xmp_key + 4
            && memcmp(chunk.content, xmp_key, sizeof xmp_key) == 0 && chunk.content[sizeof xmp_key] == 0
            && chunk.content[sizeof xmp_key + 2] == 0 && chunk.content[sizeof xmp_key + 3] == 0;
        if (is_xmp && !metadata->xmp.bytes) {
            /* No compression, no language, no translation: the usual form. */
            size_t start = sizeof xmp_key + 4;
            if (!blob_set(&metadata->xmp, chunk.content + start, chunk.count - start)) return false;
        } else if (is_chunk(&chunk, "eXIf") && !metadata->exif.bytes) {
            if (!blob_set(&metadata->exif, chunk.content, chunk.count)) return false;
        } else if (is_text(&chunk) || is_chunk(&chunk, "tIME")) {
            if (!blob_append(&metadata->chunks, chunk.begin, FRAME + chunk.count)) return false;
        }
    }
    return true;
}

/* Whether the library has found the picture that was looked at, by which its pixels were counted and its memory was paid for. */
static bool is_as_seen(const codec *codec, const recast_image_header *header) {
    return png_get_image_width(codec->png, codec->info) == header->width
        && png_get_image_height(codec->png, codec->info) == header->height
        && (header->is_whole || png_get_interlace_type(codec->png, codec->info) == PNG_INTERLACE_NONE);
}

static void begin_reading(codec *codec, const recast_image_header *header) {
    png_structp png = codec->png;
    png_infop info = codec->info;
    png_set_read_fn(png, codec, take);
    png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_chunk_malloc_max(png, 8 * 1024 * 1024);
    png_set_chunk_cache_max(png, 64);
    /* What these hold was read from the bytes, or isn't wanted: the library would hold up to 64 of them, of 8 MiB each. */
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, 0);
    static const png_byte unread[] = "tEXt\0zTXt\0iTXt\0eXIf\0sPLT\0hIST\0pCAL\0sCAL\0oFFs\0tIME\0iCCP";
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, unread, sizeof unread / 5);
    png_set_sig_bytes(png, 0);
    png_read_info(png, info);
    if (!is_as_seen(codec, header)) {
        codec->reason = ambiguous;
        png_longjmp(png, 1);
    }
    png_set_scale_16(png);
    png_set_expand(png);
    png_set_gray_to_rgb(png);
    png_set_add_alpha(png, 255, PNG_FILLER_AFTER);
}

enum recast_image_status png_read(
    const uint8_t *bytes, size_t count, const recast_image_header *header, bool keeps, picture *picture,
    metadata *metadata, const char **reason) {
    codec codec;
    memset(&codec, 0, sizeof codec);
    codec.bytes = bytes;
    codec.count = count;
    codec.reason = "it can't be decoded";
    picture->is_gray = header->is_gray;
    picture->has_alpha = header->has_alpha;
    codec.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &codec, fail, say_nothing);
    codec.info = codec.png ? png_create_info_struct(codec.png) : NULL;
    if (!codec.info || !keep_chunks(bytes, count, keeps, metadata)) {
        png_destroy_read_struct(&codec.png, &codec.info, NULL);
        return RECAST_IMAGE_NO_MEMORY;
    }
    if (setjmp(png_jmpbuf(codec.png))) {
        png_destroy_read_struct(&codec.png, &codec.info, NULL);
        scaler_free(codec.scaler);
        free(codec.pixels);
        *reason = codec.reason;
        return codec.is_memory ? RECAST_IMAGE_NO_MEMORY : RECAST_IMAGE_BAD;
    }
    begin_reading(&codec, header);
    bool is_interlaced = png_set_interlace_handling(codec.png) > 1;
    png_read_update_info(codec.png, codec.info);
    size_t stride = (size_t)header->width * 4;
    codec.scaler = scaler_make(header->width, header->height, picture);
    if (!codec.scaler || png_get_rowbytes(codec.png, codec.info) != stride) {
        codec.is_memory = !codec.scaler;
        png_longjmp(codec.png, 1);
    }
    if (is_interlaced) {
        codec.pixels = malloc(stride * header->height);
        if (!codec.pixels) {
            codec.is_memory = true;
            png_longjmp(codec.png, 1);
        }
        for (int pass = 0; pass < PNG_INTERLACE_ADAM7_PASSES; pass++) {
            for (uint32_t row = 0; row < header->height; row++) {
                png_read_row(codec.png, codec.pixels + stride * row, NULL);
                if (!pixels_done(header->width)) png_longjmp(codec.png, 1);
            }
        }
    }
    bool is_weighed = picture->has_alpha && scaler_changes(codec.scaler);
    for (uint32_t row = 0; row < header->height; row++) {
        uint8_t *to = scaler_row(codec.scaler);
        if (is_interlaced) memcpy(to, codec.pixels + stride * row, stride);
        else png_read_row(codec.png, to, NULL);
        if (is_weighed) premultiply(to, header->width);
        if (!scaler_push(codec.scaler)) png_longjmp(codec.png, 1);
    }
    png_read_end(codec.png, NULL);
    png_destroy_read_struct(&codec.png, &codec.info, NULL);
    scaler_free(codec.scaler);
    free(codec.pixels);
    return RECAST_IMAGE_DONE;
}

/* MARK: Writing */

static void give(png_structp png, png_bytep bytes, size_t count) {
    codec *codec = png_get_io_ptr(png);
    if (!blob_append(&codec->output, bytes, count)) {
        codec->is_memory = true;
        png_longjmp(png, 1);
    }
}

static void flush(png_structp png) { (void)png; }

/* Writes the profile in the chunk that it came in, or packs it: as long as its header says, and in whole fours, as readers want it
   (ICC.1:2022 section 7.2.2). What they would say of it else is theirs. */
static void write_profile(codec *codec, const metadata *metadata) {
    if (metadata->icc_chunk) {
        png_write_chunk(codec->png, (png_const_bytep)"iCCP", metadata->icc_chunk + 8, big32(metadata->icc_chunk));
        return;
    }
    const blob *icc = &metadata->icc;
    if (icc->count < SHORTEST_PROFILE) return;
    enum { VERSION = 8, IDENTITY = 84, IDENTITY_COUNT = 16, NAME = 5 };
    static const char name[NAME] = "icc\0";
    size_t said = big32(icc->bytes), count = said >= SHORTEST_PROFILE && said < icc->count ? said : icc->count;
    size_t padding = icc->bytes[VERSION] > 3 && said == count ? -count & 3 : 0;
    uLong most = compressBound((uLong)(count + padding));
    if (!(codec->profile = malloc(count + padding)) || !(codec->packed = malloc(NAME + most))) {
        codec->is_memory = true;
        png_longjmp(codec->png, 1);
    }
    memcpy(codec->profile, icc->bytes, count);
    memset(codec->profile + count, 0, padding);
    if (padding) {
        /* Another length makes another sum of all, which needn't be there. */
        for (int byte = 0; byte < 4; byte++) codec->profile[byte] = (uint8_t)((count + padding) >> (24 - 8 * byte));
        memset(codec->profile + IDENTITY, 0, IDENTITY_COUNT);
    }
    memcpy(codec->packed, name, NAME);
    if (compress(codec->packed + NAME, &most, codec->profile, (uLong)(count + padding)) != Z_OK) {
        codec->is_memory = true;
        png_longjmp(codec->png, 1);
    }
    free(codec->profile);
    codec->profile = NULL;
    png_write_chunk(codec->png, (png_const_bytep)"iCCP", codec->packed, NAME + most);
    free(codec->packed);
    codec->packed = NULL;
}

static void write_texts(codec *codec, const metadata *metadata) {
    if (metadata->xmp.bytes && metadata->xmp.count < INT32_MAX / 2) {
        uint8_t *content = malloc(sizeof xmp_key + 4 + metadata->xmp.count);
        if (!content) {
            codec->is_memory = true;
            png_longjmp(codec->png, 1);
        }
        memcpy(content, xmp_key, sizeof xmp_key);
        memset(content + sizeof xmp_key, 0, 4);
        memcpy(content + sizeof xmp_key + 4, metadata->xmp.bytes, metadata->xmp.count);
        codec->pixels = content;
        png_write_chunk(codec->png, (png_const_bytep)"iTXt", content, sizeof xmp_key + 4 + metadata->xmp.count);
    }
    size_t at = 0;
    chunk chunk;
    while (next_chunk(metadata->chunks.bytes, metadata->chunks.count, &at, &chunk)) {
        png_write_chunk(codec->png, chunk.begin + 4, chunk.content, chunk.count);
    }
}

/* Rows as the format has them, from four bytes a pixel. */
static void pack(const picture *picture, const uint8_t *from, uint8_t *to) {
    for (uint32_t at = 0; at < picture->width; at++, from += 4) {
        *to++ = from[0];
        if (!picture->is_gray) {
            *to++ = from[1];
            *to++ = from[2];
        }
        if (picture->has_alpha) *to++ = from[3];
    }
}

enum recast_image_status png_write(const picture *picture, const metadata *metadata, recast_image_result *result) {
    codec codec;
    memset(&codec, 0, sizeof codec);
    codec.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &codec, fail, say_nothing);
    codec.info = codec.png ? png_create_info_struct(codec.png) : NULL;
    uint8_t *row = malloc((size_t)picture->width * 4);
    if (!codec.info || !row) {
        png_destroy_write_struct(&codec.png, &codec.info);
        free(row);
        return RECAST_IMAGE_NO_MEMORY;
    }
    if (setjmp(png_jmpbuf(codec.png))) {
        png_destroy_write_struct(&codec.png, &codec.info);
        free(row);
        free(codec.output.bytes);
        free(codec.pixels);
        free(codec.profile);
        free(codec.packed);
        result->reason = "it can't be written as a PNG";
        return codec.is_memory ? RECAST_IMAGE_NO_MEMORY : RECAST_IMAGE_BAD;
    }
    png_set_write_fn(codec.png, &codec, give, flush);
    png_set_user_limits(codec.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    int type = (picture->is_gray ? 0 : PNG_COLOR_MASK_COLOR) | (picture->has_alpha ? PNG_COLOR_MASK_ALPHA : 0);
    png_set_IHDR(
        codec.png, codec.info, picture->width, picture->height, 8, type, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
        PNG_FILTER_TYPE_DEFAULT);
    png_write_info(codec.png, codec.info);
    write_profile(&codec, metadata);
    if (metadata->exif.bytes) {
        png_write_chunk(codec.png, (png_const_bytep)"eXIf", metadata->exif.bytes, metadata->exif.count);
    }
    write_texts(&codec, metadata);
    for (uint32_t at = 0; at < picture->height; at++) {
        pack(picture, picture->pixels + (size_t)at * picture->width * 4, row);
        png_write_row(codec.png, row);
        if (!pixels_done(picture->width)) png_longjmp(codec.png, 1);
    }
    png_write_end(codec.png, NULL);
    png_destroy_write_struct(&codec.png, &codec.info);
    free(row);
    free(codec.pixels);
    result->bytes = codec.output.bytes;
    result->count = codec.output.count;
    return RECAST_IMAGE_DONE;
}
#endif
