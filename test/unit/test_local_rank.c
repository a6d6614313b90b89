/* Launchers' variables: which are believed, and what is done with nonsense.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <omp.h>

#include "src/runtime/local_rank.h"

static void expect(int rank, int size)
{
    const tsr_local_rank r = tsr_local_rank_get();
    assert_int_equal(r.rank, rank);
    assert_int_equal(r.size, size);
}

static int forget(void **unused)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS",
                                        "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE", "SLURM_LOCALID",
                                        "SLURM_STEP_TASKS_PER_NODE", "OMP_NUM_THREADS"};
    (void)unused;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        unsetenv(names[k]);
    }
    return 0;
}

static void test_nobody_says(void **unused)
{
    (void)unused;
    expect(0, 1);
}

static void test_each_launcher(void **unused)
{
    (void)unused;
    setenv("SLURM_LOCALID", "2", 1);
    expect(2, 3);
    setenv("SLURM_STEP_TASKS_PER_NODE", "4(x2),3", 1);
    expect(2, 4);
    setenv("MPI_LOCALRANKID", "1", 1);
    setenv("MPI_LOCALNRANKS", "2", 1);
    expect(1, 2);
    setenv("OMPI_COMM_WORLD_LOCAL_RANK", "5", 1);
    setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "8", 1);
    expect(5, 8);
}

static void test_nonsense(void **unused)
{
    (void)unused;
    setenv("OMPI_COMM_WORLD_LOCAL_RANK", "", 1);
    setenv("MPI_LOCALRANKID", "-1", 1);
    setenv("SLURM_LOCALID", "99999999999999999999", 1);
    expect(0, 1);
    setenv("MPI_LOCALRANKID", "3", 1);
    setenv("MPI_LOCALNRANKS", "2", 1);
    expect(3, 4);
}

static void test_threads(void **unused)
{
    (void)unused;
    const int before = omp_get_max_threads();
    setenv("MPI_LOCALRANKID", "0", 1);
    setenv("MPI_LOCALNRANKS", "1000000", 1);
    setenv("OMP_NUM_THREADS", "7", 1);
    tsr_local_rank_divide_threads();
    assert_int_equal(omp_get_max_threads(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_nobody_says, forget),
        cmocka_unit_test_setup(test_each_launcher, forget),
        cmocka_unit_test_setup(test_nonsense, forget),
        cmocka_unit_test_setup(test_threads, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
