/* Tessera inside PETSc: what the files of the plug-in share.  Of Tessera they know tessera.h only, of PETSc its public headers (partition.c and
 * sparse_product.c one more).
 * Functions return PETSc's error codes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_PETSC_PLUGIN_H
#define TSR_PETSC_PLUGIN_H

#include <petscmat.h>

#include "tessera/tessera.h"

extern const tsr_type tsr_petsc_scalar_type; /* of this PETSc's numbers, and of its indices */
extern const tsr_index_type tsr_petsc_index_type;

/* A documented function that some versions declare in a private header. */
PETSC_EXTERN PetscErrorCode PetscObjectStateGet(PetscObject, PetscObjectState *);

/* ---- one sequential matrix ---- */

enum { TSR_PETSC_PLANS = 4 };

/* A sequential AIJ matrix as the library knows it: its own arrays, described once for each pattern.  Values are followed by PETSc's object
 * state.  Zero-initialized is empty. */
typedef struct tsr_petsc_block {
    tsr_sparse *sparse;
    PetscObjectId owner; /* the matrix, and what it was when `sparse` was made */
    PetscObjectState pattern, state;
    const PetscInt *offsets, *columns;
    const PetscScalar *values;
    PetscInt nrows, ncols;
    PetscBool packed;        /* rows without entries are left out: nkept rows, numbered by kept[] */
    PetscInt nkept, *kept, *kept_offsets;
    struct tsr_petsc_plan {
        tsr_plan *plan; /* NULL: free */
        unsigned flags;
        int64_t columns;
        tsr_layout b_layout, c_layout;
    } plans[TSR_PETSC_PLANS];
    int next_plan;
} tsr_petsc_block;

/* Makes the block that of A, which is assembled, or brings it up to date.  packed: leave out rows without entries. */
PetscErrorCode tsr_petsc_block_update(tsr_petsc_block *block, Mat A, PetscBool packed);
void tsr_petsc_block_free(tsr_petsc_block *block);

/* Is it still that of A, but for values?  Else updating it ends its handle. */
PetscErrorCode tsr_petsc_block_is_current(const tsr_petsc_block *block, Mat A, PetscBool *current);

/* Gives a block that holds arrays, perhaps without values, its handle; none where there is no memory. */
void tsr_petsc_block_describe(tsr_petsc_block *block);

/* C = op(block) B, op being the transpose if asked for.  By the library, or where it declines by a plain loop. */
PetscErrorCode tsr_petsc_multiply(tsr_petsc_block *block, PetscBool transposed, const tsr_dense *b, const tsr_dense *c);

/* A dense operand of the scalar type of this PETSc. */
tsr_dense tsr_petsc_dense(const PetscScalar *data, tsr_layout layout, PetscInt nrows, PetscInt ncols, PetscInt ld);

/* Asks the system for large pages where memory is still to be touched; what is smaller than one stays as it is. */
enum { TSR_PETSC_LARGE_PAGE = 2 << 20 };
void tsr_petsc_want_large_pages(void *memory, size_t bytes);

/* Attaches *data, zeroed memory of `size` bytes made at the first call, to a matrix under a name. */
PetscErrorCode tsr_petsc_attached(Mat A, const char name[], size_t size, PetscErrorCode (*free_data)(void *), void **data);

/* The block kept with a sequential matrix; made at the first use, freed with the matrix. */
PetscErrorCode tsr_petsc_block_of(Mat A, tsr_petsc_block **block);

/* ---- products ---- */

/* What MatProductNumeric asks of C: compute with the type and the operands of its product. */
PetscErrorCode tsr_petsc_compute_product(Mat C, PetscErrorCode (*compute_with)(MatProductType, Mat, Mat, Mat));

/* What MatProductSetFromOptions asks: A sparse, B dense; A dense, B sparse.  They take the product, or hand it on to PETSc. */
PetscErrorCode tsr_petsc_sparse_dense(Mat C);
PetscErrorCode tsr_petsc_dense_sparse(Mat C);

/* A sequential AIJ matrix from now on asks us when it is multiplied by another. */
PetscErrorCode tsr_petsc_hook_sparse(Mat A);

/* Is A B (or B' A B) expected to be faster here than in PETSc?  By some of A's rows: enough products, most of
 * them in long rows, and rows unlike each other. */
typedef struct tsr_petsc_rows {
    PetscInt nrows, ncols;
    const PetscInt *offsets, *columns;
} tsr_petsc_rows;
PetscBool tsr_petsc_sparse_pays(const tsr_petsc_rows *a, const tsr_petsc_rows *b);

/* Under this name a sequential AIJ matrix keeps PETSc's function for dense x AIJ, whose place we took. */
#define TSR_PETSC_KEPT_DENSE_SPARSE "tessera_petsc_dense_sparse_C"

/* C = A B and C = A' B of parallel matrices.  PETSc has checked their shapes. */
PetscErrorCode tsr_petsc_parallel_product(Mat A, Mat B, Mat C, PetscBool transposed);

/* ---- row order, parts ---- */

/* What -mat_ordering_type tessera and -mat_partitioning_type tessera call. */
PetscErrorCode tsr_petsc_order(Mat A, MatOrderingType type, IS *row, IS *column);
PetscErrorCode tsr_petsc_make_partitioning(MatPartitioning partitioning);

/* The library's order of the rows: row order[k] comes at place k. */
PetscErrorCode tsr_petsc_row_order(const tsr_petsc_block *a, int64_t order[]);

/* The part of each row: consecutive places of an order (NULL: of the rows as they are), none with more than twice its share of rows or
 * entries. */
PetscErrorCode tsr_petsc_cut_rows(const tsr_petsc_block *a, const int64_t order[], PetscInt parts, PetscInt part[]);

/* Columns are cut like the rows: part[k] has row k of A and of the dense operand. */
typedef struct tsr_petsc_traffic {
    PetscInt64 received; /* rows of a dense operand that parts need of others */
    PetscInt most_rows, most_entries; /* of a part */
} tsr_petsc_traffic;
PetscErrorCode tsr_petsc_count_traffic(const tsr_petsc_block *a, const PetscInt part[], PetscInt parts, tsr_petsc_traffic *t);

/* ---- what is told ---- */

typedef enum tsr_petsc_event { TSR_PETSC_MULTIPLY, TSR_PETSC_PACK, TSR_PETSC_ADD, TSR_PETSC_SETUP, TSR_PETSC_EVENTS } tsr_petsc_event;
PetscErrorCode tsr_petsc_events_register(void);
extern PetscLogEvent tsr_petsc_event_ids[TSR_PETSC_EVENTS];

/* One product taken or handed on, for -tessera_view.  what and why have static storage; why NULL: taken. */
void tsr_petsc_count(const char *what, const char *why);
void tsr_petsc_count_rows(PetscInt rows); /* received of other processes, of B or for C */
PetscErrorCode tsr_petsc_view(void);

/* Options of the plug-in. */
typedef struct tsr_petsc_options {
    PetscBool rebind;     /* -tessera_rebind */
    PetscBool view;       /* -tessera_view */
    PetscInt min_columns; /* -tessera_min_columns: narrower dense operands stay with PETSc */
    enum { TSR_PETSC_AUTO, TSR_PETSC_ALWAYS, TSR_PETSC_NEVER } sparse; /* -tessera_sparse: products of two sparse matrices */
} tsr_petsc_options;
extern tsr_petsc_options tsr_petsc_settings;

#endif
