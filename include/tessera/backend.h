/* What one product is, and what a backend (CPU, CUDA plug-in) promises.
 * Plain C data only: no GraphBLAS handle, no CUDA type.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESSERA_BACKEND_H
#define TESSERA_BACKEND_H

#include "tessera/tessera.h"
#include "tessera/values.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TSR_BACKEND_API_VERSION 22

/* Internal status: "I do not do this one, route it elsewhere". Never returned to a caller of the library. */
#define TSR_DECLINED ((tsr_status)1)

typedef enum tsr_format { TSR_SPARSE, TSR_HYPERSPARSE, TSR_BITMAP, TSR_FULL } tsr_format;

/* In which order a representation may hold the rows of its matrix (src/format/order/row_order.h); never visible outside.  AUTO: in another one
 * where that pays. */
typedef enum tsr_reorder {
    TSR_REORDER_NONE, TSR_REORDER_AUTO, TSR_REORDER_LPA, TSR_REORDER_TCA, TSR_REORDER_LOA
} tsr_reorder;

/* A read-only look at one matrix held in somebody's arrays (those of SuiteSparse, of the native caller, or of a
 * representation). A vector is a matrix of one column (nrows x 1, by_col = true).
 *
 * "Vectors" are the rows (by_col = false) or the columns (by_col = true).
 *   SPARSE       p[nvec+1], i[nvals], nvec = number of vectors of the matrix, h = NULL
 *   HYPERSPARSE  the same with h[nvec]: the names of the vectors that are present, ascending
 *   BITMAP       b[nvec*vlen] in {0,1}; vector-major (row-major if !by_col), leading dimension ld (= vlen from SuiteSparse)
 *   FULL         as BITMAP, every entry present, b = NULL
 * Indices inside a vector ascend, except when jumbled.  x holds nvals values (one if iso, may then be read by
 * everybody as x[0]); sparse: in the order of i; bitmap and full: in place.  x = NULL means pattern only: the
 * product does not look at values. */
typedef struct tsr_view {
    tsr_format format;
    tsr_type type;
    bool by_col;
    bool iso;
    bool jumbled;
    uint8_t index_size; /* bytes of one element of i: 4 (uint32_t) or 8 (int64_t) */
    bool narrow_offsets; /* elements of p are uint32_t, whatever i has: of matrices of GraphBLAS 10, never of native ones
                          * and of representations */
    int64_t nrows, ncols;
    int64_t nvec;  /* vectors stored: rows or columns; the number present if hypersparse */
    int64_t vlen;  /* length of each vector */
    int64_t ld;    /* bitmap and full: elements between the starts of two vectors */
    int64_t nvals; /* entries; an upper bound is not allowed */
    const int64_t *p;
    const int64_t *h;
    const int8_t *b;
    const void *i;
    const void *x;
} tsr_view;

/* One product in normal form.  The engine has already: swapped operands so that the sparse one is `a` (and mul with it:
 * FIRST <-> SECOND), resolved transposes by turning by_col over, and made a, b of type semiring.type (or pattern / iso; but
 * see `holds`).
 * mask: SDDMM and MASKED_DOT; its values count unless mask_structural (an entry whose value is false is then not
 * computed).  Sparse times sparse: there is none if it has no rows; a bitmap or full one is held as C. */
typedef struct tsr_product {
    tsr_op op;
    tsr_semiring semiring;
    int64_t m, n, k;
    tsr_view a, b, mask;
    bool mask_structural;
    bool c_by_col; /* orientation wanted for a dense C; a sparse C always has the mask's */
    bool mask_complement; /* sparse times sparse: what the mask has is not computed */
    int nthreads;  /* >= 1: the most threads the caller allows */

    /* What the product need not say to be computed; all zero: nothing is kept, exact, unknown. */
    void **a_slot;           /* where the backend may keep its own forms of A between calls; NULL: it may not */
    bool a_transposed;       /* `a` shows the matrix that the slot belongs to transposed */
    void **b_slot, **mask_slot; /* MASKED_DOT and SDDMM: likewise for B and the mask; the same slot where it is the same matrix */
    bool b_transposed;       /* the mask is never shown transposed */
    void *a_value, *b_value; /* dense operands that the backend keeps (tessera/values.h): then the view's x and b are NULL */
    tsr_precision precision; /* arithmetic allowed for FP32 plus_times */
    double expected_calls;   /* products of this kind with this A still to come; 0: unknown */
    const char *kernel;      /* TESSERA_KERNEL, a wish; NULL or "": the backend chooses */
    tsr_reorder reorder;     /* of the rows of A */
} tsr_product;

/* ---- what every layer asks of a product ---- */

