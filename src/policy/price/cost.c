/* Predicted times: linear in entries, multiply-adds and outputs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/policy/price/cost.h"

#include "src/base/types.h"
#include "src/format/sparse/format.h"
#include "src/policy/price/route.h"

#define FEW 16 /* rows or columns of a masked product */

/* What the inner loop costs depends on it. */
static double value_bytes(const tsr_features *f)
{
    return (double)tsr_type_size(f->semiring.type);
}

static double outputs_ns(const tsr_features *f, double per_byte)
{
    return f->m * f->n * value_bytes(f) * per_byte;
}

static double ns_to_ms(double ns, const tsr_features *f)
{
    return ns * 1e-6 / (f->nthreads > 0 ? f->nthreads : 1);
}

/* min and max of floating point are library calls in SuiteSparse (NaN), everything else vectorises there. */
static bool slow_monoid(const tsr_semiring *s)
{
    return (s->add == TSR_ADD_MIN || s->add == TSR_ADD_MAX) && (s->type == TSR_FP32 || s->type == TSR_FP64);
}

/* Products that SuiteSparse need not multiply out: one entry, or the number of entries, decides. */
static bool special_case(const tsr_features *f)
{
    const tsr_semiring *s = &f->semiring;
    return s->add == TSR_ADD_ANY || s->mul == TSR_MUL_PAIR || (s->mul == TSR_MUL_FIRST && f->a_pattern);
}

/* Rows of A meet columns of B: of two lists the shorter one is what counts. */
static bool is_dot(const tsr_features *f)
{
    return !f->a_by_col && f->b_by_col;
}

/* Steps of a masked product beyond the look at every pair of lists. */
static double dot_steps(const tsr_features *f)
{
    const double steps = tsr_work_of(f) - f->mask_nnz;
    return steps > 0 ? steps : 0;
}

/* Both by column is the transposed product. */
static double walked_lists(const tsr_features *f)
{
    return f->b_by_col ? f->b_nnz : f->a_nnz;
}

/* Masked products that need not read values: their number is the result. */
static bool only_counts(const tsr_features *f)
{
    return f->a_pattern && !tsr_mul_reads_b(f->semiring.mul);
}

/* How much longer a product takes whose gathers leave the caches (CPU). */
static double gather_slowdown(const tsr_features *f)
{
    const tsr_cost_memory *c = &tsr_cost_memory_default;
    const bool vector = f->op == TSR_OP_SPMV, sampled = f->op == TSR_OP_SDDMM;
    const double row = value_bytes(f) * (sampled ? f->k : f->n), rows = sampled ? f->n : f->k;
    const double bytes = rows * (vector || row > c->line ? row : c->line), cache = vector ? c->spmv_cache : c->spmm_cache;
    if (f->op == TSR_OP_MASKED_DOT || f->a_full || f->b_sparse || bytes <= cache || !tsr_mul_reads_b(f->semiring.mul))
        return 1;
    return 1 + (vector ? c->spmv_far : sampled ? c->sddmm_far : c->spmm_far) * (1 - cache / bytes);
}

/* Dot products wait for lists of B that no cache holds, whoever computes them; those of a mesh are near each other. */
static double far_lists_ns(const tsr_features *f)
{
    const tsr_cost_memory *c = &tsr_cost_memory_default;
    const double bytes = f->b_nnz * sizeof(int64_t);
    if (f->op != TSR_OP_MASKED_DOT || !is_dot(f) || f->regular || f->m <= FEW || bytes <= c->dots_cache)
        return 0;
    return f->mask_nnz * c->dots_far * (1 - c->dots_cache / bytes);
}

/* A by column: entries of the columns for which a bitmap has a value.  A by row is read to the end. */
static double spmv_entries(const tsr_features *f)
{
    return f->a_by_col && f->b_bitmap && f->k > 0 ? f->a_nnz * (f->b_nnz / f->k) : f->a_nnz;
}

