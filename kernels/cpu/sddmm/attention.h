/* Attention by row: what is compiled once, and once per instruction set.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_ATTENTION_H
#define TSR_CPU_ATTENTION_H

#include "kernels/cpu/common/template.h"

enum { TSR_ATTENTION_BLOCK = 32 }; /* entries whose scores are known at once */

/* One row and head.  q and sum are `width` floats of scratch; sum is the result. */
typedef struct tsr_attention_row {
    const tsr_view *s;
    const tsr_attention_operands *o;
    int64_t row, head;
    float *q, *sum;
} tsr_attention_row;

/* Gradients, one pass: by row, own rows of Q and dO, and those of K and V that entries name; by column (s: the transpose) own rows of K and V,
 * and those of Q and dO.  sums: of dO .* O over the rows, rows x heads. */
typedef struct tsr_attention_pass {
    const tsr_view *s;
    const tsr_attention_operands *o;
    const tsr_heads *own_key, *own_value, *key, *value, *out, *out_value; /* out_value: by column only */
    float *sums;
} tsr_attention_pass;

/* forward: writes the row of o and its lse.  sum: writes sums of a row.  backward: writes rows of out and out_value; scratch: 4 x width. */
typedef struct tsr_attention_kernels {
    void (*forward)(const tsr_attention_row *row);
    void (*sum)(const tsr_attention_pass *pass, int64_t row, int64_t head, float *scratch);
    void (*backward)(const tsr_attention_pass *pass, int64_t row, int64_t head, float *scratch);
} tsr_attention_kernels;

/* Of FP32, FP16 and BF16. */
enum { TSR_ATTENTION_FP32, TSR_ATTENTION_FP16, TSR_ATTENTION_BF16, TSR_ATTENTION_TYPES };
typedef struct tsr_attention_table {
    tsr_attention_kernels of[TSR_ATTENTION_TYPES];
} tsr_attention_table;

TSR_DECLARE_ISA(extern const tsr_attention_table, tsr_attention_table);

#endif
