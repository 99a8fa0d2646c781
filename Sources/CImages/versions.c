/* Which libraries these are. */
#include "CImages.h"

#ifdef RECAST_IMAGES
#include <stdio.h>
#include <jpeglib.h>
#include <png.h>
#include <webp/decode.h>

/* Three decimal digits a part, as libjpeg-turbo writes it, or two, as libpng does. */
static uint32_t parts(uint32_t number, uint32_t unit) {
    return (number / unit / unit) << 16 | (number / unit % unit) << 8 | number % unit;
}

uint32_t recast_image_version(enum recast_image_library library) {
    switch (library) {
    case RECAST_IMAGE_LIBJPEG: return parts(LIBJPEG_TURBO_VERSION_NUMBER, 1000);
    case RECAST_IMAGE_LIBPNG: return parts(png_access_version_number(), 100);
    default: return (uint32_t)WebPGetDecoderVersion();
    }
}

#else

uint32_t recast_image_version(enum recast_image_library library) {
    (void)library;
    return 0;
}

#endif
