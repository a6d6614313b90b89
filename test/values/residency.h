/* What tests of contents on a device share: a child for each, and its trace.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_TEST_RESIDENCY_H
#define TSR_TEST_RESIDENCY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <sys/wait.h>

#include <cmocka.h>

#include <GraphBLAS.h>

#include "../dropin/routed.h"
#include "../threads.h"
#include "tessera/tessera.h"

enum { N = 300 };

#define OK(call) REQUIRE((call) == GrB_SUCCESS)

static inline void in_child(void (*body)(void))
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        force_tessera();
        body();
        remove_trace();
        _exit(0);
    }
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Records of this route so far. */
static inline int records(const char *route)
{
    FILE *file = fopen(trace_name, "r");
    char line[4096];
    int count = 0;
    while (file && fgets(line, sizeof line, file)) count += strstr(line, route) != NULL;
    if (file) fclose(file);
    return count;
}

static inline int steps(void) { return records(":step\"") - records("\"cpu:step\""); } /* those of the backend */
static inline int downloads(void) { return records(":fetch\""); }

static inline GrB_Vector filled(double offset)
{
    GrB_Vector v;
    OK(GrB_Vector_new(&v, GrB_FP64, N));
    for (GrB_Index i = 0; i < N; i++) OK(GrB_Vector_setElement_FP64(v, (double)i + offset, i));
    OK(GrB_Vector_wait(v, GrB_MATERIALIZE));
    return v;
}

static inline double at(GrB_Vector v, GrB_Index i)
{
    double x = -1;
    OK(GrB_Vector_extractElement_FP64(&x, v, i));
    return x;
}

static inline void twice(GrB_Vector out, GrB_Vector in)
{
    OK(GrB_Vector_apply_BinaryOp2nd_FP64(out, NULL, NULL, GrB_TIMES_FP64, in, 2, NULL));
}

static inline GrB_Index entries_of(GrB_Matrix A)
{
    GrB_Index n = 0;
    OK(GrB_Matrix_nvals(&n, A));
    return n;
}

static inline int form_of(GrB_Matrix A, GxB_Option_Field field)
{
    int form = 0;
    OK(GxB_Matrix_Option_get(A, field, &form));
    return form;
}

#define TEST(body) static void test_##body(void **state) { (void)state; in_child(body); }

#endif
