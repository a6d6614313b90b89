/* What a test program asks of Tessera, and what it did: every product forced to the CPU backend (the environment variable TEST_MODE
 * names another mode), counted in the trace.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_TEST_ROUTED_H
#define TSR_TEST_ROUTED_H

#include <GraphBLAS.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* SONAME of the real library. */
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define REAL_GRAPHBLAS "libgraphblas.so." TEXT(GxB_IMPLEMENTATION_MAJOR)

/* In a child: leave with the line, which the parent reports. */
#define REQUIRE(condition)                                                  \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            _exit(1);                                                       \
        }                                                                   \
    } while (0)

static char trace_name[64];

static inline void remove_trace(void)
{
    unlink(trace_name);
}

/* Before the first GraphBLAS call.  A process of this number may have ended in the middle of a test. */
static inline void force_tessera(void)
{
    snprintf(trace_name, sizeof trace_name, "/tmp/tessera-test-trace-%ld", (long)getpid());
    remove_trace();
    setenv("TESSERA_MODE", getenv("TEST_MODE") ? getenv("TEST_MODE") : "cpu", 1);
    setenv("TESSERA_MIN_WORK", "0", 1);
    setenv("TESSERA_TRACE", trace_name, 1);
}

/* Products in the trace so far that did not go to SuiteSparse. */
static inline int routed_products(void)
{
    FILE *file = fopen(trace_name, "r");
    char line[4096];
    int count = 0;
    while (file && fgets(line, sizeof line, file))
        count += strstr(line, "\"route\":") && !strstr(line, "\"route\":\"suitesparse\"");
    if (file) fclose(file);
    return count;
}

/* Set-up and tear-down of a group of tests that share one session. */
static inline int start_session(void **state)
{
    (void)state;
    force_tessera();
    return GrB_init(GrB_NONBLOCKING);
}

static inline int stop_session(void **state)
{
    (void)state;
    const GrB_Info info = GrB_finalize();
    remove_trace();
    return info;
}

/* In a child: does the plug-in that is looked for compute anything here? */
static inline bool backend_answers(void)
{
    int status = 1;
    const pid_t child = fork();
    if (child == 0) {
        force_tessera();
        GrB_Vector v;
        bool well = GrB_init(GrB_NONBLOCKING) == GrB_SUCCESS && GrB_Vector_new(&v, GrB_FP64, 100) == GrB_SUCCESS &&
                    GrB_Vector_assign_FP64(v, NULL, NULL, 1, GrB_ALL, 100, NULL) == GrB_SUCCESS && routed_products() == 1;
        remove_trace();
        _exit(well ? 0 : 1);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Everything goes to the plug-in.  False: it cannot be used here, and the test may be skipped. */
static inline bool use_backend(void)
{
    setenv("TEST_MODE", "gpu", 1);
    return !getenv("TEST_MAY_SKIP") || backend_answers();
}

#endif
