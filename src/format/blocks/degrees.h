/* How the entries of a matrix are spread over its rows and columns: what src/format/blocks/degrees.c and kernels/cuda/convert/degrees.cu count alike.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_FORMAT_DEGREES_H
#define TSR_FORMAT_DEGREES_H

#include "src/base/hash.h"
#include "src/format/blocks/formats.h"

/* Columns are sorted by one half of a sample of the entries, the other half is counted: where all columns are alike by chance, those that
 * come first by the one have no more of the other.  Class 0: columns without an entry of the first half; k: 2^(k-1) to 2^k - 1. */
#define TSR_COLUMN_CLASSES 32
typedef struct tsr_degrees {
    int64_t longest_row;                      /* its entries, all of them */
    int64_t columns[TSR_COLUMN_CLASSES]; /* how many columns */
    int64_t entries[TSR_COLUMN_CLASSES]; /* and entries of the second half in them */
} tsr_degrees;

/* Entries of a sample, at most. */
#define TSR_DEGREE_SAMPLE (1 << 23)

/* A sample of at most `most` entries, 2 <= most < 2^32, is one of each `step` consecutive ones. */
TSR_EVERYWHERE int64_t tsr_degree_step(int64_t nvals, int64_t most)
{
    return nvals > most ? (nvals - 1) / most + 1 : 1;
}

/* Number k of the sample, which may be nvals or more in the last step (then it is left out): any of its step, since entries of a mesh
 * repeat at even distances.  Even k are the first half. */
TSR_EVERYWHERE int64_t tsr_degree_entry(int64_t k, int64_t step)
{
    return k * step + (int64_t)(((uint64_t)tsr_order_hash((uint32_t)k) * (uint64_t)step) >> 32);
}

#ifdef __cplusplus
extern "C" {
#endif

/* A sample of at most `most` entries; TSR_DEGREE_SAMPLE for tsr_hot_shares.  Errors of tsr_make_statistics. */
tsr_status tsr_count_degrees(tsr_degrees *out, const tsr_source *in, int64_t most, int nthreads);

#ifdef __cplusplus
}
#endif

#endif
