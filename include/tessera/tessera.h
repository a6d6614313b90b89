/* Tessera: sparse products on Tensor Cores, CUDA cores and CPUs.
 *
 * Native interface, in the create -> inspect -> execute shape of the Sparse BLAS proposal (arXiv 2411.13259, sections 3
 * and 4):
 *
 *     tsr_sparse_create_csr   describe a sparse matrix held in the caller's arrays (or copied)
 *     tsr_sparse_hint         say what will be done with it
 *     tsr_plan_create         decide how; tsr_plan_explain, _bytes, _predicted_ms tell what was decided
 *     tsr_execute             compute, as often as wanted
 *
 * Conventions.  Sizes and offsets count elements, not bytes; indices start at 0 unless a field says 1; times are milliseconds.  Functions
 * return a tsr_status, and write their outputs only when it is TSR_OK unless they say otherwise.  One plan or matrix
 * may be used by several threads at the same time, but for the functions that say "exclusive".  Programs need no call
 * to begin or end using the library.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESSERA_H
#define TESSERA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define TSR_PUBLIC
#else
#define TSR_PUBLIC __attribute__((visibility("default")))
#endif

#define TESSERA_VERSION_MAJOR 0
#define TESSERA_VERSION_MINOR 1
#define TESSERA_VERSION_PATCH 0

/* ---- Status ---- */

/* Result of every native call. Negative: error. */
typedef enum tsr_status {
    TSR_OK = 0,
    TSR_INVALID_VALUE = -1,      /* a null pointer, a negative size, an unknown enumerator, unsorted offsets */
    TSR_DIMENSION_MISMATCH = -2, /* operand shapes do not fit together */
    TSR_OUT_OF_MEMORY = -3,
    TSR_NOT_SUPPORTED = -4, /* valid, but no backend computes it */
    TSR_IO_ERROR = -5,      /* a file cannot be read or is not what it says */
    TSR_INTERNAL_ERROR = -6
} tsr_status;

/* One readable phrase, static storage; never NULL, whatever the number. */
TSR_PUBLIC const char *tsr_status_string(tsr_status status);

/* What was wrong with the last call of this thread that did not return TSR_OK: one sentence that names the argument and its value.  "" before
 * the first one.  Valid until the thread's next call of this library; never NULL. */
TSR_PUBLIC const char *tsr_last_error(void);

/* Who gets the warnings that otherwise go to stderr (one line each, without prefix and newline), and the sentence of every call that fails.
 * Any thread may call it, under a lock of the library: it must not call the library.  NULL: stderr, and no failed calls. */
typedef void (*tsr_log_function)(void *context, const char *message);
TSR_PUBLIC void tsr_set_log(tsr_log_function log, void *context);

/* Most threads that a call may use, for the whole process; 0, as it is at first: as many as OpenMP gives (OMP_NUM_THREADS).
 * TSR_INVALID_VALUE: negative. */
TSR_PUBLIC tsr_status tsr_set_threads(int threads);

/* Version of the library that is running, "major.minor.patch"; static storage. */
TSR_PUBLIC const char *tsr_version(void);

/* Set one option of the configuration ("mode", "min_work", "trace", "verbose", ... see docs) for the whole process, as
 * the environment variable TESSERA_<NAME> would; later products see it.
 * TSR_INVALID_VALUE: unknown name, wrong value or a null pointer, nothing changed.  TSR_OUT_OF_MEMORY. */
TSR_PUBLIC tsr_status tsr_set_option(const char *name, const char *value);

/* ---- Types and semirings ---- */

/* Element types: the eleven built-in types of the GraphBLAS C API, in its order. */
typedef enum tsr_type {
    TSR_BOOL,
    TSR_INT8,
    TSR_INT16,
    TSR_INT32,
    TSR_INT64,
    TSR_UINT8,
    TSR_UINT16,
    TSR_UINT32,
    TSR_UINT64,
    TSR_FP32,
    TSR_FP64
} tsr_type;
#define TSR_TYPE_COUNT 11

