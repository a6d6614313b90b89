/* Contracts of the CUDA kernels, in plain C: no CUDA type shows.  All arrays are device memory unless said otherwise.
 *
 * Every function queues work on `stream` (a cudaStream_t as void *) and returns at once: TSR_OK = queued; TSR_DECLINED =
 * this kernel does not take it (nothing was queued); TSR_OUT_OF_MEMORY; TSR_INTERNAL_ERROR = the launch failed.
 * Results are the same bits on every call with the same input on the same kind of device: no floating-point atomics.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_KERNELS_H
#define TSR_CUDA_KERNELS_H

#include "kernels/elements.h"
#include "tessera/backend.h"
#include "tessera/device.h"
#include "src/format/blocks/degrees.h"
#include "src/format/blocks/formats.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The device, seen through plain C (kernels/cuda/common/memory.cu) ---- */

typedef struct tsr_cuda_device {
    int ordinal;
    int major, minor; /* compute capability */
    int sms;
    size_t l2_bytes, memory_bytes, shared_bytes_sm, shared_bytes_block;
    char name[64];
} tsr_cuda_device;

int tsr_cuda_count(void); /* usable devices; 0 without a driver, never an error message */
tsr_status tsr_cuda_open(int ordinal, tsr_cuda_device *device); /* makes it current for the calling thread */
/* From a stream-ordered pool; *p = NULL on failure.  Up to the next multiple of 16 bytes may be read, too: kernels read values of a
 * representation that are 16-bit numbers two at a time. */
tsr_status tsr_cuda_malloc(void **p, size_t bytes, void *stream);
void tsr_cuda_free(void *p, void *stream);                        /* NULL allowed */
tsr_status tsr_cuda_to_device(void *device, const void *host, size_t bytes, void *stream);
tsr_status tsr_cuda_to_host(void *host, const void *device, size_t bytes, void *stream);
tsr_status tsr_cuda_set(void *p, int byte, size_t bytes, void *stream);
/* answer[1..words] = the words at `device`, then answer[0] = 1, in page-locked memory: who looks there hears sooner than who waits for a copy. */
tsr_status tsr_cuda_send(uint64_t *answer, const void *device, int words, void *stream);
tsr_status tsr_cuda_wait(void *stream); /* also reports errors of kernels queued before */
tsr_status tsr_cuda_stream_new(void **stream);
void tsr_cuda_stream_free(void *stream);

/* ---- Tensor-Core SpMM: C = alpha A B + beta C over plus_times ---- */

/* Arithmetic.  EXACT: FP32 operands split into TF32 parts, partial sums moved into FP32 adds often enough; error at most 2x that of
 * adding one by one in FP32.  Sums are FP32 (FP64 for FP64). */
typedef enum tsr_cuda_math { TSR_CUDA_EXACT, TSR_CUDA_TF32, TSR_CUDA_FP16, TSR_CUDA_BF16, TSR_CUDA_FP64 } tsr_cuda_math;
#define TSR_CUDA_MATH_COUNT 5

/* What the values of A and the elements of B are stored as for one arithmetic (FP32 for EXACT and TF32). */
tsr_number tsr_cuda_number(tsr_cuda_math math);

/* Every element of B must be finite, and for EXACT and TF32 below 2^127 in magnitude: blocks are filled with zeros.  (A may hold
 * anything: a non-finite value of A touches only its own row, as it should; no finite product becomes NaN.) */
typedef struct tsr_cuda_spmm {
    tsr_cuda_math math;
    int64_t n;        /* columns of B and C, >= 1 */
    const void *b;    /* A's ncols x n, row-major, 16-byte aligned */
    int64_t ldb;      /* elements; ldb * size is a multiple of 16 bytes; ldb >= n; all ldb elements of a row may be read */
    void *c;          /* A's nrows x n, row-major, FP32 (FP64 for FP64); any alignment, any ldc >= n */
    int64_t ldc;
    const uint32_t *row; /* [nrows] the row of C of each row of the representation, a permutation; NULL: the same */
    double alpha, beta; /* beta == 0: C is not read */
    double iso;         /* value of every entry where the representation has value == NULL */
    const void *bias;   /* panels of FP32 and FP64: n elements of C's type, added to each row in the end; NULL: none */
    bool rectified;     /* the same: then what is below 0 becomes 0 */
    void *partial;      /* tsr_cuda_partial_bytes of scratch; may be NULL if that is 0 */
    const tsr_cuda_device *device;
    void *stream;
    int variant;        /* 0 = the kernel's own choice; others name shapes to try when measuring (each kernel's file lists them) */
} tsr_cuda_spmm;

