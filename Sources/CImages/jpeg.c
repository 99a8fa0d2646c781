/* JPEG (ITU T.81) by libjpeg-turbo. It decodes at an eighth, a quarter or half of the size where that is enough, which spares most
   of the work; the scaler does the rest. */
#ifdef RECAST_IMAGES
#include "images.h"
#include <setjmp.h>
#include <stdio.h>
#include <jpeglib.h>
#include <jerror.h>

enum {
    DHT = 0xC4, JPG = 0xC8, DAC = 0xCC, RST0 = 0xD0, RST7 = 0xD7, SOI = 0xD8, EOI = 0xD9, SOS = 0xDA, DQT = 0xDB,
    DRI = 0xDD, EXP = 0xDF, APP0 = 0xE0, APP1 = 0xE1,
    APP2 = 0xE2, APP13 = 0xED, APP14 = 0xEE, APP15 = 0xEF,
    COM = 0xFE,
    /* Scans of a progressive picture; encoders write about ten, and each costs a look at all of it. */
    MOST_SCANS = 100
};

static const char jfif_mark[5] = "JFIF";
static const char adobe_mark[] = "Adobe";
static const char exif_mark[6] = "Exif\0";
static const char icc_mark[12] = "ICC_PROFILE";
static const char xmp_mark[29] = "http://ns.adobe.com/xap/1.0/";
static const char mpf_mark[4] = "MPF";

/* MARK: Segments */

/* A segment in front of the pixels. */
typedef struct segment {
    int marker;
    /* Where its 0xFF stands, its content begins, and it ends. */
    size_t begin, content, end;
    /* Its length is less than the two bytes that it takes itself: libjpeg, and so nearly every reader, goes on right behind those. */
    bool is_short;
} segment;

/* The segment at `*at`, which then stands behind it. False at what is none. */
static bool next_segment(const uint8_t *bytes, size_t count, size_t *at, segment *segment) {
    size_t place = *at;
    if (place >= count || bytes[place] != 0xFF) return false;
    segment->begin = place;
    /* Any number of fill bytes may precede a marker (T.81 B.1.1.2). */
    while (place < count && bytes[place] == 0xFF) place++;
    if (place >= count) return false;
    segment->marker = bytes[place++];
    /* A byte of ones among pixels, and no marker: readers pass over these two and look for the next one right behind them. */
    if (segment->marker == 0) return false;
    segment->content = segment->end = place;
    segment->is_short = false;
    bool is_alone = segment->marker == 0x01 || (segment->marker >= 0xD0 && segment->marker <= SOI);
    if (!is_alone && segment->marker != EOI) {
        if (count - place < 2) return false;
        size_t length = (size_t)bytes[place] << 8 | bytes[place + 1];
        if (length > count - place) return false;
        segment->is_short = length < 2;
        segment->content = place + 2;
        segment->end = segment->is_short ? segment->content : place + length;
    }
    *at = segment->end;
    return true;
}

static bool is_marked(const uint8_t *bytes, const segment *segment, const char *mark, size_t count) {
    return segment->end - segment->content >= count && memcmp(bytes + segment->content, mark, count) == 0;
}

static bool is_exif(const uint8_t *bytes, const segment *segment) {
    return segment->marker == APP1 && is_marked(bytes, segment, exif_mark, sizeof exif_mark);
}

static bool is_profile(const uint8_t *bytes, const segment *segment) {
    return segment->marker == APP2 && is_marked(bytes, segment, icc_mark, sizeof icc_mark);
}

/* Whether a segment is metadata, which stays where it is wanted. */
static bool is_extra(const uint8_t *bytes, const segment *segment) {
    int marker = segment->marker;
    if (marker == COM) return true;
    if (marker == APP2) return !is_profile(bytes, segment);
    return marker >= APP1 && marker <= APP15 && marker != APP14;
}

static bool is_frame(int marker) {
    return marker >= 0xC0 && marker <= 0xCF && marker != DHT && marker != JPG && marker != DAC;
}

/* Whether a segment may stand in front of the pixels: a frame, tables, what applications say, comments. Of all other markers some readers
   take one for alone that others take for a segment, or look for the next marker inside of it; and then they see other pictures. */