/* Types in which numbers may be stored where a function says so (tessera/attention.h); nothing is computed in them.  IEEE 754 binary16, and
 * the upper half of an FP32 number. */
#define TSR_FP16 ((tsr_type)11)
#define TSR_BF16 ((tsr_type)12)

/* Complex numbers: two of FP32 or FP64, real part first, as C99's float _Complex and double _Complex.  Only plus_times, in SpMM, SpMV and
 * sparse times sparse, whose operands then are all of the type.  (a + bi) (c + di) is computed as (ac - bd) + (ad + bc) i. */
#define TSR_FC32 ((tsr_type)13)
#define TSR_FC64 ((tsr_type)14)

/* A complex scalar; of FP32 numbers it is rounded. */
typedef struct tsr_complex {
    double re, im;
} tsr_complex;

/* Additive monoids. On TSR_BOOL only TSR_LOR and TSR_ANY exist. */
typedef enum tsr_add { TSR_ADD_PLUS, TSR_ADD_MIN, TSR_ADD_MAX, TSR_ADD_ANY, TSR_ADD_LOR } tsr_add;
#define TSR_ADD_COUNT 5

/* Multiplicative operators z = mul (a, b). PAIR is also called ONEB. AND is logical: (a != 0) && (b != 0). */
typedef enum tsr_mul { TSR_MUL_TIMES, TSR_MUL_FIRST, TSR_MUL_SECOND, TSR_MUL_PAIR, TSR_MUL_PLUS, TSR_MUL_AND } tsr_mul;
#define TSR_MUL_COUNT 6

typedef struct tsr_semiring {
    tsr_type type; /* of both inputs of mul, of its result and of the monoid */
    tsr_add add;
    tsr_mul mul;
} tsr_semiring;

/* plus_times of a type; of TSR_BOOL lor_and. */
TSR_PUBLIC tsr_semiring tsr_default_semiring(tsr_type type);

/* Arithmetic allowed for FP32 products. EXACT: at least as accurate as adding one by one in FP32. The others allow
 * Tensor Cores to round the inputs; sums are FP32 always.  The CPU is always exact. */
typedef enum tsr_precision {
    TSR_PRECISION_EXACT,
    TSR_PRECISION_TF32,
    TSR_PRECISION_BF16,
    TSR_PRECISION_FP16
} tsr_precision;

/* Products.  (+) and (.) are those of the semiring; op(A) is A or its transpose. */
typedef enum tsr_op {
    TSR_OP_SPMM,       /* C (m x n, dense) = op(A) (m x k, sparse) (+).(.) B (k x n, dense) */
    TSR_OP_SPMV,       /* the same with n = 1 */
    TSR_OP_SDDMM,      /* C (pattern of S) = X (m x k, dense) (+).(.) Y (k x n, dense), only at the entries of S */
    TSR_OP_MASKED_DOT  /* C (subset of the pattern of M) = A (m x k, sparse) (+).(.) B (k x n, sparse); drop-in only */
} tsr_op;
#define TSR_OP_COUNT 4

/* ---- Dense operands ---- */

typedef enum tsr_layout { TSR_ROW_MAJOR, TSR_COL_MAJOR } tsr_layout;

/* Where an array is.  DEVICE: memory of a CUDA device, from cudaMalloc, cudaMallocAsync or a library of the program's own. */
typedef enum tsr_memory_space { TSR_MEMORY_HOST, TSR_MEMORY_DEVICE } tsr_memory_space;

/* A dense matrix in the caller's memory; the caller owns everything.  Element (r, c) is at data[r * ld + c] if
 * row-major, at data[c * ld + r] if column-major; ld >= ncols (nrows).  A vector is nrows x 1: column-major for
 * consecutive elements, or row-major with ld as stride. */
typedef struct tsr_dense {
    void *data;
    tsr_type type;
    tsr_layout layout;
    int64_t nrows, ncols;
    int64_t ld;
    tsr_memory_space memory; /* of data */
} tsr_dense;

/* ---- Sparse matrices ---- */

