/* The price of a call on a GPU, before anybody has counted A: linear in entries, multiply-adds, outputs and bytes that cross the bus.  The
 * kernels' model (src/policy/model/model.h), which chooses among forms, needs counts of A: without them no fetch counts that leaves the L2 cache.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/policy/price/gpu_price.h"

#include "src/base/types.h"

/* ---- coefficients ---- */

/* Products whose dense operands are in host memory.  ns of the device, or of one host thread where it says so. */
typedef struct costs {
    double start_ms;            /* launches, a wait */
    double crossing_ms;         /* more for each dense operand that crosses the bus: memory, staging, waits */
    double pcie_byte;           /* one way, from or to pinned memory; both ways at once */
    double stage_byte;          /* of a host thread: to or from pinned memory */
    double unstaged_share;      /* of the shorter way that the longer one does not hide */
    double narrow_entry;        /* of a host thread: staging one index of A */
    double prepare_entry, flip_entry; /* row lists; turning or sorting A */
    double gather_byte, entry, output_byte; /* the kernel */
    double gemm_byte;           /* product of full matrices: per multiply-add and byte of a value */
    double masked_step, masked_entry, masked_plan; /* masked products; the plan, per entry of the mask */
} costs;

/* Pinned copies run at 55 GB/s each way, rows of B are gathered at 4.5 to 10 TB/s; the host's part is from bench_plugin with 8 and 16
 * threads on R-MAT 20's sizes, 2026-11-21. */
static const costs h200 = {
    .start_ms = 0.05, .crossing_ms = 0.375,
    .pcie_byte = 0.018, .stage_byte = 0.6, .unstaged_share = 0.3,
    .narrow_entry = 1.0, .prepare_entry = 0.01, .flip_entry = 0.08,
    .gather_byte = 0.0002, .entry = 0.008, .output_byte = 0.0005,
    .gemm_byte = 0.00001,
    .masked_step = 0.0006, .masked_entry = 0.2, .masked_plan = 0.25,
};

/* ns of the device for a product: .017 to .033, .05 for roads; of a host thread for a byte of C that it takes out of staging memory, into huge pages or
 * memory that is used again; ms for launches, reading sizes and both transfers. */
#define PRODUCT_NS 0.025
#define TAKE_BYTE 0.25
#define SPARSE_START_MS 0.4
#define WIDE_INDEX 8.0
#define NARROW_INDEX 4.0

/* ---- what prices are made of ---- */

static double threads_of(int nthreads)
{
    return nthreads > 0 ? (double)nthreads : 1;
}

static double value_bytes(const tsr_features *f)
{
    return (double)tsr_type_size(f->semiring.type);
}

static double outputs_ns(const tsr_features *f, double per_byte)
{
    return f->m * f->n * value_bytes(f) * per_byte;
}

double tsr_gpu_crossing_ms(double up_bytes, double down_bytes)
{
    return (up_bytes > down_bytes ? up_bytes : down_bytes) * h200.pcie_byte * 1e-6;
}

/* One way across PCIe: as fast as the bus, or as the threads that stage. */
static double transfer_ns(double bytes, const tsr_features *f, const costs *c)
{
    double staged = c->stage_byte / threads_of(f->nthreads);
    return bytes * (staged > c->pcie_byte ? staged : c->pcie_byte);
}

static double dense_transfer_ns(double bytes, const tsr_features *f, const costs *c)
{
    return f->direct ? bytes * c->pcie_byte : transfer_ns(bytes, f, c);
}

static double a_ns(const tsr_features *f, const costs *c)
{
    double bytes = f->a_nnz * (4 + (f->a_pattern ? 0 : value_bytes(f))) + 8 * (f->a_by_col ? f->k : f->m);
    double ns = transfer_ns(bytes, f, c) + f->a_nnz * (c->prepare_entry + (f->a_by_col ? c->flip_entry : 0));
    return ns + f->a_nnz * c->narrow_entry / threads_of(f->nthreads);
}

static double dense_ns(const tsr_features *f, const costs *c)
{
    double b_value = tsr_mul_reads_b(f->semiring.mul) ? value_bytes(f) : 0;
    double b_bytes = f->b_sparse ? f->b_nnz * (4 + b_value) : f->k * f->n * (b_value + (f->b_bitmap ? 1 : 0));
    double up = f->b_on_device ? 0 : dense_transfer_ns(b_bytes, f, c);
    double down = f->c_stays ? 0 : dense_transfer_ns(f->m * f->n * (value_bytes(f) + (f->b_bitmap ? 1 : 0)), f, c);
    return (up > down ? up : down) + c->unstaged_share * (up > down ? down : up);
}

/* More for each side that crosses the bus. */
static double start_ms(const tsr_features *f, const costs *c)
{
    const bool up = f->op != TSR_OP_MASKED_DOT && !f->b_on_device, down = !f->c_stays;
    return c->start_ms + c->crossing_ms * (up + down);
}

static double gemm_ns(const tsr_features *f, const costs *c)
{
    double up = ((f->a_array_on_device ? 0 : f->m) + (f->b_on_device ? 0 : f->n)) * f->k, down = f->c_stays ? 0 : f->m * f->n;
    return dense_transfer_ns((up + down) * value_bytes(f), f, c) + tsr_work_of(f) * value_bytes(f) * c->gemm_byte;
}

