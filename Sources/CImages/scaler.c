/* The resampler: Catmull-Rom, widened by the ratio, so that every pixel of the source counts. Its weights are whole numbers of 14
   bits. Rows are weighed against each other first, which is one long loop over bytes; then pixels in the row that is left. A picture
   that keeps its size passes. */
#include "images.h"
#include <math.h>

enum { BITS = 14, ONE = 1 << BITS, HALF = 1 << (BITS - 1) };

typedef int32_t lanes __attribute__((vector_size(16)));

/* For each place of the output: the first of the source's places that count, and their weights. */
typedef struct axis {
    uint32_t from, to;
    /* Weights of one place. */
    uint32_t taps;
    uint32_t *first;
    int16_t *weights;
} axis;

struct scaler {
    picture *picture;
    axis rows, columns;
    /* The last rows of the source, at their number modulo `rows.taps`. */
    uint8_t *ring;
    size_t stride;
    /* Rows that have come, and that have gone out. */
    uint32_t taken, given;
    /* A row of the output's height and the source's width. */
    uint8_t *between;
};

static double catmull_rom(double x) {
    x = fabs(x);
    if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
    if (x < 2) return ((-0.5 * x + 2.5) * x - 4) * x + 2;
    return 0;
}

static uint32_t taps_of(uint32_t from, uint32_t to) {
    if (from == to) return 1;
    uint32_t taps = (uint32_t)ceil(4.0 * from / to) + 1;
    return taps < from ? taps : from;
}

static bool axis_make(axis *axis, uint32_t from, uint32_t to) {
    axis->from = from;
    axis->to = to;
    axis->taps = taps_of(from, to);
    axis->first = malloc(to * sizeof *axis->first);
    axis->weights = malloc((size_t)to * axis->taps * sizeof *axis->weights);
    if (!axis->first || !axis->weights) return false;
    double ratio = (double)from / to;
    for (uint32_t at = 0; at < to; at++) {
        int16_t *weights = axis->weights + (size_t)at * axis->taps;
        if (from == to) {
            axis->first[at] = at;
            weights[0] = ONE;
            continue;
        }
        double center = (at + 0.5) * ratio - 0.5;
        double begin = ceil(center - 2 * ratio);
        double most = (double)from - axis->taps;
        if (begin > most) begin = most;
        if (begin < 0) begin = 0;
        uint32_t first = (uint32_t)begin;
        double sum = 0;
        for (uint32_t tap = 0; tap < axis->taps; tap++) sum += catmull_rom((first + tap - center) / ratio);
        int left = ONE, largest = 0;
        for (uint32_t tap = 0; tap < axis->taps; tap++) {
            int weight = (int)lround(catmull_rom((first + tap - center) / ratio) / sum * (double)ONE);
            weights[tap] = (int16_t)weight;
            left -= weight;
            if (weight > weights[largest]) largest = (int)tap;
        }
        /* What rounding has lost, so that an even colour stays what it is. */
        weights[largest] = (int16_t)(weights[largest] + left);
        axis->first[at] = first;
    }
    return true;
}

size_t scaler_memory(uint32_t width, uint32_t height, uint32_t to_width, uint32_t to_height) {
    size_t rows = taps_of(height, to_height), columns = taps_of(width, to_width);
    return (rows + 1) * 4 * width + 2 * (rows * to_height + columns * to_width) + 4 * ((size_t)to_width + to_height)
        + sizeof(scaler);
}

scaler *scaler_make(uint32_t width, uint32_t height, picture *picture) {
    scaler *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    made->picture = picture;
    made->stride = (size_t)width * 4;
    if (!axis_make(&made->rows, height, picture->height) || !axis_make(&made->columns, width, picture->width)
        || !(made->ring = malloc(made->stride * made->rows.taps)) || !(made->between = malloc(made->stride))) {
        scaler_free(made);
        return NULL;
    }
    return made;
}

void scaler_free(scaler *scaler) {
    if (!scaler) return;
    free(scaler->rows.first);
    free(scaler->rows.weights);
    free(scaler->columns.first);
    free(scaler->columns.weights);
    free(scaler->ring);
    free(scaler->between);
    free(scaler);
}

