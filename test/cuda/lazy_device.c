/* The lazy device does its work as late as the contract allows, its streams in any order: what is missing between two streams,
 * or between a stream and the host, shows as a wrong answer.  Kernels are the reference kernels.  Every stream is a list of
 * work, done only while the host waits for something.
 * SPDX-License-Identifier: Apache-2.0 */
#include "test/cuda/device_control.h"
#include "test/cuda/lazy_device.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/runtime.h"
#include "kernels/kernels.h"
#include "kernels/ref/formats.h"
#include "kernels/ref/ref.h"
#include "src/format/blocks.h"
#include "src/format/format.h"
#include "tessera/row_order.h"

enum { STREAMS = 8 };

typedef struct work {
    struct work *next;
    void (*run)(struct work *w);
    void *to;
    const void *from;
    size_t bytes;
    int64_t a, b, rows, cols; /* leading dimensions, sizes, as each kind of work wants them */
    int byte, element;
    double limit;
    struct lazy_event *event;
    uint64_t stamp;
    tsr_cuda_csr csr;
    tsr_cuda_csr_spmm by_csr;
    tsr_cuda_spmm by_blocks;
    tsr_number number, number_from;
    const void *format;
    int kind;
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

static void fatal(const char *what)
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
    fatal("streams wait for each other, or for an event that nobody recorded");
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
        fatal("no memory");
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
        fatal("no memory");
    memcpy(w.described, described, bytes);
    tsr_status status = queue(&w, on);
    if (status != TSR_OK)
        free(w.described);
    return status;
}

/* ---- memory and copies ---- */

int tsr_cuda_count(void)
{
    return 1;
}

tsr_status tsr_cuda_open(int ordinal, tsr_cuda_device *device)
{
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
    for (int64_t row = 0; row < w->rows; row++)
        memcpy((char *)w->to + row * w->a, (const char *)w->from + row * w->b, w->bytes);
}

static void check_rows(const tsr_cuda_copy *c)
{
    if (c->width > c->device_pitch || c->width > c->host_pitch)
        fatal("rows overlap");
}

tsr_status tsr_cuda_rows_to_device(const tsr_cuda_copy *c, void *on)
{
    check_rows(c);
    return queue(&(work){.run = run_rows, .to = c->device, .a = (int64_t)c->device_pitch, .from = c->host,
                         .b = (int64_t)c->host_pitch, .bytes = c->width, .rows = (int64_t)c->height}, on);
}

tsr_status tsr_cuda_rows_to_host(const tsr_cuda_copy *c, void *on)
{
    check_rows(c);
    return queue(&(work){.run = run_rows, .to = c->host, .a = (int64_t)c->host_pitch, .from = c->device,
                         .b = (int64_t)c->device_pitch, .bytes = c->width, .rows = (int64_t)c->height}, on);
}

tsr_status tsr_cuda_rows_on_device(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, void *on)
{
    if (width > to_pitch || width > from_pitch)
        fatal("rows overlap");
    return queue(&(work){.run = run_rows, .to = to, .a = (int64_t)to_pitch, .from = from, .b = (int64_t)from_pitch, .bytes = width,
                         .rows = (int64_t)height}, on);
}

static void run_set(work *w)
{
    memset(w->to, w->byte, w->bytes);
}