static double product_ns(const tsr_features *f, const costs *c)
{
    if (f->a_full)
        return gemm_ns(f, c);
    double device = f->a_nnz * (c->entry + c->gather_byte * value_bytes(f) * f->n) + outputs_ns(f, c->output_byte);
    return device + dense_ns(f, c) + (f->a_on_device ? 0 : a_ns(f, c));
}

/* Bringing a sparse operand of a masked product there; the mask is a pattern. */
static double operand_ns(double nnz, double vectors, bool values, const tsr_features *f, const costs *c)
{
    double narrow = nnz * c->narrow_entry / threads_of(f->nthreads);
    return narrow + transfer_ns(nnz * (4 + (values ? value_bytes(f) : 0)) + 8 * vectors, f, c);
}

static double masked_ns(const tsr_features *f, const costs *c)
{
    double down = transfer_ns(f->mask_nnz * (value_bytes(f) + 1), f, c);
    double mask = f->a_on_device ? 0 : operand_ns(f->mask_nnz, f->m, false, f, c);
    if (f->op == TSR_OP_SDDMM)
        return down + mask + f->mask_nnz * (c->entry + c->gather_byte * value_bytes(f) * f->k) +
               dense_transfer_ns(((f->a_array_on_device ? 0 : f->m) + (f->b_on_device ? 0 : f->n)) * f->k * value_bytes(f), f, c);
    double device = tsr_work_of(f) * c->masked_step + f->mask_nnz * c->masked_entry;
    if (f->a_on_device)
        return down + device;
    return down + mask + device + f->mask_nnz * c->masked_plan + operand_ns(f->a_nnz, f->m, !f->a_pattern, f, c) +
           operand_ns(f->b_nnz, f->n, tsr_mul_reads_b(f->semiring.mul), f, c);
}

double tsr_predict_gpu_ms(const tsr_features *f)
{
    const costs *c = &h200;
    bool masked = tsr_is_masked(f->op);
    double device = masked ? masked_ns(f, c) : product_ns(f, c);
    const bool joins_there = f->c_stays && (f->finish_extra || f->accum_full);
    if (joins_there)
        device += 3 * outputs_ns(f, c->output_byte); /* T and C are read, C is written */
    return device * 1e-6 + tsr_predict_host_ms(f, !f->a_on_device, !joins_there) + start_ms(f, c);
}

double tsr_predict_download_ms(const tsr_features *f)
{
    const costs *c = &h200;
    return dense_transfer_ns(f->k * f->n * (value_bytes(f) + (f->b_bitmap ? 1 : 0)), f, c) * 1e-6 + c->crossing_ms;
}

double tsr_compressed_download_ms(double bytes)
{
    return tsr_gpu_crossing_ms(0, bytes) + h200.crossing_ms;
}

/* ---- sparse times sparse ---- */

/* The bus, or the threads that take `host_byte` ns for a byte. */
static double two_ways_ns(double bus_bytes, double host_bytes, double host_byte, int nthreads)
{
    const double bus = bus_bytes * h200.pcie_byte, host = host_bytes * host_byte / threads_of(nthreads);
    return bus > host ? bus : host;
}

double tsr_sparse_product_gpu_ms(const tsr_sparse_product_features *f)
{
    const costs *c = &h200;
    const double entries = tsr_sparse_product_entries(f), lines = f->lines * 8, up = f->nvals * (NARROW_INDEX + f->value_bytes) + lines;
    const double down = two_ways_ns(entries * (NARROW_INDEX + f->value_bytes) + lines, entries * (WIDE_INDEX + f->value_bytes) + lines, TAKE_BYTE, f->nthreads);
    double ns = (f->stays ? 0 : down) + f->work * PRODUCT_NS;
    if (f->sieved)
        ns += two_ways_ns(f->places / 8, f->places * f->sieve_bytes, c->stage_byte, f->nthreads);
    if (!f->held)
        ns += two_ways_ns(up, up, c->stage_byte, f->nthreads) + f->nvals * c->narrow_entry / threads_of(f->nthreads) + f->flipped * c->flip_entry;
    return SPARSE_START_MS + ns * 1e-6;
}

/* ---- entries picked from a sparse matrix ---- */

/* ns of the device for an entry: marked, counted and copied; or rows taken twice and turned between.  ms for launches and sizes that are waited
 * for. */
#define KEEP_NS 0.02
#define TAKE_NS 0.15
#define PICK_START_MS 0.15

double tsr_pick_gpu_ms(const tsr_pick_features *f)
{
    const costs *c = &h200;
    double ns = f->entries * (f->extracts ? TAKE_NS : KEEP_NS) + two_ways_ns(f->indices * NARROW_INDEX, f->indices * WIDE_INDEX, c->stage_byte, f->nthreads);
    if (!f->held) {
        const double up = f->entries * (NARROW_INDEX + f->value_bytes) + f->vectors * WIDE_INDEX;
        ns += two_ways_ns(up, up, c->stage_byte, f->nthreads) + f->entries * (c->narrow_entry / threads_of(f->nthreads) + (f->extracts ? c->flip_entry : 0));
    }
    return PICK_START_MS + ns * 1e-6;
}
