/* Work of the masked dot product in equal portions.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/masked/masked_dot.h"
#include "src/base/split.h"

#define TASKS_PER_THREAD 24
#define LEAST_COST 20000 /* a smaller task is not worth its bookkeeping */

void tsr_md_tasks_finish(tsr_md_tasks *tasks, int nthreads)
{
    tasks->c[0] = 0;
    for (int64_t v = 0; v < tasks->nvec; v++)
        tasks->c[v + 1] += tasks->c[v];
    int64_t affordable = tasks->c[tasks->nvec] / LEAST_COST + 1, wanted = (int64_t)nthreads * TASKS_PER_THREAD;
    tasks->ntasks = wanted < affordable ? wanted : affordable;
}

int tsr_md_tasks_threads(const tsr_md_tasks *tasks, int nthreads)
{
    const int useful = tasks->ntasks == 1 ? 1 : tsr_parts(tasks->c[tasks->nvec], TSR_MD_THREAD_WORK, nthreads);
    return tasks->ntasks < useful ? (int)tasks->ntasks : useful;
}

tsr_md_position tsr_md_task_begin(const tsr_md_tasks *tasks, int64_t t)
{
    if (t <= 0 || t >= tasks->ntasks) {
        int64_t v = t <= 0 ? 0 : tasks->nvec;
        return (tsr_md_position){v, tsr_offset_at(tasks->q, v)};
    }
    int64_t total = tasks->c[tasks->nvec];
    int64_t target = (int64_t)((double)total / (double)tasks->ntasks * (double)t);
    int64_t v = tsr_first_at_least(tasks->c + 1, tasks->nvec, target + 1); /* the last one that begins there or before */
    if (v >= tasks->nvec)
        return (tsr_md_position){tasks->nvec, tsr_offset_at(tasks->q, tasks->nvec)};
    int64_t cost = tasks->c[v + 1] - tasks->c[v], entries = tsr_offsets_length(tasks->q, v);
    if (tasks->whole || cost < total / tasks->ntasks)
        return (tsr_md_position){v, tsr_offset_at(tasks->q, v)};
    double share = (double)(target - tasks->c[v]) / (double)cost;
    return (tsr_md_position){v, tsr_offset_at(tasks->q, v) + (int64_t)(share * (double)entries)};
}
