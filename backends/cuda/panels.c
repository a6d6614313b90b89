/* The pipeline: while one panel is computed and goes home, the next one arrives.
 *
 * Every host thread has a lane (two chunks of pinned memory) and takes chunks as they come, of a panel that goes to the device
 * or of one that is computed, whichever way across the bus is less busy.  Chunks are handed out in order.  Whoever comes by
 * when all chunks of a panel are queued, and its buffer has been emptied, queues its kernels.  Who finds nothing to copy writes
 * a piece of the presence of C, where that follows from the rows of A.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/panels.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef enum task_kind { TASK_NONE, TASK_UP, TASK_DOWN, TASK_PRESENCE } task_kind;

/* One chunk on its way. */
typedef struct task {
    task_kind kind;
    int64_t panel, first, last; /* positions of the rectangle; places of C */
    bool presence;              /* of C */
    tsr_cuda_rectangle rectangle;
} task;

/* The next chunk to hand out, in one direction. */
typedef struct cursor {
    int64_t panel, chunk;
} cursor;

/* Chunks that are through; the counts of the two panels that share a buffer never matter at the same time, but each has its
 * own. */
typedef struct progress {
    atomic_int_least64_t up, down;
} progress;

typedef struct pipeline {
    tsr_cuda_panels panels;
    pthread_mutex_t taking, computing;
    cursor up, down;                /* guarded by `taking`, as are the next four */
    int64_t finished;               /* panels known to be computed */
    int flying_up, flying_down;     /* chunks taken and not through */
    int64_t written;                /* places of C whose presence is taken */
    atomic_int_least64_t computed;  /* panels whose kernels are queued; grows under `computing` */
    progress *progress;             /* [npanels] */
    atomic_int_least64_t present, moved;
    atomic_int status;              /* the first failure stops everybody */
} pipeline;

static bool check(pipeline *s, tsr_status status)
{
    int none = TSR_OK;
    if (status != TSR_OK)
        atomic_compare_exchange_strong(&s->status, &none, (int)status);
    return status == TSR_OK;
}

/* ---- chunks ---- */

static int64_t chunks_of(const tsr_cuda_rectangle *r)
{
    int64_t chunk = tsr_cuda_chunk_elements(r->size);
    return (tsr_cuda_positions(r) + chunk - 1) / chunk;
}

/* Chunk `number` of the rectangles, or past the last: returns how many there are. */
static int64_t locate(task *t, const tsr_cuda_rectangle *r, int count, int64_t number)
{
    int64_t before = 0;
    for (int k = 0; k < count; k++) {
        int64_t chunks = chunks_of(&r[k]), size = tsr_cuda_chunk_elements(r[k].size), positions = tsr_cuda_positions(&r[k]);
        if (number >= before && number < before + chunks) {
            t->first = (number - before) * size;
            t->last = t->first + size < positions ? t->first + size : positions;
            t->rectangle = r[k];
            t->presence = k == 1;
        }
        before += chunks;
    }
    return before;
}

static int64_t find_chunk(task *t, const pipeline *s, task_kind kind, cursor at)
{
    tsr_cuda_rectangle r[2];
    bool up = kind == TASK_UP;
    int count = up ? tsr_cuda_panel_inputs(r, &s->panels, at.panel) : tsr_cuda_panel_outputs(r, &s->panels, at.panel);
    t->kind = kind;
    t->panel = at.panel;
    return locate(t, r, count, at.chunk);
}

static void *event_of(const pipeline *s, int64_t panel)
{
    return s->panels.buffer[panel % s->panels.nbuffers].done;
}

/* ---- handing out (s->taking is held) ---- */

static bool take_up(task *t, pipeline *s)
{
    const int nbuffers = s->panels.nbuffers;
    while (s->up.panel < s->panels.npanels) {
        if (s->up.panel >= nbuffers && s->up.panel - nbuffers >= atomic_load(&s->computed))
            return false; /* its buffer is in use */
        if (s->up.chunk < find_chunk(t, s, TASK_UP, s->up))
            break;
        s->up = (cursor){.panel = s->up.panel + 1};
    }
    if (s->up.panel == s->panels.npanels)
        return false;
    /* what comes after waits until the device has read what was there before */
    if (s->up.chunk == 0 && s->up.panel >= nbuffers && !check(s, tsr_cuda_event_follow(event_of(s, s->up.panel), tsr_cuda.up)))
        return false;
    s->up.chunk++;
    return true;
}

static bool is_finished(pipeline *s, int64_t panel)
{
    if (panel < s->finished)
        return true;
    int done = tsr_cuda_event_done(event_of(s, panel));
    if (done < 0)
        check(s, (tsr_status)done);
    if (done > 0)
        s->finished = panel + 1;
    return done > 0;
}

