/* Which loaded object an address belongs to.  Unlike dladdr it reads none of the object's symbols: of the C library's three thousand that took
 * twenty microseconds for each address.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_LOADED_H
#define TSR_LOADED_H

#include <stdbool.h>

typedef struct tsr_loaded {
    const char *file;     /* as the loader opened it; of the program its name under /proc */
    const void *segments; /* of each object its own */
} tsr_loaded;

/* False: none of the loaded objects has it. */
bool tsr_loaded_find(tsr_loaded *object, const void *address);

#endif
