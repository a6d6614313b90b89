/* Settings of an object that GraphBLAS has from version 9 on, and packing resets: its name, whether a hypersparse one has a table, how wide
 * its integers shall be.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_EXTRAS_H
#define TSR_EXTRAS_H

#include <stdbool.h>
#include <stdint.h>

#include <GraphBLAS.h>

enum { TSR_EXTRA_FIELDS = 4 };

typedef struct tsr_extras {
    char *name; /* NULL: none */
    bool known[TSR_EXTRA_FIELDS];
    int32_t values[TSR_EXTRA_FIELDS];
} tsr_extras;

void tsr_extras_read(tsr_extras *extras, GrB_Matrix C);

/* To be called once for each read: frees the name. */
GrB_Info tsr_extras_restore(GrB_Matrix C, tsr_extras *extras);

#endif
