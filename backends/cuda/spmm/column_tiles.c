/* The pipeline: while one tile is computed and downloaded, the next one arrives.
 *
 * Each direction has a ring of chunks of pinned memory.  Threads take pieces of them as they come, whichever direction has
 * fewer at work: pieces of B to gather into a chunk that will go to the device, pieces of C to scatter from a chunk that has
 * come.  Who completes a chunk, or finds no piece, serves the device: sends what is full, queues the kernels of a tile whose
 * chunks are all sent and whose buffer has been emptied, asks for results, and looks what has arrived; one thread at a time.
 * Who finds nothing to copy also writes pieces of the presence of C, where that follows from the rows of A.
 *
 * To and from page-locked memory the device copies by itself, a whole tile at once; such a load is in the ring for its event
 * only.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/spmm/column_tiles.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef enum direction { UP, DOWN } direction;

enum { PIECES = 8 }; /* of a chunk, at most */

/* Part of a rectangle, one chunk long; all of it where the device copies by itself. */
typedef struct part {
    int64_t tile, first, last; /* positions of the rectangle */
    bool presence;              /* of C */
    tsr_cuda_rectangle rectangle;
} part;

/* A chunk in use. */
typedef struct load {
    part part;
    int64_t handed_out; /* positions, from part.first on */
    int pieces, done;   /* being copied or copied; copied */
    atomic_bool copied; /* all of it */
} load;

/* Loads have numbers; number q is in chunk q % size.  UP: sent <= opened, landed <= sent; DOWN: opened is what has arrived.
 *   UP    opened: may be filled, served: all pieces handed out, sent: on the way, ended: the chunk is free again
 *   DOWN  sent: on the way, opened: arrived, served: all pieces handed out, ended: emptied, free again */
typedef struct ring {
    atomic_int_least64_t opened, served, sent;
    int64_t ended;
    int working;                /* threads at a piece */
    int64_t tile, next;        /* what comes next: the tile, and the number of its part */
    load load[TSR_CUDA_RING];
} ring;

/* A piece of work for one thread. */
typedef struct task {
    enum { TASK_NONE, TASK_COPY, TASK_PRESENCE } kind;
    direction direction;
    int64_t load, first, last; /* positions; places of C */
} task;

/* Chunks of a tile that are through. */
typedef struct progress {
    int64_t up, down;
    void *arrived; /* event of the last one on its way up; NULL: nothing goes up */
} progress;

typedef struct pipeline {
    tsr_cuda_column_tiles tiles;
    atomic_flag handing_out;  /* a lock of a few instructions; guards what is handed out and put back */
    pthread_mutex_t device;   /* who has it serves the device, and alone opens, sends and ends loads */
    atomic_bool all_sent;     /* nothing more will come down */
    ring ring[2];
    int size;                 /* chunks of a ring */
    atomic_int_least64_t written; /* places of C whose presence is taken */
    int64_t computed;         /* tiles whose kernels are queued */
    bool staged;              /* something goes through the chunks */
    atomic_int threads;       /* that came */
    progress *progress;       /* [ntiles] */
    atomic_int_least64_t present;
    int64_t moved;
    atomic_int status;        /* the first failure stops everybody */
} pipeline;

static bool check(pipeline *s, tsr_status status)
{
    int none = TSR_OK;
    if (status != TSR_OK)
        atomic_compare_exchange_strong(&s->status, &none, (int)status);
    return status == TSR_OK;
}

/* Waiting costs nobody else anything: no system call unless it takes long, and the lock is looked for only when there is
 * something to take. */
static void pause_briefly(int *waited)
{
    if (++*waited % 256 == 0)
        sched_yield();
#if defined(__x86_64__)
    for (int k = 0; k < 16; k++)
        __builtin_ia32_pause();
#endif
}

static void lock(pipeline *s)
{
    int waited = 0;
    while (atomic_flag_test_and_set_explicit(&s->handing_out, memory_order_acquire))
        pause_briefly(&waited);
}

static void unlock(pipeline *s)
{
    atomic_flag_clear_explicit(&s->handing_out, memory_order_release);
}

/* ---- parts ---- */

/* Positions of each part of a rectangle but the last. */
static int64_t part_size(const tsr_cuda_rectangle *r)
{
    return r->direct ? tsr_cuda_positions(r) : tsr_cuda_chunk_elements(r->size);
}