static bool may_lead(int marker) {
    return is_frame(marker) || marker == DHT || marker == DAC || marker == DQT || marker == DRI
        || (marker >= APP0 && marker <= APP15) || marker == COM;
}

void jpeg_look(const uint8_t *bytes, size_t count, recast_image_header *header) {
    header->kind = RECAST_IMAGE_BROKEN;
    header->lack = RECAST_IMAGE_NO_HEADER;
    size_t at = 0;
    segment segment;
    bool has_frame = false, has_exif = false;
    for (size_t parts = 1; next_segment(bytes, count, &at, &segment); parts++) {
        /* Not every reader goes on behind it. */
        if (segment.is_short) return;
        if (parts > RECAST_IMAGE_MOST_PARTS) {
            header->lack = RECAST_IMAGE_MANY_PARTS;
            return;
        }
        /* The picture is over, or another one begins in it: no reader comes to a scan behind that. */
        if (segment.marker == EOI || (segment.marker == SOI && segment.begin != 0)) return;
        if (segment.marker == SOI) continue;
        if (segment.marker == SOS) {
            if (has_frame) header->kind = RECAST_IMAGE_JPEG;
            /* Components that come one after the other wait for the last one. */
            if (segment.end > segment.content && bytes[segment.content] < header->components) header->is_whole = true;
            return;
        }
        /* The first one counts, as it does for other readers. */
        if (is_exif(bytes, &segment) && !has_exif) {
            has_exif = true;
            header->orientation = exif_orientation(bytes + segment.content + 6, segment.end - segment.content - 6);
        }
        if (!may_lead(segment.marker)) {
            header->lack = RECAST_IMAGE_AMBIGUOUS;
            return;
        }
        if (is_profile(bytes, &segment)) header->colours += segment.end - segment.begin;
        else if (is_extra(bytes, &segment)) header->extras += segment.end - segment.begin;
        if (!is_frame(segment.marker)) continue;
        const uint8_t *frame = bytes + segment.content;
        size_t size = segment.end - segment.content;
        /* Of two frames one reader takes the first, another one the last. */
        if (has_frame || size < 6 || size != 6 + 3 * (size_t)frame[5]) {
            header->lack = RECAST_IMAGE_AMBIGUOUS;
            return;
        }
        header->height = (uint32_t)(frame[1] << 8 | frame[2]);
        header->width = (uint32_t)(frame[3] << 8 | frame[4]);
        header->components = frame[5];
        header->is_gray = frame[5] == 1;
        header->is_whole = segment.marker == 0xC2 || segment.marker == 0xCA;
        if (header->width == 0 || header->height == 0 || header->components == 0) {
            header->lack = RECAST_IMAGE_NO_SIZE;
            return;
        }
        if (frame[0] != 8) {
            header->lack = RECAST_IMAGE_DEPTH;
            return;
        }
        has_frame = true;
        header->lack = RECAST_IMAGE_NO_SCAN;
    }
    /* The file goes on with something that is no segment. */
    size_t marker = at;
    while (marker < count && bytes[marker] == 0xFF) marker++;
    if (marker < count && (marker == at || bytes[marker] == 0)) header->lack = RECAST_IMAGE_AMBIGUOUS;
}

/* Bytes that are looked at in one go. */
typedef uint8_t block __attribute__((vector_size(32)));

/* Behind the pixels at `at`: where a marker begins that is none of theirs, or the end. A byte of ones among the pixels has a zero behind
   it, and pieces of the pixels have a marker between them; of either there may be one at every second byte, and fill bytes. */
static size_t end_of_scan(const uint8_t *bytes, size_t count, size_t at) {
    size_t begin = at;
    for (; count - at > sizeof(block); at += sizeof(block)) {
        block here, next;
        memcpy(&here, bytes + at, sizeof here);
        memcpy(&next, bytes + at + 1, sizeof next);
        block found = (block)(here == 0xFF) & (block)(next != 0) & (block)(next != 0xFF) & (block)((next & 0xF8) != RST0);
        uint64_t words[sizeof found / sizeof(uint64_t)], any = 0;
        memcpy(words, &found, sizeof found);
        for (size_t word = 0; word < sizeof words / sizeof *words; word++) any |= words[word];
        if (any) break;
    }
    for (; count - at > 1; at++) {
        uint8_t next = bytes[at + 1];
        if (bytes[at] != 0xFF || next == 0 || next == 0xFF || (next >= RST0 && next <= RST7)) continue;
        /* It begins with its fill bytes. */
        while (at > begin && bytes[at - 1] == 0xFF) at--;
        return at;
    }
    return count;
}

