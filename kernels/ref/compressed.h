/* Entries and rows taken out of a sparse matrix held by row, in plain C: what a device does with compressed contents (tessera/compressed.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_REF_COMPRESSED_H
#define TSR_REF_COMPRESSED_H

#include "tessera/compressed.h"

/* p[nrows+1], i[p[nrows]], values of `size` bytes (0: none). */
typedef struct tsr_ref_rows {
    int64_t nrows;
    int64_t *p;
    uint32_t *i;
    void *x;
    size_t size;
} tsr_ref_rows;

/* Does entry k, in this row, stay?  type: of the values.  flags [entries], 0/1: these say it; NULL: the rule. */
bool tsr_ref_stays(const tsr_ref_rows *a, const tsr_compressed_rule *rule, tsr_type type, const int8_t *flags, int64_t row, int64_t k);

/* Arrays that are large enough become those entries, in order; out->i NULL: only p. */
void tsr_ref_keep_entries(tsr_ref_rows *out, const tsr_ref_rows *a, const tsr_compressed_rule *rule, tsr_type type, const int8_t *flags);

/* The same of rows[0 .. out->nrows), which may repeat. */
void tsr_ref_take_rows(tsr_ref_rows *out, const tsr_ref_rows *a, const uint32_t *rows);

/* The union (unite) or the intersection of a and b: out->x their values of a, y those of b, with a byte 0/1 of presence for each. */
void tsr_ref_join_entries(tsr_ref_rows *out, void *y, int8_t *x_present, int8_t *y_present, const tsr_ref_rows *a, const tsr_ref_rows *b, bool unite);

#endif
