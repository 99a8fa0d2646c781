/* See CEvent.h. */
#ifdef __swift__
#pragma clang module import SwiftGlibc
#endif
#include <webp/decode.h>
#include <webp/encode.h>
#include <webp/mux.h>