/* The bytes of a segment's content that are needed to show the picture; -1: none of the segment is. */
static long needed_content(const uint8_t *bytes, const segment *segment, bool has_scan, bool has_jfif) {
    enum { JFIF_CONTENT = 14, ADOBE_CONTENT = 12 };
    int marker = segment->marker;
    size_t size = segment->end - segment->content;
    /* Frames, tables, scans, the number of lines. */
    if ((marker >= 0xC0 && marker <= 0xCF) || (marker >= SOS && marker <= EXP)) return (long)size;
    /* What tells a reader of the colours stands in front of the pixels. */
    if (has_scan) return -1;
    /* Behind the pixels' shape JFIF may have a small picture. */
    if (marker == APP0 && !has_jfif && size >= JFIF_CONTENT && is_marked(bytes, segment, jfif_mark, sizeof jfif_mark)) {
        return JFIF_CONTENT;
    }
    if (is_profile(bytes, segment)) return (long)size;
    bool is_adobe = size >= ADOBE_CONTENT && is_marked(bytes, segment, adobe_mark, sizeof adobe_mark - 1);
    return marker == APP14 && is_adobe ? ADOBE_CONTENT : -1;
}

bool jpeg_sift(const uint8_t *bytes, size_t count, sieve *sieve) {
    size_t at = 0;
    bool has_scan = false, has_jfif = false;
    segment segment;
    for (size_t parts = 1; next_segment(bytes, count, &at, &segment); parts++) {
        if (parts > RECAST_IMAGE_MOST_PARTS) return false;
        size_t header = segment.content - segment.begin, size = segment.end - segment.content;
        bool is_first = segment.begin == 0;
        if (segment.marker == EOI || (segment.marker == SOI && is_first)) {
            if (!sieve_keep(sieve, bytes + segment.begin, header)) return true;
            if (is_first) continue;
            /* The picture is over: other pictures stand behind it, what a camera says, or what an editor has left there. */
            if (at < count) sieve->has_extras = true;
            return has_scan;
        }
        /* Another picture, in which this one isn't over. */
        if (segment.marker == SOI) {
            sieve->has_extras = true;
            return has_scan;
        }
        long needed = needed_content(bytes, &segment, has_scan, has_jfif);
        if (needed < 0) {
            sieve->has_extras = true;
        } else if ((size_t)needed == size && segment.marker != APP0) {
            if (!sieve_keep(sieve, bytes + segment.begin, header + size)) return true;
        } else {
            /* Cut to what is needed. JFIF then has a small picture of no pixels. */
            size_t length = (size_t)needed + 2;
            uint8_t begin[4] = {0xFF, (uint8_t)segment.marker, (uint8_t)(length >> 8), (uint8_t)length};
            uint8_t content[16];
            memcpy(content, bytes + segment.content, (size_t)needed);
            if (segment.marker == APP0) {
                content[12] = content[13] = 0;
                has_jfif = true;
            }
            if ((size_t)needed != size || memcmp(content, bytes + segment.content, (size_t)needed) != 0 || header != 4) {
                sieve->has_extras = true;
            }
            if (!sieve_keep(sieve, begin, sizeof begin) || !sieve_keep(sieve, content, (size_t)needed)) return true;
        }
        if (segment.marker == SOS) has_scan = true;
        if (!has_scan) continue;
        size_t end = end_of_scan(bytes, count, at);
        if (segment.marker == SOS) {
            if (!sieve_keep(sieve, bytes + at, end - at)) return true;
        } else if (end > at) {
            /* A reader passes over it. */
            sieve->has_extras = true;
        }
        at = end;
    }
    /* A segment that is cut tells no reader anything. */
    if (at < count) sieve->has_extras = true;
    return has_scan;
}

/* MARK: Reading */

typedef struct faults {
    struct jpeg_error_mgr base;
    jmp_buf home;
    const char *reason;
    bool is_memory;
} faults;

static void fail(j_common_ptr codec) {
    faults *faults = (struct faults *)codec->err;
    if (codec->err->msg_code == JERR_OUT_OF_MEMORY) faults->is_memory = true;
    longjmp(faults->home, 1);
}