/* ---- our CPU kernels ---- */

static double cpu_spmm_ns(const tsr_features *f, const tsr_cost_cpu *c)
{
    if (f->a_full)
        return tsr_work_of(f) * value_bytes(f) * c->gemm_byte + outputs_ns(f, c->output_byte);
    double row = value_bytes(f) * f->n;
    double entry = row < 16 && value_bytes(f) < 4 ? c->spmm_entry_narrow : c->spmm_entry;
    entry += c->spmm_byte * row + (f->a_by_col ? c->spmm_scatter : 0);
    if (f->b_bitmap)
        entry += c->bitmap_entry + c->bitmap_flop * f->n;
    double ns = f->a_nnz * entry + outputs_ns(f, c->output_byte);
    if (f->b_by_col)
        ns += f->k * f->n * value_bytes(f) * c->flip_byte;
    if (f->c_by_col)
        ns += outputs_ns(f, c->flip_byte);
    return ns;
}

/* Of A's indices, were they of 64 bits, while gathers from x do not take longer. */
static double share_from_memory(const tsr_features *f)
{
    const tsr_cost_memory *c = &tsr_cost_memory_default;
    const double bytes = 8 * f->a_nnz;
    return bytes > c->index_cache && f->k * value_bytes(f) <= c->gather_cache ? 1 - c->index_cache / bytes : 0;
}

static double cpu_spmv_ns(const tsr_features *f, const tsr_cost_cpu *c)
{
    double entry = f->a_by_col ? c->spmv_scatter : c->spmv_entry;
    if (f->narrow_index && !f->a_by_col)
        entry -= c->spmv_narrow * share_from_memory(f);
    return spmv_entries(f) * (entry + (f->b_bitmap ? c->spmv_bitmap : 0)) + outputs_ns(f, c->output_byte);
}

/* Pairs of lists that are compared at once (kernels/cpu/masked/masked_dot_lists.c). */
static bool compares_lists(const tsr_features *f)
{
    const bool seen = only_counts(f) || f->turns > 0;
    return seen && f->blocks > 0 && f->blocks <= tsr_short_list_blocks(only_counts(f)) * f->mask_nnz;
}

static double compared_ns(const tsr_features *f, const tsr_cost_cpu *c)
{
    const double more = f->blocks > f->mask_nnz ? f->blocks - f->mask_nnz : 0;
    return f->mask_nnz * c->masked_pair + more * c->masked_block + f->m * c->masked_pair_row;
}

static double compared_values_ns(const tsr_features *f, const tsr_cost_cpu *c)
{
    const double found = f->common < f->mask_nnz ? f->common : f->mask_nnz;
    return f->mask_nnz * c->masked_short_pair + f->blocks * c->masked_short_block + found * c->masked_short_found +
           f->common * c->masked_short_product;
}

/* A row is marked, and the lists that it meets are summed (kernels/cpu/masked/masked_dot_rows.c). */
static double marked_ns(const tsr_features *f, const tsr_cost_cpu *c, double steps)
{
    return steps * c->masked_dot_step + f->mask_nnz * c->masked_dot_entry;
}

/* Both by row (or by column): walked as they are, or one of them turned so that rows are marked. */
static double cpu_masked_walk_ns(const tsr_features *f, const tsr_cost_cpu *c)
{
    const double walked = tsr_work_of(f) * c->masked_step + walked_lists(f) * c->masked_list + f->mask_nnz * c->masked_entry +
                          (f->b_by_col ? f->m : f->n) * c->masked_column;
    const double turned = walked_lists(f) * c->masked_turn + marked_ns(f, c, tsr_work_of(f));
    return only_counts(f) && turned < walked ? turned : walked;
}

/* Rows of thousands of entries are laid out, and short lists from all over the operand walked: of those that no cache holds each is waited
 * for, the longer the further it is from the last one. */
