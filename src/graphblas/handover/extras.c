/* Settings of an object that GraphBLAS has from version 9 on, and packing resets.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/handover/extras.h"

#include <stdlib.h>

#include "src/graphblas/intercept/door.h"

#if GxB_IMPLEMENTATION_MAJOR >= 9

static const int fields[TSR_EXTRA_FIELDS] = {
    GxB_HYPER_HASH,
#if GxB_IMPLEMENTATION_MAJOR >= 10
    GxB_OFFSET_INTEGER_HINT, GxB_ROWINDEX_INTEGER_HINT, GxB_COLINDEX_INTEGER_HINT
#endif
};

static bool ask(int32_t *value, GrB_Matrix C, int field)
{
    return field && tsr_real.GrB_Matrix_get_INT32(C, value, field) == GrB_SUCCESS;
}

static char *name_of(GrB_Matrix C)
{
    size_t size = 0;
    if (tsr_real.GrB_Matrix_get_SIZE(C, &size, GrB_NAME) != GrB_SUCCESS || size < 2)
        return NULL;
    char *name = malloc(size);
    if (name && (tsr_real.GrB_Matrix_get_String(C, name, GrB_NAME) != GrB_SUCCESS || !*name)) {
        free(name);
        name = NULL;
    }
    return name;
}

void tsr_extras_read(tsr_extras *extras, GrB_Matrix C)
{
    *extras = (tsr_extras){.name = name_of(C)};
    for (int n = 0; n < TSR_EXTRA_FIELDS; n++)
        extras->known[n] = ask(&extras->values[n], C, fields[n]);
}

GrB_Info tsr_extras_restore(GrB_Matrix C, tsr_extras *extras)
{
    int32_t now;
    GrB_Info info = extras->name ? tsr_real.GrB_Matrix_set_String(C, extras->name, GrB_NAME) : GrB_SUCCESS;
    for (int n = 0; n < TSR_EXTRA_FIELDS && info == GrB_SUCCESS; n++)
        if (extras->known[n] && ask(&now, C, fields[n]) && now != extras->values[n])
            info = tsr_real.GrB_Matrix_set_INT32(C, extras->values[n], fields[n]);
    free(extras->name);
    extras->name = NULL;
    return info;
}

#else

void tsr_extras_read(tsr_extras *extras, GrB_Matrix C)
{
    (void)C;
    *extras = (tsr_extras){0};
}

GrB_Info tsr_extras_restore(GrB_Matrix C, tsr_extras *extras)
{
    (void)C;
    (void)extras;
    return GrB_SUCCESS;
}

#endif