/* Pixels that the library would make up are an error. What is only odd isn't. */
static void warn(j_common_ptr codec, int level) {
    if (level >= 0) return;
    faults *faults = (struct faults *)codec->err;
    switch (codec->err->msg_code) {
    case JWRN_HIT_MARKER:
    case JWRN_JPEG_EOF: faults->reason = "it is cut off"; break;
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC:
    case JWRN_NOT_SEQUENTIAL:
    case JWRN_BOGUS_PROGRESSION: faults->reason = "its pixels are corrupt"; break;
    default: return;
    }
    longjmp(faults->home, 1);
}

static void say_nothing(j_common_ptr codec) { (void)codec; }

static void set_faults(j_common_ptr codec, faults *faults) {
    codec->err = jpeg_std_error(&faults->base);
    faults->base.error_exit = fail;
    faults->base.emit_message = warn;
    faults->base.output_message = say_nothing;
    faults->reason = "it can't be decoded";
    faults->is_memory = false;
}

/* Called for each row of blocks. A picture of a thousand scans is a bomb: each one passes over all of its pixels. */
static void watch_reading(j_common_ptr codec) {
    faults *faults = (struct faults *)codec->err;
    if (!pixels_done((size_t)((j_decompress_ptr)codec)->image_width * DCTSIZE)) longjmp(faults->home, 1);
    if (((j_decompress_ptr)codec)->input_scan_number <= MOST_SCANS) return;
    faults->reason = "it has more than 100 scans";
    longjmp(faults->home, 1);
}

/* Inks to colours. Adobe writes them inverted, which everybody else who writes CMYK has taken over, but for those that say nothing. */
static void mix_inks(uint8_t *pixels, uint32_t width, bool is_inverted) {
    for (uint32_t at = 0; at < width; at++, pixels += 4) {
        unsigned key = is_inverted ? pixels[3] : 255u - pixels[3];
        for (int lane = 0; lane < 3; lane++) {
            unsigned ink = is_inverted ? pixels[lane] : 255u - pixels[lane];
            pixels[lane] = (uint8_t)((ink * key + 127) / 255);
        }
        pixels[3] = 255;
    }
}

/* Keeps the profile in front of the pixels, of which each segment says which one of how many it is (ICC.1:2022 annex B.4): where all are
   there, each once. The library could tell it, but would keep each segment of its kind behind all others, and go through those for it
   (libjpeg-turbo 2): a million of them, in 4 MB, would take half an hour. False: no memory. */
static bool keep_profile(const uint8_t *bytes, size_t count, metadata *metadata) {
    enum { NUMBER = sizeof icc_mark, COUNT, CONTENT, MOST = 255 };
    const uint8_t *parts[MOST + 1] = {NULL};
    size_t sizes[MOST + 1], at = 0, total = 0;
    int parts_count = 0;
    segment segment;
    while (next_segment(bytes, count, &at, &segment) && segment.marker != SOS) {
        size_t size = segment.end - segment.content;
        if (!is_profile(bytes, &segment) || size < CONTENT) continue;
        const uint8_t *content = bytes + segment.content;
        int number = content[NUMBER];
        if (parts_count == 0) parts_count = content[COUNT];
        if (content[COUNT] != parts_count || number == 0 || number > parts_count || parts[number]) return true;
        parts[number] = content + CONTENT;
        sizes[number] = size - CONTENT;
        total += sizes[number];
    }
    for (int number = 1; number <= parts_count; number++) {
        if (!parts[number]) return true;
    }
    if (total == 0) return true;
    uint8_t *profile = malloc(total);
    if (!profile) return false;
    metadata->icc.bytes = profile;
    metadata->icc.count = total;
    for (int number = 1; number <= parts_count; profile += sizes[number++]) memcpy(profile, parts[number], sizes[number]);
    return true;
}

