/* WebP (RFC 9649) by libwebp, which scales while it decodes. */
#ifdef RECAST_IMAGES
#include "images.h"
#include <webp/decode.h>
#include <webp/encode.h>
#include <webp/mux.h>

enum {
    LONGEST_SIDE = 16383,
    /* Bytes that are decoded in one go at least, and the pixels that come of them, about. */
    PIECE = 4096, SLICE = 8192,
    /* Rows of a picture without loss that are decoded in one go, about: where a piece ends the library goes back up to eight of them, to
       read them again with the next one. */
    ROWS = 16
};

static const char exif_mark[6] = "Exif\0";

/* The content of a chunk of the container; empty where there is none. */
static WebPData find(const uint8_t *bytes, size_t count, const char *type) {
    WebPData found = {NULL, 0};
    size_t at = 12;
    while (at <= count && count - at >= 8) {
        size_t length = little32(bytes + at + 4);
        if (length > count - at - 8) break;
        if (memcmp(bytes + at, type, 4) == 0) {
            found.bytes = bytes + at + 8;
            found.size = length;
            break;
        }
        at += 8 + length + (length & 1);
    }
    return found;
}

static bool has_many_parts(const uint8_t *bytes, size_t count) {
    enum { HEADER = 12, CHUNK = 8 };
    size_t at = HEADER;
    for (size_t parts = 1; at < count && count - at >= CHUNK; parts++) {
        size_t size = little32(bytes + at + 4);
        if (parts > RECAST_IMAGE_MOST_PARTS) return true;
        if (size > count - at - CHUNK) return false;
        at += CHUNK + size + (size & 1);
    }
    return false;
}

/* Some writers keep the mark of JPEG in front of the TIFF structure. */
static WebPData find_exif(const uint8_t *bytes, size_t count) {
    WebPData exif = find(bytes, count, "EXIF");
    if (exif.size > sizeof exif_mark && memcmp(exif.bytes, exif_mark, sizeof exif_mark) == 0) {
        exif.bytes += sizeof exif_mark;
        exif.size -= sizeof exif_mark;
    }
    return exif;
}

/* What the pixels say of themselves (RFC 6386 section 9.1, RFC 9649 section 3.4), in the first chunk that has any, of which the beginning
   is there. False where there is none. */
static bool look_at_pixels(const uint8_t *bytes, size_t count, recast_image_header *pixels) {
    enum { HEADER = 12, CHUNK = 8, LOSSY = 10, LOSSLESS = 5 };
    for (size_t at = HEADER; at < count && count - at >= CHUNK;) {
        const uint8_t *chunk = bytes + at, *content = chunk + CHUNK;
        size_t size = little32(chunk + 4), left = count - at - CHUNK;
        if (memcmp(chunk, "VP8 ", 4) == 0) {
            if (size < LOSSY || left < LOSSY) return false;
            pixels->width = (uint32_t)(content[6] | content[7] << 8) & 0x3FFF;
            pixels->height = (uint32_t)(content[8] | content[9] << 8) & 0x3FFF;
            pixels->is_lossless = false;
            return true;
        }
        if (memcmp(chunk, "VP8L", 4) == 0) {
            if (size < LOSSLESS || left < LOSSLESS) return false;
            uint32_t bits = little32(content + 1);
            pixels->width = (bits & 0x3FFF) + 1;
            pixels->height = (bits >> 14 & 0x3FFF) + 1;
            pixels->is_lossless = true;
            return true;
        }
        if (size > left) return false;
        at += CHUNK + size + (size & 1);
    }
    return false;
}

static bool is_as_seen(const recast_image_header *pixels, const recast_image_header *header) {
    return pixels->width == header->width && pixels->height == header->height && pixels->is_lossless == header->is_lossless;
}

