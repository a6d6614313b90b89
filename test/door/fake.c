/* A library that pretends to be SuiteSparse:GraphBLAS: FAKE_VERSION is what it says of itself, FAKE_EXTRA adds a
 * function that the installed header does not have.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>

#define EXPORT __attribute__((visibility("default")))
enum { INIT_PLAIN = 77, PRODUCT = 55 };

EXPORT int GrB_init(int mode);
EXPORT int GxB_init(int mode, ...);
EXPORT int GrB_finalize(void);
EXPORT int GrB_mxm(void);
EXPORT int GxB_Global_Option_get(int field, ...);

int GrB_init(int mode)
{
    (void) mode;
    return INIT_PLAIN;
}

int GxB_init(int mode, ...)
{
    (void) mode;
    return 0;
}

int GrB_finalize(void)
{
    return 0;
}

int GrB_mxm(void)
{
    return PRODUCT;
}

int GxB_Global_Option_get(int field, ...)
{
    va_list list;
    (void) field;
    va_start(list, field);
    *va_arg(list, int *) = FAKE_VERSION;
    va_end(list);
    return 0;
}

#ifdef FAKE_EXTRA
EXPORT int GxB_Matrix_unheard_of(void *matrix);
int GxB_Matrix_unheard_of(void *matrix)
{
    return matrix != 0;
}
#endif