/* Partial sum number t of a split window is a tile of height x n elements, row-major with leading dimension n, FP32 (FP64), without
 * alpha and beta.  All of it is written, also rows past the end of the matrix. */
size_t tsr_cuda_partial_bytes(const tsr_work *work, int height, const tsr_cuda_spmm *product);
/* C = alpha * sum of partial sums + beta C for the rows of split windows; queued by each kernel below after its own. */
tsr_status tsr_cuda_add_partials(const tsr_windows *windows, const tsr_work *work, const tsr_cuda_spmm *product);

/* What bias and rectified ask for, in a pass over C of its own: rows x n, FP32 or FP64. */
tsr_status tsr_cuda_finish_rows(const tsr_cuda_spmm *product, int64_t rows);

tsr_status tsr_cuda_spmm_me_tcf(const tsr_me_tcf *a, const tsr_work *work, const tsr_cuda_spmm *product);
tsr_status tsr_cuda_spmm_me_bcrs(const tsr_me_bcrs *a, const tsr_work *work, const tsr_cuda_spmm *product);
tsr_status tsr_cuda_spmm_hrpb(const tsr_hrpb *a, const tsr_work *work, const tsr_cuda_spmm *product);
tsr_status tsr_cuda_spmm_bmat(const tsr_bmat *a, const tsr_work *work, const tsr_cuda_spmm *product);
/* Panels: multiply-adds on CUDA cores, sm_90 and later; iso is not looked at.  Values of A are FP32 for every arithmetic but FP64, also
 * where B has 16 bits.  TF32 computes as EXACT.  B may hold anything: Inf and NaN meet the entries of their row of B only.
 * TSR_DECLINED: windows other than 32 x 24 and 64 x 48, too. */
tsr_status tsr_cuda_spmm_panel(const tsr_panel *a, const tsr_work *work, const tsr_cuda_spmm *product);

/* Which `most` to give tsr_cuda_make_work.  longest: blocks of the longest window (found on the device; waits for the stream). */
tsr_status tsr_cuda_longest_window(int64_t *longest, const tsr_windows *windows, void *stream);
int64_t tsr_cuda_me_tcf_most(const tsr_windows *windows, int64_t longest, const tsr_cuda_device *device);
int64_t tsr_cuda_hrpb_most(const tsr_windows *windows, int64_t longest, const tsr_cuda_device *device);
int64_t tsr_cuda_panel_most(const tsr_windows *windows, const tsr_cuda_device *device); /* sizes only: no array is read */
int64_t tsr_cuda_me_bcrs_most(const tsr_windows *windows, const tsr_cuda_device *device); /* likewise */

/* ---- CUDA cores: any type and semiring ---- */

/* Work of bounded size for A by row: items, and the rows that are cut into several.  The arrays are private to the kernels. */
typedef struct tsr_cuda_csr_list {
    int64_t nitems, npartials, nsplit;
    void *items, *split;
} tsr_cuda_csr_list;

/* A by row; fewer than 2^32 - 1 rows.  The lists are made by tsr_cuda_csr_work. */
typedef struct tsr_cuda_csr {
    int64_t nrows, ncols, nvals;
    int64_t *p;  /* [nrows+1] */
    uint32_t *i; /* [nvals], ascending in a row */
    void *x;     /* [nvals] of the semiring's type (16-bit numbers: of `number`); NULL: every value is iso, or values are not read */
    tsr_cuda_csr_list spmm, spmv;
    bool single;    /* one entry in each row: p counts up; false: nobody knows */
    int64_t filled; /* rows with entries */
    uint32_t *rows; /* [nrows] numbers of these, ascending, then of the others */
    void *ends;     /* SpMV: which entries end a row */
    void *work;  /* the one allocation that holds the lists and these */
} tsr_cuda_csr;