static inline bool tsr_mul_reads_a(tsr_mul mul) { return mul != TSR_MUL_SECOND && mul != TSR_MUL_PAIR; }
static inline bool tsr_mul_reads_b(tsr_mul mul) { return mul != TSR_MUL_FIRST && mul != TSR_MUL_PAIR; }
static inline bool tsr_reads_a(const tsr_product *p) { return tsr_mul_reads_a(p->semiring.mul); }
static inline bool tsr_reads_b(const tsr_product *p) { return tsr_mul_reads_b(p->semiring.mul); }
static inline bool tsr_is_masked(tsr_op op) { return op == TSR_OP_SDDMM || op == TSR_OP_MASKED_DOT; }
/* SPMM of a full A: nothing is sparse. */
static inline bool tsr_is_dense_product(const tsr_product *p) { return p->op == TSR_OP_SPMM && p->a.format == TSR_FULL; }
static inline bool tsr_is_compressed(const tsr_view *v) { return v->format == TSR_SPARSE || v->format == TSR_HYPERSPARSE; }
/* Sparse times sparse (tsr_backend_sparse); op says nothing then. */
static inline bool tsr_is_sparse_product(const tsr_product *p)
{
    return !tsr_is_masked(p->op) && tsr_is_compressed(&p->a) && tsr_is_compressed(&p->b);
}

/* Of sparse times sparse.  What only a device has shows no p. */
static inline bool tsr_has_mask(const tsr_product *p) { return p->mask.nrows > 0; }

/* mul (y, x) of mul (x, y). */
static inline tsr_mul tsr_mul_swapped(tsr_mul mul)
{
    return mul == TSR_MUL_FIRST ? TSR_MUL_SECOND : mul == TSR_MUL_SECOND ? TSR_MUL_FIRST : mul;
}

/* The same arrays seen as the transpose. */
static inline tsr_view tsr_view_transposed(tsr_view v)
{
    int64_t rows = v.nrows;
    v.nrows = v.ncols;
    v.ncols = rows;
    v.by_col = !v.by_col;
    return v;
}

/* C' = B' A'. */
static inline tsr_product tsr_product_turned(const tsr_product *p)
{
    tsr_product t = *p;
    t.c_by_col = !p->c_by_col;
    t.semiring.mul = tsr_mul_swapped(p->semiring.mul);
    t.m = p->n;
    t.n = p->m;
    t.a = tsr_view_transposed(p->b);
    t.b = tsr_view_transposed(p->a);
    t.mask = tsr_view_transposed(p->mask);
    t.a_slot = p->b_slot;
    t.b_slot = p->a_slot;
    t.a_value = p->b_value;
    t.b_value = p->a_value;
    t.a_transposed = !p->b_transposed;
    t.b_transposed = !p->a_transposed;
    return t;
}

/* A masked product with its mask by row. */
static inline tsr_product tsr_product_by_row(const tsr_product *p)
{
    return p->mask.by_col ? tsr_product_turned(p) : *p;
}

/* The values that are read are there, in the semiring's type. */
static inline bool tsr_values_fit(const tsr_product *p)
{
    tsr_type type = p->semiring.type;
    return (!tsr_reads_a(p) || ((p->a.x || p->a_value) && p->a.type == type)) &&
           (!tsr_reads_b(p) || ((p->b.x || p->b_value) && p->b.type == type));
}

/* On bool there are two monoids. */
static inline bool tsr_monoid_fits(tsr_semiring s) { return s.type != TSR_BOOL || s.add == TSR_ADD_LOR || s.add == TSR_ADD_ANY; }

/* Where a product goes.  All arrays belong to the caller and are large enough.
 *   dense C   x: m*n values in c_by_col order, no padding.  b: m*n bytes written 0/1, or NULL when the caller knows
 *             that every entry is present (then b need not be computed).  x at absent places is unspecified but written.
 *   masked C  x: one value per entry of the mask, in the mask's order.  b: the same, 1 where the entry exists
 *             (the intersection is not empty and the mask lets it pass); never NULL.
 * c     SPMV or SPMM of a backend that `joins`: a full C of the semiring's type, or one value of it (c_iso): x, which may be
 *           C's, becomes C (+) T, which is full; b is NULL.  A failure leaves C as it was.
 * nvals: entries present, set by the backend.  kernel (static storage) and bytes_moved (between host and device) are for the
 * trace; a backend that leaves kernel NULL is asked for its kernel_name.
 * With may_stay a backend may leave the result where it was computed: then `stays` is not NULL, and nothing is written to x and b.
 * Of a masked product, `total` is the number of products over all entries then (of a count of pairs: the sum of C).  A dense C stays
 * as a value (tessera/values.h); with may_keep the result is downloaded as ever, and a value of it may stay as well.
 * With `compressed` a masked product has no other result than compressed contents (tessera/compressed.h), by the vectors of the mask. */
