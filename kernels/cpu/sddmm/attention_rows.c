/* One row of attention, and of its gradients: the scores of a block of entries, then its weights relative to the largest score so far (online softmax), then the
 * weighted sum of V's rows.  Compiled once per instruction set.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/common/numbers.h"
#include "kernels/cpu/sddmm/attention.h"

enum { BLOCK = TSR_ATTENTION_BLOCK };

static inline int64_t column_of(const tsr_view *s, int64_t e)
{
    return s->index_size == 4 ? (int64_t)((const uint32_t *)s->i)[e] : ((const int64_t *)s->i)[e];
}

static inline size_t place_of(const tsr_heads *h, int64_t row, int64_t head)
{
    return (size_t)(row * h->ld + head * h->head_stride);
}

static void scale_row(float *x, float by, int64_t n)
{
    for (int64_t c = 0; c < n; c++)
        x[c] *= by;
}

static float sum_of_lanes(tsr_v_fp32 v)
{
    float sum = 0;
    for (int64_t k = 0; k < TSR_LANES(fp32); k++)
        sum += v[k];
    return sum;
}

/* Largest score so far, sum of weights relative to it. */
typedef struct state {
    float most;
    double sum;
} state;

/* Scores become weights; what was there before is scaled.  Where all scores are -Inf, weights are relative to 0: they are 0.  fmaxf passes
 * over NaN, the sum does not. */
static void weigh(state *s, float *score, int64_t n, float *values, int64_t width)
{
    float most = s->most;
    for (int64_t e = 0; e < n; e++)
        most = fmaxf(most, score[e]);
    const float reference = most == -INFINITY ? 0 : most;
    if (most != s->most) {
        const float kept = expf(s->most - reference);
        s->sum *= kept;
        scale_row(values, kept, width);
    }
    s->most = most;
    for (int64_t e = 0; e < n; e++)
        s->sum += score[e] = expf(score[e] - reference);
}

#define DOT(type) \
    static float dot_##type(const float *q, const tsr_c_##type *k, int64_t n) \
    { \
        tsr_v_fp32 even = { 0 }, odd = { 0 }; \
        int64_t c = 0; \
        for (; c + 2 * TSR_LANES(fp32) <= n; c += 2 * TSR_LANES(fp32)) { \
            even += tsr_load_fp32(q + c) * tsr_load_##type(k + c); \
            odd += tsr_load_fp32(q + c + TSR_LANES(fp32)) * tsr_load_##type(k + c + TSR_LANES(fp32)); \
        } \
        for (; c + TSR_LANES(fp32) <= n; c += TSR_LANES(fp32)) \
            even += tsr_load_fp32(q + c) * tsr_load_##type(k + c); \
        float sum = sum_of_lanes(even + odd); \
        for (; c < n; c++) \
            sum += q[c] * tsr_widen_##type(k[c]); \
        return sum; \
    }