tsr_status tsr_cuda_csr_work(tsr_cuda_csr *a, const tsr_cuda_device *device, void *stream); /* allocates a->work; waits for the stream */
void tsr_cuda_csr_work_free(tsr_cuda_csr *a, void *stream);
/* SpMM only, without the rows r for which skip[r / height] is not 0 (height a power of 2): they are not written. */
tsr_status tsr_cuda_csr_work_part(tsr_cuda_csr *a, const uint8_t *skip, int height, const tsr_cuda_device *device, void *stream);

/* Products of one pattern: what lies between the operands of neighbouring ones, in elements. */
typedef struct tsr_cuda_batch {
    int64_t count; /* 0: one, and no strides */
    int64_t values, b, c; /* A's values, B and C; of an SDDMM: its values, and its a and b (in this order) */
} tsr_cuda_batch;

typedef struct tsr_cuda_csr_spmm {
    tsr_semiring semiring;
    bool half;             /* FP32 plus_times only: A's values and B are 16-bit `number`s, sums and C FP32 */
    tsr_number number;
    int64_t n;
    const void *b;         /* ncols x n row-major, any alignment */
    const int8_t *b_present; /* the same shape, 0/1; NULL: full */
    int64_t ldb;
    void *c;               /* nrows x n row-major */
    int8_t *c_present;     /* written 0/1 with leading dimension ldc; NULL: not wanted */
    int64_t ldc;
    double alpha, beta;    /* FP32, FP64 and complex plus_times only; 1 and 0 otherwise */
    double alpha_im, beta_im; /* of complex numbers: imaginary parts */
    bool conjugate;        /* the same: of A's values */
    uint64_t iso, iso_rest; /* bits of the one value of A in the semiring's type, when a->x == NULL and mul reads it; rest: behind the first 8 bytes */
    const void *bias;      /* tsr_cuda_spmm_csr, FP32 and FP64 plus_times, n > 1: n elements of C's type, added to each row; NULL: none */
    bool rectified;        /* the same: then what is below 0 becomes 0 */
    tsr_cuda_batch batch;
    void *partial;         /* tsr_cuda_csr_partial_bytes */
    const tsr_cuda_device *device;
    void *stream;
    int variant;
} tsr_cuda_csr_spmm;

/* Complex numbers (TSR_FC32, TSR_FC64): plus_times by tsr_cuda_spmm_csr with a full B and without c_present; a, b and c begin at multiples of
 * the element's size.  Several products in one launch: plus_times of FP32, FP64 and complex numbers by tsr_cuda_spmm_csr, without bias; each has
 * the bits that it has alone; TSR_DECLINED where that takes kernels of another shape for some of them.
 * Semantics of kernels/kernels.h (integers wrap, fmin and fmax, ANY = first in the row's order, LOR gives 0 or 1, absent entries of a
 * bitmap B are skipped, rows without products: x = 0 and c_present = 0).  n == 1 runs the SpMV kernel. */
size_t tsr_cuda_csr_partial_bytes(const tsr_cuda_csr *a, const tsr_cuda_csr_spmm *product);
typedef tsr_status tsr_cuda_csr_kernel(const tsr_cuda_csr *a, const tsr_cuda_csr_spmm *product);
tsr_cuda_csr_kernel tsr_cuda_spmm_csr;
/* Other kernels (TSR_GPU_CSR_LIST in src/policy/model/gpu_kernels.h) do the same for plus_times over FP32, FP64 and 16-bit numbers with a full B,
 * without c_present and partial; n == 1 is no case of its own.  They need neither list of work. */

/* The same by panels, sm_90 and later, for integers, FP32 and FP64 of 4 and 8 bytes: MIN and MAX over PLUS and TIMES, PLUS over TIMES
 * of integers; and SECOND, where A's values are stored as 1 (over PLUS) and 0 (over MIN and MAX).  Panels hold the bits of A's values as
 * numbers of that size.  offsets: A's, by row of C ([nrows+1], device); row: as tsr_cuda_spmm's.  B full and 16-byte aligned, as are its
 * rows; c_present, alpha, beta and iso are not looked at.  TSR_DECLINED: anything else, or windows other than 32 x 24 and 64 x 48. */
size_t tsr_cuda_panel_partial_bytes(const tsr_panel *a, const tsr_work *work, const tsr_cuda_csr_spmm *product);
tsr_status tsr_cuda_spmm_panel_semiring(const tsr_panel *a, const tsr_work *work, const int64_t *offsets, const uint32_t *row,
                                        const tsr_cuda_csr_spmm *product);

