/* A sparse operand on the device, and all that is kept with it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_OPERAND_H
#define TSR_CUDA_OPERAND_H

#include "backends/cuda/device/context.h"
#include "src/policy/model/forms.h"

/* All zero: their own order. */
typedef struct tsr_cuda_order {
    uint32_t *row; /* on the device, [nrows]: which row of the matrix each of theirs is */
    size_t bytes;  /* reserved for it */
} tsr_cuda_order;

/* What is known of one matrix, and what products have lost without block formats of it. */
typedef struct tsr_cuda_statistics {
    tsr_ski_rental rental;
    double order_regret; /* ms that another order of rows may have spared */
    bool inspected;      /* `sampled` and windows are known */
    bool ordered;        /* the order of rows is decided */
    bool counted;        /* vectors[] is known */
    bool failed;         /* no memory for them, once */
    bool out_of_range;   /* some value is too large for FP16: that precision is not used */
    bool checked;        /* out_of_range is known */
    bool narrow;         /* values times 2^shift keep TF32's bits as FP16 */
    bool narrow_known;   /* narrow and shift are known */
    int shift;
    bool wide;           /* some B did not fit FP16 */
    int evictions;       /* of this matrix so far */
    double sampled[5];   /* nonzero vectors at heights 8, 16, 32, 64, 128, rows as they are, from a sample */
    double longest, hot[TSR_HOT_SIZES]; /* as in tsr_gpu_product */
    bool measured;       /* longest is known */
    int64_t vectors[5];  /* in the order that blocks have, all of them */
    int64_t nwindows[2];
    tsr_window_count *windows[2]; /* of the sample, 8 and 16 rows; freed with it */
} tsr_cuda_statistics;

/* Kept with a mask; all zero: not yet thought of. */
typedef struct tsr_cuda_stencil {
    double spent_ms;  /* predicted time of the products computed by row so far */
    bool counted;     /* vectors is known */
    bool failed;      /* no memory for it, once */
    int64_t vectors;  /* nonzero vectors of its height */
    tsr_stencil blocks;
    tsr_work work;
    size_t bytes;     /* reserved; 0: there is none */
} tsr_cuda_stencil;

/* What tells the representations of one slot apart.  An iso operand and one whose values are not read are both patterns: the
 * value comes with the product. */
typedef struct tsr_cuda_key {
    bool transposed, pattern;
    tsr_type type;
} tsr_cuda_key;

typedef struct tsr_cuda_sparse tsr_cuda_sparse;
typedef struct tsr_cuda_cache_entry tsr_cuda_cache_entry;

/* A sparse operand of one product. */
typedef struct tsr_cuda_operand {
    tsr_view view;   /* by row, or turned on the device */
    void **slot;     /* NULL: nothing is kept */
    tsr_cuda_key key;
    bool work_lists; /* those of tsr_cuda_csr are needed */
    int nthreads;
} tsr_cuda_operand;

struct tsr_cuda_sparse {
    tsr_cuda_dead dead;                   /* once its slot is released; its device */
    uint64_t number;                      /* never used again */
    tsr_cuda_key key;
    tsr_cuda_cache_entry *slot;                  /* NULL: of one product only */
    tsr_cuda_sparse *next;                /* in the slot */
    tsr_cuda_sparse *older, *newer;       /* by last use */
    int users;                            /* operands of the present product */
    tsr_cuda_csr csr;
    size_t bytes;                         /* reserved for the CSR */
    struct tsr_cuda_blocks *blocks;              /* list of block formats made of it */
    tsr_cuda_order order;                 /* of their rows */
    tsr_cuda_statistics statistics;       /* whether they would pay */
    int8_t *row_present;                  /* on the host, [nrows]: does the row have an entry?  NULL: not yet asked */
    int64_t rows_present;                 /* how many of these, if rows_counted */
    bool rows_counted;
    unsigned pushes;                      /* products that walked some of its rows, and knew how many */
    struct tsr_cuda_kept_plan *plans;            /* of masked products with this mask */
    tsr_cuda_stencil stencil;             /* of this mask */
};

#endif
