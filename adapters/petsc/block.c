/* A sequential AIJ matrix seen by the library: described once for each pattern, values followed by object state.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "petsc_plugin.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(PETSC_USE_REAL_SINGLE)
const tsr_type tsr_petsc_scalar_type = TSR_FP32;
#else
const tsr_type tsr_petsc_scalar_type = TSR_FP64;
#endif
const tsr_index_type tsr_petsc_index_type = sizeof(PetscInt) == 4 ? TSR_INDEX_32 : TSR_INDEX_64;

tsr_dense tsr_petsc_dense(const PetscScalar *data, tsr_layout layout, PetscInt nrows, PetscInt ncols, PetscInt ld)
{
    const PetscInt least = layout == TSR_COL_MAJOR ? nrows : ncols;
    return (tsr_dense){.data = (void *)(uintptr_t)data, .type = tsr_petsc_scalar_type, .layout = layout, .nrows = nrows, .ncols = ncols,
                       .ld = ld > least ? ld : least};
}

/* ---- plans ---- */

static void forget_plans(tsr_petsc_block *block)
{
    for (int k = 0; k < TSR_PETSC_PLANS; k++) {
        tsr_plan_destroy(block->plans[k].plan);
        block->plans[k].plan = NULL;
    }
}

/* NULL: the library does not take it. */
static tsr_plan *find_plan(tsr_petsc_block *block, unsigned flags, const tsr_dense *b, const tsr_dense *c)
{
    for (int k = 0; k < TSR_PETSC_PLANS; k++) {
        const struct tsr_petsc_plan *p = &block->plans[k];
        if (p->plan && p->flags == flags && p->columns == b->ncols && p->b_layout == b->layout && p->c_layout == c->layout) {
            return p->plan;
        }
    }
    struct tsr_petsc_plan *p = &block->plans[block->next_plan];
    block->next_plan = (block->next_plan + 1) % TSR_PETSC_PLANS;
    tsr_plan_destroy(p->plan);
    *p = (struct tsr_petsc_plan){.flags = flags, .columns = b->ncols, .b_layout = b->layout, .c_layout = c->layout};
    if (tsr_plan_create(&p->plan, TSR_OP_SPMM, tsr_default_semiring(tsr_petsc_scalar_type), block->sparse, b, c, flags) != TSR_OK) {
        p->plan = NULL;
    }
    return p->plan;
}

/* ---- describing ---- */

void tsr_petsc_block_free(tsr_petsc_block *block)
{
    forget_plans(block);
    tsr_sparse_destroy(block->sparse);
    free(block->kept);
    free(block->kept_offsets);
    memset(block, 0, sizeof *block);
}

/* The rows that have entries, and their offsets: an off-diagonal block may have few. */
static PetscErrorCode pack_rows(tsr_petsc_block *block)
{
    const PetscInt *p = block->offsets;
    PetscInt n = 0;

    PetscFunctionBegin;
    for (PetscInt row = 0; row < block->nrows; row++) {
        n += p[row + 1] > p[row];
    }
    block->kept = malloc((size_t)(n ? n : 1) * sizeof *block->kept);
    block->kept_offsets = malloc((size_t)(n + 1) * sizeof *block->kept_offsets);
    PetscCheck(block->kept && block->kept_offsets, PETSC_COMM_SELF, PETSC_ERR_MEM, "Tessera: no memory for %" PetscInt_FMT " rows", n);
    block->kept_offsets[0] = 0;
    for (PetscInt row = 0; row < block->nrows; row++) {
        if (p[row + 1] > p[row]) {
            block->kept[block->nkept++] = row;
            block->kept_offsets[block->nkept] = p[row + 1];
        }
    }
    PetscFunctionReturn(0);
}

/* Without it, the plain loop computes. */
void tsr_petsc_block_describe(tsr_petsc_block *block)
{
    const tsr_arrays arrays = {.index_type = tsr_petsc_index_type, .offsets = block->packed ? block->kept_offsets : block->offsets,
                               .indices = block->columns,
                               .type = tsr_petsc_scalar_type, .values = block->values};
    if (tsr_sparse_create_csr(&block->sparse, block->packed ? block->nkept : block->nrows, block->ncols, &arrays, 0) != TSR_OK) {
        block->sparse = NULL;
    }
}