/* A sparse matrix, opaque.  Its shape and pattern do not change while it lives. */
typedef struct tsr_sparse tsr_sparse;

/* Width of offsets and indices.  32: uint32_t, or int32_t without negative values. 64: int64_t. */
typedef enum tsr_index_type { TSR_INDEX_32, TSR_INDEX_64 } tsr_index_type;

/* Flags of tsr_sparse_create_* */
enum {
    TSR_COPY = 1,     /* copy all arrays; else they are only looked at and must live as long as the matrix */
    TSR_UNCHECKED = 2 /* trust the arrays: offsets rise from index_base, indices are in range and ascend in each vector */
};

/* The arrays of a compressed matrix. */
typedef struct tsr_arrays {
    tsr_index_type index_type; /* of offsets and indices */
    const void *offsets;       /* vectors + 1 elements, which rise from index_base by the number of entries */
    const void *indices;       /* one per entry; any order inside a vector, no duplicates */
    tsr_type type;             /* of values */
    const void *values;        /* one per entry; NULL: every value is 1 */
    tsr_memory_space memory;         /* of the three arrays.  DEVICE: copied to the host, after what is queued on the device */
    int index_base;            /* what offsets and indices count from: 0, or 1, with which both are copied; values are looked at all the same */
} tsr_arrays;

/* Describe a matrix held by rows: offsets has nrows + 1 elements, indices are columns.  Nothing is built or converted
 * before the first product (32-bit offsets are: 8 bytes a row).  Checking reads offsets and indices once: O(nrows +
 * entries); indices that do not ascend a second time, to see that none comes twice in a vector.
 * *out belongs to the caller: tsr_sparse_destroy.
 * TSR_INVALID_VALUE: null pointer, size negative or over 2^60 (2^32 with 32-bit indices), unknown enumerator or flag,
 * first offset not index_base, falling offsets, index out of range or twice in one vector.  TSR_NOT_SUPPORTED: device memory, and no GPU that can be used.
 * TSR_OUT_OF_MEMORY. */
TSR_PUBLIC tsr_status tsr_sparse_create_csr(tsr_sparse **out, int64_t nrows, int64_t ncols, const tsr_arrays *arrays,
                                            unsigned flags);

/* The same for a matrix held by columns: offsets has ncols + 1 elements, indices are rows. */
TSR_PUBLIC tsr_status tsr_sparse_create_csc(tsr_sparse **out, int64_t nrows, int64_t ncols, const tsr_arrays *arrays,
                                            unsigned flags);

/* Entries in any order, none twice. */
typedef struct tsr_coordinates {
    tsr_index_type index_type; /* of rows and columns */
    int64_t nvals;
    const void *rows, *columns;
    tsr_type type;
    const void *values; /* NULL: every value is 1 */
    tsr_memory_space memory; /* of the three arrays */
    int index_base;          /* what rows and columns count from: 0 or 1 */
} tsr_coordinates;

/* Blocks of height x width values, held by rows of blocks.  Every place of a block is an entry, zeros too. */
typedef struct tsr_blocks {
    tsr_index_type index_type; /* of offsets and indices */
    int64_t height, width;     /* divide the size of the matrix */
    const void *offsets;       /* rows of blocks + 1 elements, which rise from index_base by the number of blocks */
    const void *indices;       /* columns of blocks, one per block; any order inside a row, no duplicates */
    tsr_type type;
    const void *values;        /* one block after the other; NULL: every value is 1 */
    tsr_layout layout;         /* of the values of one block */
    tsr_memory_space memory;   /* of the three arrays */
    int index_base;            /* what offsets and indices count from: 0 or 1 */
} tsr_blocks;

/* A matrix from coordinates or from blocks.  The arrays are copied, to a matrix held by rows; entries of a row are in the order in which they
 * were given, which is that of the values of an SDDMM.  The rest as for tsr_sparse_create_csr.
 * TSR_INVALID_VALUE: a row or column out of range, height or width that do not divide the size, more than 2^32 - 1 entries with 32-bit
 * indices, too. */
