/* The oracle of attention over a pattern (tessera/attention.h): score by score, in FP64.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "kernels/kernels.h"
#include "kernels/ref/formats.h"

static int64_t column_of(const tsr_view *s, int64_t e)
{
    return s->index_size == 4 ? (int64_t)((const uint32_t *)s->i)[e] : ((const int64_t *)s->i)[e];
}

static double number_of(const tsr_heads *h, int64_t row, int64_t head, int64_t c)
{
    return tsr_ref_number(h->data, tsr_number_of(h->type), row * h->ld + head * h->head_stride + c);
}

static void store(const tsr_heads *h, int64_t row, int64_t head, int64_t c, double x)
{
    char *at = (char *)h->data + (size_t)(row * h->ld + head * h->head_stride + c) * tsr_number_size(tsr_number_of(h->type));
    tsr_round_values(at, tsr_number_of(h->type), &x, TSR_FP64, 1, 1);
}

static double score_of(const tsr_attention_operands *o, int64_t row, int64_t column, int64_t head)
{
    double sum = 0;
    for (int64_t c = 0; c < o->q.width; c++)
        sum += number_of(&o->q, row, head, c) * number_of(&o->k, column, head, c);
    return sum * o->scale;
}

/* weight[e] for the entries of a row, not yet divided by their sum, which is returned. */
static double weigh(double *weight, const tsr_view *s, const tsr_attention_operands *o, int64_t row, int64_t head, double *most)
{
    const int64_t begin = s->p[row], n = s->p[row + 1] - begin;
    double sum = 0;
    *most = -INFINITY;
    for (int64_t e = 0; e < n; e++) {
        weight[e] = score_of(o, row, column_of(s, begin + e), head);
        *most = fmax(*most, weight[e]);
    }
    for (int64_t e = 0; e < n; e++)
        sum += weight[e] = exp(weight[e] - (*most == -INFINITY ? 0 : *most));
    return sum;
}

static void attend(double *weight, const tsr_view *s, const tsr_attention_operands *o, int64_t row, int64_t head)
{
    const int64_t begin = s->p[row], n = s->p[row + 1] - begin;
    double most;
    const double sum = weigh(weight, s, o, row, head, &most);
    for (int64_t c = 0; c < o->q.width; c++) {
        double x = 0;
        for (int64_t e = 0; e < n; e++)
            x += weight[e] * number_of(&o->v, column_of(s, begin + e), head, c);
        store(&o->o, row, head, c, n > 0 ? x / sum : 0);
    }
    if (o->lse)
        o->lse[row * o->q.heads + head] = n > 0 ? (float)(most + log(sum)) : -INFINITY;
}

tsr_status tsr_ref_attention(const tsr_view *s, const tsr_attention_operands *operands)
{
    int64_t longest = 1;
    for (int64_t row = 0; row < s->nrows; row++)
        longest = s->p[row + 1] - s->p[row] > longest ? s->p[row + 1] - s->p[row] : longest;
    double *weight = malloc((size_t)longest * sizeof *weight);
    if (!weight)
        return TSR_OUT_OF_MEMORY;
    for (int64_t row = 0; row < s->nrows; row++)
        for (int64_t head = 0; head < operands->q.heads; head++)
            attend(weight, s, operands, row, head);
    free(weight);
    return TSR_OK;
}

/* ---- gradients ---- */

static double product_of(const tsr_heads *x, int64_t row, const tsr_heads *y, int64_t other, int64_t head)
{
    double sum = 0;
    for (int64_t c = 0; c < x->width; c++)
        sum += number_of(x, row, head, c) * number_of(y, other, head, c);
    return sum;
}

/* In FP64, rows x heads x width. */
typedef struct gradients {
    double *q, *k, *v;
} gradients;

static void add_entry(gradients *g, const tsr_attention_operands *o, int64_t row, int64_t column, int64_t head)
{
    const int64_t width = o->q.width, mine = (row * o->q.heads + head) * width, theirs = (column * o->q.heads + head) * width;
    const double weight = exp(score_of(o, row, column, head) - (double)o->lse[row * o->q.heads + head]);
    const double difference = weight * (product_of(&o->grad_o, row, &o->v, column, head) - product_of(&o->grad_o, row, &o->o, row, head));
    for (int64_t c = 0; c < width; c++) {
        g->q[mine + c] += o->scale * difference * number_of(&o->k, column, head, c);
        g->k[theirs + c] += o->scale * difference * number_of(&o->q, row, head, c);
        g->v[theirs + c] += weight * number_of(&o->grad_o, row, head, c);
    }
}

static void store_all(const tsr_heads *h, const double *from)
{
    for (int64_t row = 0; h->data && row < h->rows; row++)
        for (int64_t head = 0; head < h->heads; head++)
            for (int64_t c = 0; c < h->width; c++)
                store(h, row, head, c, from[(row * h->heads + head) * h->width + c]);
}

tsr_status tsr_ref_attention_backward(const tsr_view *s, const tsr_attention_operands *operands)
{
    const size_t each = (size_t)(operands->q.heads * operands->q.width), rows = (size_t)s->nrows * each, columns = (size_t)s->ncols * each;
    double *all = calloc(rows + 2 * columns + 1, sizeof *all);
    gradients g = {all, all + rows, all + rows + columns};
    if (!all)
        return TSR_OUT_OF_MEMORY;
    for (int64_t row = 0; row < s->nrows; row++)
        for (int64_t e = s->p[row]; e < s->p[row + 1]; e++)
            for (int64_t head = 0; head < operands->q.heads; head++)
                add_entry(&g, operands, row, column_of(s, e), head);
    store_all(&operands->grad_q, g.q);
    store_all(&operands->grad_k, g.k);
    store_all(&operands->grad_v, g.v);
    free(all);
    return TSR_OK;
}
