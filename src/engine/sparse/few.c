/* Calls on few sparse vectors: who computes them, and the kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/sparse/few.h"

#include "src/engine/call/contents.h"
#include "src/engine/call/host.h"
#include "src/engine/call/start.h"
#include "src/policy/history/frontier_history.h"
#include "src/policy/history/history.h"
#include "src/policy/history/pull_history.h"
#include "src/policy/history/stay_history.h"
#include "src/policy/price/few.h"
#include "src/policy/price/gpu_price.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"

enum { PULL_SAMPLE = 256 };

/* ---- products on the host ---- */

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

/* Of a bitmap mask, by some rows of A: those that a search has not seen yet are short ones. */
static int64_t sampled_work(const tsr_push *p)
{
    const tsr_view *m = p->mask;
    const int64_t rows = p->a.nvec, step = rows / PULL_SAMPLE + 1;
    int64_t work = 0, sampled = 0;
    for (int64_t j = 0; j < rows; j += step, sampled++)
        for (int64_t r = 0; r < p->u.nvec; r++)
            work += ((m->b[r * m->ld + j] != 0) != p->mask_complement) * (tsr_push_start(p, j + 1) - tsr_push_start(p, j));
    return (int64_t)((double)work * (double)rows / (double)sampled);
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
    const bool sampled = p->mask && p->mask->b && p->mask_structural;
    const int64_t work = sampled ? sampled_work(p) : pull_work(p);
    const tsr_pull_features features = {.work = work, .places = p->a.nvec * p->u.nvec,
                                        .listed = p->mask && tsr_is_compressed(p->mask) && !p->mask_complement};
    return tsr_config_forces_cpu() || tsr_pull_pays(&features) ? work : -1;
}

int64_t tsr_engine_pull(const tsr_push *pull, int64_t work, int8_t *b, void *x)
{
    return kernels()->pull(pull, work, b, x);
}

int64_t tsr_engine_pull_listed_work(const tsr_push *p)
{
    const bool listed = p->mask && tsr_is_compressed(p->mask) && !p->mask_complement;
    const bool valued = p->mask && !p->mask_structural && !listed; /* nobody knows how many are true */
    const int64_t work = valued ? p->a.nvals : pull_work(p);
    const tsr_pull_listed_features features = {.entries = work, .rows = listed ? p->mask->nvals : 0, .marked = p->u.nvals};
    return tsr_config_forces_cpu() || tsr_pull_listed_pays(&features) ? work : -1;
}

tsr_status tsr_engine_pull_listed(const tsr_push *p, int64_t work, tsr_few *result)
{
    return kernels()->pull_listed(p, work, result);
}

/* ---- on a GPU ---- */

/* Of pulls of one kind. */
static uint64_t key_of(const tsr_push *p)
{
    const uint64_t parts[] = {(uint64_t)p->semiring.add, (uint64_t)p->semiring.mul, (uint64_t)p->semiring.type, (uint64_t)p->a.nvec,
                              (uint64_t)p->a.vlen, (uint64_t)p->a.nvals, (uint64_t)p->u.nvec, (uint64_t)p->nthreads};
    return tsr_history_key(parts, sizeof parts / sizeof *parts);
}

/* Every place of the result is walked over, whatever is computed for it. */
static double units_of(const tsr_push *p, int64_t work)
{
    const double place = 8; /* multiply-adds that take as long */
    return (double)work + place * (double)p->a.nvec * (double)p->u.nvec;
}

/* As a product of A with dense vectors, which have `places`: A is there, and so is what it makes. */
static tsr_features on_gpu(const tsr_push *p, int64_t places, int64_t inner)
{
    return (tsr_features){.op = TSR_OP_SPMM, .semiring = {.type = p->semiring.result}, .m = (double)places, .n = (double)p->u.nvec,
                          .k = (double)inner, .a_nnz = (double)p->a.nvals, .a_pattern = !tsr_push_reads_a(&p->semiring), .b_bitmap = true,
                          .a_on_device = true, .c_stays = true, .finish_extra = p->mask != NULL, .nthreads = p->nthreads};
}

static double settled_ms(tsr_features f)
{
    f.b_on_device = true;
    return tsr_predict_gpu_ms(&f);
}

static void took(const tsr_features *f, double ms)
{
    if (ms >= TSR_GPU_LEAST_MS && tsr_engine_may_start_gpu())
        tsr_engine_start_gpu_for(ms - settled_ms(*f));
}

bool tsr_engine_few_is_timed(void)
{
    return tsr_engine_may_start_gpu() || tsr_contents_possible();
}

/* Its result has one value, or says places. */
static bool is_search(const tsr_push *p)
{
    return p->u.nvec == 1 && (p->pattern || p->semiring.factor != TSR_FACTOR_VALUES);
}

void tsr_engine_push_took(const tsr_push *p, double ms)
{
    const tsr_features f = on_gpu(p, p->a.vlen, p->a.nvec);
    const double entries = (double)p->a.nvals, sides = (double)(p->a.nvec + p->a.vlen);
    if (is_search(p) && ms >= TSR_GPU_LEAST_MS)
        tsr_stay_lost_pushing(entries, sides, ms - settled_ms(f));
    if (p->u.nvec > 1 && tsr_contents_possible())
        tsr_frontier_pushed(tsr_frontier_kind(entries, sides, (double)p->u.nvec), ms, settled_ms(f));
    took(&f, ms);
}

void tsr_engine_pull_took(const tsr_push *p, int64_t work, double ms)
{
    const tsr_features f = on_gpu(p, p->a.nvec, p->a.vlen);
    took(&f, ms);
    tsr_pull_took(key_of(p), ms / units_of(p, work));
}

bool tsr_engine_pull_leaves(const tsr_push *p, int64_t work)
{
    if (tsr_config_get()->mode != TSR_MODE_AUTO || tsr_engine_by_reference() || !tsr_contents_possible())
        return false;
    const tsr_features f = on_gpu(p, p->a.nvec, p->a.vlen);
    const double ms = tsr_pull_unit_ms(key_of(p)) * units_of(p, work); /* 0: it is not known yet */
    return ms >= TSR_GPU_LEAST_MS && tsr_predict_gpu_ms(&f) < ms * TSR_ROUTE_MARGIN;
}

/* ---- steps ---- */

bool tsr_engine_few_step_wanted(const tsr_few_step *step, int nthreads)
{
    const tsr_few_step_features features = {.work = kernels()->step_work(step), .runs = kernels()->step_has_runs(step), .nthreads = nthreads};
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

bool tsr_engine_few_updates(const tsr_few_step *step)
{
    return kernels()->step_updates(step);
}

int64_t tsr_engine_few_update(const tsr_few_step *step, int8_t *b, void *x)
{
    return kernels()->update(step, b, x);
}

void tsr_engine_few_release(tsr_few *few)
{
    kernels()->release(few);
}