static double few_rows_ns(const tsr_features *f, const tsr_cost_cpu *c)
{
    const tsr_cost_memory *memory = &tsr_cost_memory_default;
    const double bytes = f->b_nnz * sizeof(int64_t), steps = f->marked > 0 ? f->marked : dot_steps(f);
    const double far = bytes > memory->list_cache ? 1 - memory->list_cache / bytes : 0;
    const double apart = bytes * f->m / (f->mask_nnz > 1 ? f->mask_nnz : 1) / memory->list_apart;
    const double list = c->masked_few_list + far * c->masked_few_far * (1 + (apart < 3 ? apart : 3));
    const double places = f->m * f->k, full = places > 0 ? f->a_nnz / places : 0;
    return f->mask_nnz * list + steps * (c->masked_fold_step + c->masked_few_hit * full);
}

static double cpu_masked_ns(const tsr_features *f, const tsr_cost_cpu *c)
{
    if (!is_dot(f))
        return cpu_masked_walk_ns(f, c);
    if (compares_lists(f))
        return only_counts(f) ? compared_ns(f, c) : compared_values_ns(f, c);
    if (only_counts(f))
        return marked_ns(f, c, f->marked > 0 ? f->marked : dot_steps(f));
    if (f->m <= FEW && !f->mask_by_col)
        return few_rows_ns(f, c);
    return dot_steps(f) * c->masked_fold_step + f->k * c->masked_column + f->mask_nnz * c->masked_fold_entry;
}

static double cpu_ns(const tsr_features *f, const tsr_cost_cpu *c)
{
    switch (f->op) {
    case TSR_OP_SPMM: return cpu_spmm_ns(f, c);
    case TSR_OP_SPMV: return cpu_spmv_ns(f, c);
    case TSR_OP_SDDMM: return f->mask_nnz * (c->sddmm_entry + c->sddmm_byte * value_bytes(f) * f->k);
    default: return cpu_masked_ns(f, c);
    }
}

double tsr_predict_cpu_ms(const tsr_features *f)
{
    const tsr_cost_cpu *c = &tsr_cost_cpu_default;
    double ns = cpu_ns(f, c) * gather_slowdown(f) + far_lists_ns(f);
    if (f->a_cast)
        ns += f->a_nnz * c->cast_entry;
    if (f->b_cast)
        ns += f->b_nnz * c->cast_entry;
    if (f->finish_extra && !f->joins)
        ns += outputs_ns(f, c->finish_byte);
    if (f->accum_full && !f->joins)
        ns += outputs_ns(f, c->add_byte);
    return ns_to_ms(ns, f) + c->start_ms;
}

/* ---- SuiteSparse ---- */

/* C += A*B into a full C, per flop. */
static double accum_flop(const tsr_features *f, const tsr_cost_suitesparse *c)
{
    double bytes = value_bytes(f);
    bool turned = f->b_by_col && f->c_by_col;
    if (f->a_by_col)
        return f->c_by_col ? c->accum_scatter_turned : c->accum_scatter + c->accum_scatter_byte * bytes;
    if (turned)
        return c->accum_turned_byte * bytes;
    if (f->b_by_col || f->c_by_col)
        return c->accum_mixed_byte * bytes;
    double flop = bytes < 4 ? c->accum_narrow : c->accum_byte * bytes;
    bool cached = f->k * f->n * bytes <= c->accum_cache;
    return flop * (!f->a_pattern ? 1 : cached ? c->accum_pattern_cached : c->accum_pattern);
}

static double suitesparse_spmm_ns(const tsr_features *f, const tsr_cost_suitesparse *c)
{
    if (f->a_full)
        return tsr_work_of(f) * c->gemm_flop;
    double flop = slow_monoid(&f->semiring) ? c->spmm_flop_slow : c->spmm_flop;
    bool adds = !f->b_bitmap && f->accum_full && f->semiring.add == TSR_ADD_PLUS;
    if (f->semiring.type == TSR_BOOL)
        flop = c->spmm_flop_bool; /* lor stops at the first true */
    if (f->b_bitmap)
        flop *= f->a_by_col || slow_monoid(&f->semiring) ? c->bitmap_scatter : c->bitmap_gather;
    else if (adds)
        flop = accum_flop(f, c);
    return f->a_nnz * (c->spmm_entry + (f->a_by_col && !(adds && f->c_by_col) ? c->spmm_scatter : 0) + flop * f->n);
}

