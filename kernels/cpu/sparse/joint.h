/* A push of all vectors together (push_joint.c): vectors lie side by side, and a row of A is read once for all that name it.  What its entries
 * contribute is dealt to buckets of neighbouring places first; the sums of a bucket stay in the cache while they grow.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_SPARSE_JOINT_H
#define TSR_CPU_SPARSE_JOINT_H

#include <string.h>

#include "kernels/cpu/common/template.h"
#include "kernels/sparse_vectors.h"

typedef struct tsr_joint {
    const tsr_push *p;
    tsr_type type;        /* of the sums: FP32, FP64, UINT32 or UINT64 */
    int64_t lanes;        /* vectors side by side: 1, 4 or 8 */
    bool with_a;          /* products read values of A, one for each entry */
    int64_t count;        /* rows of A that some vector names: their indices, ascending … */
    int64_t *k;
    void *u;              /* … and values of the vectors, row by row; the identity where there is none */
    uint8_t *present;     /* of each row of A, bit r: vector r names it */
    uint8_t *open, *found; /* of each place of the result, bit r: the mask lets it pass; it has an entry */
    void *sums;           /* of each place, side by side */
    int shift;            /* 1 << shift places make a bucket */
    int64_t buckets;
} tsr_joint;

/* A contribution: the number of the row in k, bits of vectors, the place in its bucket; behind it the value of A where products read it. */
enum { TSR_JOINT_ROW = 32, TSR_JOINT_BITS = 24, TSR_JOINT_PLACE = (1 << TSR_JOINT_BITS) - 1 };

/* Bytes of a contribution; a block begins with a link to the next one, in as many. */
static inline int64_t tsr_joint_step(bool with_a) { return with_a ? 16 : 8; }

enum { TSR_JOINT_BLOCK = 4096 };

static inline const char *tsr_joint_follow(const char *block)
{
    const char *next;
    memcpy(&next, block, sizeof next);
    return next;
}

/* What one part of the rows contributes: a list of blocks for each bucket, which begins with block `bucket` of the arena. */
typedef struct tsr_dealt {
    char *arena, *next; /* next: the first block that is not used yet */
    char **ends;        /* of each bucket: where the next contribution goes, never at the end of a block */
    int64_t begin, end; /* rows */
} tsr_dealt;

/* Adds what was dealt to a bucket to its sums, and marks what is found. */
typedef void tsr_joint_sum(const tsr_joint *w, int64_t bucket, const tsr_dealt *dealt);
/* The function for type, lanes and with_a. */
typedef tsr_joint_sum *tsr_joint_find(const tsr_joint *w);
TSR_DECLARE_ISA(tsr_joint_find, tsr_joint_sums);

/* The push; result holds no entries before.  Only where tsr_push_is_joint. */
tsr_status tsr_push_joint(const tsr_push *p, int64_t work, tsr_few *result);

#endif