TSR_PUBLIC tsr_status tsr_sparse_create_coo(tsr_sparse **out, int64_t nrows, int64_t ncols, const tsr_coordinates *entries);
TSR_PUBLIC tsr_status tsr_sparse_create_bsr(tsr_sparse **out, int64_t nrows, int64_t ncols, const tsr_blocks *blocks);

/* Shape and number of entries; any of the pointers may be NULL. TSR_INVALID_VALUE: a is NULL. */
TSR_PUBLIC tsr_status tsr_sparse_size(const tsr_sparse *a, int64_t *nrows, int64_t *ncols, int64_t *nvals);

/* The caller changed the values he gave (no TSR_COPY): everything built from them is dropped, and made again by the next execution, which
 * waits for that, but for plans in device memory whose kernel is csr: from then on they read values of the semiring's type, held by row, indices
 * ascending, where they are in device memory, in the order of the stream, and do not wait.  Exclusive.
 * TSR_INVALID_VALUE: a is NULL, or holds copies. */
TSR_PUBLIC tsr_status tsr_sparse_values_changed(tsr_sparse *a);

/* The same for values at another place, of the type and in the memory of those before, which are looked at from now on.  Exclusive.
 * TSR_INVALID_VALUE: a or values is NULL, a holds copies, or was made without values. */
TSR_PUBLIC tsr_status tsr_sparse_set_values(tsr_sparse *a, const void *values);

/* What the matrix will be used for: products `op` with n columns of B (inner size of X and Y for SDDMM), expected_calls
 * of them (0: unknown; a number lets the library build representations at once that pay only over many calls), the
 * arithmetic allowed, and whether the same call must give the same bits every time.  Later plans look at it; the last
 * hint for an op counts.  Exclusive.
 * TSR_INVALID_VALUE: a is NULL, unknown enumerator, n or expected_calls negative or not a number. */
TSR_PUBLIC tsr_status tsr_sparse_hint(tsr_sparse *a, tsr_op op, int64_t n, double expected_calls,
                                      tsr_precision precision, bool deterministic);

/* An order of the rows in which those that share columns are near each other: row order[r] comes at place r; nrows elements.  By sampled
 * label propagation, in O(nrows + ncols + entries); the same on every call, whatever the number of threads.  For cutting a matrix into
 * parts of consecutive places that need few of each other's rows.
 * TSR_INVALID_VALUE: null pointer.  TSR_NOT_SUPPORTED: a matrix held by columns, or more than 2^32 - 1 rows or columns.
 * TSR_OUT_OF_MEMORY. */
TSR_PUBLIC tsr_status tsr_sparse_row_order(const tsr_sparse *a, int64_t *order);

/* Cuts an order of the rows (NULL: their own) into parts of consecutive places: part k is places begins[k] to begins[k + 1] - 1; parts + 1
 * elements, from 0 to nrows.  A row weighs its share of all entries and its share of all rows, and parts weigh the same but for a row: none
 * has more than twice its share of either.
 * TSR_INVALID_VALUE: null pointer, parts < 1.  TSR_NOT_SUPPORTED: a matrix held by columns. */
TSR_PUBLIC tsr_status tsr_sparse_cut_rows(const tsr_sparse *a, const int64_t *order, int64_t parts, int64_t *begins);

/* NULL allowed.  Plans made from it must have been destroyed before. */
TSR_PUBLIC void tsr_sparse_destroy(tsr_sparse *a);

/* ---- Plans ---- */

/* How one product will be computed, opaque.  Holds shapes and decisions, no values: it stays valid when those
 * change. */
typedef struct tsr_plan tsr_plan;

/* Flags of tsr_plan_create */
enum {
    TSR_TRANSPOSE_A = 1,  /* op(A) is the transpose (SpMM, SpMV) */
    TSR_SOFTMAX_ROWS = 2, /* SDDMM: then the softmax of each row of S over its entries, as an attention layer has it */
    TSR_BOUNDED_B = 4,    /* SpMM in device memory: the caller promises that every element of B is finite and below 2^127 in magnitude (65504
                           * where FP16 is allowed), which nobody checks; Tensor Cores may then be used */
    TSR_CONJUGATE_A = 8   /* op(A) has the conjugate values (SpMM, SpMV); with TSR_TRANSPOSE_A the conjugate transpose.  Of real types the same */
};

