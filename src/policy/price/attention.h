/* How a GPU computes attention over a pattern in FP32: in one pass, or as three calls (SDDMM, softmax, SpMM).  Pure functions.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ATTENTION_PRICE_H
#define TSR_ATTENTION_PRICE_H

#include <stdbool.h>

typedef struct tsr_attention_features {
    double rows, columns, entries;
    double heads, width; /* of a head */
} tsr_attention_features;

/* Milliseconds with all on the device, forward only. */
double tsr_attention_pass_ms(const tsr_attention_features *f);
double tsr_attention_three_ms(const tsr_attention_features *f);

/* Are three calls faster? */
bool tsr_attention_splits(const tsr_attention_features *f);

#endif
