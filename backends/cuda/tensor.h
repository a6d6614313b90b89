/* Representations beside plain CSR: which one, when it is built, and running it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_TENSOR_H
#define TSR_CUDA_TENSOR_H

#include "backends/cuda/context.h"

typedef enum tsr_cuda_kind {
    TSR_CUDA_CSR, TSR_CUDA_ME_TCF, TSR_CUDA_ME_BCRS, TSR_CUDA_HRPB, TSR_CUDA_BMAT, TSR_CUDA_PANEL
} tsr_cuda_kind;
#define TSR_CUDA_KIND_COUNT 6

/* One block format of one matrix; kind CSR: its values in 16 bits. */
typedef struct tsr_cuda_blocks {
    struct tsr_cuda_blocks *next;
    tsr_cuda_kind kind;
    int height, width;
    tsr_number number;
    double iso;    /* ME-BCRS and panels of a pattern: the value they store */
    bool refused;  /* the kernel declined */
    union {
        tsr_me_tcf me_tcf;
        tsr_me_bcrs me_bcrs;
        tsr_hrpb hrpb;
        tsr_bmat bmat;
        tsr_panel panel;
        void *half;
    } as;
    tsr_work work;
    size_t bytes;
} tsr_cuda_blocks;

/* Ski-rental account of the block formats of one matrix. */
typedef struct tsr_cuda_account {
    double spent_ms;    /* predicted time of the products computed with CSR so far */
    bool counted;       /* vectors[] is known */
    bool failed;        /* no memory for them, once */
    bool out_of_range;  /* some value is too large for FP16: that precision is not used */
    bool checked;       /* out_of_range is known */
    int64_t vectors[5]; /* nonzero vectors at heights 8, 16, 32, 64, 128 */
} tsr_cuda_account;

struct tsr_cuda_sparse;

/* What computes a product. */
typedef struct tsr_cuda_plan {
    tsr_cuda_math math;      /* other than plus_times: EXACT for types of 4 bytes, FP64 for 8 */
    tsr_semiring semiring;
    tsr_cuda_blocks *blocks; /* NULL: plain CSR */
    double iso;
    double limit;            /* elements of B must be below this in magnitude, else CSR; 0: they may be anything */
    const char *name;
} tsr_cuda_plan;

/* The plan for one product of A; builds what pays.  keep: A stays for further products.  TSR_OK also when there was no memory for
 * blocks; TSR_INTERNAL_ERROR. */
tsr_status tsr_cuda_make_plan(tsr_cuda_plan *plan, struct tsr_cuda_sparse *a, const tsr_product *product, bool keep);

/* Queue the product with plan->blocks. */
tsr_status tsr_cuda_run_blocks(const tsr_cuda_plan *plan, const struct tsr_cuda_sparse *a, const tsr_cuda_spmm *product);

/* Scratch for it. */
size_t tsr_cuda_blocks_partial_bytes(const tsr_cuda_plan *plan, const struct tsr_cuda_sparse *a, const tsr_cuda_spmm *product);

void tsr_cuda_blocks_free(tsr_cuda_blocks *list);

#endif