void webp_look(const uint8_t *bytes, size_t count, recast_image_header *header) {
    header->kind = RECAST_IMAGE_BROKEN;
    header->lack = RECAST_IMAGE_NO_HEADER;
    /* Whatever follows goes through them, the library too. */
    if (has_many_parts(bytes, count)) {
        header->lack = RECAST_IMAGE_MANY_PARTS;
        return;
    }
    WebPBitstreamFeatures features;
    if (WebPGetFeatures(bytes, count, &features) != VP8_STATUS_OK || features.width <= 0 || features.height <= 0) return;
    header->width = (uint32_t)features.width;
    header->height = (uint32_t)features.height;
    header->has_alpha = features.has_alpha;
    header->is_whole = true;
    header->is_lossless = features.format == 2;
    WebPData exif = find_exif(bytes, count);
    if (exif.size) header->orientation = exif_orientation(exif.bytes, exif.size);
    header->colours = find(bytes, count, "ICCP").size;
    header->extras = exif.size + find(bytes, count, "XMP ").size;
    header->kind = features.has_animation ? RECAST_IMAGE_ANIMATED : RECAST_IMAGE_WEBP;
    /* The size above is the container's, where that has one. */
    recast_image_header pixels;
    if (!features.has_animation && look_at_pixels(bytes, count, &pixels) && !is_as_seen(&pixels, header)) {
        header->kind = RECAST_IMAGE_BROKEN;
        header->lack = RECAST_IMAGE_AMBIGUOUS;
    }
}

/* The container that `mux` describes. */
static enum recast_image_status assemble(WebPMux *mux, blob *output) {
    WebPData made = {NULL, 0};
    if (WebPMuxAssemble(mux, &made) != WEBP_MUX_OK) return RECAST_IMAGE_BAD;
    bool is_kept = blob_set(output, made.bytes, made.size);
    WebPDataClear(&made);
    return is_kept ? RECAST_IMAGE_DONE : RECAST_IMAGE_NO_MEMORY;
}

/* The needed chunks of a still picture, each once, in a container of their own. Its header is written last, when its length is known. */
bool webp_sift(const uint8_t *bytes, size_t count, sieve *sieve) {
    enum { HEADER = 12, CHUNK = 8, EXIF_FLAG = 0x08, XMP_FLAG = 0x04 };
    static const char *const needed[5] = {"VP8X", "ICCP", "ALPH", "VP8 ", "VP8L"};
    bool is_there[5] = {false};
    if (count < HEADER) return false;
    size_t length = little32(bytes + 4);
    if (length < 4 || length > count - CHUNK) return false;
    size_t end = CHUNK + length, at = HEADER;
    if (!sieve_keep(sieve, bytes, HEADER)) return true;
    while (end - at >= CHUNK) {
        const uint8_t *chunk = bytes + at;
        size_t size = little32(chunk + 4);
        if (size > end - at - CHUNK) break;
        bool is_padded = (size & 1) != 0 && size < end - at - CHUNK;
        at += CHUNK + size + is_padded;
        int kind = 0;
        while (kind < 5 && memcmp(chunk, needed[kind], 4) != 0) kind++;
        /* Of two pictures the first one is shown. */
        if (kind == 5 || is_there[kind] || (kind >= 3 && is_there[7 - kind])) {
            sieve->has_extras = true;
            continue;
        }
        is_there[kind] = true;
        uint8_t flags = 0;
        size_t begin = 0;
        if (kind == 0 && size > 0) {
            /* It no longer says that there is metadata. */
            flags = chunk[CHUNK] & (uint8_t)~(EXIF_FLAG | XMP_FLAG);
            begin = 1;
        }
        static const uint8_t padding = 0;
        if (!sieve_keep(sieve, chunk, CHUNK) || !sieve_keep(sieve, &flags, begin)
            || !sieve_keep(sieve, chunk + CHUNK + begin, size - begin)
            || !sieve_keep(sieve, &padding, size & 1)) {
            return true;
        }
    }
    /* Behind the last chunk, and behind the container. */
    if (at < end || end < count) {
        bool is_pad = at == end && count == end + 1 && (length & 1) != 0;
        if (!is_pad) sieve->has_extras = true;
    }
    if (sieve->output) {
        size_t made = sieve->output->count - CHUNK;
        for (int byte = 0; byte < 4; byte++) sieve->output->bytes[4 + byte] = (uint8_t)(made >> 8 * byte);
    }
    return is_there[3] || is_there[4];
}

