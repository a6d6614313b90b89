/* Masked dot product of dense vectors where only the number of products counts: vectors as bits, AND, population count.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/masked/masked_dot.h"
#include "kernels/cpu/common/template.h"
#include "src/base/split.h"

#include <stdlib.h>

#define WORD 64
#define LEAST_INNER 64 /* shorter vectors are walked quickly enough */

typedef int64_t count_function(const uint64_t *x, const uint64_t *y, int64_t n);
TSR_DECLARE_ISA(count_function, tsr_md_count_common);

/* Words first[v] to last[v] of vector v have bits. */
typedef struct bit_vectors {
    uint64_t *words; /* `length` of each stored vector */
    int64_t *first, *last;
    int64_t length;
} bit_vectors;

/* A word costs about a third of what a walked entry costs. */
bool tsr_md_bits_pay(const tsr_md_job *job)
{
    int64_t words = (job->k + WORD - 1) / WORD;
    return job->kind != TSR_MD_FOLD && job->k >= LEAST_INNER && job->m.nvals > job->mrows && job->a.nvals >= job->mrows * words &&
           job->b.nvals >= job->mcols * words;
}

static void free_bits(bit_vectors *bits)
{
    free(bits->words);
    free(bits->first);
    free(bits->last);
}

static void set_bits(bit_vectors *bits, const tsr_md_vectors *v, int64_t vector)
{
    uint64_t *words = bits->words + vector * bits->length;
    int64_t first = bits->length, last = 0;
    for (int64_t e = tsr_md_start(v, vector), end = tsr_md_start(v, vector + 1); e < end; e++) {
        int64_t index = tsr_md_index(v->i, v->wide, e), word = index / WORD;
        words[word] |= (uint64_t)1 << index % WORD;
        first = word < first ? word : first;
        last = word >= last ? word + 1 : last;
    }
    bits->first[vector] = first;
    bits->last[vector] = last;
}

static tsr_status make_bits(bit_vectors *bits, const tsr_md_vectors *v, int64_t k, int nthreads)
{
    size_t vectors = (size_t)v->nvec, length = (size_t)(k + WORD - 1) / WORD;
    *bits = (bit_vectors){.words = calloc(vectors * length + 1, sizeof *bits->words), .first = malloc((vectors + 1) * sizeof *bits->first),
                          .last = malloc((vectors + 1) * sizeof *bits->last), .length = (int64_t)length};
    if (!bits->words || !bits->first || !bits->last)
        return TSR_OUT_OF_MEMORY;
    const int useful = tsr_pass_threads(v->nvals, nthreads);
#pragma omp parallel for num_threads(tsr_team(useful)) schedule(dynamic, 64) if (useful > 1)
    for (int64_t vector = 0; vector < v->nvec; vector++)
        set_bits(bits, v, vector);
    return TSR_OK;
}

static void intersect(const tsr_md_job *job, count_function *count, const bit_vectors *a, int64_t row, const bit_vectors *b, int64_t column,
                      int64_t e)
{
    int64_t first = a->first[row] > b->first[column] ? a->first[row] : b->first[column];
    int64_t last = a->last[row] < b->last[column] ? a->last[row] : b->last[column];
    if (first >= last)
        return;
    int64_t hits = count(a->words + row * a->length + first, b->words + column * b->length + first, last - first);
    if (hits) {
        tsr_md_finish(job, e, job->kind == TSR_MD_COUNT ? hits : 1);
        job->present[e] = 1;
    }
}

static void compute_row(const tsr_md_job *job, count_function *count, const bit_vectors *a, const bit_vectors *b, int64_t vector)
{
    int64_t row = tsr_md_vector(&job->a, job->m.h ? job->m.h[vector] : vector);
    const int64_t end = tsr_md_start(&job->m, vector + 1);
    for (int64_t e = tsr_md_start(&job->m, vector); row >= 0 && e < end; e++) {
        int64_t column = tsr_md_passes(job, e) ? tsr_md_vector(&job->b, tsr_md_index(job->m.i, job->m.wide, e)) : -1;
        if (column >= 0)
            intersect(job, count, a, row, b, column, e);
    }
}

tsr_status tsr_md_bits(const tsr_md_job *job)
{
    count_function *count = TSR_PICK_ISA(tsr_md_count_common);
    bit_vectors a = {0}, b = {0};
    bool same = job->a.p.list == job->b.p.list && job->a.i == job->b.i && job->a.h == job->b.h;
    tsr_status status = make_bits(&a, &job->a, job->k, job->nthreads);
    if (status == TSR_OK && !same)
        status = make_bits(&b, &job->b, job->k, job->nthreads);
    const int useful = tsr_parts(job->m.nvals * a.length, TSR_MD_THREAD_WORK, job->nthreads);
#pragma omp parallel for num_threads(tsr_team(useful)) schedule(dynamic, 16) if (useful > 1)
    for (int64_t vector = 0; vector < (status == TSR_OK ? job->m.nvec : 0); vector++)
        compute_row(job, count, &a, same ? &a : &b, vector);
    free_bits(&a);
    free_bits(&b);
    return status;
}
