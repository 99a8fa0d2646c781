/* See CEvent.h. */
#ifdef __swift__
#pragma clang module import SwiftGlibc
#endif
#include <zstd.h>
#include <zstd_errors.h>