static bool keep_segments(const uint8_t *bytes, size_t count, bool keeps, metadata *metadata) {
    size_t at = 0;
    segment segment;
    bool has_exif = false;
    while (next_segment(bytes, count, &at, &segment) && segment.marker != SOS) {
        size_t size = segment.end - segment.content;
        if (!keeps || !is_extra(bytes, &segment)) continue;
        if (is_exif(bytes, &segment) && has_exif) {
            /* What goes on with the one before it stays; another one would tell of another picture, which may be turned. */
            if (is_tiff(bytes + segment.content + sizeof exif_mark, size - sizeof exif_mark)) continue;
            if (!blob_append(&metadata->segments, bytes + segment.begin, segment.end - segment.begin)) return false;
        } else if (is_exif(bytes, &segment)) {
            has_exif = true;
            if (!blob_set(&metadata->exif, bytes + segment.content + 6, size - 6)) return false;
        } else if (segment.marker == APP1 && is_marked(bytes, &segment, xmp_mark, sizeof xmp_mark) && !metadata->xmp.bytes) {
            if (!blob_set(&metadata->xmp, bytes + segment.content + sizeof xmp_mark, size - sizeof xmp_mark)) return false;
        } else if (segment.marker != APP2 || !is_marked(bytes, &segment, mpf_mark, sizeof mpf_mark)) {
            /* A list of further pictures behind this one has places in it that are no longer right. */
            if (!blob_append(&metadata->segments, bytes + segment.begin, segment.end - segment.begin)) return false;
        }
    }
    return true;
}

/* Whether the library has found the picture that was looked at, by which its pixels were counted and its memory was paid for. */
static bool is_as_seen(j_decompress_ptr codec, const recast_image_header *header) {
    return codec->image_width == header->width && codec->image_height == header->height
        && codec->num_components == header->components && codec->data_precision == 8
        && (header->is_whole || !jpeg_has_multiple_scans(codec));
}

static void watch_writing(j_common_ptr codec) {
    faults *faults = (struct faults *)codec->err;
    if (!pixels_done((size_t)((j_compress_ptr)codec)->image_width * DCTSIZE)) longjmp(faults->home, 1);
}

/* All that lives longer than a jump. */
typedef struct reading {
    struct jpeg_decompress_struct codec;
    struct jpeg_progress_mgr progress;
    faults faults;
    scaler *scaler;
} reading;

enum recast_image_status jpeg_read(
    const uint8_t *bytes, size_t count, const recast_image_header *header, bool keeps, picture *picture,
    metadata *metadata, const char **reason) {
    reading reading;
    memset(&reading, 0, sizeof reading);
    j_decompress_ptr codec = &reading.codec;
    set_faults((j_common_ptr)codec, &reading.faults);
    if (setjmp(reading.faults.home)) {
        jpeg_destroy_decompress(codec);
        scaler_free(reading.scaler);
        *reason = reading.faults.reason;
        return reading.faults.is_memory ? RECAST_IMAGE_NO_MEMORY : RECAST_IMAGE_BAD;
    }
    jpeg_create_decompress(codec);
    reading.progress.progress_monitor = watch_reading;
    codec->progress = &reading.progress;
    jpeg_mem_src(codec, bytes, (unsigned long)count);
    jpeg_read_header(codec, TRUE);
    if (!is_as_seen(codec, header)) {
        reading.faults.reason = ambiguous;
        longjmp(reading.faults.home, 1);
    }
    bool has_inks = codec->num_components == 4;
    codec->out_color_space = has_inks ? JCS_CMYK : JCS_EXT_RGBX;
    codec->scale_denom = 8;
    for (codec->scale_num = 1; codec->scale_num < 8; codec->scale_num *= 2) {
        jpeg_calc_output_dimensions(codec);
        if (codec->output_width >= picture->width && codec->output_height >= picture->height) break;
    }
    /* That of inks says nothing of the colours that they become. */
    if ((!has_inks && !keep_profile(bytes, count, metadata)) || !keep_segments(bytes, count, keeps, metadata)) {
        reading.faults.is_memory = true;
        longjmp(reading.faults.home, 1);
    }
    jpeg_start_decompress(codec);
    picture->is_gray = header->is_gray;
    picture->has_alpha = false;
    reading.scaler = scaler_make(codec->output_width, codec->output_height, picture);
    if (!reading.scaler) {
        reading.faults.is_memory = true;
        longjmp(reading.faults.home, 1);
    }
    while (codec->output_scanline < codec->output_height) {
        JSAMPROW row = scaler_row(reading.scaler);
        jpeg_read_scanlines(codec, &row, 1);
        if (has_inks) mix_inks(row, codec->output_width, codec->saw_Adobe_marker);
        if (!scaler_push(reading.scaler)) longjmp(reading.faults.home, 1);
    }
    /* Reads on to the end of the picture, which must be there. */
    jpeg_finish_decompress(codec);
    jpeg_destroy_decompress(codec);
    scaler_free(reading.scaler);
    return RECAST_IMAGE_DONE;
}

