/* Time one product on one route.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tools/tessera/bench/bench.h"

#include <dlfcn.h>
#include <limits.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/cpu/cpu.h"
#include "src/engine/product/decide.h"
#include "src/policy/price/gpu_price.h"
#include "src/runtime/backends.h"
#include "tools/tessera/common/tool.h"

#define BY_FORMAT(id, format) {"gpu:" format, TSR_BENCH_GPU, format},

const tsr_bench_route tsr_bench_routes[TSR_BENCH_ROUTES] = {
    {"suitesparse", TSR_BENCH_SUITESPARSE, ""}, {"cpu", TSR_BENCH_CPU, ""},
    {"cusparse", TSR_BENCH_CUSPARSE, ""},       {"gpu", TSR_BENCH_GPU, ""},
    TSR_GPU_FORMAT_LIST(BY_FORMAT)
};

enum { LEAST_REPEATS = 3, MOST_REPEATS = 1000 };

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- the machine ---- */

/* A module beside the library; NULL where it, or what it needs, is missing. */
static const tsr_peer *find_peer(const char *name)
{
    char path[PATH_MAX];
    void *module = tsr_tool_find_library(path, sizeof path, name) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    tsr_peer_get_fn get = NULL;
    if (module) {
        *(void **)&get = dlsym(module, "tsr_peer_get");
    }
    const tsr_peer *found = get ? get() : NULL;
    return found && found->api_version == TSR_PEER_API_VERSION ? found : NULL;
}

/* GB/s of a = b + s c over arrays beyond any cache, the best of some; 0: no memory. */
static double measure_bandwidth(int threads)
{
    enum { TRIES = 4 };
    const int64_t n = INT64_C(1) << 23;
    double *a = malloc((size_t)n * sizeof *a), *b = malloc((size_t)n * sizeof *b), *c = malloc((size_t)n * sizeof *c);
    double best = 0;
    for (int k = 0; a && b && c && k <= TRIES; k++) {
        double began = now_ms();
#pragma omp parallel for num_threads(threads) schedule(static)
        for (int64_t i = 0; i < n; i++) {
            if (k == 0) {
                b[i] = c[i] = 1;
            }
            a[i] = b[i] + 3 * c[i];
        }
        double gbs = 3e-6 * (double)n * sizeof *a / (now_ms() - began);
        best = k > 0 && gbs > best ? gbs : best;
    }
    free(a);
    free(b);
    free(c);
    return best;
}

void tsr_bench_find(tsr_bench_machine *machine)
{
    int threads = omp_get_max_threads();
    *machine = (tsr_bench_machine){.suitesparse = find_peer(TSR_SUITESPARSE_MODULE), .gpu = tsr_backend_gpu(), .threads = threads,
                                   .host_gbs = measure_bandwidth(threads)};
    int arch;
    if (machine->gpu && !tsr_tool_find_device(machine->device, &arch)) {
        snprintf(machine->device, sizeof machine->device, "%s", machine->gpu->name);
    }
    machine->cusparse = machine->gpu ? find_peer(TSR_CUSPARSE_MODULE) : NULL;
}

bool tsr_bench_available(const tsr_bench_machine *machine, const tsr_bench_route *route, tsr_bench_op op)
{
    switch (route->who) {
    case TSR_BENCH_SUITESPARSE: return machine->suitesparse != NULL;
    case TSR_BENCH_CPU: return true;
    case TSR_BENCH_CUSPARSE: return machine->cusparse && op != TSR_BENCH_TRIANGLES;
    default: return machine->gpu && (op == TSR_BENCH_SPMM || !*route->kernel);
    }
}

/* ---- times ---- */