static int64_t chunks_of(const tsr_cuda_rectangle *r)
{
    int64_t size = part_size(r), positions = tsr_cuda_positions(r);
    return positions ? (positions + size - 1) / size : 0;
}

/* Part `number` of a tile, if there is one; returns how many there are. */
static int64_t find_part(part *p, const pipeline *s, direction d, int64_t tile, int64_t number)
{
    tsr_cuda_rectangle r[2];
    int count = d == UP ? tsr_cuda_column_tile_inputs(r, &s->tiles, tile) : tsr_cuda_column_tile_outputs(r, &s->tiles, tile);
    int64_t before = 0;
    for (int k = 0; k < count; k++) {
        int64_t chunks = chunks_of(&r[k]), size = part_size(&r[k]), positions = tsr_cuda_positions(&r[k]);
        int64_t first = (number - before) * size;
        if (number >= before && number < before + chunks)
            *p = (part){.tile = tile, .first = first, .last = first + size < positions ? first + size : positions,
                        .presence = k == 1, .rectangle = r[k]};
        before += chunks;
    }
    return before;
}

static int64_t parts_of(const pipeline *s, direction d, int64_t tile)
{
    part unused;
    return find_part(&unused, s, d, tile, -1);
}

static const tsr_cuda_chunk *chunk_of(const pipeline *s, direction d, int64_t number)
{
    return &tsr_cuda->chunks[2 * (number % s->size) + (d == DOWN)];
}

static load *load_of(pipeline *s, direction d, int64_t number)
{
    return &s->ring[d].load[number % s->size];
}

static void *event_of(const pipeline *s, int64_t tile)
{
    return s->tiles.buffer[tile % s->tiles.nbuffers].done;
}

static char *device_place(const part *p)
{
    return p->rectangle.device + (size_t)p->first * p->rectangle.size;
}

static size_t bytes_of(const part *p)
{
    return (size_t)(p->last - p->first) * p->rectangle.size;
}

/* ---- the device (s->device is held) ---- */

/* The next part of a ring into *p; false: there is none, or not yet. */
static bool next_part(part *p, pipeline *s, direction d)
{
    ring *r = &s->ring[d];
    while (r->tile < s->tiles.ntiles) {
        if (d == UP && r->tile - s->tiles.nbuffers >= s->computed)
            return false; /* its buffer is in use */
        if (d == DOWN && r->tile >= s->computed)
            return false;
        if (r->next < find_part(p, s, d, r->tile, r->next))
            break;
        r->tile++;
        r->next = 0;
    }
    if (r->tile == s->tiles.ntiles)
        return false;
    /* what goes up waits until the device has read what was there before, what comes down for its own tile only */
    bool waits = r->next == 0 && (d == DOWN || r->tile >= s->tiles.nbuffers);
    if (waits && !check(s, tsr_cuda_event_follow(event_of(s, r->tile), d == UP ? tsr_cuda->up : tsr_cuda->down)))
        return false;
    r->next++;
    return true;
}

static bool is_done(pipeline *s, direction d, int64_t number)
{
    int done = tsr_cuda_event_done(chunk_of(s, d, number)->event);
    if (done < 0)
        check(s, (tsr_status)done);
    return done > 0;
}

static bool is_copied(pipeline *s, direction d, int64_t number)
{
    return atomic_load(&load_of(s, d, number)->copied);
}

static bool fly(pipeline *s, direction d, int64_t number)
{
    const part *p = &load_of(s, d, number)->part;
    const tsr_cuda_chunk *c = chunk_of(s, d, number);
    void *stream = d == UP ? tsr_cuda->up : tsr_cuda->down;
    tsr_status status = p->rectangle.direct ? tsr_cuda_copy_direct(&p->rectangle, d == UP, stream)
                        : d == UP           ? tsr_cuda_to_device(device_place(p), c->staging, bytes_of(p), stream)
                                            : tsr_cuda_to_host(c->staging, device_place(p), bytes_of(p), stream);
    if (status == TSR_OK)
        status = tsr_cuda_event_record(c->event, stream);
    s->moved += (int64_t)bytes_of(p);
    return check(s, status);
}