bool scaler_changes(const scaler *scaler) {
    return scaler->rows.from != scaler->rows.to || scaler->columns.from != scaler->columns.to;
}

uint8_t *scaler_row(scaler *scaler) { return scaler->ring + scaler->stride * (scaler->taken % scaler->rows.taps); }

static inline uint8_t clamped(int32_t sum) {
    int32_t value = (sum + HALF) >> BITS;
    return value < 0 ? 0 : value > 255 ? 255 : (uint8_t)value;
}

/* Weighs rows of bytes against each other. A block of sums fits the nearest cache. */
static void weigh_rows(const scaler *scaler, uint32_t row, uint8_t *output) {
    enum { BLOCK = 1024 };
    int32_t sums[BLOCK];
    const axis *axis = &scaler->rows;
    const int16_t *weights = axis->weights + (size_t)row * axis->taps;
    for (size_t begin = 0; begin < scaler->stride; begin += BLOCK) {
        size_t count = scaler->stride - begin < BLOCK ? scaler->stride - begin : BLOCK;
        for (size_t at = 0; at < count; at++) sums[at] = 0;
        for (uint32_t tap = 0; tap < axis->taps; tap++) {
            const uint8_t *source =
                scaler->ring + scaler->stride * ((axis->first[row] + tap) % axis->taps) + begin;
            int32_t weight = weights[tap];
            if (!weight) continue;
            for (size_t at = 0; at < count; at++) sums[at] += weight * source[at];
        }
        for (size_t at = 0; at < count; at++) output[begin + at] = clamped(sums[at]);
    }
}

static void weigh_columns(const axis *axis, const uint8_t *source, uint8_t *output) {
    for (uint32_t at = 0; at < axis->to; at++) {
        const int16_t *weights = axis->weights + (size_t)at * axis->taps;
        const uint8_t *from = source + (size_t)axis->first[at] * 4;
        lanes sum = {HALF, HALF, HALF, HALF};
        for (uint32_t tap = 0; tap < axis->taps; tap++, from += 4) {
            lanes pixel = {from[0], from[1], from[2], from[3]};
            sum += pixel * weights[tap];
        }
        for (int lane = 0; lane < 4; lane++) {
            int32_t value = sum[lane] >> BITS;
            output[at * 4 + (uint32_t)lane] = value < 0 ? 0 : value > 255 ? 255 : (uint8_t)value;
        }
    }
}

bool scaler_push(scaler *scaler) {
    scaler->taken++;
    if (!pixels_done(scaler->columns.from)) return false;
    picture *picture = scaler->picture;
    while (scaler->given < picture->height
           && scaler->rows.first[scaler->given] + scaler->rows.taps <= scaler->taken) {
        uint8_t *output = picture->pixels + (size_t)scaler->given * picture->width * 4;
        const uint8_t *row = scaler->between;
        if (scaler->rows.from == scaler->rows.to) row = scaler->ring;
        else weigh_rows(scaler, scaler->given, scaler->between);
        if (scaler->columns.from == scaler->columns.to) memcpy(output, row, scaler->stride);
        else weigh_columns(&scaler->columns, row, output);
        if (picture->has_alpha && scaler_changes(scaler)) unpremultiply(output, picture->width);
        scaler->given++;
        if (!pixels_done(picture->width)) return false;
    }
    return true;
}

void premultiply(uint8_t *pixels, size_t count) {
    for (size_t at = 0; at < count; at++, pixels += 4) {
        unsigned alpha = pixels[3];
        if (alpha == 255) continue;
        for (int lane = 0; lane < 3; lane++) pixels[lane] = (uint8_t)((pixels[lane] * alpha + 127) / 255);
    }
}

void unpremultiply(uint8_t *pixels, size_t count) {
    for (size_t at = 0; at < count; at++, pixels += 4) {
        unsigned alpha = pixels[3];
        if (alpha == 255 || alpha == 0) continue;
        for (int lane = 0; lane < 3; lane++) {
            unsigned value = (pixels[lane] * 255 + alpha / 2) / alpha;
            pixels[lane] = value > 255 ? 255 : (uint8_t)value;
        }
    }
}