/* values += weight * v, two rows at once. */
#define ADD_ROWS(type) \
    static void add_rows_##type(float *values, const tsr_c_##type *v, float weight, const tsr_c_##type *w, float other, int64_t n) \
    { \
        const tsr_v_fp32 by = tsr_splat_fp32(weight), and = tsr_splat_fp32(other); \
        int64_t c = 0; \
        for (; c + TSR_LANES(fp32) <= n; c += TSR_LANES(fp32)) \
            tsr_store_fp32(values + c, tsr_load_fp32(values + c) + (by * tsr_load_##type(v + c) + and * tsr_load_##type(w + c))); \
        for (; c < n; c++) \
            values[c] += weight * tsr_widen_##type(v[c]) + other * tsr_widen_##type(w[c]); \
    } \
    static void add_row_##type(float *values, const tsr_c_##type *v, float weight, int64_t n) \
    { \
        const tsr_v_fp32 by = tsr_splat_fp32(weight); \
        int64_t c = 0; \
        for (; c + TSR_LANES(fp32) <= n; c += TSR_LANES(fp32)) \
            tsr_store_fp32(values + c, tsr_load_fp32(values + c) + by * tsr_load_##type(v + c)); \
        for (; c < n; c++) \
            values[c] += weight * tsr_widen_##type(v[c]); \
    }

#define ATTEND(type) \
    DOT(type) \
    ADD_ROWS(type) \
    static void add_block_##type(const tsr_attention_row *r, state *s, int64_t begin, int64_t n) \
    { \
        const tsr_heads *k = &r->o->k, *v = &r->o->v; \
        const tsr_c_##type *keys = k->data, *values = v->data; \
        const int64_t width = k->width; \
        float score[BLOCK]; \
        for (int64_t e = 0; e < n; e++) \
            score[e] = dot_##type(r->q, keys + place_of(k, column_of(r->s, begin + e), r->head), width) * (float)r->o->scale; \
        weigh(s, score, n, r->sum, width); \
        int64_t e = 0; \
        for (; e + 2 <= n; e += 2) \
            add_rows_##type(r->sum, values + place_of(v, column_of(r->s, begin + e), r->head), score[e], \
                            values + place_of(v, column_of(r->s, begin + e + 1), r->head), score[e + 1], width); \
        if (e < n) \
            add_row_##type(r->sum, values + place_of(v, column_of(r->s, begin + e), r->head), score[e], width); \
    } \
    static void attend_##type(const tsr_attention_row *r) \
    { \
        const tsr_attention_operands *o = r->o; \
        const int64_t begin = r->s->p[r->row], end = r->s->p[r->row + 1], width = o->q.width; \
        const tsr_c_##type *q = (const tsr_c_##type *)o->q.data + place_of(&o->q, r->row, r->head); \
        state s = { -INFINITY, 0 }; \
        for (int64_t c = 0; c < width; c++) { \
            r->q[c] = tsr_widen_##type(q[c]); \
            r->sum[c] = 0; \
        } \
        for (int64_t e = begin; e < end; e += BLOCK) \
            add_block_##type(r, &s, e, end - e < BLOCK ? end - e : BLOCK); \
        if (end > begin) \
            scale_row(r->sum, (float)(1 / s.sum), width); \
        tsr_narrow_##type((tsr_c_##type *)o->o.data + place_of(&o->o, r->row, r->head), r->sum, width); \
        if (o->lse) \
            o->lse[r->row * o->q.heads + r->head] = s.most + (float)log(s.sum); \
    }

/* ---- gradients ---- */

/* A row as floats. */
#define LOAD_OWN(type) \
    static void load_own_##type(float *to, const tsr_heads *from, int64_t row, int64_t head) \
    { \
        const tsr_c_##type *x = (const tsr_c_##type *)from->data + place_of(from, row, head); \
        for (int64_t c = 0; c < from->width; c++) \
            to[c] = tsr_widen_##type(x[c]); \
    }

#define DIFFERENTIATE(type) \
    LOAD_OWN(type) \
    static void sum_##type(const tsr_attention_pass *p, int64_t row, int64_t head, float *scratch) \
    { \
        const tsr_heads *grad = &p->o->grad_o; \
        load_own_##type(scratch, &p->o->o, row, head); \
        p->sums[row * grad->heads + head] = dot_##type(scratch, (const tsr_c_##type *)grad->data + place_of(grad, row, head), grad->width); \
    } \
    static void store_##type(const tsr_heads *to, int64_t row, int64_t head, const float *x) \
    { \
        if (to && to->data) \
            tsr_narrow_##type((tsr_c_##type *)to->data + place_of(to, row, head), x, to->width); \
    } \
    static void differentiate_##type(const tsr_attention_pass *p, int64_t row, int64_t head, float *scratch) \
    { \
        const int64_t width = p->key->width, heads = p->key->heads; \
        const float scale = (float)p->o->scale; \
        float *own_key = scratch, *own_value = own_key + width, *sum_key = own_value + width, *sum_value = sum_key + width; \
        load_own_##type(own_key, p->own_key, row, head); \
        load_own_##type(own_value, p->own_value, row, head); \
        memset(sum_key, 0, 2 * (size_t)width * sizeof *sum_key); \
        for (int64_t e = p->s->p[row]; e < p->s->p[row + 1]; e++) { \
            const int64_t column = column_of(p->s, e), place = (p->out_value ? column : row) * heads + head; \
            const tsr_c_##type *key = (const tsr_c_##type *)p->key->data + place_of(p->key, column, head); \
            const tsr_c_##type *value = (const tsr_c_##type *)p->value->data + place_of(p->value, column, head); \
            const float weight = expf(dot_##type(own_key, key, width) * scale - p->o->lse[place]); \
            add_row_##type(sum_key, key, weight * (dot_##type(own_value, value, width) - p->sums[place]), width); \
            if (p->out_value) \
                add_row_##type(sum_value, value, weight, width); \
        } \
        scale_row(sum_key, scale, width); \
        store_##type(p->out, row, head, sum_key); \
        store_##type(p->out_value, row, head, sum_value); \
    }

#define BOTH(type) ATTEND(type) DIFFERENTIATE(type)
BOTH(fp32)
BOTH(fp16)
BOTH(bf16)

#define KERNELS(type) { attend_##type, sum_##type, differentiate_##type }
const tsr_attention_table TSR_NAME(tsr_attention_table) = { { KERNELS(fp32), KERNELS(fp16), KERNELS(bf16) } };