/* Nobody looks at a load before it is opened. */
static void set_load(pipeline *s, direction d, int64_t number, const part *p)
{
    load *l = load_of(s, d, number);
    l->part = *p;
    l->handed_out = p->rectangle.direct ? p->last : p->first;
    l->pieces = l->done = 0;
    atomic_store(&l->copied, p->rectangle.direct);
}

/* A slot of the ring is free again when its load has ended and, if the device copied it, was seen by who hands out. */
static bool has_room(const pipeline *s, const ring *r, int64_t next)
{
    int64_t served = atomic_load(&r->served);
    return next - (r->ended < served ? r->ended : served) < s->size;
}

static void serve_upload(pipeline *s)
{
    ring *r = &s->ring[UP];
    part p;
    while (r->ended < r->sent && is_done(s, UP, r->ended))
        r->ended++;
    while (has_room(s, r, r->opened) && next_part(&p, s, UP)) {
        set_load(s, UP, r->opened, &p);
        atomic_fetch_add(&r->opened, 1);
    }
    while (r->sent < r->opened && is_copied(s, UP, r->sent)) {
        if (!fly(s, UP, r->sent))
            return;
        progress *of = &s->progress[load_of(s, UP, r->sent)->part.tile];
        of->up++;
        of->arrived = chunk_of(s, UP, r->sent)->event;
        atomic_fetch_add(&r->sent, 1);
    }
}

static void serve_download(pipeline *s)
{
    ring *r = &s->ring[DOWN];
    part p;
    while (r->ended < r->opened && is_copied(s, DOWN, r->ended)) {
        s->progress[load_of(s, DOWN, r->ended)->part.tile].down++;
        r->ended++;
    }
    while (has_room(s, r, r->sent) && next_part(&p, s, DOWN)) {
        set_load(s, DOWN, r->sent, &p);
        if (!fly(s, DOWN, r->sent))
            return;
        atomic_fetch_add(&r->sent, 1);
    }
    while (r->opened < r->sent && is_done(s, DOWN, r->opened))
        atomic_fetch_add(&r->opened, 1);
    int64_t last = s->tiles.ntiles - 1;
    if (r->tile > last || (r->tile == last && r->next == parts_of(s, DOWN, last)))
        atomic_store(&s->all_sent, true);
}

static bool may_compute(const pipeline *s)
{
    int64_t tile = s->computed, before = tile - s->tiles.nbuffers;
    if (tile == s->tiles.ntiles || s->progress[tile].up < parts_of(s, UP, tile))
        return false;
    return before < 0 || s->progress[before].down == parts_of(s, DOWN, before);
}

static bool compute_next(pipeline *s)
{
    return check(s, tsr_cuda_column_tile_compute(&s->tiles, s->computed, s->progress[s->computed].arrived));
}

static void serve_device(pipeline *s)
{
    if (pthread_mutex_trylock(&s->device) != 0)
        return; /* somebody is at it; everybody comes by again */
    serve_upload(s);
    serve_download(s);
    while (!atomic_load(&s->status) && may_compute(s) && compute_next(s))
        s->computed++;
    pthread_mutex_unlock(&s->device);
}

/* ---- handing out ---- */

static bool has_piece(pipeline *s, direction d)
{
    return atomic_load(&s->ring[d].served) < atomic_load(&s->ring[d].opened);
}

/* Loads that the device copies by itself have no pieces.  The lock is held. */
static void skip_direct(pipeline *s, direction d)
{
    while (has_piece(s, d) && load_of(s, d, s->ring[d].served)->part.rectangle.direct)
        atomic_fetch_add(&s->ring[d].served, 1);
}

/* The lock is held. */
static bool take_piece(task *t, pipeline *s, direction d)
{
    ring *r = &s->ring[d];
    skip_direct(s, d);
    if (!has_piece(s, d))
        return false;
    load *l = load_of(s, d, r->served);
    int64_t piece = (tsr_cuda_chunk_elements(l->part.rectangle.size) + PIECES - 1) / PIECES, first = l->handed_out;
    int64_t last = first + piece < l->part.last ? first + piece : l->part.last;
    *t = (task){.kind = TASK_COPY, .direction = d, .load = r->served, .first = first, .last = last};
    l->handed_out = last;
    l->pieces++;
    r->working++;
    if (last == l->part.last)
        atomic_fetch_add(&r->served, 1);
    return true;
}