typedef struct tsr_result {
    void *x;
    int8_t *b;
    const void *c;
    bool c_iso;
    int64_t nvals;
    const char *kernel;
    int64_t bytes_moved;
    bool may_stay, may_keep, compressed;
    void *stays;
    bool counted; /* of compressed contents `total` is known */
    uint64_t total;
    int built, evicted; /* representations that a backend made for this product, and gave up for their room; for the trace */
} tsr_result;

struct tsr_device_entries;

/* C = A B of two compressed operands, perhaps under a compressed mask, held as c_by_col says.  A and B are of the semiring's type, iso or patterns; their slots
 * count.  C(i,j) is there wherever a product is formed and the mask lets it pass (kernels/spgemm.h); indices ascend in each vector. */
typedef struct tsr_sparse_result {
    bool pattern;        /* only the structure is wanted: values are neither read nor written */
    bool compressed;     /* what is made is compressed contents (tessera/compressed.h), by the vectors of C.  TSR_DECLINED: C finds no room */
    bool comes_again;    /* `again` will be called: what helps then may be kept, within the memory allowed */
    const void *a_values, *b_values; /* in device memory, in the place of those of the views; NULL: those.  TSR_DECLINED: of views that are not by
                          * row of the product, or whose indices do not ascend */
    void *stream;        /* with which they were written: what is queued waits for it; NULL, too, if none of the two is given */
    int device;          /* where, as tsr_backend_device.which counts; 0: that of the options */
    int64_t nvals;       /* set by `multiply` */
    const char *kernel;  /* as in tsr_result */
    int64_t bytes_moved; /* grows by what `multiply` moved */
} tsr_sparse_result;

/* `multiply` finds out how large C is, which the backend's `contents` download and drop.  Status as for execute; operands and slots must stay
 * until then. */
typedef struct tsr_backend_sparse {
    bool (*supports)(const tsr_product *product); /* as of tsr_backend */
    tsr_status (*multiply)(void **c, const tsr_product *product, tsr_sparse_result *result); /* *c = NULL after a failure */
    /* Optional.  Other values of operands with the same patterns, for C that came of `comes_again`: its values are those of this product then.
     * TSR_DECLINED, or a failure: what C has is not defined, and it can only be dropped. */
    tsr_status (*again)(void *c, const tsr_product *product, tsr_sparse_result *result);
    /* Optional.  C to arrays in device memory (tessera/device.h).  TSR_DECLINED: C has no arrays there. */
    tsr_status (*place)(void *c, const struct tsr_device_entries *to);
} tsr_backend_sparse;

/* What `measure` found out.  Times in ms, the best of several. */
typedef struct tsr_measured {
    double ms;          /* one product, B and C in the backend's own memory */
    double build_ms;    /* making the representation from A as it came; 0: it was there */
    const char *kernel; /* what computed it; static storage */
    char device[64];    /* "NVIDIA H200" */
    int arch;           /* 90: compute capability 9.0 */
} tsr_measured;

struct tsr_host_ewise;
struct tsr_few_kernels;
struct tsr_selection_kernels;
struct tsr_build_kernels;
struct tsr_spgemm_kernels;
struct tsr_backend_device;
struct tsr_backend_compressed;
struct tsr_attention_operands;
struct tsr_half_spmm;
struct tsr_complex_spmm;
struct tsr_function_product;
struct tsr_kronecker;
struct tsr_kronecker_c;

/* What the CPU backend does with arrays of the host beside products (kernels/kernels.h); none of it fails. */
typedef struct tsr_backend_host {
    void (*add_to)(void *x, tsr_type type, const void *c, bool iso, int64_t n, int nthreads);
    int64_t (*ewise)(const struct tsr_host_ewise *step, int nthreads);
    bool (*sums)(const tsr_sums *sums, void *result, int nthreads);
    int64_t (*list_sums)(const tsr_sums *sums, const tsr_view *a, int8_t *present, void *result, int nthreads);
    void (*softmax_rows)(void *y, const void *x, const int64_t *p, int64_t nrows, tsr_type type, int nthreads);
    tsr_status (*spmm_half)(const struct tsr_half_spmm *product);
    tsr_status (*spmm_complex)(const struct tsr_complex_spmm *product); /* kernels/complex.h */
    tsr_status (*attention)(const tsr_view *s, const struct tsr_attention_operands *operands, int nthreads);
    tsr_status (*attention_backward)(const tsr_view *s, const tsr_view *columns, const struct tsr_attention_operands *operands, int nthreads);
    bool (*function_product_takes)(const struct tsr_function_product *product); /* kernels/function_product.h */
    int64_t (*function_product)(const struct tsr_function_product *product, int8_t *present, void *t);
    tsr_status (*kronecker)(const struct tsr_kronecker *product, const struct tsr_kronecker_c *c); /* kernels/kronecker.h */
    const struct tsr_few_kernels *few;             /* kernels/sparse_vectors.h */
    const struct tsr_selection_kernels *selection; /* kernels/selection.h */
    const struct tsr_build_kernels *build;         /* kernels/build.h */
    const struct tsr_spgemm_kernels *spgemm;       /* kernels/spgemm.h */
} tsr_backend_host;