/* Decide how to compute `op` with matrix a and dense operands shaped and typed like `first` and `second` (their data is
 * not read and may be NULL):
 *     TSR_OP_SPMM, TSR_OP_SPMV  a = A, first = B (k x n), second = C (m x n)
 *     TSR_OP_SDDMM              a = S (m x n), first = X (m x k), second = Y (k x n)
 * Types of A, B, X, Y may differ from the semiring's, if none is complex: values are then typecast as GraphBLAS does.  C has the semiring's
 * type.
 * With an operand in device memory all that executions need is made here, for as many of them as the hint expects (0: a hundred), and the
 * device is waited for: that whose memory second->data is in, else first->data, else A's values; where none of them says so, that of option "device".
 * Operands, workspaces and streams of executions are of the same device.
 * *plan belongs to the caller: tsr_plan_destroy.  `a` must outlive it.
 * TSR_INVALID_VALUE: null pointer, unknown enumerator or flag, a monoid the type does not have, C of another type, ld
 * too small.
 * TSR_DIMENSION_MISMATCH.  TSR_NOT_SUPPORTED: no backend, an operation disabled by configuration, device memory without a GPU that can be
 * used, or TSR_OP_MASKED_DOT; TSR_SOFTMAX_ROWS with S held by columns or a semiring's type other than TSR_FP32 and TSR_FP64;
 * complex numbers with an SDDMM, another semiring than plus_times or operands of another type.
 * TSR_OUT_OF_MEMORY. */
TSR_PUBLIC tsr_status tsr_plan_create(tsr_plan **plan, tsr_op op, tsr_semiring semiring, tsr_sparse *a,
                                      const tsr_dense *first, const tsr_dense *second, unsigned flags);

/* Do executions only queue work on their stream?  True where dense operands are in device memory and of the semiring's type (16-bit B, X, Y: FP32),
 * but for what tsr_plan_explain names; false: they wait for the device, and what is in device memory goes through the host. */
TSR_PUBLIC bool tsr_plan_is_asynchronous(const tsr_plan *plan);

/* Device memory that one execution needs beside the operands (an SDDMM with beta 0), the stream's pool's unless it is given; 0 for NULL. */
TSR_PUBLIC size_t tsr_plan_workspace_bytes(const tsr_plan *plan);

/* Executions use this device memory (256-byte aligned; NULL: the pool's again), where it is enough.  They must not overlap in time then.
 * Exclusive.  TSR_INVALID_VALUE: plan is NULL, fewer bytes than tsr_plan_workspace_bytes. */
TSR_PUBLIC tsr_status tsr_plan_set_workspace(tsr_plan *plan, void *workspace, size_t bytes);

/* Bytes the library will allocate for this plan beside the caller's arrays: representations of a, kept for later calls,
 * and work space of one call.  An estimate; 0 for NULL. */
TSR_PUBLIC size_t tsr_plan_bytes(const tsr_plan *plan);

/* Predicted time of one execution (ms), without building representations; negative when unknown or plan is NULL. */
TSR_PUBLIC double tsr_plan_predicted_ms(const tsr_plan *plan);

/* One line for people: the product, backend and kernel, what is built, why.  Lives as long as the plan. "" for NULL. */
TSR_PUBLIC const char *tsr_plan_explain(const tsr_plan *plan);

/* Writes what was decided to a file (some 400 bytes), which is replaced: operands, semiring, flags and hint, whether A gets a representation, the
 * kernel of the device, and a hash of A's pattern.  Not representations: loading makes them again.
 * TSR_INVALID_VALUE: null pointer.  TSR_IO_ERROR: the file cannot be written. */
TSR_PUBLIC tsr_status tsr_plan_save(const tsr_plan *plan, const char *path);