/* Places of C whose presence is written by the host. */
static int64_t places_of(const pipeline *s)
{
    return s->tiles.result->b && !s->tiles.present ? s->tiles.product->m * s->tiles.product->n : 0;
}

static bool take_presence(task *t, pipeline *s)
{
    int64_t places = places_of(s), first, last;
    if (atomic_load(&s->written) >= places || (first = atomic_fetch_add(&s->written, tsr_cuda_all.chunk)) >= places)
        return false;
    last = first + tsr_cuda_all.chunk < places ? first + tsr_cuda_all.chunk : places;
    *t = (task){.kind = TASK_PRESENCE, .first = first, .last = last};
    return true;
}

static bool take(task *t, pipeline *s)
{
    bool taken = false;
    if (has_piece(s, UP) || has_piece(s, DOWN)) {
        lock(s);
        direction d = s->ring[DOWN].working <= s->ring[UP].working ? DOWN : UP;
        taken = take_piece(t, s, d) || take_piece(t, s, d == UP ? DOWN : UP);
        unlock(s);
    }
    return taken || take_presence(t, s);
}

/* Will there be work for more than the one thread that serves the device? */
static bool needs_helpers(const pipeline *s)
{
    return s->staged || atomic_load(&s->written) < places_of(s);
}

/* Everything is handed out, and nothing will come any more. */
static bool all_taken(pipeline *s)
{
    ring *r = &s->ring[DOWN];
    return atomic_load(&s->all_sent) && atomic_load(&r->served) == atomic_load(&r->sent) &&
           atomic_load(&s->written) >= places_of(s);
}

/* ---- one thread ---- */

/* With a full B an entry of C exists where the row of A has one. */
static void write_presence(const pipeline *s, int64_t first, int64_t last)
{
    const tsr_product *p = s->tiles.product;
    const int8_t *present = s->tiles.a->row_present;
    int64_t inner = p->c_by_col ? p->m : p->n;
    for (int64_t place = first; place < last;) {
        int64_t vector = place / inner, at = place % inner, count = inner - at < last - place ? inner - at : last - place;
        if (p->c_by_col)
            memcpy(s->tiles.result->b + place, present + at, (size_t)count);
        else
            memset(s->tiles.result->b + place, present[vector], (size_t)count);
        place += count;
    }
}

static void copy_piece(pipeline *s, const task *t)
{
    load *l = load_of(s, t->direction, t->load);
    const tsr_cuda_rectangle *r = &l->part.rectangle;
    char *staging = (char *)chunk_of(s, t->direction, t->load)->staging + (size_t)(t->first - l->part.first) * r->size;
    if (t->direction == UP)
        tsr_cuda_gather(staging, r, t->first, t->last);
    else
        tsr_cuda_scatter(r, staging, t->first, t->last);
    if (t->direction == DOWN && l->part.presence)
        atomic_fetch_add(&s->present, tsr_cuda_count_present(r, staging, t->first, t->last));
}

/* True: the chunk is complete. */
static bool put_back(pipeline *s, const task *t)
{
    lock(s);
    load *l = load_of(s, t->direction, t->load);
    s->ring[t->direction].working--;
    bool complete = ++l->done == l->pieces && l->handed_out == l->part.last;
    unlock(s);
    if (complete)
        atomic_store(&l->copied, true);
    return complete;
}

static void work_on(pipeline *s)
{
    task t;
    int waited = 0;
    bool stays = atomic_fetch_add(&s->threads, 1) == 0;
    while (!atomic_load(&s->status)) {
        if (!take(&t, s)) {
            if (all_taken(s) || !(stays || needs_helpers(s)))
                return;
            serve_device(s);
            pause_briefly(&waited);
        } else if (t.kind == TASK_PRESENCE) {
            write_presence(s, t.first, t.last);
        } else {
            copy_piece(s, &t);
            if (put_back(s, &t))
                serve_device(s);
        }
    }
}

static void run_thread(pipeline *s)
{
    tsr_cuda_place before;
    if (check(s, tsr_cuda_enter(tsr_cuda_first(), &before)))
        work_on(s);
    tsr_cuda_leave(before);
}

/* ---- all of it ---- */

