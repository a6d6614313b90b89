/* The lazy device does its work as late as the contract allows, its streams in any order: what is missing between two streams,
 * or between a stream and the host, shows as a wrong answer.  Every stream is a list of work, done only while the host waits for
 * something.  Here are streams, memory, copies and events; kernels, which are the reference kernels, lie beside.
 * SPDX-License-Identifier: Apache-2.0 */
#include "test/cuda/device_control.h"
#include "test/cuda/lazy_device.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/device/runtime.h"

enum { STREAMS = 8 };

typedef struct work {
    struct work *next;
    void (*run)(struct work *w);
    void *to;
    const void *from;
    size_t bytes;
    size_t to_pitch, from_pitch, rows;
    int byte;
    struct lazy_event *event;
    uint64_t stamp;
    void (*by_others)(const void *described); /* lazy_queue */
    void *described;
} work;

typedef struct lazy_event {
    uint64_t recorded, reached; /* stamps */
} lazy_event;

typedef struct stream {
    work *first, *last;
} stream;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards everything; work is done under it */
static stream streams[STREAMS];
static int nstreams;
static uint64_t random_state, stamps;
static long fail_at, calls, live;
static bool fail_sticky;

void control_seed(uint64_t seed)
{
    random_state = seed;
}

bool control_fail(long k, bool sticky)
{
    fail_at = k;
    fail_sticky = sticky;
    calls = 0;
    return true;
}

long control_calls(void)
{
    return calls;
}

long control_live(void)
{
    return live;
}

bool control_sums_exactly(void)
{
    return true;
}

static uint64_t draw(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return random_state >> 33;
}

void lazy_fatal(const char *what)
{
    fprintf(stderr, "lazy device: %s\n", what);
    abort();
}

/* ---- doing the work ---- */

static bool runnable(const stream *s)
{
    return s->first && (!s->first->event || s->first->run || s->first->event->reached >= s->first->stamp);
}

/* A piece of work without `run` only waits for its event. */
static void run_first(stream *s)
{
    work *w = s->first;
    s->first = w->next;
    if (!s->first)
        s->last = NULL;
    if (w->run)
        w->run(w);
    free(w);
}

/* One piece of work of a stream picked at random. */
static void step(void)
{
    for (int tries = 0; tries < 64; tries++) {
        stream *s = &streams[draw() % (uint64_t)nstreams];
        if (runnable(s)) {
            run_first(s);
            return;
        }
    }
    for (int k = 0; k < nstreams; k++)
        if (runnable(&streams[k])) {
            run_first(&streams[k]);
            return;
        }
    lazy_fatal("streams wait for each other, or for an event that nobody recorded");
}

static bool fails(void)
{
    calls++;
    return fail_at && (calls == fail_at || (fail_sticky && calls > fail_at));
}