/* ---- Hybrid: dense row windows on Tensor Cores, the others by csr (HC-SpMM, section IV; kernels/cuda/spmm/hybrid/hybrid.cu) ---- */

/* A window with e entries in v nonzero vectors goes to Tensor Cores when w . {1, i, s, i s, s s, i i, max(0, 2 - r), max(0, r - 2),
 * max(0, r - 5)} > 0 with i = log2(e / v), s = log2 v, r = log2(e / height); one without entries never does. */
#define TSR_CUDA_SPLIT_TERMS 9
typedef struct tsr_cuda_split_rule {
    double w[TSR_CUDA_SPLIT_TERMS];
} tsr_cuda_split_rule;

typedef enum tsr_cuda_half { TSR_CUDA_HALF_ME_BCRS, TSR_CUDA_HALF_HRPB, TSR_CUDA_HALF_BMAT } tsr_cuda_half;

/* Both halves of one matrix.  csr shares the arrays of the source, which must stay. */
typedef struct tsr_cuda_hybrid {
    tsr_cuda_half half;
    union {
        tsr_windows w;
        tsr_me_bcrs me_bcrs;
        tsr_hrpb hrpb;
        tsr_bmat bmat;
    } as;
    tsr_work work;
    tsr_cuda_csr csr;
    int64_t nwindows; /* on Tensor Cores */
    void *side, *begun, *done; /* stream of the csr half; events */
} tsr_cuda_hybrid;

/* height: 8 (ME-BCRS, BMat) or 16 (HRPB, BMat).  iso as for ME-BCRS.  TSR_DECLINED: no window is dense enough.  Waits for the stream. */
tsr_status tsr_cuda_make_hybrid(tsr_cuda_hybrid *out, const tsr_source *in, tsr_cuda_half half, int height, double iso,
                                const tsr_cuda_split_rule *rule, const tsr_cuda_device *device, void *stream);
void tsr_cuda_free_hybrid(tsr_cuda_hybrid *a, void *stream);
/* As the Tensor-Core kernels; the halves run side by side and write rows of C of their own.  product->math is of the numbers in the
 * source.  TSR_DECLINED: n == 1, or rows in another order. */
size_t tsr_cuda_hybrid_partial_bytes(const tsr_cuda_hybrid *a, const tsr_cuda_spmm *product);
tsr_status tsr_cuda_spmm_hybrid(const tsr_cuda_hybrid *a, const tsr_cuda_spmm *product);

/* ---- Masked products: C<M> = A (+).(x) B, one result per entry of the mask (kernels/cuda/masked*.cu, sddmm.cu) ---- */

/* Both operands sparse, and the mask by row.  Fewer than 2^32 - 2 rows and columns each, and of the mask together. */
typedef struct tsr_cuda_masked {
    tsr_semiring semiring;
    const tsr_cuda_csr *a;    /* m x k by row; rows ascend.  Work lists are not used, here and below */
    const tsr_cuda_csr *b;    /* B', n x k by row: row j is column j of B */
    const tsr_cuda_csr *mask; /* m x n by row.  x: values of mask_size bytes, an entry with all bits zero is not computed; NULL:
                               * structural */
    int mask_size;
    int64_t begin, end;       /* entries of the mask to compute; fewer than 2^32 - 1 (call again for the rest) */
    uint64_t a_iso, b_iso;    /* bits of the one value of A (B) in the semiring's type, where x == NULL and mul reads it */
    void *x;                  /* [end - begin] of the semiring's type, 0 where there is no product; NULL: not wanted */
    int8_t *present;          /* [end - begin] 0/1; NULL: not wanted */
    uint64_t *products;       /* their number over all entries is added to this; only where values do not matter.  NULL: not
                               * wanted */
    const tsr_cuda_device *device;
    void *stream;
} tsr_cuda_masked;

/* Which list is walked for which entry, in which order: depends on the patterns of A, B and M, not on values, and serves all
 * products of these patterns.  16 bytes for an entry, 32 for one without a group; while it is made, 48 more and 16 for a row or
 * column of the mask.  Where A and B' are the same arrays (support of edges) and only counts are wanted, an entry and its mirror
 * image in the mask are computed once.  Private to the kernels. */