static bool take_down(task *t, pipeline *s, bool only_finished)
{
    if (s->down.panel < s->panels.npanels && find_chunk(t, s, TASK_DOWN, s->down) <= s->down.chunk)
        s->down = (cursor){.panel = s->down.panel + 1};
    if (s->down.panel >= atomic_load(&s->computed) || (only_finished && !is_finished(s, s->down.panel)))
        return false;
    find_chunk(t, s, TASK_DOWN, s->down);
    s->down.chunk++;
    return true;
}

/* Places of C whose presence is written by the host. */
static int64_t places_of(const pipeline *s)
{
    return s->panels.result->b && !s->panels.present ? s->panels.product->m * s->panels.product->n : 0;
}

static bool take_presence(task *t, pipeline *s)
{
    int64_t places = places_of(s), piece = tsr_cuda.chunk;
    if (s->written >= places)
        return false;
    t->kind = TASK_PRESENCE;
    t->first = s->written;
    t->last = s->written = s->written + piece < places ? s->written + piece : places;
    return true;
}

static bool take(task *t, pipeline *s)
{
    pthread_mutex_lock(&s->taking);
    bool down_first = s->flying_down <= s->flying_up;
    bool taken = (down_first && take_down(t, s, true)) || take_up(t, s) || take_down(t, s, true) || take_presence(t, s) ||
                 take_down(t, s, false);
    t->kind = taken ? t->kind : TASK_NONE;
    s->flying_up += t->kind == TASK_UP;
    s->flying_down += t->kind == TASK_DOWN;
    pthread_mutex_unlock(&s->taking);
    return taken;
}

static void landed(pipeline *s, const task *t)
{
    pthread_mutex_lock(&s->taking);
    s->flying_up -= t->kind == TASK_UP;
    s->flying_down -= t->kind == TASK_DOWN;
    pthread_mutex_unlock(&s->taking);
}

static bool all_taken(pipeline *s)
{
    task unused;
    pthread_mutex_lock(&s->taking);
    int64_t last = s->panels.npanels - 1;
    bool all = s->down.panel > last || (s->down.panel == last && find_chunk(&unused, s, TASK_DOWN, s->down) <= s->down.chunk);
    all = all && s->written >= places_of(s);
    pthread_mutex_unlock(&s->taking);
    return all;
}

/* ---- computing ---- */

static bool may_compute(pipeline *s, int64_t panel)
{
    task unused;
    int64_t before = panel - s->panels.nbuffers;
    if (panel == s->panels.npanels)
        return false;
    if (atomic_load(&s->progress[panel].up) < find_chunk(&unused, s, TASK_UP, (cursor){.panel = panel}))
        return false;
    return before < 0 || atomic_load(&s->progress[before].down) == find_chunk(&unused, s, TASK_DOWN, (cursor){.panel = before});
}

static void compute_ready(pipeline *s)
{
    if (pthread_mutex_trylock(&s->computing) != 0)
        return; /* somebody is at it; everybody comes by again */
    while (!atomic_load(&s->status) && may_compute(s, atomic_load(&s->computed))) {
        if (!check(s, tsr_cuda_panel_compute(&s->panels, atomic_load(&s->computed))))
            break;
        atomic_fetch_add(&s->computed, 1);
    }
    pthread_mutex_unlock(&s->computing);
}

/* ---- one thread ---- */

/* With a full B an entry of C exists where the row of A has one. */
static void write_presence(const pipeline *s, int64_t first, int64_t last)
{
    const tsr_product *p = s->panels.product;
    const int8_t *present = s->panels.a->row_present;
    int64_t inner = p->c_by_col ? p->m : p->n;
    for (int64_t place = first; place < last;) {
        int64_t vector = place / inner, at = place % inner, count = inner - at < last - place ? inner - at : last - place;
        if (p->c_by_col)
            memcpy(s->panels.result->b + place, present + at, (size_t)count);
        else
            memset(s->panels.result->b + place, present[vector], (size_t)count);
        place += count;
    }
}

static size_t bytes_of(const task *t)
{
    return (size_t)(t->last - t->first) * t->rectangle.size;
}

