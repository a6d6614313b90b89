/* The local rank, from the variables of launchers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/runtime/local_rank.h"

#include <ctype.h>
#include <omp.h>
#include <stdlib.h>
#include <unistd.h>

static const struct launcher {
    const char *rank, *size;
} launchers[] = {
    {"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"},
    {"SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"}, /* "4(x2),3": the number of the first hosts */
};

/* The number that a variable begins with; -1: there is none. */
static int number_of(const char *variable)
{
    const char *text = getenv(variable);
    const long number = text && isdigit((unsigned char)*text) ? strtol(text, NULL, 10) : -1;
    return number <= 1 << 20 ? (int)number : -1;
}

tsr_local_rank tsr_local_rank_get(void)
{
    for (size_t k = 0; k < sizeof launchers / sizeof *launchers; k++) {
        const int rank = number_of(launchers[k].rank), size = number_of(launchers[k].size);
        if (rank >= 0) {
            return (tsr_local_rank){rank, size > rank ? size : rank + 1};
        }
    }
    return (tsr_local_rank){0, 1};
}

void tsr_local_rank_divide_threads(void)
{
    const int size = tsr_local_rank_get().size, processors = omp_get_num_procs();
    if (size <= 1 || getenv("OMP_NUM_THREADS") || processors < sysconf(_SC_NPROCESSORS_ONLN)) {
        return;
    }
    omp_set_num_threads(processors > size ? processors / size : 1);
}
