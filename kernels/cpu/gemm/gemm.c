/* Product of two full matrices, plus_times in FP32 and FP64: strips of A and B are packed, so that every orientation is the same to the
 * kernel.  Slices of DEPTH along k follow each other; within one, blocks of rows of C go to threads in any order, each computed by one
 * thread in a fixed order, so the result does not depend on who came first.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/gemm/gemm.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/common/chunks.h"
#include "kernels/cpu/spmm/spmm_plan.h"

enum { DEPTH = 256, BLOCK_TILES = 10, BLOCKS_PER_THREAD = 4, MOST_COLUMNS = 2048 };

typedef struct operand {
    const char *x;
    int64_t across, along; /* elements from one row of A (column of B) to the next; along k */
} operand;

typedef struct gemm {
    const tsr_gemm_kernel *kernel;
    int64_t size; /* of an element */
    operand a, b;
    int64_t m, n, k;
    char *c;
    int64_t down, across;
    int64_t block;         /* rows of C that one job computes */
    int64_t first, columns; /* of C, whose strips of B are packed */
    int64_t from, depth;    /* along k */
    char *packed_b;
    atomic_bool out_of_memory;
} gemm;

static int64_t least(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

static int64_t pieces(int64_t total, int64_t one)
{
    return (total + one - 1) / one;
}

static tsr_gemm_strip strip_of(const gemm *g, const operand *o, int64_t at, int64_t width)
{
    return (tsr_gemm_strip){ .from = o->x + (at * o->across + g->from * o->along) * g->size, .across = o->across, .along = o->along,
        .width = width, .depth = g->depth };
}

static int64_t strip_bytes(const gemm *g, int64_t width)
{
    return width * g->depth * g->size;
}

static void pack_b(void *context, int64_t job)
{
    const gemm *g = context;
    const int64_t width = g->kernel->columns, at = job * width;
    const tsr_gemm_strip strip = strip_of(g, &g->b, g->first + at, least(width, g->columns - at));
    g->kernel->pack_b(g->packed_b + job * strip_bytes(g, width), &strip);
}

/* One strip of A, which is packed, with all strips of B. */
static void multiply_strip(const gemm *g, const char *packed_a, int64_t row, int64_t rows)
{
    const int64_t width = g->kernel->columns;
    for (int64_t j = 0; j < g->columns; j += width) {
        const tsr_gemm_tile tile = { .a = packed_a, .b = g->packed_b + j / width * strip_bytes(g, width), .depth = g->depth,
            .c = g->c + (row * g->down + (g->first + j) * g->across) * g->size, .down = g->down, .across = g->across, .rows = rows,
            .columns = least(width, g->columns - j), .add = g->from > 0 };
        g->kernel->multiply(&tile);
    }
}

static void multiply_block(void *context, int64_t job)
{
    gemm *g = context;
    const int64_t rows = g->kernel->rows, end = least((job + 1) * g->block, g->m);
    char *packed = aligned_alloc(64, (size_t)pieces(strip_bytes(g, rows), 64) * 64);
    if (packed == NULL) {
        atomic_store(&g->out_of_memory, true);
        return;
    }
    for (int64_t row = job * g->block; row < end; row += rows) {
        const tsr_gemm_strip strip = strip_of(g, &g->a, row, least(rows, end - row));
        g->kernel->pack_a(packed, &strip);
        multiply_strip(g, packed, row, strip.width);
    }
    free(packed);
}

static operand operand_of(const tsr_view *v, bool rows_are_along_k)
{
    const bool contiguous = v->by_col == rows_are_along_k;
    return (operand){ .x = v->x, .across = contiguous ? v->ld : 1, .along = contiguous ? 1 : v->ld };
}

static gemm of_product(const tsr_product *p, tsr_result *result)
{
    const tsr_gemm_table *table = TSR_PICK_ISA(&tsr_gemm_table);
    return (gemm){ .kernel = p->semiring.type == TSR_FP32 ? &table->fp32 : &table->fp64, .size = (int64_t)tsr_type_size(p->semiring.type),
        .a = operand_of(&p->a, false), .b = operand_of(&p->b, true), .m = p->m, .n = p->n, .k = p->k, .c = result->x,
        .down = p->c_by_col ? 1 : p->n, .across = p->c_by_col ? p->m : 1 };
}

/* C' = B' A'. */
static void turn(gemm *g)
{
    const operand a = g->a;
    const int64_t m = g->m, down = g->down;
    g->a = g->b;
    g->b = a;
    g->m = g->n;
    g->n = m;
    g->down = g->across;
    g->across = down;
}

static void run(gemm *g, int nthreads)
{
    const int64_t width = g->kernel->columns;
    for (g->first = 0; g->first < g->n; g->first += g->columns) {
        g->columns = least(MOST_COLUMNS, g->n - g->first);
        for (g->from = 0; g->from < g->k && !atomic_load(&g->out_of_memory); g->from += g->depth) {
            g->depth = least(DEPTH, g->k - g->from);
            tsr_for_jobs(pieces(g->columns, width), nthreads, pack_b, g);
            tsr_for_jobs(pieces(g->m, g->block), nthreads, multiply_block, g);
        }
    }
}

bool tsr_cpu_gemm_takes(const tsr_product *p)
{
    const tsr_semiring *s = &p->semiring;
    return tsr_is_dense_product(p) && s->add == TSR_ADD_PLUS && s->mul == TSR_MUL_TIMES && (s->type == TSR_FP32 || s->type == TSR_FP64) &&
           p->b.format == TSR_FULL && !p->a.iso && !p->b.iso;
}

tsr_status tsr_cpu_gemm(const tsr_product *product, tsr_result *result)
{
    if (!tsr_cpu_gemm_takes(product) || !tsr_values_fit(product))
        return TSR_DECLINED;
    if (tsr_is_trivial(product, result))
        return TSR_OK;
    gemm g = of_product(product, result);
    if (g.m < g.n)
        turn(&g); /* rows are what threads share */
    const int64_t tiles = pieces(g.m, g.kernel->rows * BLOCKS_PER_THREAD * product->nthreads);
    g.block = least(tiles, BLOCK_TILES) * g.kernel->rows;
    g.packed_b = tsr_scratch((size_t)(pieces(least(g.n, MOST_COLUMNS), g.kernel->columns) * g.kernel->columns * least(g.k, DEPTH) * g.size));
    if (g.packed_b == NULL)
        return TSR_OUT_OF_MEMORY;
    run(&g, product->nthreads);
    free(g.packed_b);
    if (result->b != NULL)
        memset(result->b, 1, (size_t)(product->m * product->n));
    result->nvals = product->m * product->n;
    return atomic_load(&g.out_of_memory) ? TSR_OUT_OF_MEMORY : TSR_OK;
}