/* Parts of the first tile that go through chunks. */
static int64_t staged_parts(const pipeline *s, direction d)
{
    part p = {0};
    int64_t parts = parts_of(s, d, 0), staged = 0;
    for (int64_t number = 0; number < parts; number++) {
        find_part(&p, s, d, 0, number);
        staged += !p.rectangle.direct;
    }
    return staged;
}

/* Threads that would find work. */
static int64_t useful_threads(const pipeline *s, int64_t staged)
{
    return 1 + staged * s->tiles.ntiles * PIECES + places_of(s) / tsr_cuda_all.chunk;
}

static void run(pipeline *s)
{
    int64_t up = parts_of(s, UP, 0), down = parts_of(s, DOWN, 0), staged = staged_parts(s, UP) + staged_parts(s, DOWN);
    s->staged = staged > 0;
    s->size = tsr_cuda_need_pairs((up > down ? up : down) * s->tiles.ntiles);
    s->progress = calloc((size_t)s->tiles.ntiles, sizeof *s->progress);
    if (!check(s, s->size < 0 ? (tsr_status)s->size : s->progress ? TSR_OK : TSR_OUT_OF_MEMORY))
        return;
    int64_t useful = useful_threads(s, staged);
    int nthreads = useful < s->tiles.product->nthreads ? (int)useful : s->tiles.product->nthreads;
    serve_device(s); /* the bus is at work while threads wake up */
#pragma omp parallel num_threads(nthreads) if (nthreads > 1)
    run_thread(s);
}

static void report(pipeline *s)
{
    tsr_result *result = s->tiles.result;
    const tsr_product *p = s->tiles.product;
    result->kernel = s->tiles.plan->name;
    result->bytes_moved += s->moved;
    if (s->tiles.present)
        result->nvals = atomic_load(&s->present);
    else
        result->nvals = (result->b ? s->tiles.a->rows_present : p->m) * p->n;
}

/* Room for all of C where there is some: its presence is the kernels', or that of the rows of A.  Without, nothing is kept. */
static tsr_status open_kept(tsr_cuda_column_tiles *s)
{
    const tsr_product *p = s->product;
    bool rows_tell = s->result->b && !s->present && s->a->rows_present < p->m;
    size_t places = (size_t)(p->m * p->n);
    if (!s->result->may_keep || !tsr_cuda_has_room(places * (s->size + 1) + 512) || (size_t)(p->m > p->n ? p->m : p->n) * s->size > INT32_MAX)
        return TSR_OK;
    tsr_status status = tsr_cuda_array_new(&s->kept, p->m * p->n, s->size, s->present || rows_tell);
    if (status != TSR_OK || !rows_tell)
        return status == TSR_INTERNAL_ERROR ? status : TSR_OK;
    return tsr_cuda_mark_rows(s->kept->present, s->a->csr.p, p->m, p->n, p->c_by_col, &tsr_cuda->device, tsr_cuda->compute);
}

/* What is known of it now. */
static void report_kept(tsr_cuda_column_tiles *s)
{
    s->kept->nvals = s->result->nvals;
    s->result->stays = s->kept;
    s->kept = NULL;
}

tsr_status tsr_cuda_multiply(tsr_cuda_sparse *a, tsr_cuda_plan *plan, const tsr_product *product, tsr_result *result)
{
    pipeline s = {.handing_out = ATOMIC_FLAG_INIT, .device = PTHREAD_MUTEX_INITIALIZER};
    tsr_status status = tsr_cuda_column_tiles_open(&s.tiles, a, plan, product, result);
    if (status == TSR_OK && places_of(&s))
        status = tsr_cuda_sparse_rows(a);
    if (status == TSR_OK)
        status = open_kept(&s.tiles);
    if (status == TSR_OK)
        status = tsr_cuda_wait(tsr_cuda->up); /* a value may still be in the chunks */
    if (status == TSR_OK) {
        run(&s);
        status = (tsr_status)atomic_load(&s.status);
    }
    tsr_status settled = tsr_cuda_settle();
    tsr_cuda_column_tiles_close(&s.tiles);
    free(s.progress);
    if (settled == TSR_INTERNAL_ERROR || (status == TSR_OK && settled != TSR_OK))
        status = settled;
    if (status == TSR_OK)
        report(&s);
    if (status == TSR_OK && s.tiles.kept)
        report_kept(&s.tiles);
    tsr_cuda_array_free(s.tiles.kept);
    return status;
}
