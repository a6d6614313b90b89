/* The table of the plug-in's kernels for a sparse times a full matrix: what each one takes, how its representation of A is made, and how it
 * is run.  Names, heights, prices and the automatic choice are those of src/policy/model/gpu_kernels.h and forms.h.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_KERNEL_TABLE_H
#define TSR_CUDA_KERNEL_TABLE_H

#include "kernels/cuda/common/cuda_kernels.h"
#include "src/base/types.h"
#include "src/policy/model/forms.h"
#include "tessera/kernel_row.h"

typedef struct tsr_cuda_kernel tsr_cuda_kernel;

/* One representation of one matrix; of csr and its like: values in 16 bits, or nothing. */
typedef struct tsr_cuda_blocks {
    struct tsr_cuda_blocks *next;
    const tsr_cuda_kernel *kernel;
    int height, width;  /* rows of a window, condensed columns of a block */
    tsr_number number;  /* of the values */
    int shift;          /* values are kept times 2^shift (narrow plans) */
    double iso;         /* formats that store the value of a pattern: that value */
    tsr_cuda_math math; /* hybrid: what its windows were chosen for, */
    int split;          /* and for which width of B (tsr_nearest_width) */
    bool refused;       /* the kernel declined */
    union {
        tsr_windows w;  /* each block format begins with its windows */
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

/* Bounds of what a representation holds, and bytes of a value. */
typedef struct tsr_cuda_counts {
    size_t nrows, nvals, vectors, windows, blocks, value;
} tsr_cuda_counts;

/* Classes of semirings that kernels take beside csr, which takes all. */
typedef enum tsr_cuda_semirings {
    TSR_CUDA_SUMS = 1,  /* plus_times, plus_second over FP32 and FP64: all that Tensor Cores compute */
    TSR_CUDA_PATHS = 2, /* MIN and MAX over PLUS and TIMES, PLUS over TIMES of integers, and SECOND; 4 and 8 bytes */
} tsr_cuda_semirings;

/* 0: neither. */
static inline unsigned tsr_cuda_class_of(tsr_semiring s)
{
    const bool times = s.mul == TSR_MUL_TIMES || s.mul == TSR_MUL_SECOND;
    if (tsr_is_complex(s.type))
        return 0;
    if (s.add == TSR_ADD_PLUS && times && (s.type == TSR_FP32 || s.type == TSR_FP64))
        return TSR_CUDA_SUMS;
    const bool path = (s.add == TSR_ADD_PLUS && times) || ((s.add == TSR_ADD_MIN || s.add == TSR_ADD_MAX) && (times || s.mul == TSR_MUL_PLUS));
    return path && tsr_type_size(s.type) >= 4 ? TSR_CUDA_PATHS : 0;
}

typedef struct tsr_cuda_format {
    unsigned semirings;
    const char *names[TSR_CUDA_MATH_COUNT]; /* of sums, by arithmetic, for the trace */
    const char *narrow_name;                /* FP16 in place of TF32 */
    bool stores_iso;    /* a pattern is stored with its value */
    bool full_values;   /* values of A are FP32 where B has 16 bits */
    bool any_b;         /* B may hold anything where it has not 16 bits */
    int width16;        /* condensed columns of a block of 16-bit numbers; 0: those of the row */
    bool finishes;      /* adds a bias and rectifies, where B has not 16 bits */
    bool own_rows;      /* rows are as A has them, and the work is listed by the kernel itself */
    bool exact_rounds;  /* EXACT errs as much as adding six products one by one: not for shorter rows */
    size_t (*bytes)(const tsr_cuda_counts *counts); /* of a representation at most */
    /* make: *b is described, b->as zero; TSR_DECLINED: not of this matrix.  free: also of what make has left. */
    tsr_status (*make)(tsr_cuda_blocks *b, const tsr_source *source);
    void (*free)(tsr_cuda_blocks *b);
    tsr_status (*most)(int64_t *most, const tsr_cuda_blocks *b); /* blocks of a work item; NULL: 64 */
    const uint64_t *(*mask)(const tsr_cuda_blocks *b);           /* entries of blocks as bits; NULL: the format has offsets */
    tsr_status (*run)(const tsr_cuda_blocks *b, const tsr_cuda_csr *a, tsr_semiring semiring, const tsr_cuda_spmm *product);
    size_t (*partial_bytes)(const tsr_cuda_blocks *b, const tsr_cuda_csr *a, const tsr_cuda_spmm *product);
} tsr_cuda_format;

/* One each, in backends/cuda/spmm/formats. */
#define TSR_CUDA_DECLARE_FORMAT(id, name) extern const tsr_cuda_format tsr_cuda_format_##id;
TSR_GPU_FORMAT_LIST(TSR_CUDA_DECLARE_FORMAT)
#undef TSR_CUDA_DECLARE_FORMAT

/* The kernels of TSR_GPU_CSR_LIST. */
#define TSR_CUDA_DECLARE_KERNEL(unused, id, format, name) tsr_cuda_csr_kernel tsr_cuda_spmm_##format;
TSR_GPU_CSR_LIST(TSR_CUDA_DECLARE_KERNEL, )
#undef TSR_CUDA_DECLARE_KERNEL

/* Trace names of a format whose sums run on Tensor Cores. */
#define TSR_CUDA_TENSOR_NAMES(format) \
    .names = {format "-exact", format "-tf32", format "-fp16", format "-bf16", format "-fp64"}, .narrow_name = format "-narrow"

/* Windows, vectors and work items, which all block formats have. */
static inline size_t tsr_cuda_common_bytes(const tsr_cuda_counts *c)
{
    return 24 * c->windows + 4 * c->vectors + 48 * (c->blocks + c->windows) + 65536;
}

static inline size_t tsr_cuda_block_partial_bytes(const tsr_cuda_blocks *b, const tsr_cuda_csr *a, const tsr_cuda_spmm *product)
{
    (void)a;
    return tsr_cuda_partial_bytes(&b->work, b->height, product);
}

/* A row. */
struct tsr_cuda_kernel {
    tsr_gpu_kernel form;
    const tsr_cuda_format *format;
    int width; /* condensed columns of a block */
};

const tsr_cuda_kernel *tsr_cuda_kernel_of(int form);
tsr_kernel_row tsr_cuda_spmm_row(int form); /* the same for lists */

/* For a product of this class.  Static storage. */
const char *tsr_cuda_trace_name(const tsr_cuda_kernel *kernel, unsigned semirings, tsr_cuda_math math, bool narrow);

/* Elements of B must be below this in magnitude; 0: they may be anything. */
double tsr_cuda_limit(const tsr_cuda_kernel *kernel, tsr_cuda_math math);

/* Condensed columns of its blocks of such values; 0: it has no blocks. */
int tsr_cuda_block_width(const tsr_cuda_kernel *kernel, tsr_number number);

/* As which values of A are stored. */
tsr_number tsr_cuda_stored_number(const tsr_cuda_kernel *kernel, tsr_cuda_math math);

static inline bool tsr_cuda_is_half(tsr_cuda_math math) { return math == TSR_CUDA_FP16 || math == TSR_CUDA_BF16; }

/* Largest magnitude and more that FP16 rounds to infinity. */
#define TSR_CUDA_FP16_LIMIT 65520.0

#endif