typedef struct tsr_cuda_masked_plan {
    int64_t begin, end;
    bool positions;
    int64_t nrecords, npairs, ntasks[4];
    void *tasks, *records, *pairs, *mirrors, *bits, *spans, *rows;
    void *memory; /* the one allocation that holds them */
    size_t bytes;
} tsr_cuda_masked_plan;

/* Are products told apart by values (plus_times of values, say; not plus_pair, or iso operands)?  Then `positions` below must be
 * true. */
bool tsr_cuda_masked_reads(const tsr_cuda_masked *product);
/* Of the product only a, b, mask (without values), begin, end, device and stream are used.  Waits for the stream. */
tsr_status tsr_cuda_make_masked_plan(tsr_cuda_masked_plan *plan, const tsr_cuda_masked *product, bool positions, int variant);
void tsr_cuda_free_masked_plan(tsr_cuda_masked_plan *plan, void *stream);

/* Semantics of kernels/kernels.h; counts are exact (FP32 and FP64: rounded once).  plan == NULL: without, slower, no memory
 * needed.  TSR_DECLINED: a plan of other entries, or without positions where they are needed; `products` where values matter. */
tsr_status tsr_cuda_masked_dot(const tsr_cuda_masked_plan *plan, const tsr_cuda_masked *product);

/* SDDMM: both operands dense, the mask by row, fewer than 2^32 - 1 rows. */
typedef struct tsr_cuda_sddmm {
    tsr_semiring semiring;
    const tsr_cuda_csr *mask; /* m x n, as above; columns may be in any order, duplicates too */
    int mask_size;
    int64_t begin, end;       /* entries of the mask to compute */
    int64_t k;
    const void *a;            /* m x k row-major, any alignment; NULL: every element is a_iso, or not read */
    int64_t lda;              /* elements, >= k */
    const void *b;            /* B', n x k row-major: row j is column j of B; NULL: b_iso, or not read */
    int64_t ldb;
    uint64_t a_iso, b_iso;
    void *x;                  /* [end - begin] of the semiring's type, in the mask's order; 0 where the mask is false or k == 0 */
    int8_t *present;          /* [end - begin] 0/1; NULL: not wanted */
    tsr_cuda_batch batch;     /* tsr_cuda_sddmm_csr: plus_times of FP32 and FP64 without present */
    const tsr_cuda_device *device;
    void *stream;
} tsr_cuda_sddmm;

/* Semantics of kernels/kernels.h; sums are FMAs in a fixed order, of many short sums (error well below that of adding one by
 * one).  A batch is one launch, and each product has the bits that it has alone; TSR_DECLINED where that takes kernels of another shape for some. */
tsr_status tsr_cuda_sddmm_csr(const tsr_cuda_sddmm *product);

/* The same over a stencil of the mask, rows of B fetched once for 32 rows of A (sm_90).  Of the mask p, i (ascending in a row), nrows and
 * values are used.  plus_times only, both operands there; the semiring's type is FP32 (FP64 for FP64), a and b are stored as
 * tsr_cuda_number(math), their rows (k, lda, ldb times the size) multiples of 16 bytes, aligned to that; the rest is TSR_DECLINED.  EXACT
 * and FP64 by multiply-adds, as above; TF32, FP16 and BF16 on Tensor Cores, FP32 sums (TF32: finite elements below 2^127).  work: of the
 * stencil's windows with tsr_cuda_stencil_most. */
int64_t tsr_cuda_stencil_most(const tsr_windows *windows, const tsr_cuda_device *device); /* sizes only: no array is read */
tsr_status tsr_cuda_sddmm_stencil(const tsr_stencil *stencil, const tsr_work *work, tsr_cuda_math math, const tsr_cuda_sddmm *product);

/* Softmax of the values of every row: y = exp(x - m) / (sum of exp(x - m) over the row), m the row's largest value.  x, y: [nvals] FP32 or
 * FP64 in the pattern's order (others: TSR_DECLINED); y may be x.  Rows with NaN or +Inf become NaN throughout, as do rows of -Inf alone.
 * Of the pattern p, nrows and nvals are used. */
tsr_status tsr_cuda_softmax_rows(void *y, const void *x, const tsr_cuda_csr *pattern, tsr_type type, void *stream);
/* The same of `scale` times x, for `count` arrays, at most 65535, each `stride` elements behind the one before. */
tsr_status tsr_cuda_softmax_batch(void *y, const void *x, int64_t count, int64_t stride, double scale, const tsr_cuda_csr *pattern, tsr_type type,
                                  void *stream);

