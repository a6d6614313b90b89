/* Products of parallel AIJ and dense matrices.  A process has its rows of A in two blocks: the columns whose rows of B it owns, and the
 * others.  Only wanted rows of B travel, packed by row, while the first block is multiplied; the lists are kept until the pattern of A
 * changes.  Transposed, sums travel the other way.
 * SPDX-License-Identifier: Apache-2.0 */
#include <petscsf.h>
#include <stdlib.h>

#include "petsc_plugin.h"

typedef struct exchange {
    PetscSF sf;           /* roots: the wanted rows of B here; leaves: the columns of the off-diagonal block */
    PetscObjectId owner;  /* that it was made for: the same on every process, so that all make it anew or none */
    PetscObjectState pattern;
    PetscInt nwanted, *wanted, nleaves;
    PetscInt width;       /* of the buffers and the unit */
    MPI_Datatype unit;    /* a row */
    PetscScalar *sent, *received; /* nwanted x width, nleaves x width, by row */
    PetscScalar *product;         /* kept rows of `off` x width, by row */
    PetscInt product_rows;
    tsr_petsc_block own, off;
} exchange;

/* ---- making ---- */

/* Rows that are gathered lie on large pages where the system has them. */
static PetscErrorCode make_rows(PetscScalar **rows, PetscInt n, PetscInt width)
{
    const size_t bytes = (size_t)n * (size_t)width * sizeof **rows;
    void *memory = NULL;

    PetscFunctionBegin;
    const int failed = posix_memalign(&memory, bytes < TSR_PETSC_LARGE_PAGE ? 64 : TSR_PETSC_LARGE_PAGE, bytes ? bytes : 1);
    PetscCheck(!failed, PETSC_COMM_SELF, PETSC_ERR_MEM, "Tessera: no memory for %" PetscInt_FMT " rows of %" PetscInt_FMT, n, width);
    tsr_petsc_want_large_pages(memory, bytes);
    *rows = memory;
    PetscFunctionReturn(0);
}

static PetscErrorCode free_buffers(exchange *x)
{
    PetscFunctionBegin;
    free(x->sent);
    free(x->received);
    free(x->product);
    x->sent = x->received = x->product = NULL;
    if (x->width > 1) {
        PetscCallMPI(MPI_Type_free(&x->unit));
    }
    x->width = 0;
    PetscFunctionReturn(0);
}

static PetscErrorCode free_lists(exchange *x)
{
    PetscFunctionBegin;
    PetscCall(free_buffers(x));
    PetscCall(PetscFree(x->wanted));
    PetscCall(PetscSFDestroy(&x->sf));
    PetscFunctionReturn(0);
}

static PetscErrorCode free_exchange(void *data)
{
    exchange *x = data;

    PetscFunctionBegin;
    PetscCall(free_lists(x));
    tsr_petsc_block_free(&x->own);
    tsr_petsc_block_free(&x->off);
    PetscCall(PetscFree(x));
    PetscFunctionReturn(0);
}

/* Rows of B here that somebody wants, in order; *place: of each row its number among them. */
static PetscErrorCode list_wanted(exchange *x, PetscSF all, PetscInt nrows, PetscInt **place)
{
    const PetscInt *degree;

    PetscFunctionBegin;
    PetscCall(PetscSFComputeDegreeBegin(all, &degree));
    PetscCall(PetscSFComputeDegreeEnd(all, &degree));
    PetscCall(PetscMalloc1(nrows, place));
    x->nwanted = 0;
    for (PetscInt row = 0; row < nrows; row++) {
        (*place)[row] = x->nwanted;
        x->nwanted += degree[row] > 0;
    }
    PetscCall(PetscMalloc1(x->nwanted, &x->wanted));
    for (PetscInt row = 0, k = 0; row < nrows; row++) {
        if (degree[row] > 0) {
            x->wanted[k++] = row;
        }
    }
    PetscFunctionReturn(0);
}

