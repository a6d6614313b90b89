/* Operands as a backend wants them: cast, taken from a representation, or as they are.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ENGINE_OPERANDS_H
#define TSR_ENGINE_OPERANDS_H

#include "src/engine/call/call.h"

/* Orientation of A that the kernels of this product like best. */
bool tsr_wanted_by_col_a(const tsr_product *p);

/* What one execution holds beside the caller's arrays. */
typedef struct tsr_operands {
    tsr_rep *a_rep;
    tsr_cache_entry *slots[3];   /* of A, B and the mask */
    bool kept;            /* the backend holds A (and B and the mask of a masked product): its values were not cast */
    void *a_cast, *b_cast; /* converted values; NULL = none */
    union { uint64_t u; double d; } a_iso, b_iso; /* converted iso values */
} tsr_operands;

/* *ready = call->product with operands of type semiring.type, pattern where values are not read, and the representation that
 * d asks for.  Values of sparse operands that the backend holds are left as they are, unless `all`.  On error nothing is
 * held (release is still allowed). */
tsr_status tsr_operands_prepare(tsr_operands *held, tsr_product *ready, const tsr_call *call, const tsr_decision *d, bool all);

/* Values of one operand in `type`: as they are, none, one (iso, into *one) or a converted copy (*copy). */
tsr_status tsr_operands_cast(tsr_view *v, tsr_type type, bool read, void *one, void **copy, int nthreads);

/* A bitmap of the host, of at least one place, becomes sparse, in copies.  False: out of memory, it is as it was. */
bool tsr_operands_compress(tsr_view *v, tsr_copies *copies, int nthreads);

/* Does the backend keep what it needs of the sparse operands (of which only the shape is looked at)? */
bool tsr_operands_kept(const tsr_call *call, const tsr_backend *backend);
void tsr_operands_release(tsr_operands *held);

#endif
