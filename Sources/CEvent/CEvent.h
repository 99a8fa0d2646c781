/* The structs of the system must be Glibc's for Swift, not members of whichever module includes them first: files that
   use them would need that module imported, and which one it is changes with the order of compilation. */
#ifdef __swift__
#pragma clang module import SwiftGlibc
#endif
#include <event2/event.h>
