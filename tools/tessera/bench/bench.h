/* Parts of `tessera bench`: operands, routes, errors, reports.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_BENCH_H
#define TSR_BENCH_H

#include "bench/peer.h"
#include "src/format/sparse/format.h"
#include "src/mtx/mm.h"
#include "src/policy/model/gpu_kernels.h"

/* ---- Cases ---- */

typedef enum tsr_bench_op { TSR_BENCH_SPMM, TSR_BENCH_SPMV, TSR_BENCH_SDDMM, TSR_BENCH_TRIANGLES, TSR_BENCH_OPS } tsr_bench_op;
extern const char *const tsr_bench_op_names[TSR_BENCH_OPS];

/* Arithmetic: FP32 as the configuration's precisions, or FP64. */
typedef enum tsr_bench_math {
    TSR_BENCH_EXACT, TSR_BENCH_TF32, TSR_BENCH_BF16, TSR_BENCH_FP16, TSR_BENCH_FP64, TSR_BENCH_MATHS
} tsr_bench_math;
extern const char *const tsr_bench_math_names[TSR_BENCH_MATHS];

enum { TSR_BENCH_OWNED = 6 };

/* One product of one matrix; its operands, with 64-bit indices as GraphBLAS holds them. */
typedef struct tsr_bench_case {
    const char *file;
    tsr_bench_op op;
    tsr_bench_math math;
    tsr_product product;
    int64_t noutputs;           /* values of the result */
    bool has_empty_rows;        /* a dense result then has absent entries */
    double flops;               /* 2 per multiply-add; triangles: of merging the rows, one per entry looked at */
    double compulsory_bytes;    /* operands and result touched once */
    void *owned[TSR_BENCH_OWNED];
} tsr_bench_case;

/* SpMM: A (the file) times a dense B of n columns, row-major; SpMV: n is 1; SDDMM: C<A> = X Y, inner size n; triangles: C<L> = L U' of the
 * file's pattern.  B, X, Y are uniform in [-1, 1), the same at every call.  `a` must outlive the case.
 * TSR_OUT_OF_MEMORY; TSR_NOT_SUPPORTED: triangles of a pattern that is not symmetric. */
tsr_status tsr_bench_make(tsr_bench_case *out, const char *file, const tsr_mm_csr *a, tsr_bench_op op, int64_t n, tsr_bench_math math);
void tsr_bench_free(tsr_bench_case *c);

/* ---- Errors ---- */

enum { TSR_BENCH_SAMPLES = 2000 };

/* Places of the result, spread evenly, and their exact values; the sum of squares of these. */
typedef struct tsr_bench_samples {
    int count;
    struct tsr_bench_sample {
        int64_t row, col, place; /* place: in the values of the result */
        double exact;
    } sample[TSR_BENCH_SAMPLES];
    double norm;
} tsr_bench_samples;

void tsr_bench_sample(tsr_bench_samples *out, const tsr_bench_case *c);

/* || got - exact || / || exact || over the samples; got: one value per sample. */
double tsr_bench_error(const tsr_bench_samples *samples, const double *got);

/* Above this a result is wrong, not rounded. */
double tsr_bench_tolerance(const tsr_bench_case *c);

/* ---- Routes ---- */

/* Who computes: SuiteSparse, our CPU kernels, cuSPARSE, the GPU by itself or with one of its kernels. */
typedef struct tsr_bench_route {
    const char *name; /* "suitesparse", "cpu", "cusparse", "gpu", "gpu:csr", … */
    enum { TSR_BENCH_SUITESPARSE, TSR_BENCH_CPU, TSR_BENCH_CUSPARSE, TSR_BENCH_GPU } who;
    const char *kernel; /* of the GPU; "": its own choice */
} tsr_bench_route;

#define TSR_BENCH_ONE(id, format) + 1
enum { TSR_BENCH_ROUTES = 4 TSR_GPU_FORMAT_LIST(TSR_BENCH_ONE) };
#undef TSR_BENCH_ONE
extern const tsr_bench_route tsr_bench_routes[TSR_BENCH_ROUTES];

typedef struct tsr_bench_result {
    const tsr_bench_route *route;
    const char *note;       /* why there is no time, or the kernel that ran */
    double ms, spread;      /* median, and the distance of the quartiles as a share of it; ms < 0: no time */
    double convert_ms;      /* once, before the first product */
    double device_ms;       /* with operands and result on the device; < 0: not known, or no GPU */
    double error;
    double bound_ms;        /* memory of the host, or the bus where the operands cross it */
    int repeats;
} tsr_bench_result;

/* What is here to be measured. */
typedef struct tsr_bench_machine {
    const tsr_peer *suitesparse, *cusparse; /* NULL: not found */
    const tsr_backend *gpu;                 /* NULL: none */
    char device[64];                        /* its name; "": none */
    int threads;
    double host_gbs;                        /* measured: reading two arrays, writing one */
} tsr_bench_machine;

void tsr_bench_find(tsr_bench_machine *machine);

/* Is the route there at all on this machine, for this product?  The GPU's kernels have names in SpMM only. */
bool tsr_bench_available(const tsr_bench_machine *machine, const tsr_bench_route *route, tsr_bench_op op);

/* Time one case on one route, for about `budget_ms`, at least three times. */
void tsr_bench_measure(tsr_bench_result *out, const tsr_bench_machine *machine, const tsr_bench_route *route, const tsr_bench_case *c,
                       const tsr_bench_samples *samples, double budget_ms);

/* ---- Reports ---- */

/* One line of what was measured; names are copied. */
typedef struct tsr_bench_line {
    char file[256];
    tsr_bench_op op;
    tsr_bench_math math;
    int64_t nrows, ncols, nvals, n;
    double flops, compulsory_bytes;
    tsr_bench_result result;
} tsr_bench_line;

typedef struct tsr_bench_lines {
    tsr_bench_line *line; /* by malloc */
    int64_t count, room;
} tsr_bench_lines;

bool tsr_bench_add(tsr_bench_lines *lines, const tsr_bench_case *c, int64_t nvals, const tsr_bench_result *result); /* false: no memory */

void tsr_bench_print_text(const tsr_bench_machine *machine, const tsr_bench_lines *lines);
void tsr_bench_print_json(const tsr_bench_machine *machine, const tsr_bench_lines *lines);

/* For each product a bar for each route: GFLOP/s, ms, times as fast as SuiteSparse, what memory allows.  Exit codes as tsr_plot_begin. */
int tsr_bench_plot(const tsr_bench_machine *machine, const tsr_bench_lines *lines, const char *path);

#endif