/* The star forest over wanted rows alone, from the one over all rows. */
static PetscErrorCode make_forest(exchange *x, PetscSF all, const PetscInt place[])
{
    PetscSFNode *roots;
    const PetscSFNode *all_roots;
    PetscInt *place_of_leaf;

    PetscFunctionBegin;
    PetscCall(PetscMalloc1(x->nleaves, &place_of_leaf));
    PetscCall(PetscMalloc1(x->nleaves, &roots));
    PetscCall(PetscSFBcastBegin(all, MPIU_INT, place, place_of_leaf, MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(all, MPIU_INT, place, place_of_leaf, MPI_REPLACE));
    PetscCall(PetscSFGetGraph(all, NULL, NULL, NULL, &all_roots));
    for (PetscInt leaf = 0; leaf < x->nleaves; leaf++) {
        roots[leaf].rank = all_roots[leaf].rank;
        roots[leaf].index = place_of_leaf[leaf];
    }
    PetscCall(PetscFree(place_of_leaf));
    PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)all), &x->sf));
    PetscCall(PetscSFSetGraph(x->sf, x->nwanted, x->nleaves, NULL, PETSC_OWN_POINTER, roots, PETSC_OWN_POINTER));
    PetscCall(PetscSFSetUp(x->sf));
    PetscFunctionReturn(0);
}

static PetscErrorCode make_lists(exchange *x, Mat A, Mat off, const PetscInt garray[])
{
    PetscSF all;
    PetscLayout rows, columns;
    PetscInt *place, unused, nrows;

    PetscFunctionBegin;
    PetscCall(MatGetLayouts(A, &rows, &columns));
    PetscCall(MatGetLocalSize(A, &unused, &nrows));
    PetscCall(MatGetSize(off, &unused, &x->nleaves));
    PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)A), &all));
    PetscCall(PetscSFSetGraphLayout(all, columns, x->nleaves, NULL, PETSC_OWN_POINTER, garray));
    PetscCall(list_wanted(x, all, nrows, &place));
    PetscCall(make_forest(x, all, place));
    PetscCall(PetscFree(place));
    PetscCall(PetscSFDestroy(&all));
    PetscFunctionReturn(0);
}

static PetscErrorCode make_buffers(exchange *x, PetscInt width, PetscInt product_rows)
{
    PetscMPIInt count;

    PetscFunctionBegin;
    if (x->width == width && x->product_rows >= product_rows) {
        PetscFunctionReturn(0);
    }
    PetscCall(free_buffers(x));
    PetscCall(PetscMPIIntCast(width, &count));
    x->unit = MPIU_SCALAR;
    if (width > 1) { /* star forests add rows of one element only under their own type */
        PetscCallMPI(MPI_Type_contiguous(count, MPIU_SCALAR, &x->unit));
        PetscCallMPI(MPI_Type_commit(&x->unit));
    }
    x->width = width;
    x->product_rows = product_rows;
    PetscCall(make_rows(&x->sent, x->nwanted, width));
    PetscCall(make_rows(&x->received, x->nleaves, width));
    PetscCall(make_rows(&x->product, product_rows, width));
    PetscFunctionReturn(0);
}

static PetscErrorCode exchange_of(Mat A, PetscInt width, PetscBool transposed, exchange **out)
{
    void *data;
    Mat own, off;
    const PetscInt *garray;
    PetscObjectId id;
    PetscObjectState pattern;

    PetscFunctionBegin;
    PetscCall(tsr_petsc_attached(A, "tessera_exchange", sizeof **out, free_exchange, &data));
    exchange *x = *out = data;
    PetscCall(MatMPIAIJGetSeqAIJ(A, &own, &off, &garray));
    PetscCall(tsr_petsc_block_update(&x->own, own, PETSC_FALSE));
    PetscCall(tsr_petsc_block_update(&x->off, off, PETSC_TRUE));
    PetscCall(PetscObjectGetId((PetscObject)A, &id));
    PetscCall(MatGetNonzeroState(A, &pattern));
    if (!x->sf || x->owner != id || x->pattern != pattern) {
        PetscCall(PetscLogEventBegin(tsr_petsc_event_ids[TSR_PETSC_SETUP], A, 0, 0, 0));
        PetscCall(free_lists(x));
        PetscCall(make_lists(x, A, off, garray));
        x->owner = id;
        x->pattern = pattern;
        PetscCall(PetscLogEventEnd(tsr_petsc_event_ids[TSR_PETSC_SETUP], A, 0, 0, 0));
    }
    PetscCall(make_buffers(x, width, transposed ? 0 : x->off.nkept));
    PetscFunctionReturn(0);
}