/* Queues a copy of *w; a failure queues nothing. */
static tsr_status queue(const work *w, void *on)
{
    tsr_status status = TSR_OK;
    pthread_mutex_lock(&lock);
    work *kept = malloc(sizeof *kept);
    if (!kept)
        lazy_fatal("no memory");
    *kept = *w;
    kept->next = NULL;
    stream *s = on;
    if (fails()) {
        free(kept);
        status = TSR_INTERNAL_ERROR;
    } else {
        *(s->last ? &s->last->next : &s->first) = kept;
        s->last = kept;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static void run_described(work *w)
{
    w->by_others(w->described);
    free(w->described);
}

tsr_status lazy_queue(void (*run)(const void *described), const void *described, size_t bytes, void *on)
{
    work w = {.run = run_described, .by_others = run, .described = malloc(bytes)};
    if (!w.described)
        lazy_fatal("no memory");
    memcpy(w.described, described, bytes);
    tsr_status status = queue(&w, on);
    if (status != TSR_OK)
        free(w.described);
    return status;
}

void lazy_count(long blocks)
{
    pthread_mutex_lock(&lock);
    live += blocks;
    pthread_mutex_unlock(&lock);
}

void lazy_finish(void)
{
    pthread_mutex_lock(&lock);
    for (int k = 0; k < nstreams; k++)
        while (streams[k].first)
            step();
    pthread_mutex_unlock(&lock);
}

/* ---- memory and copies ---- */

/* The context of a thread is the number of its device, as a pointer. */
static _Thread_local void *current;

int tsr_cuda_count(void)
{
    return 1;
}

tsr_status tsr_cuda_open(int ordinal, tsr_cuda_device *device)
{
    current = (char *)streams + ordinal;
    *device = (tsr_cuda_device){.ordinal = ordinal, .major = 9, .sms = 4, .l2_bytes = 1 << 20, .memory_bytes = (size_t)1 << 30};
    return TSR_OK;
}

static tsr_status new_block(void **p, size_t bytes)
{
    pthread_mutex_lock(&lock);
    bool failed = fails();
    *p = failed ? NULL : aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (*p) {
        memset(*p, 0xff, bytes);
        live++;
    }
    pthread_mutex_unlock(&lock);
    return *p ? TSR_OK : TSR_OUT_OF_MEMORY;
}

tsr_status tsr_cuda_malloc(void **p, size_t bytes, void *on)
{
    (void)on;
    return new_block(p, bytes);
}

static void run_free(work *w)
{
    free(w->to);
}

void tsr_cuda_free(void *p, void *on)
{
    if (!p)
        return;
    pthread_mutex_lock(&lock);
    work *w = calloc(1, sizeof *w);
    stream *s = on;
    w->run = run_free;
    w->to = p;
    *(s->last ? &s->last->next : &s->first) = w;
    s->last = w;
    live--;
    pthread_mutex_unlock(&lock);
}

static void run_copy(work *w)
{
    memcpy(w->to, w->from, w->bytes);
}

tsr_status tsr_cuda_to_device(void *device, const void *host, size_t bytes, void *on)
{
    return queue(&(work){.run = run_copy, .to = device, .from = host, .bytes = bytes}, on);
}

tsr_status tsr_cuda_to_host(void *host, const void *device, size_t bytes, void *on)
{
    return queue(&(work){.run = run_copy, .to = host, .from = device, .bytes = bytes}, on);
}

static void run_rows(work *w)
{
    for (size_t row = 0; row < w->rows; row++)
        memcpy((char *)w->to + row * w->to_pitch, (const char *)w->from + row * w->from_pitch, w->bytes);
}

static void check_rows(const tsr_cuda_copy *c)
{
    if (c->width > c->device_pitch || c->width > c->host_pitch)
        lazy_fatal("rows overlap");
}

tsr_status tsr_cuda_rows_to_device(const tsr_cuda_copy *c, void *on)
{
    check_rows(c);
    return queue(&(work){.run = run_rows, .to = c->device, .to_pitch = c->device_pitch, .from = c->host,
                         .from_pitch = c->host_pitch, .bytes = c->width, .rows = c->height}, on);
}

tsr_status tsr_cuda_rows_to_host(const tsr_cuda_copy *c, void *on)
{
    check_rows(c);
    return queue(&(work){.run = run_rows, .to = c->host, .to_pitch = c->host_pitch, .from = c->device,
                         .from_pitch = c->device_pitch, .bytes = c->width, .rows = c->height}, on);
}

tsr_status tsr_cuda_rows_on_device(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, void *on)
{
    if (width > to_pitch || width > from_pitch)
        lazy_fatal("rows overlap");
    return queue(&(work){.run = run_rows, .to = to, .to_pitch = to_pitch, .from = from, .from_pitch = from_pitch, .bytes = width,
                         .rows = height}, on);
}

static void run_set(work *w)
{
    memset(w->to, w->byte, w->bytes);
}

tsr_status tsr_cuda_set(void *p, int byte, size_t bytes, void *on)
{
    return queue(&(work){.run = run_set, .to = p, .byte = byte, .bytes = bytes}, on);
}

static void run_send(work *w)
{
    uint64_t *answer = w->to;
    memcpy(answer + 1, w->from, w->bytes);
    answer[0] = 1;
}

tsr_status tsr_cuda_send(uint64_t *answer, const void *device, int words, void *on)
{
    return queue(&(work){.run = run_send, .to = answer, .from = device, .bytes = (size_t)words * sizeof *answer}, on);
}

tsr_status tsr_cuda_await(const uint64_t *word, uint32_t ticket, void *on)
{
    const stream *s = on;
    pthread_mutex_lock(&lock);
    bool failed = fails();
    while (s->first && (failed || !tsr_cuda_heard(*word, ticket)))
        step();
    pthread_mutex_unlock(&lock);
    return failed ? TSR_INTERNAL_ERROR : TSR_OK;
}

tsr_status tsr_cuda_wait(void *on)
{
    const stream *s = on;
    pthread_mutex_lock(&lock);
    bool failed = fails();
    while (s->first) /* also after a failure: what is left would use memory about to be freed */
        step();
    pthread_mutex_unlock(&lock);
    return failed ? TSR_INTERNAL_ERROR : TSR_OK;
}

tsr_status tsr_cuda_stream_new(void **on)
{
    if (nstreams == STREAMS)
        lazy_fatal("too many streams");
    *on = &streams[nstreams++];
    return TSR_OK;
}

void tsr_cuda_stream_free(void *on)
{
    (void)on;
}

tsr_status tsr_cuda_pin(void **p, size_t bytes)
{
    return new_block(p, bytes);
}

void tsr_cuda_unpin(void *p)
{
    pthread_mutex_lock(&lock);
    live -= p != NULL;
    pthread_mutex_unlock(&lock);
    free(p);
}

/* Locked blocks are remembered elsewhere: here only that it may fail, and that all are unlocked. */
tsr_status tsr_cuda_lock_pages(void *p, size_t bytes)
{
    (void)p;
    (void)bytes;
    pthread_mutex_lock(&lock);
    bool failed = fails();
    live += !failed;
    pthread_mutex_unlock(&lock);
    return failed ? TSR_OUT_OF_MEMORY : TSR_OK;
}

void tsr_cuda_unlock_pages(void *p)
{
    (void)p;
    pthread_mutex_lock(&lock);
    live--;
    pthread_mutex_unlock(&lock);
}

tsr_status tsr_cuda_use(int ordinal)
{
    current = (char *)streams + ordinal;
    return TSR_OK;
}

void *tsr_cuda_current(void)
{
    return current;
}

void tsr_cuda_restore(void *context)
{
    current = context;
}

tsr_status tsr_cuda_free_memory(size_t *bytes)
{
    *bytes = (size_t)1 << 30;
    return TSR_OK;
}

tsr_status tsr_cuda_wait_device(void)
{
    lazy_finish();
    return TSR_OK;
}

int tsr_cuda_ordinal_of(const void *p)
{
    return p ? 0 : -1;
}

/* ---- events ---- */

tsr_status tsr_cuda_event_new(void **event)
{
    return new_block(event, sizeof(lazy_event)) == TSR_OK ? (memset(*event, 0, sizeof(lazy_event)), TSR_OK) : TSR_OUT_OF_MEMORY;
}

tsr_status tsr_cuda_timer_new(void **event)
{
    return tsr_cuda_event_new(event);
}

/* Time passes with what is queued. */
tsr_status tsr_cuda_event_ms(double *ms, void *from, void *to)
{
    const lazy_event *first = from, *last = to;
    pthread_mutex_lock(&lock);
    bool failed = fails() || first->reached < first->recorded || last->reached < last->recorded;
    *ms = (double)(last->recorded - first->recorded);
    pthread_mutex_unlock(&lock);
    return failed ? TSR_INTERNAL_ERROR : TSR_OK;
}

void tsr_cuda_event_free(void *event)
{
    tsr_cuda_unpin(event);
}

static void run_record(work *w)
{
    w->event->reached = w->stamp;
}

tsr_status tsr_cuda_event_record(void *event, void *on)
{
    lazy_event *e = event;
    pthread_mutex_lock(&lock);
    uint64_t stamp = ++stamps;
    pthread_mutex_unlock(&lock);
    tsr_status status = queue(&(work){.run = run_record, .event = e, .stamp = stamp}, on);
    if (status == TSR_OK)
        e->recorded = stamp;
    return status;
}

tsr_status tsr_cuda_event_follow(void *event, void *on)
{
    lazy_event *e = event;
    return queue(&(work){.event = e, .stamp = e->recorded}, on);
}

tsr_status tsr_cuda_event_wait(void *event)
{
    lazy_event *e = event;
    pthread_mutex_lock(&lock);
    bool failed = fails();
    while (!failed && e->reached < e->recorded)
        step();
    pthread_mutex_unlock(&lock);
    return failed ? TSR_INTERNAL_ERROR : TSR_OK;
}

int tsr_cuda_event_done(void *event)
{
    const lazy_event *e = event;
    pthread_mutex_lock(&lock);
    bool failed = fails();
    if (!failed && e->reached < e->recorded && draw() % 4 == 0)
        step();
    int done = failed ? (int)TSR_INTERNAL_ERROR : e->reached >= e->recorded;
    pthread_mutex_unlock(&lock);
    return done;
}