/* ---- Attention over a pattern (kernels/cuda/sddmm/attention.cu) ---- */

/* Rows of more than `most` entries are cut: part t is entries [number * most, ...) of its row.  Arrays on the device. */
typedef struct tsr_cuda_attention_part {
    uint32_t row, number;
} tsr_cuda_attention_part;
typedef struct tsr_cuda_attention_row {
    uint32_t row, first, parts; /* its parts are first, first + 1, ... */
} tsr_cuda_attention_row;
typedef struct tsr_cuda_attention_cut {
    int64_t most, nparts, nrows;
    tsr_cuda_attention_part *parts;
    tsr_cuda_attention_row *rows;
} tsr_cuda_attention_cut;

/* Waits for the stream.  like: operands without data.  TSR_DECLINED: rows of more than 1024 bytes (256 elements where they are not whole
 * multiples of 16 bytes), or too many. */
tsr_status tsr_cuda_attention_cut_rows(tsr_cuda_attention_cut *cut, const tsr_cuda_csr *s, const tsr_attention_operands *like, void *stream);
void tsr_cuda_attention_cut_free(tsr_cuda_attention_cut *cut, void *stream);
/* Scratch for what the parts find, FP32. */
size_t tsr_cuda_attention_bytes(const tsr_cuda_attention_cut *cut, const tsr_attention_operands *like);
/* Semantics of tessera/attention.h; of the pattern p, i, nrows and nvals are used.  Data may have any alignment.  variant: 1, 2: 2 or 8 entries
 * of a group in flight, not 4; + 4: a whole warp for each row and head. */
tsr_status tsr_cuda_attention(const tsr_cuda_csr *s, const tsr_cuda_attention_cut *cut, const tsr_attention_operands *operands, void *partial,
                              int variant);
/* The same by windows of 16 rows on Tensor Cores (kernels/cuda/sddmm/attention_windows.cu).  Arrays on the device. */
typedef struct tsr_cuda_attention_windows {
    tsr_bmat blocks; /* the pattern, height 16 */
    tsr_work work;
    void *items, *steps; /* what a warp must know of each; up to 64 columns: the columns and entries of 16 columns each, else NULL */
} tsr_cuda_attention_windows;

/* FP16 or BF16, rows of up to 128 elements at multiples of 16 bytes. */
bool tsr_cuda_attention_windows_fit(const tsr_cuda_csr *s, const tsr_attention_operands *like);
/* Is this sooner than row by row?  vectors: nonzero ones of windows of 16 rows. */
bool tsr_cuda_attention_windows_pay(int64_t vectors, int64_t entries, const tsr_attention_operands *like);
/* From a pattern whose rows ascend; like: heads and their width, of the calls to come.  Waits for the stream. */
tsr_status tsr_cuda_attention_windows_make(tsr_cuda_attention_windows *out, const tsr_cuda_csr *s, const tsr_attention_operands *like,
                                           const tsr_cuda_device *device, void *stream);
void tsr_cuda_attention_windows_free(tsr_cuda_attention_windows *s, void *stream);
/* Scratch for what items of windows that are cut find, FP32. */
size_t tsr_cuda_attention_windows_bytes(const tsr_cuda_attention_windows *s, const tsr_attention_operands *like);
tsr_status tsr_cuda_attention_by_windows(const tsr_cuda_attention_windows *s, const tsr_attention_operands *operands, void *partial);
/* Gradients, as tsr_attention_backward.  columns: the pattern of the transpose; its cut.  partial: tsr_cuda_attention_backward_bytes. */
size_t tsr_cuda_attention_backward_bytes(const tsr_cuda_csr *s, const tsr_cuda_attention_cut *cut, const tsr_cuda_attention_cut *columns_cut,
                                         const tsr_attention_operands *operands);
tsr_status tsr_cuda_attention_backward(const tsr_cuda_csr *s, const tsr_cuda_attention_cut *cut, const tsr_cuda_csr *columns,
                                       const tsr_cuda_attention_cut *columns_cut, const tsr_attention_operands *operands, void *partial);

/* ---- Dense operands (kernels/cuda/convert/dense.cu) ---- */