/* What A holds now, in a block without handles. */
static PetscErrorCode inspect(tsr_petsc_block *now, Mat A)
{
    PetscBool done;

    PetscFunctionBegin;
    PetscCall(PetscObjectGetId((PetscObject)A, &now->owner));
    PetscCall(MatGetNonzeroState(A, &now->pattern));
    PetscCall(PetscObjectStateGet((PetscObject)A, &now->state));
    PetscCall(MatGetSize(A, &now->nrows, &now->ncols));
    PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &now->nrows, &now->offsets, &now->columns, &done));
    PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "Tessera: no rows of this matrix");
    PetscCall(MatSeqAIJGetArrayRead(A, &now->values));
    PetscFunctionReturn(0);
}

static PetscErrorCode restore(tsr_petsc_block *now, Mat A)
{
    const PetscInt *p = now->offsets, *i = now->columns;
    const PetscScalar *x = now->values;
    PetscInt n = now->nrows;
    PetscBool done;

    PetscFunctionBegin;
    PetscCall(MatSeqAIJRestoreArrayRead(A, &x));
    PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &p, &i, &done));
    PetscFunctionReturn(0);
}

static PetscBool same_arrays(const tsr_petsc_block *a, const tsr_petsc_block *b)
{
    return a->owner == b->owner && a->pattern == b->pattern && a->offsets == b->offsets && a->columns == b->columns &&
                   a->values == b->values && a->nrows == b->nrows && a->ncols == b->ncols && a->packed == b->packed
               ? PETSC_TRUE
               : PETSC_FALSE;
}

PetscErrorCode tsr_petsc_block_is_current(const tsr_petsc_block *block, Mat A, PetscBool *current)
{
    tsr_petsc_block now = {.packed = block->packed};

    PetscFunctionBegin;
    PetscCall(inspect(&now, A));
    PetscCall(restore(&now, A));
    *current = same_arrays(block, &now);
    PetscFunctionReturn(0);
}

/* The arrays stay where they are between the calls, which SeqAIJ promises until the pattern or the array changes. */
PetscErrorCode tsr_petsc_block_update(tsr_petsc_block *block, Mat A, PetscBool packed)
{
    tsr_petsc_block now = {.packed = packed};

    PetscFunctionBegin;
    PetscCall(inspect(&now, A));
    PetscCall(restore(&now, A));
    if (!same_arrays(block, &now)) {
        PetscCall(PetscLogEventBegin(tsr_petsc_event_ids[TSR_PETSC_SETUP], A, 0, 0, 0));
        tsr_petsc_block_free(block);
        *block = now;
        if (packed) {
            PetscCall(pack_rows(block));
        }
        tsr_petsc_block_describe(block);
        PetscCall(PetscLogEventEnd(tsr_petsc_event_ids[TSR_PETSC_SETUP], A, 0, 0, 0));
    } else if (block->state != now.state && block->sparse) {
        tsr_sparse_values_changed(block->sparse);
    }
    block->state = now.state;
    PetscFunctionReturn(0);
}

/* ---- computing ---- */

void tsr_petsc_want_large_pages(void *memory, size_t bytes)
{
#if defined(MADV_HUGEPAGE)
    const uintptr_t first = ((uintptr_t)memory + TSR_PETSC_LARGE_PAGE - 1) / TSR_PETSC_LARGE_PAGE * TSR_PETSC_LARGE_PAGE;
    const uintptr_t last = ((uintptr_t)memory + bytes) / TSR_PETSC_LARGE_PAGE * TSR_PETSC_LARGE_PAGE;
    if (first < last) {
        madvise((void *)first, last - first, MADV_HUGEPAGE);
    }
#endif
}

/* C may be memory that nobody has touched: to find it in small pages takes longer than the product. */
static void prepare_result(const tsr_dense *c)
{
    const int64_t vectors = c->layout == TSR_COL_MAJOR ? c->ncols : c->nrows, length = c->layout == TSR_COL_MAJOR ? c->nrows : c->ncols;
    if (vectors > 0) {
        tsr_petsc_want_large_pages(c->data, (size_t)((vectors - 1) * c->ld + length) * sizeof(PetscScalar));
    }
}

typedef struct strides {
    PetscInt row, column;
} strides;