/* The plan that was saved, for the same matrix: of the same shape, orientation, type and pattern (values may differ), which is read whole; a's
 * hints do not count.  A file may hold anything: nothing in it is trusted.  As for tsr_plan_create, but
 * TSR_IO_ERROR: the file cannot be read, is none of tsr_plan_save, or damaged.  TSR_NOT_SUPPORTED: of another version of the library, too.
 * TSR_DIMENSION_MISMATCH: a has another shape.  TSR_INVALID_VALUE: null pointer, or a has another pattern, type or orientation. */
TSR_PUBLIC tsr_status tsr_plan_load(tsr_plan **plan, tsr_sparse *a, const char *path);

/* NULL allowed.  Waits for the device where the plan has an asynchronous execution. */
TSR_PUBLIC void tsr_plan_destroy(tsr_plan *plan);

/* ---- Execution ---- */

/* SpMM and SpMV:  C = alpha op(A) (+).(.) B + beta C.
 * a is the matrix the plan was made from; B and C have the shapes, types and layouts the plan was made for (data and ld may differ).
 * C overlaps neither B nor an array of A (two blocks of one matrix do not overlap).  C is not read if beta == 0, A and B not if alpha == 0.
 * alpha and beta other than 1 and 0: only for the monoid plus on TSR_FP32, TSR_FP64, TSR_FC32 and TSR_FC64; computed in the
 * semiring's type.
 * Places of C where no product is formed (empty rows) count as the monoid's identity: 0 for plus, lor and any;
 * the largest value (infinity) for min, the smallest for max.
 * stream: a cudaStream_t of the plan's device; NULL: its default stream.  Operands in device memory are read and written in
 * its order.  Where tsr_plan_is_asynchronous, the call returns at once and can be captured in a CUDA graph, which needs the plan as long as it
 * is launched; else it waits for the stream.  Operands in host memory only: NULL.
 * TSR_INVALID_VALUE: null pointer, operands not those of the plan, ld too small, an overlap, a pointer that is not of
 * the memory it claims, or of another device than the plan (asked of the driver with option "check_pointers").  TSR_NOT_SUPPORTED: alpha,
 * beta, a stream with host memory, a plan for another op.  TSR_OUT_OF_MEMORY, TSR_INTERNAL_ERROR: contents of C are unspecified; inputs
 * are untouched. */
TSR_PUBLIC tsr_status tsr_execute(const tsr_plan *plan, double alpha, tsr_sparse *a, const tsr_dense *b, double beta,
                                  const tsr_dense *c, void *stream);

/* The same with complex scalars, which only plans of complex numbers take (TSR_NOT_SUPPORTED: of others the imaginary parts are 0).
 * In device memory complex numbers that do not begin at multiples of their size (8 and 16 bytes) go through the host. */
TSR_PUBLIC tsr_status tsr_execute_complex(const tsr_plan *plan, tsr_complex alpha, tsr_sparse *a, const tsr_dense *b, tsr_complex beta,
                                          const tsr_dense *c, void *stream);

/* What becomes of each element C(i, j) after the product: bias[j] is added, then the activation is applied. */
typedef enum tsr_activation {
    TSR_ACTIVATION_NONE,
    TSR_ACTIVATION_RELU /* max (x, 0); NaN stays */
} tsr_activation;
typedef struct tsr_epilogue {
    const void *bias; /* one element of C's type for each column, consecutive, in C's memory; NULL: none */
    tsr_activation activation;
} tsr_epilogue;

/* SpMM:  C = activation (alpha op(A) (+).(.) B + beta C + bias): a layer of a graph convolutional network whose update is B = X W.  C is of TSR_FP32 or
 * TSR_FP64.  In device memory, where tsr_plan_is_asynchronous, under plus_times with two columns or more, both are done as the plan's kernel stores C,
 * where it is csr or one of panels; else as csr does in its place, or in a pass over C, whichever is expected to be faster.  Otherwise they take a pass
 * over C on the host.
 * The rest as for tsr_execute.  TSR_INVALID_VALUE: an unknown activation, a bias that overlaps C, too.  TSR_NOT_SUPPORTED: C of another type, too. */
