/* Memory that calls free is still the process's when the next one needs it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "src/graphblas/intercept/memory/heap_top.h"

enum { RESULT = 3 << 20, PARTS = 4, PAGE = 4096 };

static bool is_glibc; /* or a sanitizer's */

static long faults(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_minflt;
}

/* A call that holds four times its result, and frees all of it.  noted: it tells of one. */
static void call(bool noted)
{
    void *parts[PARTS];
    for (int n = 0; n < PARTS; n++) {
        parts[n] = malloc(RESULT);
        assert_non_null(parts[n]);
        memset(parts[n], n, RESULT);
    }
    if (noted)
        tsr_heap_top_note(parts[1], RESULT);
    for (int n = PARTS; n-- > 0;)
        free(parts[n]);
}

static long faults_of_a_call(void)
{
    const long before = faults();
    call(false);
    return faults() - before;
}

/* The first test: nothing was freed yet, so that large blocks are mappings. */
static void mappings_stay_mappings(void **state)
{
    (void)state;
    void *block = malloc(RESULT);
    assert_non_null(block);
    is_glibc = (uintptr_t)block % PAGE == 16;
    if (!is_glibc)
        free(block);
    if (!is_glibc)
        skip();
    tsr_heap_top_note(block, RESULT);
    void *other = malloc(RESULT);
    assert_non_null(other);
    assert_int_equal((uintptr_t)other % PAGE, 16);
    free(other);
    free(block);
    call(false); /* from now on glibc knows blocks of this size, and would keep two */
    assert_true(faults_of_a_call() >= RESULT / PAGE);
}

static void what_a_call_frees_is_there_for_the_next(void **state)
{
    (void)state;
    if (!is_glibc)
        skip();
    call(true);
    assert_true(faults_of_a_call() < RESULT / PAGE / 8);
}

/* More blocks than it was told of. */
static void what_was_given_back_is_kept_when_it_is_wanted_again(void **state)
{
    enum { MANY = 12 };
    (void)state;
    if (!is_glibc)
        skip();
    long taken[4];
    for (int turn = 0; turn < 4; turn++) {
        void *parts[MANY];
        const long before = faults();
        for (int n = 0; n < MANY; n++) {
            parts[n] = malloc(RESULT);
            assert_non_null(parts[n]);
            tsr_heap_top_observe(parts[n], RESULT);
            memset(parts[n], n, RESULT);
        }
        for (int n = MANY; n-- > 0;)
            free(parts[n]);
        taken[turn] = faults() - before;
    }
    assert_true(taken[1] >= RESULT / PAGE);
    assert_true(taken[3] < RESULT / PAGE / 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(mappings_stay_mappings), cmocka_unit_test(what_a_call_frees_is_there_for_the_next),
        cmocka_unit_test(what_was_given_back_is_kept_when_it_is_wanted_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