/* ---- rows ---- */

/* A line of a row at a time, so that few columns, each on pages of its own, are in use at once. */
enum { BLOCK_ROWS = 256, LINE = 64 / sizeof(PetscScalar) };

/* Rows [first, last) and columns [begin, end). */
typedef struct tile {
    PetscInt first, last, begin, end;
} tile;

static tile first_tile(PetscInt n, PetscInt width)
{
    return (tile){.last = PetscMin(BLOCK_ROWS, n), .end = PetscMin(LINE, width)};
}

static void next_tile(tile *t, PetscInt n, PetscInt width)
{
    t->begin = t->end;
    if (t->begin >= width) {
        t->first = t->last;
        t->last = PetscMin(t->last + BLOCK_ROWS, n);
        t->begin = 0;
    }
    t->end = PetscMin(t->begin + LINE, width);
}

/* to[k, :] = row rows[k] of the matrix by column. */
static void pack_rows(PetscScalar *to, const PetscScalar *from, PetscInt ld, const PetscInt rows[], PetscInt n, PetscInt width)
{
    for (tile t = first_tile(n, width); t.first < n; next_tile(&t, n, width)) {
        for (PetscInt k = t.first; k < t.last; k++) {
            for (PetscInt j = t.begin; j < t.end; j++) {
                to[k * width + j] = from[rows[k] + j * ld];
            }
        }
    }
}

/* Row rows[k] of the matrix by column += from[k, :]. */
static void add_rows(PetscScalar *to, PetscInt ld, const PetscScalar *from, const PetscInt rows[], PetscInt n, PetscInt width)
{
    for (tile t = first_tile(n, width); t.first < n; next_tile(&t, n, width)) {
        for (PetscInt k = t.first; k < t.last; k++) {
            for (PetscInt j = t.begin; j < t.end; j++) {
                to[rows[k] + j * ld] += from[k * width + j];
            }
        }
    }
}

static PetscErrorCode add_logged(PetscScalar *to, PetscInt ld, const PetscScalar *from, const PetscInt rows[], PetscInt n, PetscInt width)
{
    PetscFunctionBegin;
    PetscCall(PetscLogEventBegin(tsr_petsc_event_ids[TSR_PETSC_ADD], 0, 0, 0, 0));
    add_rows(to, ld, from, rows, n, width);
    PetscCall(PetscLogEventEnd(tsr_petsc_event_ids[TSR_PETSC_ADD], 0, 0, 0, 0));
    PetscFunctionReturn(0);
}

/* ---- products ---- */

typedef struct local {
    tsr_dense b, c; /* the rows here, by column */
} local;

static PetscErrorCode product(exchange *x, const local *l)
{
    const PetscInt n = x->width;
    const tsr_dense received = tsr_petsc_dense(x->received, TSR_ROW_MAJOR, x->nleaves, n, n);
    const tsr_dense rest = tsr_petsc_dense(x->product, TSR_ROW_MAJOR, x->off.nkept, n, n);

    PetscFunctionBegin;
    PetscCall(PetscLogEventBegin(tsr_petsc_event_ids[TSR_PETSC_PACK], 0, 0, 0, 0));
    pack_rows(x->sent, l->b.data, (PetscInt)l->b.ld, x->wanted, x->nwanted, n);
    PetscCall(PetscLogEventEnd(tsr_petsc_event_ids[TSR_PETSC_PACK], 0, 0, 0, 0));
    PetscCall(PetscSFBcastBegin(x->sf, x->unit, x->sent, x->received, MPI_REPLACE));
    PetscCall(tsr_petsc_multiply(&x->own, PETSC_FALSE, &l->b, &l->c));
    PetscCall(PetscSFBcastEnd(x->sf, x->unit, x->sent, x->received, MPI_REPLACE));
    if (x->off.nkept) {
        PetscCall(tsr_petsc_multiply(&x->off, PETSC_FALSE, &received, &rest));
        PetscCall(add_logged(l->c.data, (PetscInt)l->c.ld, x->product, x->off.kept, x->off.nkept, n));
    }
    PetscFunctionReturn(0);
}

