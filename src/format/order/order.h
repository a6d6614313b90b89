/* Row orders, what their files share.  src/format/order/row_order.h describes the orders.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_FORMAT_ORDER_H
#define TSR_FORMAT_ORDER_H

#include "src/format/blocks/tc_blocks.h"
#include "src/format/order/row_order.h"

/* Each writes order[nrows]; arguments as those of tsr_make_order.  TSR_OK or TSR_OUT_OF_MEMORY. */
tsr_status tsr_order_lpa(uint32_t *order, const tsr_source *in, int nthreads);
tsr_status tsr_order_loa(uint32_t *order, const tsr_source *in, int nthreads);
tsr_status tsr_order_tca(uint32_t *order, const tsr_source *in, int nthreads);

/* Rows of an order dealt to pivots, chunk by chunk.  TSR_OK or TSR_OUT_OF_MEMORY. */
tsr_status tsr_order_deal(uint32_t *order, const tsr_source *in, int nthreads);

typedef struct tsr_sketch {
    uint16_t least[TSR_ORDER_BUCKETS];
} tsr_sketch;
void tsr_sketch_row(tsr_sketch *sketch, const tsr_source *in, uint32_t row);
int tsr_shared_buckets(const tsr_sketch *a, const tsr_sketch *b); /* equal ones: not for two rows, whose empty buckets are */

/* The least hash of each row's columns, hash number k of tsr_order_hash_of. */
void tsr_min_hashes(uint32_t *least, const tsr_source *in, int k, int nthreads);

/* Sorts items [n] by key[item], ascending; equal keys keep their order.  scratch: [n]. */
void tsr_sort_by_key(uint32_t *items, uint32_t *scratch, const uint32_t *key, int64_t n);

#endif