/* MARK: Writing */

typedef struct writing {
    struct jpeg_compress_struct codec;
    struct jpeg_progress_mgr progress;
    faults faults;
    unsigned char *bytes;
    unsigned long count;
    uint8_t *row;
} writing;

/* A segment holds 65,533 bytes. */
static void write_marked(j_compress_ptr codec, int marker, const char *mark, size_t mark_count, const blob *content) {
    if (!content->bytes || content->count > 65533 - mark_count) return;
    jpeg_write_m_header(codec, marker, (unsigned)(mark_count + content->count));
    for (size_t at = 0; at < mark_count; at++) jpeg_write_m_byte(codec, mark[at]);
    for (size_t at = 0; at < content->count; at++) jpeg_write_m_byte(codec, content->bytes[at]);
}

enum recast_image_status jpeg_write(
    const picture *picture, const metadata *metadata, int quality, recast_image_result *result) {
    writing writing;
    memset(&writing, 0, sizeof writing);
    j_compress_ptr codec = &writing.codec;
    set_faults((j_common_ptr)codec, &writing.faults);
    if (setjmp(writing.faults.home)) {
        /* The library says at the end only where its output is, and has freed what it said before when that has grown since. */
        if (writing.bytes) codec->dest->term_destination(codec);
        jpeg_destroy_compress(codec);
        free(writing.bytes);
        free(writing.row);
        result->reason = "it can't be written as a JPEG";
        return writing.faults.is_memory ? RECAST_IMAGE_NO_MEMORY : RECAST_IMAGE_BAD;
    }
    jpeg_create_compress(codec);
    writing.progress.progress_monitor = watch_writing;
    codec->progress = &writing.progress;
    jpeg_mem_dest(codec, &writing.bytes, &writing.count);
    codec->image_width = picture->width;
    codec->image_height = picture->height;
    codec->input_components = picture->is_gray ? 1 : 4;
    codec->in_color_space = picture->is_gray ? JCS_GRAYSCALE : JCS_EXT_RGBX;
    jpeg_set_defaults(codec);
    jpeg_set_quality(codec, quality, TRUE);
    if (!picture->is_gray && quality >= 90) codec->comp_info[0].h_samp_factor = codec->comp_info[0].v_samp_factor = 1;
    jpeg_start_compress(codec, TRUE);
    write_marked(codec, APP1, exif_mark, sizeof exif_mark, &metadata->exif);
    write_marked(codec, APP1, xmp_mark, sizeof xmp_mark, &metadata->xmp);
    for (size_t at = 0; at < metadata->segments.count;) {
        segment segment;
        if (!next_segment(metadata->segments.bytes, metadata->segments.count, &at, &segment)) break;
        jpeg_write_marker(
            codec, segment.marker, metadata->segments.bytes + segment.content, (unsigned)(segment.end - segment.content));
    }
    /* 255 segments of 65,519 bytes, and no more, have a profile. */
    bool has_place = metadata->icc.count <= (size_t)255 * 65519;
    if (metadata->icc.bytes && has_place) jpeg_write_icc_profile(codec, metadata->icc.bytes, (unsigned)metadata->icc.count);
    if (picture->is_gray && !(writing.row = malloc(picture->width))) {
        writing.faults.is_memory = true;
        longjmp(writing.faults.home, 1);
    }
    while (codec->next_scanline < codec->image_height) {
        JSAMPROW row = picture->pixels + (size_t)codec->next_scanline * picture->width * 4;
        if (picture->is_gray) {
            for (uint32_t at = 0; at < picture->width; at++) writing.row[at] = row[at * 4];
            row = writing.row;
        }
        jpeg_write_scanlines(codec, &row, 1);
    }
    jpeg_finish_compress(codec);
    jpeg_destroy_compress(codec);
    free(writing.row);
    result->bytes = writing.bytes;
    result->count = writing.count;
    return RECAST_IMAGE_DONE;
}
#endif
