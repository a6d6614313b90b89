/* Representations beside plain CSR: which one (src/policy/forms.h), when it is built, and running it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_TENSOR_H
#define TSR_CUDA_TENSOR_H

#include "backends/cuda/operands/operand.h"

typedef enum tsr_cuda_kind {
    TSR_CUDA_CSR, TSR_CUDA_ME_TCF, TSR_CUDA_ME_BCRS, TSR_CUDA_HRPB, TSR_CUDA_BMAT, TSR_CUDA_PANEL, TSR_CUDA_HYBRID
} tsr_cuda_kind;
#define TSR_CUDA_KIND_COUNT 7

/* One block format of one matrix; kind CSR: its values in 16 bits. */
typedef struct tsr_cuda_blocks {
    struct tsr_cuda_blocks *next;
    tsr_cuda_kind kind;
    int height, width;
    tsr_number number;
    int shift;     /* values are kept times 2^shift (narrow plans) */
    double iso;    /* ME-BCRS, panels and hybrids of a pattern: the value they store */
    tsr_cuda_math math; /* hybrid: what its windows were chosen for, */
    int split;          /* and for which width of B (tsr_nearest_width) */
    bool refused;  /* the kernel declined */
    union {
        tsr_me_tcf me_tcf;
        tsr_me_bcrs me_bcrs;
        tsr_hrpb hrpb;
        tsr_bmat bmat;
        tsr_panel panel;
        tsr_cuda_hybrid hybrid; /* csr half: the arrays of A */
        void *half;
    } as;
    void *rounded; /* hybrid: values of its csr half where they are not those of A */
    tsr_work work;
    size_t bytes;
} tsr_cuda_blocks;

void tsr_cuda_statistics_free(tsr_cuda_statistics *account);

/* Counts vectors[], once; decides the order of rows first. */
tsr_status tsr_cuda_count_matrix(struct tsr_cuda_sparse *a, tsr_reorder wanted);

/* What computes a product. */
typedef struct tsr_cuda_plan {
    tsr_cuda_math math;      /* other than plus_times: EXACT for types of 4 bytes, FP64 for 8 */
    bool narrow;             /* FP16 in place of TF32 (kernels/cuda/common/fp16_scaling.h): B times a power of two, if its elements fit, else CSR */
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
