/* Which process of its host this is, as the launcher of an MPI job tells its processes by the environment.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_LOCAL_RANK_H
#define TSR_LOCAL_RANK_H

typedef struct tsr_local_rank {
    int rank; /* from 0, of the processes of this job on this host */
    int size; /* how many these are; 1: none, or nobody says */
} tsr_local_rank;

/* Open MPI, MPICH (and Intel MPI), MVAPICH, SLURM, in this order. */
tsr_local_rank tsr_local_rank_get(void);

/* Threads of OpenMP for the calling thread and those it starts: the host's processors divided among the processes, at least one.  Nothing
 * is changed if OMP_NUM_THREADS is set, or if the launcher has given this process processors of its own. */
void tsr_local_rank_divide_threads(void);

#endif
