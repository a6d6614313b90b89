/* What the files of sparse times sparse share.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_NATIVE_SPGEMM_PLAN_H
#define TSR_NATIVE_SPGEMM_PLAN_H

#include <pthread.h>

#include "src/engine/product/sparse_product.h"
#include "src/sparse_blas/native.h"
#include "tessera/spgemm.h"

/* What executions leave for those that come after them: a plan that is executed once keeps nothing. */
typedef struct tsr_spgemm_history {
    pthread_mutex_t lock;
    bool executed;
    int64_t *p; /* C's pattern, where the host computes; NULL: not known, or its indices take more than 32 bits */
    const uint32_t *i;
    uint32_t *own_i; /* NULL: the caller's */
    void *on_device; /* C on the holder's device, or NULL */
    const tsr_backend *holder;
} tsr_spgemm_history;

struct tsr_spgemm_plan {
    tsr_spgemm product; /* with the operands as they were given: types may differ from the semiring's */
    const tsr_sparse *a, *b; /* whose values are where they are now */
    tsr_spgemm_size size;
    unsigned flags;
    const tsr_backend *device; /* expected to be faster from and to host memory; NULL: the CPU kernel */
    tsr_spgemm_history *history;
    char explanation[256];
};

/* The status of an execution, with a sentence. */
tsr_status tsr_spgemm_status(tsr_status status);
tsr_status tsr_spgemm_check_index(const tsr_spgemm_plan *plan, tsr_index_type type);

/* With the lock: does what this execution finds out help later ones?  values_only: there will be some. */
static inline bool tsr_spgemm_is_repeated(tsr_spgemm_history *h, bool values_only)
{
    const bool repeated = h->executed || values_only;
    h->executed = true;
    return repeated;
}

/* Where the device keeps C; NULL: it does not. */
static inline void **tsr_spgemm_kept(tsr_spgemm_history *h, const tsr_backend *device, bool repeated)
{
    h->holder = h->on_device ? h->holder : device;
    return repeated && h->holder == device ? &h->on_device : NULL;
}

/* With the lock: on the CPU.  c->p NULL: values alone. */
tsr_status tsr_spgemm_fill_here(const tsr_spgemm_plan *plan, const tsr_spgemm *product, const tsr_spgemm_c *c, bool repeated);

/* ---- operands with values of the semiring's type (spgemm_values.c) ---- */

enum { TSR_SPGEMM_COPIES = 6 };

typedef struct tsr_spgemm_ready {
    tsr_spgemm product;
    void *copies[TSR_SPGEMM_COPIES];
    int ncopies;
    uint64_t ones[2];
} tsr_spgemm_ready;

/* Values of A and B where they are in device memory and are read there (NULL: they are not). */
typedef struct tsr_spgemm_direct {
    const void *a, *b;
} tsr_spgemm_direct;

tsr_spgemm_direct tsr_spgemm_direct_of(const tsr_spgemm_plan *plan);
/* direct NULL: values in device memory are those that were copied when they were last said to have changed; else those that are not read there
 * are copied now.  Free it, also after a failure. */
tsr_status tsr_spgemm_make_ready(tsr_spgemm_ready *ready, const tsr_spgemm_plan *plan, const tsr_spgemm_direct *direct);
void tsr_spgemm_free_ready(tsr_spgemm_ready *ready);

#endif