static bool start(pipeline *s, tsr_cuda_lane *lane, int turn, const task *t)
{
    if (t->kind == TASK_PRESENCE) {
        write_presence(s, t->first, t->last);
        return true;
    }
    const tsr_cuda_rectangle *r = &t->rectangle;
    char *device = r->device + (size_t)t->first * r->size;
    tsr_status status;
    if (t->kind == TASK_UP) {
        tsr_cuda_gather(lane->staging[turn], r, t->first, t->last);
        status = tsr_cuda_to_device(device, lane->staging[turn], bytes_of(t), tsr_cuda.up);
    } else {
        status = tsr_cuda_to_host(lane->staging[turn], device, bytes_of(t), tsr_cuda.down);
    }
    if (status == TSR_OK)
        status = tsr_cuda_event_record(lane->event[turn], t->kind == TASK_UP ? tsr_cuda.up : tsr_cuda.down);
    if (!check(s, status))
        return false;
    atomic_fetch_add(&s->moved, (int64_t)bytes_of(t));
    if (t->kind == TASK_UP)
        atomic_fetch_add(&s->progress[t->panel].up, 1);
    return true;
}

/* The chunk is through, its staging memory free again. */
static bool finish(pipeline *s, tsr_cuda_lane *lane, int turn, task *t)
{
    if (t->kind == TASK_UP || t->kind == TASK_DOWN) {
        if (!check(s, tsr_cuda_event_wait(lane->event[turn])))
            return false;
        landed(s, t);
    }
    if (t->kind == TASK_DOWN) {
        tsr_cuda_scatter(&t->rectangle, lane->staging[turn], t->first, t->last);
        if (t->presence)
            atomic_fetch_add(&s->present, tsr_cuda_count_present(&t->rectangle, lane->staging[turn], t->first, t->last));
        atomic_fetch_add(&s->progress[t->panel].down, 1);
    }
    t->kind = TASK_NONE;
    return true;
}

static void run_lane(pipeline *s, tsr_cuda_lane *lane)
{
    task pending[TSR_CUDA_TURNS] = {0};
    if (!check(s, tsr_cuda_use(tsr_cuda.device.ordinal)))
        return;
    for (int turn = 0; !atomic_load(&s->status); turn = (turn + 1) % TSR_CUDA_TURNS) {
        if (!finish(s, lane, turn, &pending[turn]))
            return;
        compute_ready(s);
        if (take(&pending[turn], s)) {
            if (!start(s, lane, turn, &pending[turn]))
                return;
            continue;
        }
        int other = (turn + 1) % TSR_CUDA_TURNS;
        if (pending[other].kind != TASK_NONE)
            continue;
        if (all_taken(s))
            return;
        sched_yield(); /* others are copying what everybody waits for */
    }
}

/* ---- all of it ---- */

static int lanes_for(const pipeline *s)
{
    task unused;
    int64_t chunks = find_chunk(&unused, s, TASK_UP, (cursor){0}) + find_chunk(&unused, s, TASK_DOWN, (cursor){0});
    chunks *= s->panels.npanels;
    int nthreads = s->panels.product->nthreads;
    return tsr_cuda_need_lanes(chunks < nthreads ? (int)chunks : nthreads);
}

static void run(pipeline *s)
{
    int lanes = lanes_for(s);
    s->progress = calloc((size_t)s->panels.npanels, sizeof *s->progress);
    if (!check(s, lanes < 0 ? (tsr_status)lanes : s->progress ? TSR_OK : TSR_OUT_OF_MEMORY))
        return;
#pragma omp parallel for num_threads(lanes) schedule(static, 1) if (lanes > 1)
    for (int lane = 0; lane < lanes; lane++)
        run_lane(s, &tsr_cuda.lanes[lane]);
}

static void report(pipeline *s)
{
    tsr_result *result = s->panels.result;
    const tsr_product *p = s->panels.product;
    result->kernel = s->panels.plan->name;
    result->bytes_moved += atomic_load(&s->moved);
    if (s->panels.present)
        result->nvals = atomic_load(&s->present);
    else
        result->nvals = (result->b ? s->panels.a->rows_present : p->m) * p->n;
}

tsr_status tsr_cuda_multiply(tsr_cuda_sparse *a, tsr_cuda_plan *plan, const tsr_product *product, tsr_result *result)
{
    pipeline s = {.taking = PTHREAD_MUTEX_INITIALIZER, .computing = PTHREAD_MUTEX_INITIALIZER};
    tsr_status status = tsr_cuda_panels_open(&s.panels, a, plan, product, result);
    if (status == TSR_OK && places_of(&s))
        status = tsr_cuda_sparse_rows(a);
    if (status == TSR_OK) {
        run(&s);
        status = (tsr_status)atomic_load(&s.status);
    }
    tsr_status settled = tsr_cuda_settle();
    tsr_cuda_panels_close(&s.panels);
    free(s.progress);
    if (settled == TSR_INTERNAL_ERROR || (status == TSR_OK && settled != TSR_OK))
        status = settled;
    if (status == TSR_OK)
        report(&s);
    return status;
}