/* dst[j*dst_ld + i] = src[i*src_ld + j], elements of 1, 2, 4, 8 or 16 bytes, aligned to that. */
tsr_status tsr_cuda_transpose(void *dst, int64_t dst_ld, const void *src, int64_t src_ld, int64_t rows, int64_t cols, int size,
                              void *stream);
/* The same from FP16 or BF16 to FP32. */
tsr_status tsr_cuda_transpose_widened(float *dst, int64_t dst_ld, const void *src, tsr_number from, int64_t src_ld, int64_t rows,
                                      int64_t cols, void *stream);
/* Copy with another leading dimension and number (FP32 -> FP16/BF16 round to nearest even, these -> FP32, or the same number). */
tsr_status tsr_cuda_convert(void *dst, tsr_number to, int64_t dst_ld, const void *src, tsr_number from, int64_t src_ld, int64_t rows,
                            int64_t cols, void *stream);
/* FP32 numbers times `scale` as FP16; and their range, for tsr_fp16_scale (kernels/cuda/common/fp16_scaling.h): range[0] (a device array, set to 0
 * by the caller) becomes at least the bits of every magnitude, range[1] of those that are not 0 with all bits turned. */
tsr_status tsr_cuda_narrow(void *dst, int64_t dst_ld, const void *src, int64_t src_ld, int64_t rows, int64_t cols, float scale,
                           void *stream);
tsr_status tsr_cuda_find_range(uint32_t *range, const void *x, int64_t ld, int64_t rows, int64_t cols, void *stream);
/* *flag (a device int, set to 0 by the caller) becomes nonzero if an element is Inf, NaN or at least `limit` in magnitude. */
tsr_status tsr_cuda_check_finite(int *flag, const void *x, tsr_number number, int64_t ld, int64_t rows, int64_t cols, double limit,
                                 void *stream);

/* ---- Values (tessera/values.h): elementwise steps and reductions (kernels/cuda/elementwise/elementwise.cu, reduce.cu) ---- */

/* One step; bits as those of the C twin (kernels/ref/step.c) but for the payload of a NaN.  Arrays are 16-byte aligned.
 * TSR_DECLINED: SQRT of integers. */
tsr_status tsr_cuda_ewise(const tsr_ewise *step, const tsr_ewise_arrays *arrays, const tsr_cuda_device *device, void *stream);

typedef struct tsr_cuda_reduced {
    uint64_t scalar; /* its bytes, first in memory; 0 without an entry */
    uint64_t any;    /* 0/1 */
} tsr_cuda_reduced;

/* *result (device) = all entries present, joined by op.  FP32 and FP64 sums and products are formed in FP64, sums of FP64 with what they
 * lose; ANY is the first.  scratch: tsr_cuda_reduce_bytes.  TSR_DECLINED: EQ but of BOOL. */
size_t tsr_cuda_reduce_bytes(int64_t count, const tsr_cuda_device *device);
tsr_status tsr_cuda_reduce(tsr_cuda_reduced *result, void *scratch, tsr_type type, tsr_reduce_op op, const tsr_elements *elements,
                           int64_t count, const tsr_cuda_device *device, void *stream);

/* *total (device) = ones in [count] bytes 0/1, 16-byte aligned. */
tsr_status tsr_cuda_count_ones(int64_t *total, const int8_t *present, int64_t count, const tsr_cuda_device *device, void *stream);

/* present (rows x columns, without padding) = 1 in rows that have entries: offsets [rows+1]. */
tsr_status tsr_cuda_mark_rows(int8_t *present, const int64_t *offsets, int64_t rows, int64_t columns, bool by_col,
                              const tsr_cuda_device *device, void *stream);

/* ---- Converters (kernels/cuda/convert*.cu): from CSR on the device, bitwise the result of src/format; `in` lies on the device ---- */