/* Where the pixels end: a picture that is cut off would else be made of what stands behind them. */
static size_t end_of_pixels(const uint8_t *bytes, size_t count) {
    enum { HEADER = 12, CHUNK = 8 };
    size_t at = HEADER;
    while (at < count && count - at >= CHUNK) {
        const uint8_t *chunk = bytes + at;
        size_t size = little32(chunk + 4);
        if (size > count - at - CHUNK) break;
        at += CHUNK + size;
        if (memcmp(chunk, "VP8 ", 4) == 0 || memcmp(chunk, "VP8L", 4) == 0) return at;
        at += size & 1;
    }
    return count;
}

/* How many bytes to decode next. The library reads what stands in front of the pixels from its beginning with each piece, until all of it
   is there: chunks that it passes over, and tables that may have megabytes. So pieces double until there are rows. */
static size_t next_piece(WebPIDecoder *decoder, size_t given, size_t least) {
    int rows = 0;
    bool has_rows = WebPIDecGetRGB(decoder, &rows, NULL, NULL, NULL) && rows > 0;
    return has_rows || given < least ? least : given;
}

enum recast_image_status webp_read(
    const uint8_t *bytes, size_t count, const recast_image_header *header, bool keeps, picture *picture,
    metadata *metadata, const char **reason) {
    WebPDecoderConfig config;
    recast_image_header pixels;
    if (!look_at_pixels(bytes, count, &pixels)) {
        *reason = "it is cut off";
        return RECAST_IMAGE_BAD;
    }
    /* The picture that was looked at: by it the pixels were counted, and the memory was paid for. */
    if (!is_as_seen(&pixels, header)) {
        *reason = ambiguous;
        return RECAST_IMAGE_BAD;
    }
    *reason = "it can't be decoded";
    if (!WebPInitDecoderConfig(&config)) return RECAST_IMAGE_BAD;
    if (picture->width != header->width || picture->height != header->height) {
        config.options.use_scaling = 1;
        config.options.scaled_width = (int)picture->width;
        config.options.scaled_height = (int)picture->height;
    }
    picture->has_alpha = header->has_alpha;
    config.output.colorspace = MODE_RGBA;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = picture->pixels;
    config.output.u.RGBA.stride = (int)picture->width * 4;
    config.output.u.RGBA.size = (size_t)picture->width * picture->height * 4;
    /* In pieces, so that others get their turn between them. */
    WebPIDecoder *decoder = WebPIDecode(bytes, 0, &config);
    if (!decoder) return RECAST_IMAGE_NO_MEMORY;
    VP8StatusCode status = VP8_STATUS_SUSPENDED;
    size_t given = 0, end = end_of_pixels(bytes, count), least = PIECE;
    if (header->is_lossless && end / header->height > PIECE / ROWS) least = end / header->height * ROWS;
    while (status == VP8_STATUS_SUSPENDED && given < end) {
        size_t piece = next_piece(decoder, given, least);
        given = end - given > piece ? given + piece : end;
        status = WebPIUpdate(decoder, bytes, given);
        if (!pixels_done(SLICE)) break;
    }
    WebPIDelete(decoder);
    WebPFreeDecBuffer(&config.output);
    if (status == VP8_STATUS_OUT_OF_MEMORY) return RECAST_IMAGE_NO_MEMORY;
    if (status == VP8_STATUS_NOT_ENOUGH_DATA || status == VP8_STATUS_SUSPENDED) *reason = "it is cut off";
    if (status != VP8_STATUS_OK) return RECAST_IMAGE_BAD;
    WebPData icc = find(bytes, count, "ICCP"), exif = find_exif(bytes, count), xmp = find(bytes, count, "XMP ");
    if (!blob_set(&metadata->icc, icc.bytes, icc.size)) return RECAST_IMAGE_NO_MEMORY;
    if (!keeps) return RECAST_IMAGE_DONE;
    if (!blob_set(&metadata->exif, exif.bytes, exif.size) || !blob_set(&metadata->xmp, xmp.bytes, xmp.size)) {
        return RECAST_IMAGE_NO_MEMORY;
    }
    return RECAST_IMAGE_DONE;
}