/* The off-diagonal block gives sums for rows of C that others own. */
static PetscErrorCode transposed_product(exchange *x, const local *l, PetscScalar *kept_rows)
{
    const PetscInt n = x->width;
    const tsr_dense sums = tsr_petsc_dense(x->received, TSR_ROW_MAJOR, x->nleaves, n, n);
    const tsr_dense kept = tsr_petsc_dense(kept_rows, TSR_ROW_MAJOR, x->off.nkept, n, n);

    PetscFunctionBegin;
    pack_rows(kept_rows, l->b.data, (PetscInt)l->b.ld, x->off.kept, x->off.nkept, n);
    if (x->nleaves) {
        PetscCall(tsr_petsc_multiply(&x->off, PETSC_TRUE, &kept, &sums));
    }
    PetscCall(PetscArrayzero(x->sent, (size_t)x->nwanted * (size_t)n));
    PetscCall(PetscSFReduceBegin(x->sf, x->unit, x->received, x->sent, MPIU_SUM));
    PetscCall(tsr_petsc_multiply(&x->own, PETSC_TRUE, &l->b, &l->c));
    PetscCall(PetscSFReduceEnd(x->sf, x->unit, x->received, x->sent, MPIU_SUM));
    PetscCall(add_logged(l->c.data, (PetscInt)l->c.ld, x->sent, x->wanted, x->nwanted, n));
    PetscFunctionReturn(0);
}

static PetscErrorCode run(exchange *x, const local *l, PetscBool transposed)
{
    PetscScalar *kept_rows;

    PetscFunctionBegin;
    tsr_petsc_count_rows(x->nleaves); /* transposed, as many sums travel the other way */
    if (!transposed) {
        PetscCall(product(x, l));
        PetscFunctionReturn(0);
    }
    PetscCall(PetscMalloc1((size_t)x->off.nkept * (size_t)x->width, &kept_rows));
    PetscCall(transposed_product(x, l, kept_rows));
    PetscCall(PetscFree(kept_rows));
    PetscFunctionReturn(0);
}

PetscErrorCode tsr_petsc_parallel_product(Mat A, Mat B, Mat C, PetscBool transposed)
{
    exchange *x = NULL;
    const PetscScalar *b;
    PetscScalar *c;
    PetscInt n, ldb, ldc, rows, columns, unused;

    PetscFunctionBegin;
    PetscCall(MatGetSize(B, &unused, &n));
    if (n == 0) {
        PetscFunctionReturn(0);
    }
    PetscCall(exchange_of(A, n, transposed, &x));
    PetscCall(MatGetLocalSize(A, &rows, &columns));
    PetscCall(MatDenseGetLDA(B, &ldb));
    PetscCall(MatDenseGetLDA(C, &ldc));
    PetscCall(MatDenseGetArrayRead(B, &b));
    PetscCall(MatDenseGetArrayWrite(C, &c));
    const local l = {tsr_petsc_dense(b, TSR_COL_MAJOR, transposed ? rows : columns, n, ldb),
                     tsr_petsc_dense(c, TSR_COL_MAJOR, transposed ? columns : rows, n, ldc)};
    PetscCall(run(x, &l, transposed));
    PetscCall(MatDenseRestoreArrayWrite(C, &c));
    PetscCall(MatDenseRestoreArrayRead(B, &b));
    PetscFunctionReturn(0);
}