/* A backend.  `supports` is cheap (no allocation, no device work) and honest; `execute` may still return TSR_DECLINED,
 * TSR_OUT_OF_MEMORY or TSR_INTERNAL_ERROR: the product is then computed elsewhere, the inputs being untouched.  After
 * TSR_INTERNAL_ERROR a plug-in is not asked again in this process.  Any thread may call any function at any time.
 *
 * Slots.  *a_slot begins as NULL and is the backend's.  A slot belongs to one version of one matrix: after a write to the matrix
 * products have another slot, so what is found in a slot is never stale.  Of one matrix the slot sees products of several
 * types, with and without values, and of both orientations (a_transposed): the backend tells them apart.  The slot stays while
 * a product with it executes; when no product can have it any more, release (*a_slot) is called once, unless it is NULL. */
typedef struct tsr_backend {
    int api_version; /* TSR_BACKEND_API_VERSION */
    const char *name;
    bool (*supports)(const tsr_product *product);
    tsr_status (*execute)(const tsr_product *product, tsr_result *result);
    const char *(*kernel_name)(const tsr_product *product); /* for the trace; static storage */
    /* Optional (NULL: false, nothing to do).  holds: the slots have all that execute needs of the sparse operands.  Values are
     * then not cast before: should they be needed after all (a representation was evicted meanwhile) and be of another type
     * than the semiring's, execute returns TSR_DECLINED, and is called again with everything. */
    bool (*holds)(const tsr_product *product);
    void (*release)(void *kept);
    /* Optional.  Time a product (sparse x full) with operands that stay where the backend computes: b.x is not looked at, its place
     * is taken by numbers of the backend's own, and there is no result.  a_slot is needed: what was uploaded is found again.
     * Status as for execute. */
    tsr_status (*measure)(const tsr_product *product, tsr_measured *measured);
    /* Optional.  pin: the device may read and write the block directly from now on (its pages are locked); false: it may not, and
     * nothing has changed.  Until unpin the block must be neither freed nor moved, and the process must not fork.  A block is pinned
     * once; unpin waits for the product that executes. */
    bool (*pin)(void *block, size_t bytes);
    void (*unpin)(void *block);
    const tsr_backend_contents *contents; /* optional: contents that stay; needed by arrays, by sparse, and where result->stays is set */
    const tsr_backend_arrays *arrays; /* optional: what is done with dense values */
    /* Optional, for the trace.  times: what calls of this thread have put on the device since it was last asked; NULL: nothing, or times were not
     * asked for when the backend was loaded.  elapsed: the ms that the device took for it, once: then `times` is gone.  Negative: not done
     * yet (never with `wait`), ask again; NaN: nobody knows.  Any thread. */
    void *(*times)(void);
    double (*elapsed)(void *times, bool wait);
    const tsr_backend_host *host; /* the CPU backend's; of others NULL */
    bool (*joins)(const tsr_product *product); /* optional: result->c is taken for it */
    const tsr_backend_sparse *sparse; /* optional: sparse times sparse (then `holds` answers for such products, too) */
    const struct tsr_backend_device *device; /* optional: operands in device memory (tessera/device.h) */
    const struct tsr_backend_compressed *compressed; /* optional: sparse contents that stay (tessera/compressed.h) */
} tsr_backend;

/* What a plug-in is told once. */
typedef struct tsr_backend_options {
    int device;           /* TESSERA_DEVICE */
    size_t device_memory; /* TESSERA_DEVICE_MEMORY: most bytes to use on the device; 0: its own choice */
    bool timed;           /* `times` will be asked */
    bool beside;          /* nobody waits: what the first products will need is made now as well */
    void *openmp;         /* a handle of dlopen: its OpenMP runtime is to be used (src/base/openmp.h); NULL: its own */
    const struct tsr_model *model; /* of TESSERA_MODEL (src/policy/model/model.h), stays; NULL: the built-in one for the device at hand */
} tsr_backend_options;

/* A plug-in exports two functions of these types, tsr_backend_init and tsr_backend_score.  score: 0 = unusable on this machine
 * (asked first). */
typedef const tsr_backend *(*tsr_backend_init_fn)(const tsr_backend_options *options);
typedef int (*tsr_backend_score_fn)(const tsr_backend_options *options);

#ifdef __cplusplus
}
#endif

#endif