static int ascending(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static void summarize(tsr_bench_result *out, double *ms, int n)
{
    qsort(ms, (size_t)n, sizeof *ms, ascending);
    out->ms = ms[n / 2];
    out->spread = (ms[n - 1 - n / 4] - ms[n / 4]) / out->ms;
    out->repeats = n;
}

/* One product again and again; `run` gets `context`.  false: it failed. */
static bool repeat(tsr_bench_result *out, bool (*run)(void *), void *context, double budget_ms)
{
    static double ms[MOST_REPEATS];
    double spent = 0, began = now_ms();
    int n = 0;
    if (!run(context)) {
        return false;
    }
    double first = now_ms() - began;
    while (n < MOST_REPEATS && (n < LEAST_REPEATS || spent < budget_ms)) {
        began = now_ms();
        if (!run(context)) {
            return false;
        }
        spent += ms[n++] = now_ms() - began;
    }
    summarize(out, ms, n);
    out->convert_ms += first > out->ms ? first - out->ms : 0;
    return true;
}

/* ---- other libraries ---- */

typedef struct peer_run {
    const tsr_peer *peer;
    tsr_peer_work *work;
} peer_run;

static bool run_peer(void *context)
{
    const peer_run *r = context;
    return r->peer->run(r->work);
}

static void measure_peer(tsr_bench_result *out, const tsr_peer *peer, const tsr_bench_case *c, const tsr_bench_samples *samples,
                         double budget_ms)
{
    static double got[TSR_BENCH_SAMPLES];
    peer_run r = {peer, peer->open(&c->product)};
    if (r.work && repeat(out, run_peer, &r, budget_ms)) {
        for (int k = 0; k < samples->count; k++) {
            got[k] = peer->value(r.work, samples->sample[k].row, samples->sample[k].col);
        }
        out->error = tsr_bench_error(samples, got);
        out->convert_ms = r.work->convert_ms; /* what the first run took longer is no work of its */
        out->device_ms = r.work->device_ms;
        out->note = r.work->kernel;
    } else {
        out->note = r.work ? "failed" : "not supported";
    }
    if (r.work) {
        peer->close(r.work);
    }
}

/* ---- our backends ---- */

typedef struct ours {
    const tsr_backend *backend;
    tsr_product product;
    tsr_result result;
} ours;

static bool run_ours(void *context)
{
    ours *o = context;
    return o->backend->execute(&o->product, &o->result) == TSR_OK;
}

static double result_at(const ours *o, int64_t place)
{
    if (o->result.b && !o->result.b[place]) {
        return 0;
    }
    switch (o->product.semiring.type) {
    case TSR_FP32: return ((const float *)o->result.x)[place];
    case TSR_FP64: return ((const double *)o->result.x)[place];
    default: return (double)((const int64_t *)o->result.x)[place];
    }
}

/* The kernel that ran, with operands that stay on the device; < 0: it cannot tell. */
static double time_on_device(const ours *o, const char *kernel)
{
    tsr_measured measured;
    bool told = o->product.a_slot && o->product.op == TSR_OP_SPMM && o->backend->measure &&
                o->backend->measure(&o->product, &measured) == TSR_OK && strcmp(measured.kernel, kernel) == 0;
    return told ? measured.ms : -1;
}

static void time_ours(tsr_bench_result *out, ours *o, const tsr_bench_samples *samples, double budget_ms)
{
    static double got[TSR_BENCH_SAMPLES];
    if (!o->backend->supports(&o->product)) {
        out->note = "not supported";
    } else if (!repeat(out, run_ours, o, budget_ms)) {
        out->note = "declined";
    } else {
        for (int k = 0; k < samples->count; k++) {
            got[k] = result_at(o, samples->sample[k].place);
        }
        out->error = tsr_bench_error(samples, got);
        out->note = o->result.kernel ? o->result.kernel : o->backend->kernel_name ? o->backend->kernel_name(&o->product) : "";
        out->device_ms = time_on_device(o, out->note);
    }
}

/* The representation that the CPU kernels like best, as the engine would build it: 32-bit indices. */
static bool narrow(ours *o, tsr_compressed *narrowed, tsr_bench_result *out)
{
    double began = now_ms();
    unsigned flags = o->product.a.x ? 0 : TSR_COMPRESS_PATTERN;
    if (tsr_compress(narrowed, &o->product.a, o->product.semiring.type, flags, o->product.nthreads) != TSR_OK) {
        return false;
    }
    out->convert_ms = now_ms() - began;
    o->product.a = narrowed->view;
    return true;
}

static void measure_ours(tsr_bench_result *out, const tsr_backend *backend, const tsr_bench_case *c, const tsr_bench_samples *samples,
                         double budget_ms)
{
    ours o = {.backend = backend, .product = c->product};
    tsr_compressed narrowed = {0};
    void *slot = NULL;
    bool dense = c->op == TSR_BENCH_SPMM || c->op == TSR_BENCH_SPMV, cpu = backend == tsr_backend_cpu();
    o.product.kernel = out->route->kernel;
    o.product.nthreads = tsr_engine_useful_threads(&c->product);
    o.product.a_slot = cpu ? NULL : &slot;
    o.result.x = malloc((size_t)c->noutputs * tsr_type_size(c->product.semiring.type) + 1);
    o.result.b = !dense || c->has_empty_rows ? malloc((size_t)c->noutputs + 1) : NULL;
    bool room = o.result.x && (o.result.b || (dense && !c->has_empty_rows));
    if (room && (!cpu || !dense || narrow(&o, &narrowed, out))) {
        time_ours(out, &o, samples, budget_ms);
    } else {
        out->note = "out of memory";
    }
    if (slot && backend->release) {
        backend->release(slot);
    }
    tsr_compressed_free(&narrowed);
    free(o.result.x);
    free(o.result.b);
}

/* ---- one case ---- */

/* Host: every operand and the result pass the memory once.  GPU: the dense ones pass the bus, both ways at once. */
static double bound_ms(const tsr_bench_machine *machine, const tsr_bench_route *route, const tsr_bench_case *c)
{
    if (route->who == TSR_BENCH_SUITESPARSE || route->who == TSR_BENCH_CPU) {
        return machine->host_gbs > 0 ? c->compulsory_bytes / machine->host_gbs * 1e-6 : 0;
    }
    const tsr_product *p = &c->product;
    double size = (double)tsr_type_size(p->semiring.type), down = size * (double)c->noutputs;
    double up = c->op == TSR_BENCH_TRIANGLES ? 0 : size * (double)p->b.nvals + (c->op == TSR_BENCH_SDDMM ? size * (double)p->a.nvals : 0);
    return tsr_gpu_crossing_ms(up, down);
}

void tsr_bench_measure(tsr_bench_result *out, const tsr_bench_machine *machine, const tsr_bench_route *route, const tsr_bench_case *c,
                       const tsr_bench_samples *samples, double budget_ms)
{
    *out = (tsr_bench_result){.route = route, .note = "", .ms = -1, .device_ms = -1, .error = -1};
    bool rounded = c->math != TSR_BENCH_EXACT && c->math != TSR_BENCH_FP64;
    if (rounded && route->who != TSR_BENCH_GPU) {
        out->note = "exact only";
        return;
    }
    if (route->who == TSR_BENCH_SUITESPARSE) {
        measure_peer(out, machine->suitesparse, c, samples, budget_ms);
    } else if (route->who == TSR_BENCH_CUSPARSE) {
        measure_peer(out, machine->cusparse, c, samples, budget_ms);
    } else {
        measure_ours(out, route->who == TSR_BENCH_CPU ? tsr_backend_cpu() : machine->gpu, c, samples, budget_ms);
    }
    out->bound_ms = bound_ms(machine, route, c);
}
