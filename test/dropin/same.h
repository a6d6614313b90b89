/* Random calls by SuiteSparse's own functions and by Tessera's: the same results, and who computed them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_TEST_SAME_H
#define TSR_TEST_SAME_H

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "routed.h"

static uint64_t state_of_draws;

static inline uint64_t draw(uint64_t below)
{
    state_of_draws = state_of_draws * 6364136223846793005u + 1442695040888963407u;
    return (state_of_draws >> 33) % below;
}

static inline void ok(GrB_Info info)
{
    assert_int_equal(info, GrB_SUCCESS);
}

static inline void *of_suitesparse(const char *name)
{
    void *real = dlopen(REAL_GRAPHBLAS, RTLD_LAZY | RTLD_NOLOAD), *out = real ? dlsym(real, name) : NULL;
    assert_non_null(out);
    dlclose(real);
    return out;
}

static inline void expect_same(GrB_Matrix want, GrB_Matrix got)
{
    GrB_Index n, m, most;
    bool iso[2];
    int32_t status[2], format[2];
    ok(GrB_Matrix_nvals(&n, want));
    ok(GrB_Matrix_nvals(&m, got));
    assert_int_equal(n, m);
    most = n + 1;
    GrB_Index *lists[4];
    double *x[2];
    for (int k = 0; k < 4; k++)
        lists[k] = malloc(most * sizeof **lists);
    for (int k = 0; k < 2; k++) {
        GrB_Matrix each = k ? got : want;
        ok(GrB_Matrix_wait(each, GrB_MATERIALIZE)); /* either may have its entries in any order */
        x[k] = malloc(most * sizeof **x);
        ok(GrB_Matrix_extractTuples_FP64(lists[2 * k], lists[2 * k + 1], x[k], &n, each));
        ok(GxB_Matrix_iso(&iso[k], each));
        ok(GxB_Matrix_Option_get(each, GxB_SPARSITY_STATUS, &status[k]));
        ok(GxB_Matrix_Option_get(each, GxB_FORMAT, &format[k]));
    }
    assert_memory_equal(lists[0], lists[2], n * sizeof **lists);
    assert_memory_equal(lists[1], lists[3], n * sizeof **lists);
    for (GrB_Index k = 0; k < n; k++)
        assert_true(memcmp(&x[0][k], &x[1][k], sizeof **x) == 0 || (x[0][k] != x[0][k] && x[1][k] != x[1][k]));
    assert_true(n < 2 || iso[0] == iso[1]); /* one entry is one value either way */
    assert_int_equal(status[0], status[1]);
    assert_int_equal(format[0], format[1]);
    for (int k = 0; k < 4; k++)
        free(lists[k]);
    free(x[0]);
    free(x[1]);
}

/* Lines of the trace that have these words. */
static inline int traced(const char *what)
{
    FILE *file = fopen(trace_name, "r");
    char line[4096];
    int count = 0;
    while (file && fgets(line, sizeof line, file))
        count += strstr(line, what) != NULL;
    if (file)
        fclose(file);
    return count;
}

#endif
