/* Calls on few sparse vectors: who computes them, and the kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/sparse/few.h"

#include "src/policy/price/few.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"

static const tsr_few_kernels *kernels(void)
{
    return tsr_backend_cpu()->host->few;
}

int64_t tsr_engine_push_work(const tsr_push *p)
{
    const int64_t work = kernels()->push_work(p, INT64_MAX / 2);
    const tsr_push_features features = {.work = work, .vectors = p->u.nvec, .joint = kernels()->push_is_joint(p, work), .nthreads = p->nthreads};
    return tsr_config_forces_cpu() || tsr_push_pays(&features) ? work : -1;
}

uint64_t tsr_engine_push_one(const tsr_push_semiring *s, uint64_t of_u, uint64_t of_a)
{
    uint64_t z = 0;
    const tsr_host_ewise one = {.step = {.op = s->mul, .type = s->type, .result = s->result, .count = 1},
                                .arrays = {.x = {s->swapped ? &of_a : &of_u, NULL}, .y = {s->swapped ? &of_u : &of_a, NULL}, .z = &z},
                                .type = s->result, .x_type = s->type, .y_type = s->type};
    tsr_backend_cpu()->host->ewise(&one, 1);
    return z;
}

tsr_status tsr_engine_push(const tsr_push *push, int64_t work, tsr_few *result)
{
    return kernels()->push(push, work, result);
}

/* Rows of A that a mask lets pass, spread evenly; those of a listed mask one by one. */
static int64_t pull_work(const tsr_push *p)
{
    const tsr_view *m = p->mask;
    const double places = (double)p->a.nvec * (double)p->u.nvec;
    if (m && tsr_is_compressed(m) && !p->mask_complement) {
        const int64_t *j = m->i;
        int64_t work = 0;
        for (int64_t t = m->p[0]; t < m->p[m->nvec]; t++)
            work += tsr_push_start(p, j[t] + 1) - tsr_push_start(p, j[t]);
        return work;
    }
    const double masked = m ? (double)m->nvals : 0, open = !m || p->mask_complement ? places - masked : masked;
    return (int64_t)((double)p->a.nvals * open / (double)p->a.nvec);
}

int64_t tsr_engine_pull_work(const tsr_push *p)
{
    const int64_t work = pull_work(p);
    const tsr_pull_features features = {.work = work, .places = p->a.nvec * p->u.nvec};
    return tsr_config_forces_cpu() || tsr_pull_pays(&features) ? work : -1;
}

int64_t tsr_engine_pull(const tsr_push *pull, int8_t *b, void *x)
{
    return kernels()->pull(pull, b, x);
}

bool tsr_engine_few_step_wanted(const tsr_few_step *step, int nthreads)
{
    const tsr_few_step_features features = {.work = kernels()->step_work(step), .nthreads = nthreads};
    return kernels()->step_takes(step) && (tsr_config_forces_cpu() || tsr_few_step_pays(&features));
}

tsr_status tsr_engine_few_step(const tsr_few_step *step, tsr_few *t)
{
    return kernels()->step(step, t);
}

tsr_status tsr_engine_few_merge(const tsr_few_step *step, tsr_few *t, tsr_few *c)
{
    return kernels()->merge(step, t, c);
}

bool tsr_engine_few_scatter(const tsr_few_step *step, const tsr_few *t, int8_t *b, void *x, int64_t *more)
{
    return kernels()->scatter(step, t, b, x, more);
}

void tsr_engine_few_release(tsr_few *few)
{
    kernels()->release(few);
}