tsr_status tsr_cuda_set(void *p, int byte, size_t bytes, void *on)
{
    return queue(&(work){.run = run_set, .to = p, .byte = byte, .bytes = bytes}, on);
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
        fatal("too many streams");
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

/* The context of a thread is the number of its device, as a pointer. */
static _Thread_local void *current;

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

/* ---- events ---- */

tsr_status tsr_cuda_event_new(void **event)
{
    return new_block(event, sizeof(lazy_event)) == TSR_OK ? (memset(*event, 0, sizeof(lazy_event)), TSR_OK) : TSR_OUT_OF_MEMORY;
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

/* ---- dense operands ---- */

static void run_transpose(work *w)
{
    size_t size = (size_t)w->element;
    for (int64_t i = 0; i < w->rows; i++)
        for (int64_t j = 0; j < w->cols; j++)
            memcpy((char *)w->to + (size_t)(j * w->a + i) * size, (const char *)w->from + (size_t)(i * w->b + j) * size, size);
}

tsr_status tsr_cuda_transpose(void *dst, int64_t dst_ld, const void *src, int64_t src_ld, int64_t rows, int64_t cols, int size,
                              void *on)
{
    return queue(&(work){.run = run_transpose, .to = dst, .from = src, .a = dst_ld, .b = src_ld, .rows = rows, .cols = cols,
                         .element = size}, on);
}

static void run_convert(work *w)
{
    size_t to_size = tsr_number_size(w->number), from_size = tsr_number_size(w->number_from);
    for (int64_t row = 0; row < w->rows; row++) {
        void *to = (char *)w->to + (size_t)(row * w->a) * to_size;
        const void *from = (const char *)w->from + (size_t)(row * w->b) * from_size;
        tsr_round_values(to, w->number, from, w->number_from == TSR_NUMBER_FP64 ? TSR_FP64 : TSR_FP32, w->cols, 1);
    }
}

tsr_status tsr_cuda_convert(void *dst, tsr_number to, int64_t dst_ld, const void *src, tsr_number from, int64_t src_ld,
                            int64_t rows, int64_t cols, void *on)
{
    return queue(&(work){.run = run_convert, .to = dst, .from = src, .a = dst_ld, .b = src_ld, .rows = rows, .cols = cols,
                         .number = to, .number_from = from}, on);
}

static void run_check(work *w)
{
    for (int64_t row = 0; row < w->rows; row++)
        for (int64_t col = 0; col < w->cols; col++)
            if (!(fabs(tsr_ref_number(w->from, w->number, row * w->a + col)) < w->limit))
                *(int *)w->to = 1;
}

tsr_status tsr_cuda_check_finite(int *flag, const void *x, tsr_number number, int64_t ld, int64_t rows, int64_t cols,
                                 double limit, void *on)
{
    return queue(&(work){.run = run_check, .to = flag, .from = x, .number = number, .a = ld, .rows = rows, .cols = cols,
                         .limit = limit}, on);
}

/* ---- CSR ---- */

tsr_status tsr_cuda_csr_work(tsr_cuda_csr *a, const tsr_cuda_device *device, void *on)
{
    (void)device;
    tsr_status status = tsr_cuda_malloc(&a->work, 1, on);
    return status == TSR_OK ? tsr_cuda_wait(on) : status;
}

void tsr_cuda_csr_work_free(tsr_cuda_csr *a, void *on)
{
    tsr_cuda_free(a->work, on);
    a->work = NULL;
}

size_t tsr_cuda_csr_partial_bytes(const tsr_cuda_csr *a, const tsr_cuda_csr_spmm *product)
{
    (void)a;
    return (size_t)product->n * 8;
}

/* Sums of floating-point numbers are exact but for the last rounding, whatever the order of the entries. */
tsr_status lazy_product(const tsr_product *p, int64_t places, tsr_result *result)
{
    bool sums = tsr_type_is_float(p->semiring.type) && p->semiring.add == TSR_ADD_PLUS;
    if (!sums)
        return tsr_ref_execute(p, result);
    long double *exact = malloc((size_t)places * sizeof *exact + 1);
    tsr_status status = exact ? tsr_ref_execute_exact(p, exact, result->b, &result->nvals) : TSR_OUT_OF_MEMORY;
    for (int64_t place = 0; status == TSR_OK && place < places; place++)
        tsr_value_store(p->semiring.type, result->x, place, (tsr_value){.real = result->b[place] ? exact[place] : 0});
    free(exact);
    return status;
}

float *lazy_widened(const void *from, tsr_number number, int64_t count)
{
    float *wide = from ? malloc((size_t)count * sizeof *wide + 1) : NULL;
    for (int64_t k = 0; wide && k < count; k++)
        wide[k] = (float)tsr_ref_number(from, number, k);
    return wide;
}

static void run_csr(work *w);

/* The same product with everything widened to FP32. */
static void run_half(work *w)
{
    int64_t last = w->csr.ncols ? (w->csr.ncols - 1) * w->by_csr.ldb + w->by_csr.n : 0;
    work wide = *w;
    wide.by_csr.half = false;
    wide.by_csr.b = lazy_widened(w->by_csr.b, w->by_csr.number, last);
    wide.csr.x = lazy_widened(w->csr.x, w->by_csr.number, w->csr.nvals);
    run_csr(&wide);
    free(wide.csr.x);
    free((void *)(uintptr_t)wide.by_csr.b);
}

static void run_csr(work *w)
{
    const tsr_cuda_csr_spmm *q = &w->by_csr;
    const tsr_cuda_csr *c = &w->csr;
    if (q->half) {
        run_half(w);
        return;
    }
    size_t size = tsr_type_size(q->semiring.type), places = (size_t)(c->nrows * q->n);
    tsr_product p = {.op = TSR_OP_SPMM, .semiring = q->semiring, .m = c->nrows, .n = q->n, .k = c->ncols, .nthreads = 1};
    p.a = (tsr_view){.format = TSR_SPARSE, .type = q->semiring.type, .iso = !c->x, .index_size = 4, .nrows = c->nrows,
                     .ncols = c->ncols, .nvec = c->nrows, .vlen = c->ncols, .nvals = c->nvals,
                     .p = c->p, .i = c->i, .x = c->x ? c->x : &q->iso};
    p.b = (tsr_view){.format = q->b_present ? TSR_BITMAP : TSR_FULL, .type = q->semiring.type, .nrows = c->ncols, .ncols = q->n,
                     .nvec = c->ncols, .vlen = q->n, .ld = q->ldb, .nvals = c->ncols * q->n, .b = q->b_present, .x = q->b};
    char *x = malloc(places * size);
    int8_t *present = malloc(places);
    tsr_result result = {.x = x, .b = present};
    if (!x || !present || lazy_product(&p, (int64_t)places, &result) != TSR_OK)
        fatal("the reference kernel failed");
    memset(q->partial, 0xff, (size_t)q->n * 8);
    for (int64_t row = 0; row < c->nrows; row++) {
        memcpy((char *)q->c + (size_t)(row * q->ldc) * size, x + (size_t)(row * q->n) * size, (size_t)q->n * size);
        if (q->c_present)
            memcpy(q->c_present + row * q->ldc, present + row * q->n, (size_t)q->n);
    }
    free(x);
    free(present);
}

tsr_status tsr_cuda_spmm_csr(const tsr_cuda_csr *a, const tsr_cuda_csr_spmm *product)
{
    return queue(&(work){.run = run_csr, .csr = *a, .by_csr = *product}, product->stream);
}

static void fill_flipped(tsr_cuda_csr *out, const tsr_cuda_csr *in, size_t size)
{
    memset(out->p, 0, (size_t)(out->nrows + 1) * sizeof *out->p);
    for (int64_t k = 0; k < in->nvals; k++)
        out->p[in->i[k] + 1]++;
    for (int64_t row = 0; row < out->nrows; row++)
        out->p[row + 1] += out->p[row];
    int64_t *at = malloc((size_t)(out->nrows + 1) * sizeof *at);
    memcpy(at, out->p, (size_t)(out->nrows + 1) * sizeof *at);
    for (int64_t row = 0; row < in->nrows; row++)
        for (int64_t k = in->p[row]; k < in->p[row + 1]; k++) {
            int64_t to = at[in->i[k]]++;
            out->i[to] = (uint32_t)row;
            if (in->x)
                memcpy((char *)out->x + (size_t)to * size, (const char *)in->x + (size_t)k * size, size);
        }
    free(at);
}

tsr_status tsr_cuda_flip(tsr_cuda_csr *out, const tsr_cuda_csr *in, int element_size, void *on)
{
    *out = (tsr_cuda_csr){.nrows = in->ncols, .ncols = in->nrows, .nvals = in->nvals};
    tsr_status status = tsr_cuda_malloc((void **)&out->p, (size_t)(out->nrows + 1) * sizeof *out->p, on);
    if (status == TSR_OK)
        status = tsr_cuda_malloc((void **)&out->i, (size_t)in->nvals * sizeof *out->i, on);
    if (status == TSR_OK && in->x)
        status = tsr_cuda_malloc(&out->x, (size_t)in->nvals * (size_t)element_size, on);
    tsr_status waited = tsr_cuda_wait(on);
    status = status == TSR_OK ? waited : status;
    if (status == TSR_OK) {
        fill_flipped(out, in, (size_t)element_size);
        return status;
    }
    tsr_cuda_free(out->p, on);
    tsr_cuda_free(out->i, on);
    tsr_cuda_free(out->x, on);
    *out = (tsr_cuda_csr){0};
    return status;
}

/* ---- block formats: made by src/format, which is what converters on a device must equal ---- */

static tsr_status counted(tsr_status status)
{
    pthread_mutex_lock(&lock);
    live += status == TSR_OK;
    pthread_mutex_unlock(&lock);
    return status;
}

/* Formats are freed by the host: what is queued has used them by then. */
static void uncounted(const void *array)
{
    pthread_mutex_lock(&lock);
    for (int k = 0; k < nstreams; k++)
        while (streams[k].first)
            step();
    live -= array != NULL;
    pthread_mutex_unlock(&lock);
}

tsr_number tsr_cuda_number(tsr_cuda_math math)
{
    static const tsr_number numbers[TSR_CUDA_MATH_COUNT] = {TSR_NUMBER_FP32, TSR_NUMBER_FP32, TSR_NUMBER_FP16, TSR_NUMBER_BF16,
                                                            TSR_NUMBER_FP64};
    return numbers[math];
}

#define WHEN_IDLE(on, make)                  \
    tsr_status waited = tsr_cuda_wait(on);   \
    return waited == TSR_OK ? counted(make) : waited

tsr_status tsr_cuda_make_me_tcf(tsr_me_tcf *out, const tsr_source *in, void *on)
{
    WHEN_IDLE(on, tsr_make_me_tcf(out, in, 1));
}

tsr_status tsr_cuda_make_me_bcrs(tsr_me_bcrs *out, const tsr_source *in, int width, double iso, void *on)
{
    WHEN_IDLE(on, tsr_make_me_bcrs(out, in, width, iso, 1));
}

tsr_status tsr_cuda_make_bmat(tsr_bmat *out, const tsr_source *in, int height, void *on)
{
    WHEN_IDLE(on, tsr_make_bmat(out, in, height, 1));
}

tsr_status tsr_cuda_make_hrpb(tsr_hrpb *out, const tsr_source *in, int height, void *on)
{
    WHEN_IDLE(on, tsr_make_hrpb(out, in, height, 1));
}

tsr_status tsr_cuda_make_work(tsr_work *out, const tsr_windows *windows, const uint64_t *mask, int64_t most, void *on)
{
    WHEN_IDLE(on, tsr_make_work(out, windows, mask, most));
}

void tsr_cuda_free_me_tcf(tsr_me_tcf *a, void *on)
{
    (void)on;
    uncounted(a->w.entry);
    tsr_free_me_tcf(a);
}

void tsr_cuda_free_me_bcrs(tsr_me_bcrs *a, void *on)
{
    (void)on;
    uncounted(a->w.entry);
    tsr_free_me_bcrs(a);
}

void tsr_cuda_free_bmat(tsr_bmat *a, void *on)
{
    (void)on;
    uncounted(a->w.entry);
    tsr_free_bmat(a);
}

void tsr_cuda_free_hrpb(tsr_hrpb *a, void *on)
{
    (void)on;
    uncounted(a->w.entry);
    tsr_free_hrpb(a);
}

tsr_status tsr_cuda_make_panel(tsr_panel *out, const tsr_source *in, int height, int width, double iso, void *on)
{
    WHEN_IDLE(on, tsr_make_panel(out, in, height, width, iso, 1));
}

void tsr_cuda_free_panel(tsr_panel *a, void *on)
{
    (void)on;
    uncounted(a->w.entry);
    tsr_free_panel(a);
}

tsr_status tsr_cuda_make_stencil(tsr_stencil *out, const tsr_source *in, void *on)
{
    WHEN_IDLE(on, tsr_make_stencil(out, in, 1));
}

void tsr_cuda_free_stencil(tsr_stencil *a, void *on)
{
    (void)on;
    uncounted(a->slots);
    tsr_free_stencil(a);
}

int64_t tsr_cuda_panel_most(const tsr_windows *windows, const tsr_cuda_device *device)
{
    return windows->nblocks / device->sms + 1;
}

int64_t tsr_cuda_me_bcrs_most(const tsr_windows *windows, const tsr_cuda_device *device)
{
    return tsr_cuda_panel_most(windows, device);
}

int64_t tsr_cuda_stencil_most(const tsr_windows *windows, const tsr_cuda_device *device)
{
    return tsr_cuda_panel_most(windows, device);
}

void tsr_cuda_free_work(tsr_work *work_list, void *on)
{
    (void)on;
    uncounted(work_list->block);
    tsr_free_work(work_list);
}

tsr_status tsr_cuda_count_vectors(int64_t vectors[5], const tsr_source *in, void *on)
{
    tsr_statistics s;
    tsr_status status = tsr_cuda_wait(on);
    if (status == TSR_OK)
        status = tsr_make_statistics(&s, in, 1);
    if (status == TSR_OK)
        memcpy(vectors, s.vectors, sizeof s.vectors);
    return status;
}

tsr_status tsr_cuda_make_order(uint32_t *order, const tsr_source *in, tsr_reorder which, void *on)
{
    tsr_status status = tsr_cuda_wait(on);
    return status == TSR_OK ? tsr_make_order(order, in, which, 1) : status;
}

tsr_status tsr_cuda_take_rows(tsr_source *out, const tsr_source *in, const uint32_t *rows, int64_t n, void *on)
{
    *out = (tsr_source){0};
    WHEN_IDLE(on, tsr_take_rows(out, in, rows, n, 1));
}

void tsr_cuda_free_source(tsr_source *source, void *on)
{
    (void)on;
    uncounted(source->p);
    tsr_free_source(source);
}

tsr_status tsr_cuda_sample_vectors(int64_t vectors[5], const tsr_source *in, const uint32_t *order, void *on)
{
    tsr_status status = tsr_cuda_wait(on);
    return status == TSR_OK ? tsr_sample_vectors(vectors, in, order, 1) : status;
}

/* tsr_sample_vectors without the counting. */
static tsr_status sample_rows(tsr_source *out, const tsr_source *in, const uint32_t *order)
{
    int64_t n = tsr_order_sampled(in->nrows);
    uint32_t *rows = malloc((size_t)(n + 1) * sizeof *rows);
    tsr_source pattern = *in;
    pattern.x = NULL;
    for (int64_t k = 0; rows && k < n; k++) {
        int64_t place = tsr_order_sample_place(in->nrows, k);
        rows[k] = order ? order[place] : (uint32_t)place;
    }
    tsr_status status = rows ? tsr_take_rows(out, &pattern, rows, n, 1) : TSR_OUT_OF_MEMORY;
    free(rows);
    return status;
}

tsr_status tsr_cuda_sample_rows(tsr_source *out, const tsr_source *in, const uint32_t *order, void *on)
{
    *out = (tsr_source){0};
    WHEN_IDLE(on, sample_rows(out, in, order));
}

tsr_status tsr_cuda_count_windows(tsr_window_count *windows, const tsr_source *in, int height, void *on)
{
    tsr_windows w;
    uint32_t *place;
    tsr_status status = tsr_cuda_wait(on);
    if (status == TSR_OK)
        status = tsr_make_windows(&w, &place, in, height, 8, 1);
    if (status != TSR_OK)
        return status;
    for (int64_t v = 0; v < w.nwindows; v++)
        windows[v] = (tsr_window_count){(uint32_t)(w.entry[v + 1] - w.entry[v]), (uint32_t)(w.vector[v + 1] - w.vector[v])};
    free(place);
    tsr_free_windows(&w);
    return TSR_OK;
}

tsr_status tsr_cuda_longest_window(int64_t *longest, const tsr_windows *windows, void *on)
{
    tsr_status status = tsr_cuda_wait(on);
    *longest = 0;
    for (int64_t v = 0; status == TSR_OK && v < windows->nwindows; v++) {
        int64_t blocks = windows->block[v + 1] - windows->block[v];
        *longest = blocks > *longest ? blocks : *longest;
    }
    return status;
}

int64_t tsr_cuda_me_tcf_most(const tsr_windows *windows, int64_t longest, const tsr_cuda_device *device)
{
    (void)windows;
    return longest / device->sms + 1;
}

int64_t tsr_cuda_hrpb_most(const tsr_windows *windows, int64_t longest, const tsr_cuda_device *device)
{
    return tsr_cuda_me_tcf_most(windows, longest, device);
}

/* ---- products of block formats ---- */

enum { ME_TCF, ME_BCRS, HRPB, BMAT, PANEL };

static const tsr_windows *windows_of(const work *w)
{
    switch (w->kind) {
    case ME_TCF: return &((const tsr_me_tcf *)w->format)->w;
    case ME_BCRS: return &((const tsr_me_bcrs *)w->format)->w;
    case HRPB: return &((const tsr_hrpb *)w->format)->w;
    case PANEL: return &((const tsr_panel *)w->format)->w;
    default: return &((const tsr_bmat *)w->format)->w;
    }
}

static tsr_status run_reference(const work *w, tsr_number number, const double *b, double *c)
{
    const tsr_cuda_spmm *q = &w->by_blocks;
    switch (w->kind) {
    case ME_TCF: return tsr_ref_spmm_me_tcf(w->format, number, q->iso, q->n, b, q->n, c, q->n, q->alpha, 0, NULL);
    case ME_BCRS: return tsr_ref_spmm_me_bcrs(w->format, number, q->n, b, q->n, c, q->n, q->alpha, 0, NULL);
    case PANEL: return tsr_ref_spmm_panel(w->format, number == TSR_NUMBER_FP64 ? number : TSR_NUMBER_FP32, q->n, b, q->n, c, q->n, q->alpha, 0, NULL);
    case HRPB: return tsr_ref_spmm_hrpb(w->format, number, q->iso, q->n, b, q->n, c, q->n, q->alpha, 0, NULL);
    default: return tsr_ref_spmm_bmat(w->format, number, q->iso, q->n, b, q->n, c, q->n, q->alpha, 0, NULL);
    }
}

static void store(const tsr_cuda_spmm *q, int64_t row, int64_t col, double value)
{
    if (q->math == TSR_CUDA_FP64)
        ((double *)q->c)[row * q->ldc + col] = value;
    else
        ((float *)q->c)[row * q->ldc + col] = (float)value;
}

static void run_blocks(work *w)
{
    const tsr_cuda_spmm *q = &w->by_blocks;
    const tsr_windows *windows = windows_of(w);
    tsr_number number = tsr_cuda_number(q->math);
    double *b = malloc((size_t)(windows->ncols * q->n) * sizeof *b), *c = malloc((size_t)(windows->nrows * q->n) * sizeof *c);
    if (!b || !c)
        fatal("no memory");
    for (int64_t row = 0; row < windows->ncols; row++)
        for (int64_t col = 0; col < q->n; col++)
            b[row * q->n + col] = tsr_ref_number(q->b, number, row * q->ldb + col);
    for (int64_t k = 0; k < windows->ncols * q->n; k++)
        if (!isfinite(b[k]) && w->kind != PANEL)
            fatal("B is not finite");
    if (run_reference(w, number, b, c) != TSR_OK)
        fatal("the reference kernel failed");
    for (int64_t row = 0; row < windows->nrows; row++)
        for (int64_t col = 0; col < q->n; col++)
            store(q, q->row ? q->row[row] : row, col, c[row * q->n + col]);
    free(b);
    free(c);
}

static tsr_status spmm_blocks(int kind, const void *format, const tsr_cuda_spmm *product)
{
    size_t size = tsr_number_size(tsr_cuda_number(product->math));
    if ((uintptr_t)product->b % 16 || (size_t)product->ldb * size % 16)
        fatal("B is not aligned");
    return queue(&(work){.run = run_blocks, .kind = kind, .format = format, .by_blocks = *product}, product->stream);
}

size_t tsr_cuda_partial_bytes(const tsr_work *work_list, int height, const tsr_cuda_spmm *product)
{
    return (size_t)(work_list->npartials * height * product->n) * (product->math == TSR_CUDA_FP64 ? 8 : 4);
}

tsr_status tsr_cuda_spmm_me_tcf(const tsr_me_tcf *a, const tsr_work *work_list, const tsr_cuda_spmm *product)
{
    (void)work_list;
    return spmm_blocks(ME_TCF, a, product);
}

tsr_status tsr_cuda_spmm_me_bcrs(const tsr_me_bcrs *a, const tsr_work *work_list, const tsr_cuda_spmm *product)
{
    (void)work_list;
    return product->n % 2 ? TSR_DECLINED : spmm_blocks(ME_BCRS, a, product);
}

tsr_status tsr_cuda_spmm_hrpb(const tsr_hrpb *a, const tsr_work *work_list, const tsr_cuda_spmm *product)
{
    (void)work_list;
    return spmm_blocks(HRPB, a, product);
}

tsr_status tsr_cuda_spmm_bmat(const tsr_bmat *a, const tsr_work *work_list, const tsr_cuda_spmm *product)
{
    (void)work_list;
    return spmm_blocks(BMAT, a, product);
}

tsr_status tsr_cuda_spmm_panel(const tsr_panel *a, const tsr_work *work_list, const tsr_cuda_spmm *product)
{
    (void)work_list;
    return spmm_blocks(PANEL, a, product);
}

/* As a device before sm_90 answers. */
tsr_status tsr_cuda_spmm_panel_semiring(const tsr_panel *a, const tsr_work *work_list, const int64_t *offsets, const uint32_t *row,
                                        const tsr_cuda_csr_spmm *product)
{
    (void)a, (void)work_list, (void)offsets, (void)row, (void)product;
    return TSR_DECLINED;
}

/* Hybrid: its Tensor-Core half has all windows. */

tsr_status tsr_cuda_make_hybrid(tsr_cuda_hybrid *out, const tsr_source *in, tsr_cuda_half half, int height, double iso,
                                const tsr_cuda_split_rule *rule, const tsr_cuda_device *device, void *on)
{
    (void)rule, (void)device;
    *out = (tsr_cuda_hybrid){.half = half};
    switch (half) {
    case TSR_CUDA_HALF_ME_BCRS: return tsr_cuda_make_me_bcrs(&out->as.me_bcrs, in, 8, iso, on);
    case TSR_CUDA_HALF_HRPB: return tsr_cuda_make_hrpb(&out->as.hrpb, in, height, on);
    default: return tsr_cuda_make_bmat(&out->as.bmat, in, height, on);
    }
}

void tsr_cuda_free_hybrid(tsr_cuda_hybrid *a, void *on)
{
    switch (a->half) {
    case TSR_CUDA_HALF_ME_BCRS: tsr_cuda_free_me_bcrs(&a->as.me_bcrs, on); break;
    case TSR_CUDA_HALF_HRPB: tsr_cuda_free_hrpb(&a->as.hrpb, on); break;
    case TSR_CUDA_HALF_BMAT: tsr_cuda_free_bmat(&a->as.bmat, on); break;
    }
}

size_t tsr_cuda_hybrid_partial_bytes(const tsr_cuda_hybrid *a, const tsr_cuda_spmm *product)
{
    return tsr_cuda_partial_bytes(&a->work, a->as.w.height, product);
}

tsr_status tsr_cuda_spmm_hybrid(const tsr_cuda_hybrid *a, const tsr_cuda_spmm *product)
{
    if (product->row)
        fatal("a hybrid in another order");
    switch (a->half) {
    case TSR_CUDA_HALF_ME_BCRS: return tsr_cuda_spmm_me_bcrs(&a->as.me_bcrs, &a->work, product);
    case TSR_CUDA_HALF_HRPB: return tsr_cuda_spmm_hrpb(&a->as.hrpb, &a->work, product);
    default: return tsr_cuda_spmm_bmat(&a->as.bmat, &a->work, product);
    }
}