static strides strides_of(const tsr_dense *d)
{
    return d->layout == TSR_COL_MAJOR ? (strides){1, (PetscInt)d->ld} : (strides){(PetscInt)d->ld, 1};
}

/* Nothing but the caller's arrays: what the library declines, for want of memory or by configuration, is computed all the same. */
static void multiply_plainly(const tsr_petsc_block *block, PetscBool transposed, const tsr_dense *b, const tsr_dense *c)
{
    const strides sb = strides_of(b), sc = strides_of(c);
    const PetscScalar *from = b->data;
    PetscScalar *to = c->data;
    const PetscInt *p = block->packed ? block->kept_offsets : block->offsets, nrows = block->packed ? block->nkept : block->nrows;
    for (PetscInt r = 0; r < c->nrows; r++) {
        for (PetscInt j = 0; j < c->ncols; j++) {
            to[r * sc.row + j * sc.column] = 0;
        }
    }
    for (PetscInt row = 0; row < nrows; row++) {
        for (PetscInt e = p[row]; e < p[row + 1]; e++) {
            const PetscInt source = transposed ? row : block->columns[e], target = transposed ? block->columns[e] : row;
            for (PetscInt j = 0; j < c->ncols; j++) {
                to[target * sc.row + j * sc.column] += block->values[e] * from[source * sb.row + j * sb.column];
            }
        }
    }
}

PetscErrorCode tsr_petsc_multiply(tsr_petsc_block *block, PetscBool transposed, const tsr_dense *b, const tsr_dense *c)
{
    const unsigned flags = transposed ? TSR_TRANSPOSE_A : 0;
    tsr_status status = TSR_NOT_SUPPORTED;

    PetscFunctionBegin;
    PetscCall(PetscLogEventBegin(tsr_petsc_event_ids[TSR_PETSC_MULTIPLY], 0, 0, 0, 0));
    prepare_result(c);
    if (block->sparse) {
        const tsr_plan *plan = find_plan(block, flags, b, c);
        status = plan ? tsr_execute(plan, 1.0, block->sparse, b, 0.0, c, NULL) : TSR_NOT_SUPPORTED;
    }
    if (status != TSR_OK) {
        tsr_petsc_count("block", tsr_status_string(status));
        multiply_plainly(block, transposed, b, c);
    }
    PetscCall(PetscLogFlops(2.0 * (double)block->offsets[block->nrows] * (double)b->ncols));
    PetscCall(PetscLogEventEnd(tsr_petsc_event_ids[TSR_PETSC_MULTIPLY], 0, 0, 0, 0));
    PetscFunctionReturn(0);
}

/* ---- kept with a matrix ---- */

PetscErrorCode tsr_petsc_attached(Mat A, const char name[], size_t size, PetscErrorCode (*free_data)(void *), void **data)
{
    PetscContainer container;

    PetscFunctionBegin;
    PetscCall(PetscObjectQuery((PetscObject)A, name, (PetscObject *)&container));
    if (!container) {
        void *made;
        PetscCall(PetscCalloc1(size, (char **)&made));
        PetscCall(PetscContainerCreate(PETSC_COMM_SELF, &container));
        PetscCall(PetscContainerSetPointer(container, made));
        PetscCall(PetscContainerSetUserDestroy(container, free_data));
        PetscCall(PetscObjectCompose((PetscObject)A, name, (PetscObject)container));
        PetscCall(PetscContainerDestroy(&container)); /* the matrix holds it now */
        PetscCall(PetscObjectQuery((PetscObject)A, name, (PetscObject *)&container));
    }
    PetscCall(PetscContainerGetPointer(container, data));
    PetscFunctionReturn(0);
}

static PetscErrorCode free_block(void *data)
{
    PetscFunctionBegin;
    tsr_petsc_block_free(data);
    PetscCall(PetscFree(data));
    PetscFunctionReturn(0);
}

PetscErrorCode tsr_petsc_block_of(Mat A, tsr_petsc_block **block)
{
    void *data;

    PetscFunctionBegin;
    PetscCall(tsr_petsc_attached(A, "tessera_block", sizeof **block, free_block, &data));
    *block = data;
    PetscCall(tsr_petsc_block_update(*block, A, PETSC_FALSE));
    PetscFunctionReturn(0);
}