static bool put(WebPMux *mux, const char *type, const blob *content) {
    if (!content->bytes) return true;
    WebPData data = {content->bytes, content->count};
    return WebPMuxSetChunk(mux, type, &data, 0) == WEBP_MUX_OK;
}

/* Puts what stands beside the pixels around them. */
static enum recast_image_status wrap(
    const WebPMemoryWriter *writer, const metadata *metadata, blob *output) {
    WebPData bare = {writer->mem, writer->size};
    WebPMux *mux = WebPMuxCreate(&bare, 0);
    if (!mux) return RECAST_IMAGE_NO_MEMORY;
    enum recast_image_status status = RECAST_IMAGE_NO_MEMORY;
    if (put(mux, "ICCP", &metadata->icc) && put(mux, "EXIF", &metadata->exif) && put(mux, "XMP ", &metadata->xmp)) {
        status = assemble(mux, output);
    }
    WebPMuxDelete(mux);
    return status;
}

/* Called for each row of blocks, or each step. Without loss a step may take a fifth of all the time. */
static int watch_writing(int percent, const WebPPicture *input) {
    (void)percent;
    return pixels_done((size_t)input->width * 16);
}

enum recast_image_status webp_write(
    const picture *picture, const metadata *metadata, int quality, bool is_lossless, recast_image_result *result) {
    result->reason = "it can't be written as a WebP";
    if (picture->width > LONGEST_SIDE || picture->height > LONGEST_SIDE) {
        result->reason = "no side of a WebP has more than 16383 pixels";
        return RECAST_IMAGE_BAD;
    }
    WebPConfig config;
    WebPPicture input;
    if (!WebPConfigInit(&config) || !WebPPictureInit(&input)) return RECAST_IMAGE_BAD;
    config.quality = is_lossless ? 75 : (float)quality;
    config.lossless = is_lossless;
    input.use_argb = is_lossless;
    input.width = (int)picture->width;
    input.height = (int)picture->height;
    int stride = (int)picture->width * 4;
    WebPMemoryWriter writer;
    WebPMemoryWriterInit(&writer);
    input.writer = WebPMemoryWrite;
    input.custom_ptr = &writer;
    input.progress_hook = watch_writing;
    bool is_read = picture->has_alpha ? WebPPictureImportRGBA(&input, picture->pixels, stride)
                                      : WebPPictureImportRGBX(&input, picture->pixels, stride);
    bool is_made = is_read && WebPEncode(&config, &input);
    bool is_memory = !is_read || input.error_code == VP8_ENC_ERROR_OUT_OF_MEMORY
        || input.error_code == VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY;
    WebPPictureFree(&input);
    enum recast_image_status status = is_made ? RECAST_IMAGE_DONE : is_memory ? RECAST_IMAGE_NO_MEMORY : RECAST_IMAGE_BAD;
    if (status == RECAST_IMAGE_DONE) {
        blob output = {NULL, 0};
        if (metadata->icc.bytes || metadata->exif.bytes || metadata->xmp.bytes) status = wrap(&writer, metadata, &output);
        else if (!blob_set(&output, writer.mem, writer.size)) status = RECAST_IMAGE_NO_MEMORY;
        result->bytes = output.bytes;
        result->count = output.count;
    }
    WebPMemoryWriterClear(&writer);
    return status;
}
#endif
