/* While a GPU is started beside the program its calls use one thread less, which it never sees.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "src/graphblas/intercept/door.h"
#include "src/graphblas/intercept/hooks.h"

enum { MANY = 4096 }; /* threads: more than there are processors */

static int real_threads(void)
{
    int32_t threads = 0;
    assert_int_equal(tsr_real.GxB_Global_Option_get_INT32(GxB_NTHREADS, &threads), GrB_SUCCESS);
    return threads;
}

/* Through the wrapper. */
static int threads_seen(void)
{
    int threads = 0;
    assert_int_equal(GxB_Global_Option_get(GxB_NTHREADS, &threads), GrB_SUCCESS);
    return threads;
}

static void set_threads(int threads)
{
    assert_int_equal(GxB_Global_Option_set(GxB_NTHREADS, threads), GrB_SUCCESS);
}

static void one_is_lent_and_returned(void **state)
{
    (void) state;
    set_threads(MANY);
    tsr_threads_lend();
    tsr_threads_lend();
    assert_int_equal(real_threads(), MANY - 1);
    assert_int_equal(tsr_context_threads(), MANY - 1);
    tsr_threads_return();
    tsr_threads_return();
    assert_int_equal(real_threads(), MANY);
}

static void who_asks_sees_all(void **state)
{
    (void) state;
    int32_t threads = 0;
    set_threads(MANY);
    tsr_threads_lend();
    assert_int_equal(threads_seen(), MANY);
    assert_int_equal(real_threads(), MANY - 1);
    assert_int_equal(GxB_Global_Option_get_INT32(GxB_NTHREADS, &threads), GrB_SUCCESS);
    assert_int_equal(threads, MANY);
    assert_int_equal(real_threads(), MANY - 1);
    tsr_threads_return();
}

static void what_is_set_stays(void **state)
{
    (void) state;
    set_threads(MANY);
    tsr_threads_lend();
    set_threads(MANY - 7);
    assert_int_equal(threads_seen(), MANY - 7);
    assert_int_equal(real_threads(), MANY - 8);
    tsr_threads_return();
    assert_int_equal(real_threads(), MANY - 7);
    tsr_threads_lend();
    set_threads(1);
    assert_int_equal(real_threads(), 1);
    tsr_threads_return();
    assert_int_equal(real_threads(), 1);
}

static void a_single_thread_is_kept(void **state)
{
    (void) state;
    set_threads(1);
    tsr_threads_lend();
    assert_int_equal(real_threads(), 1);
    tsr_threads_return();
}

static void a_child_has_all(void **state)
{
    (void) state;
    set_threads(MANY);
    tsr_threads_lend();
    const pid_t child = fork();
    if (child == 0)
        _exit(real_threads() == MANY && threads_seen() == MANY ? 0 : 1);
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    tsr_threads_return();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_is_lent_and_returned), cmocka_unit_test(who_asks_sees_all), cmocka_unit_test(what_is_set_stays),
        cmocka_unit_test(a_single_thread_is_kept), cmocka_unit_test(a_child_has_all),
    };
    if (!dlopen(REAL_LIBRARY, RTLD_NOW) || GrB_init(GrB_NONBLOCKING) != GrB_SUCCESS)
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tsr_threads_lend();
    return GrB_finalize() == GrB_SUCCESS && !tsr_threads_lent ? failed : 1;
}
