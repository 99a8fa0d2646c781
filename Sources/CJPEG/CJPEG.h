/* See CEvent.h. */
#ifdef __swift__
#pragma clang module import SwiftGlibc
#endif
#include <stdio.h>
#include <jpeglib.h>