/* Arrays are allocated on the device; free with the matching _free.  Each waits for the stream.  Scratch is freed before return. */
tsr_status tsr_cuda_make_me_tcf(tsr_me_tcf *out, const tsr_source *in, void *stream);
tsr_status tsr_cuda_make_me_bcrs(tsr_me_bcrs *out, const tsr_source *in, int width, double iso, void *stream);
tsr_status tsr_cuda_make_bmat(tsr_bmat *out, const tsr_source *in, int height, void *stream);
tsr_status tsr_cuda_make_hrpb(tsr_hrpb *out, const tsr_source *in, int height, void *stream);
tsr_status tsr_cuda_make_panel(tsr_panel *out, const tsr_source *in, int height, int width, double iso, void *stream);
tsr_status tsr_cuda_make_stencil(tsr_stencil *out, const tsr_source *in, void *stream); /* in->x is not looked at */
/* mask: that of a BMat (two words a block at height 16), for work->entry; NULL: work->entry is NULL, the format has offsets of its own. */
tsr_status tsr_cuda_make_work(tsr_work *out, const tsr_windows *windows, const uint64_t *mask, int64_t most, void *stream);
/* The same without items for windows that have no block: their rows of C are not written. */
tsr_status tsr_cuda_make_work_part(tsr_work *out, const tsr_windows *windows, const uint64_t *mask, int64_t most, void *stream);
void tsr_cuda_free_me_tcf(tsr_me_tcf *a, void *stream);
void tsr_cuda_free_me_bcrs(tsr_me_bcrs *a, void *stream);
void tsr_cuda_free_bmat(tsr_bmat *a, void *stream);
void tsr_cuda_free_hrpb(tsr_hrpb *a, void *stream);
void tsr_cuda_free_panel(tsr_panel *a, void *stream);
void tsr_cuda_free_stencil(tsr_stencil *a, void *stream);
void tsr_cuda_free_work(tsr_work *work, void *stream);

/* Orders of rows (src/format/order/row_order.h; kernels/cuda/order*.cu), bitwise those of src/format.  order: [nrows], written.
 * TSR_INVALID_VALUE: NONE, AUTO.  TSR_NOT_SUPPORTED: 2^32 rows or columns. */
tsr_status tsr_cuda_make_order(uint32_t *order, const tsr_source *in, tsr_reorder which, void *stream);
/* Row r of out = row rows[r] of in, r < n.  out's arrays are allocated: tsr_cuda_free_source.  Waits for the stream. */
tsr_status tsr_cuda_take_rows(tsr_source *out, const tsr_source *in, const uint32_t *rows, int64_t n, void *stream);
void tsr_cuda_free_source(tsr_source *source, void *stream);
/* The same of values of value_size bytes (0: none); rows may repeat.  out->p, i and x are allocated. */
tsr_status tsr_cuda_take_rows_of(tsr_cuda_csr *out, const tsr_cuda_csr *in, const uint32_t *rows, int64_t n, int value_size, void *stream);
/* list[k] = first + k * step, p[k] = k; k < count. */
tsr_status tsr_cuda_number_list(uint32_t *list, int64_t first, int64_t step, int64_t count, void *stream);
tsr_status tsr_cuda_number_offsets(int64_t *p, int64_t count, void *stream);
/* to[k] = from[k], indices of 4 or 8 bytes each; both have `count`. */
tsr_status tsr_cuda_copy_indices(void *to, int to_size, const void *from, int from_size, int64_t count, void *stream);
/* Nonzero vectors for an entry at heights 8, 16, 32, 64, 128, in a sample of the rows in this order (NULL: their own) -> host array, for
 * tsr_order_pays. */
tsr_status tsr_cuda_sample_vectors(double vectors[5], const tsr_source *in, const uint32_t *order, void *stream);
/* That sample as a matrix of its own, without values: tsr_cuda_free_source. */
tsr_status tsr_cuda_sample_rows(tsr_source *out, const tsr_source *in, const uint32_t *order, void *stream);

/* The other orientation, and sorting: out is CSR of the transpose of `in` (in->x of element_size bytes, may be NULL), in entry order stable.
 * Arrays p, i, x are allocated.  in's rows need not be sorted (jumbled): transposing twice sorts. */
tsr_status tsr_cuda_flip(tsr_cuda_csr *out, const tsr_cuda_csr *in, int element_size, void *stream);

/* Nonzero vectors at heights 8, 16, 32, 64, 128 -> host array. */
tsr_status tsr_cuda_count_vectors(int64_t vectors[5], const tsr_source *in, void *stream);
/* tsr_count_degrees -> host struct. */
tsr_status tsr_cuda_count_degrees(tsr_degrees *out, const tsr_source *in, int64_t most, void *stream);
/* Every row window of this height (8, 16, 32 or 64) -> host array [windows]. */
tsr_status tsr_cuda_count_windows(tsr_window_count *windows, const tsr_source *in, int height, void *stream);

#ifdef __cplusplus
}
#endif

#endif
