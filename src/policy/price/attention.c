/* Attention on a GPU.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/policy/price/attention.h"

/* Fitted to the FP32 rows of bench/results/h200/attention/2026-11-24T1321-b7bdb79b4bec.jsonl: three graphs, 1 and 8 heads, widths 32 and 128.
 * ms for 10^9 of each. */
typedef struct prices {
    double entry;    /* once */
    double byte;     /* an entry's bytes in K, and in V, of each head */
    double beyond;   /* of these, what is not in L2 */
    double row;      /* once */
    double row_byte; /* of each head */
    double start;    /* ms */
} prices;

static const prices one_pass = {0, .204, .0321, 434, 4.03, .0446}, three_calls = {6.72, .177, .00938, 636, .665, .0236};

static const double l2_bytes = 50e6;
/* The smallest graph of the record has twice as many. */
static const double least_entries = 1e6;

/* Share of K and V (of `heads` heads) that L2 does not hold. */
static double beyond_l2(const tsr_attention_features *f, double heads)
{
    const double bytes = 2 * f->columns * f->width * 4 * heads;
    return bytes > l2_bytes ? 1 - l2_bytes / bytes : 0;
}

/* heads: that share what is paid once. */
static double price_of(const prices *p, const tsr_attention_features *f, double heads)
{
    const double bytes = f->width * 4 * heads, entries = f->entries * 1e-9, rows = f->rows * 1e-9;
    return entries * (p->entry + bytes * (p->byte + p->beyond * beyond_l2(f, heads))) + rows * (p->row + p->row_byte * bytes) + p->start;
}

double tsr_attention_pass_ms(const tsr_attention_features *f)
{
    return price_of(&one_pass, f, f->heads);
}

double tsr_attention_three_ms(const tsr_attention_features *f)
{
    return f->heads * price_of(&three_calls, f, 1);
}

bool tsr_attention_splits(const tsr_attention_features *f)
{
    return f->entries >= least_entries && tsr_attention_three_ms(f) < tsr_attention_pass_ms(f);
}
