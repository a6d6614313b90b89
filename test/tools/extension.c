/* What a Python module does that is linked with a GraphBLAS, as conda's suitesparse_graphblas is: a product, in a function of its own.
 * SPDX-License-Identifier: Apache-2.0 */
#include <GraphBLAS.h>

enum { ROWS = 60, COLUMNS = 8 };

/* Visible: the rest of the build is hidden. */
double product(void) __attribute__((visibility("default")));

static GrB_Info fill(GrB_Matrix a, GrB_Matrix b)
{
    GrB_Info info = GrB_SUCCESS;
    for (GrB_Index i = 0; i < ROWS && info == GrB_SUCCESS; i++) {
        info = GrB_Matrix_setElement_FP64(a, (double)i, i, 7 * i % ROWS);
        for (GrB_Index j = 0; j < COLUMNS && info == GrB_SUCCESS; j++)
            info = GrB_Matrix_setElement_FP64(b, (double)(i + j), i, j);
    }
    return info;
}

/* The sum of all entries; negative: something failed. */
double product(void)
{
    GrB_Matrix a = NULL, b = NULL, c = NULL;
    double sum = -1;
    const bool good = GrB_init(GrB_NONBLOCKING) == GrB_SUCCESS && GrB_Matrix_new(&a, GrB_FP64, ROWS, ROWS) == GrB_SUCCESS &&
                      GrB_Matrix_new(&b, GrB_FP64, ROWS, COLUMNS) == GrB_SUCCESS &&
                      GrB_Matrix_new(&c, GrB_FP64, ROWS, COLUMNS) == GrB_SUCCESS && fill(a, b) == GrB_SUCCESS &&
                      GrB_mxm(c, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, a, b, NULL) == GrB_SUCCESS &&
                      GrB_Matrix_reduce_FP64(&sum, NULL, GrB_PLUS_MONOID_FP64, c, NULL) == GrB_SUCCESS;
    GrB_Matrix_free(&a);
    GrB_Matrix_free(&b);
    GrB_Matrix_free(&c);
    return good && GrB_finalize() == GrB_SUCCESS ? sum : -1;
}