TSR_PUBLIC tsr_status tsr_execute_fused(const tsr_plan *plan, double alpha, tsr_sparse *a, const tsr_dense *b, double beta, const tsr_dense *c,
                                        const tsr_epilogue *epilogue, void *stream);

/* SDDMM:  values[e] = alpha (X (+).(.) Y)(i, j) + beta values[e]  for every entry e = (i, j) of S, in the order of S's
 * arrays.
 * values has one element of the semiring's type per entry of S, in the memory that X is in.  It may be the array of S's values, which are
 * not looked at, and overlaps nothing else: not X, Y, the offsets and indices of S (TSR_INVALID_VALUE).  With TSR_SOFTMAX_ROWS these values v of each row then become
 * exp(v - m) / sum of exp(v - m), m the largest of the row; given to tsr_sparse_create_csr beside S's pattern they are the A of an SpMM.
 * The rest as for tsr_execute. */
TSR_PUBLIC tsr_status tsr_execute_sddmm(const tsr_plan *plan, double alpha, const tsr_dense *x, const tsr_dense *y,
                                        double beta, tsr_sparse *s, void *values, void *stream);

/* ---- Many products at once ---- */

/* `count` products of one plan.  Product q has the operands of the call, each `stride` elements times q further on: the values of A (0: all
 * products have the same), B and C of an SpMM or SpMV; the values that an SDDMM writes, its X and its Y.  A's pattern, or S's, is the same for all.
 * None of the strides is negative. */
typedef struct tsr_batch {
    int64_t count;
    int64_t values_stride;
    int64_t first_stride;  /* of B, or X; 0: all have the same */
    int64_t second_stride; /* of C, or Y; of Y 0: all have the same */
} tsr_batch;

/* C_q = alpha op(A_q) (+).(.) B_q + beta C_q for each product q.  On the host products go to threads of their own if they are many, else all
 * threads compute one after the other; those whose columns lie side by side (first_stride and second_stride are n columns of B and C) are computed
 * as one wide product.  In device memory, where tsr_plan_is_asynchronous, they are queued on the stream and may be captured: in one launch, whose
 * results have the bits of single calls, under plus_times of TSR_FP32, TSR_FP64, TSR_FC32 and TSR_FC64 with row-major B and C (or vectors of consecutive
 * elements) and the csr kernel, where all B begin alike in 16 bytes; else one after the other.  Values of their own must then be in device memory, of the
 * semiring's type, by row of op(A), indices ascending in each row, and the csr kernel takes them whatever kernel the plan has; other values of their own
 * go through the host.
 * With values_stride other than 0 the matrix must have been made of the caller's arrays (no TSR_COPY, values not NULL), and values_stride is at
 * least the number of its entries; nothing that is built of a product's values is kept.
 * The rest as for tsr_execute.  TSR_INVALID_VALUE: a negative count or stride, C's that overlap each other or lie between B's, too.  After a
 * failure the contents of all C are unspecified. */
TSR_PUBLIC tsr_status tsr_execute_batch(const tsr_plan *plan, double alpha, tsr_sparse *a, const tsr_dense *b, double beta, const tsr_dense *c,
                                        const tsr_batch *batch, void *stream);

/* values_q[e] = alpha (X_q (+).(.) Y_q)(i, j) + beta values_q[e] for each product q.  values_stride is at least the number of entries of S, where
 * there are two products or more.  One launch (two with softmax) under plus_times of TSR_FP32 and TSR_FP64 with a row-major X and a column-major Y.  The rest as
 * for tsr_execute_sddmm and tsr_execute_batch. */
TSR_PUBLIC tsr_status tsr_execute_sddmm_batch(const tsr_plan *plan, double alpha, const tsr_dense *x, const tsr_dense *y, double beta,
                                              tsr_sparse *s, void *values, const tsr_batch *batch, void *stream);

#ifdef __cplusplus
}
#endif

#endif