static double suitesparse_spmv_ns(const tsr_features *f, const tsr_cost_suitesparse *c)
{
    double entry = f->a_by_col ? c->spmv_scatter : slow_monoid(&f->semiring) ? c->spmv_slow : c->spmv_entry;
    if (f->accum_full && f->a_by_col)
        entry = c->spmv_accum_scatter;
    return spmv_entries(f) * (entry + (f->b_bitmap && !f->a_by_col ? c->spmv_bitmap : 0));
}

/* It searches a sparse vector for every entry of a row, or adds up columns with one thread; of a matrix with all. */
static double suitesparse_frontier_ns(const tsr_features *f, const tsr_cost_suitesparse *c)
{
    const double met = f->walk > 0 ? f->walk : f->a_nnz * f->b_nnz / f->k;
    if (f->op == TSR_OP_SPMM)
        return met * c->frontier_flop;
    if (!f->a_by_col)
        return f->a_nnz * c->frontier_dot;
    return met * c->frontier_edge * (f->nthreads > 0 ? f->nthreads : 1);
}

/* By dots only where rows of X and columns of Y' are contiguous; else it multiplies everything and drops what the mask does not name. */
static double suitesparse_sddmm_ns(const tsr_features *f, const tsr_cost_suitesparse *c)
{
    if (f->a_by_col || !f->b_by_col)
        return f->m * f->n * f->k * c->sddmm_saxpy;
    return f->mask_nnz * (c->sddmm_entry + c->sddmm_flop * f->k);
}

/* 0 for short lists to 1 for long ones. */
static double far_share(double length, const tsr_cost_suitesparse *c)
{
    const double far = (length - c->masked_short) / (c->masked_long - c->masked_short);
    return far < 0 ? 0 : far > 1 ? 1 : far;
}

/* Where lists are of one length, its branches are foreseen; else each pair surprises it. */
static double merged_counts_ns(const tsr_features *f, const tsr_cost_suitesparse *c)
{
    const double far = far_share(f->merged / f->mask_nnz, c);
    return f->merged * (c->masked_merge_short + far * (c->masked_merge_step - c->masked_merge_short)) +
           f->mask_nnz * f->uneven * c->masked_surprise;
}

/* Merges that are much like each other are foreseen. */
static double regular_ns(const tsr_features *f, const tsr_cost_suitesparse *c)
{
    return f->mask_nnz * c->masked_dot_entry + f->merged * c->masked_merge_value;
}

/* By a sample of its merges: where lists have much in common, and where all are of one length, turns from one to the other are foreseen. */
static double merged_values_ns(const tsr_features *f, const tsr_cost_suitesparse *c)
{
    if (f->turns <= 0)
        return f->merged * c->masked_merge_fold;
    const double rare = 1 - 4 * f->common / f->turns, surprise = f->uneven * (rare > 0 ? rare : 0);
    return regular_ns(f, c) + f->turns * (c->masked_merge_turn + surprise * c->masked_merge_surprise);
}

static double merged_ns(const tsr_features *f, const tsr_cost_suitesparse *c)
{
    if (f->regular)
        return regular_ns(f, c);
    return only_counts(f) ? merged_counts_ns(f, c) : merged_values_ns(f, c);
}

/* Both by row, or both by column.  Short rows of C stay in its caches: then a product that is let pass takes it longest.  They are
 * counted as if entries lay anywhere. */
static double suitesparse_rows_ns(const tsr_features *f, const tsr_cost_suitesparse *c)
{
    const double work = tsr_work_of(f), others = (f->b_by_col ? f->n : f->m) * c->masked_row + f->mask_nnz * c->masked_entry;
    if ((f->b_by_col ? f->m : f->n) > c->masked_near)
        return work * c->masked_step + walked_lists(f) * c->masked_list + others;
    const double places = f->m * f->n, hits = places > 0 ? work * f->mask_nnz / places : 0;
    return work * c->masked_near_step + walked_lists(f) * c->masked_near_list + hits * c->masked_near_hit + others;
}

/* What it takes at best: merging two short lists costs it what its branches are mispredicted, little on a grid.  Ours is worth its
 * look at every entry of the mask only where lists are long. */
static double suitesparse_masked_ns(const tsr_features *f, const tsr_cost_suitesparse *c)
{
    if (!is_dot(f))
        return suitesparse_rows_ns(f, c);
    if (f->merged > 0)
        return merged_ns(f, c);
    const double length = f->mask_nnz > 0 ? dot_steps(f) / f->mask_nnz : 0;
    return dot_steps(f) * (c->masked_dot_step + far_share(length, c) * c->masked_dot_far) + f->mask_nnz * c->masked_dot_entry;
}

static double suitesparse_ns(const tsr_features *f, const tsr_cost_suitesparse *c)
{
    bool dense_c = !tsr_is_masked(f->op);
    if (f->b_sparse)
        return suitesparse_frontier_ns(f, c);
    if (dense_c && special_case(f))
        return f->a_nnz * c->special_entry + outputs_ns(f, c->special_byte);
    switch (f->op) {
    case TSR_OP_SPMM: return suitesparse_spmm_ns(f, c);
    case TSR_OP_SPMV: return suitesparse_spmv_ns(f, c);
    case TSR_OP_SDDMM: return suitesparse_sddmm_ns(f, c);
    default: return suitesparse_masked_ns(f, c);
    }
}

double tsr_predict_suitesparse_ms(const tsr_features *f)
{
    const tsr_cost_suitesparse *c = &tsr_cost_suitesparse_default;
    double ns = suitesparse_ns(f, c) * gather_slowdown(f);
    if (f->typecast)
        ns *= f->op == TSR_OP_MASKED_DOT && is_dot(f) ? c->dot_cast_factor : c->cast_factor;
    if (f->finish_extra && !f->joins)
        ns *= c->finish_factor;
    return ns_to_ms(ns + far_lists_ns(f), f) + c->start_ms;
}

/* ---- beside the product ---- */

double tsr_predict_host_ms(const tsr_features *f, bool casts_a, bool finishes)
{
    const tsr_cost_cpu *c = &tsr_cost_cpu_default;
    double ns = f->a_cast && casts_a ? f->a_nnz * c->cast_entry : 0;
    ns += f->b_cast ? f->b_nnz * c->cast_entry : 0;
    if (finishes)
        ns += (f->finish_extra ? outputs_ns(f, c->finish_byte) : 0) + (f->accum_full ? outputs_ns(f, c->add_byte) : 0);
    return ns_to_ms(ns, f);
}

double tsr_predict_settle_ms(double places, int nthreads)
{
    return places * tsr_cost_suitesparse_default.settle_place * 1e-6 / (nthreads > 0 ? nthreads : 1);
}

double tsr_predict_build_ms(double nnz, double vectors, bool flip, bool values, int nthreads)
{
    const tsr_cost_cpu *c = &tsr_cost_cpu_default;
    double ns = nnz * (flip ? c->build_flip : values ? c->build_narrow : c->build_copy) + vectors * c->build_vector;
    if (values)
        ns += nnz * c->build_value;
    return ns * 1e-6 / (nthreads > 0 ? nthreads : 1) + c->start_ms;
}

bool tsr_few_vectors(double nrows, double ncols)
{
    return nrows <= FEW || ncols <= FEW;
}
