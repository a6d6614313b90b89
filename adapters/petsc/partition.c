/* -mat_partitioning_type tessera: rows that share columns go to one part, in which neither rows nor entries are more than twice their share.
 * Every process sees the whole graph and finds the same parts.  -mat_partitioning_view prints the rows that parts receive of each other.
 * Weights are not looked at.
 * SPDX-License-Identifier: Apache-2.0 */
#include <petsc/private/matimpl.h> /* PETSc declares what a partitioning consists of here only */

#include "petsc_plugin.h"

/* Of the last partition. */
typedef struct outcome {
    PetscInt64 received, received_before; /* rows that travel: by these parts, with the rows cut as they are */
    double rows, entries;                 /* of the largest part, by its share */
} outcome;

/* ---- the graph ---- */

/* All rows of the graph, here. */
static PetscErrorCode gather(Mat adjacency, Mat *all)
{
    Mat graph;
    PetscBool same;

    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompare((PetscObject)adjacency, MATMPIADJ, &same));
    if (same) {
        PetscCall(PetscObjectReference((PetscObject)adjacency));
        graph = adjacency;
    } else {
        PetscCall(MatConvert(adjacency, MATMPIADJ, MAT_INITIAL_MATRIX, &graph));
    }
    PetscCall(MatMPIAdjToSeq(graph, all));
    PetscCall(MatDestroy(&graph));
    PetscFunctionReturn(0);
}

/* ---- parts ---- */

static double share(PetscInt most, PetscInt all, PetscInt parts)
{
    return all ? (double)most * (double)parts / (double)all : 0;
}

/* By our order, or with the rows as they are if fewer travel then: many meshes come in a good order. */
static PetscErrorCode choose(const tsr_petsc_block *a, PetscInt parts, PetscInt part[], outcome *o)
{
    int64_t *order;
    tsr_petsc_traffic before, t;

    PetscFunctionBegin;
    PetscCall(tsr_petsc_cut_rows(a, NULL, parts, part));
    PetscCall(tsr_petsc_count_traffic(a, part, parts, &before));
    PetscCall(PetscMalloc1(a->nrows, &order));
    PetscCall(tsr_petsc_row_order(a, order));
    PetscCall(tsr_petsc_cut_rows(a, order, parts, part));
    PetscCall(tsr_petsc_count_traffic(a, part, parts, &t));
    PetscCall(PetscFree(order));
    if (t.received >= before.received) {
        PetscCall(tsr_petsc_cut_rows(a, NULL, parts, part));
        t = before;
    }
    *o = (outcome){t.received, before.received, share(t.most_rows, a->nrows, parts), share(t.most_entries, a->offsets[a->nrows], parts)};
    PetscFunctionReturn(0);
}

/* part[]: of all rows. */
static PetscErrorCode find_parts(Mat all, PetscInt parts, PetscInt part[], outcome *o)
{
    tsr_petsc_block a = {0};
    PetscBool done;

    PetscFunctionBegin;
    PetscCall(MatGetSize(all, &a.nrows, &a.ncols));
    PetscCall(MatGetRowIJ(all, 0, PETSC_FALSE, PETSC_FALSE, &a.nrows, &a.offsets, &a.columns, &done));
    PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "Tessera: no rows of this graph");
    tsr_petsc_block_describe(&a);
    PetscCall(choose(&a, parts, part, o));
    PetscCall(MatRestoreRowIJ(all, 0, PETSC_FALSE, PETSC_FALSE, &a.nrows, &a.offsets, &a.columns, &done));
    tsr_petsc_block_free(&a);
    PetscFunctionReturn(0);
}

/* ---- the type ---- */

static PetscErrorCode apply(MatPartitioning partitioning, IS *out)
{
    Mat all;
    PetscInt nrows, first, last, *part;

    PetscFunctionBegin;
    PetscCall(gather(partitioning->adj, &all));
    PetscCall(MatGetSize(all, &nrows, NULL));
    PetscCall(PetscMalloc1(nrows, &part));
    PetscCall(find_parts(all, partitioning->n, part, partitioning->data));
    PetscCall(MatDestroy(&all));
    PetscCall(MatGetOwnershipRange(partitioning->adj, &first, &last));
    PetscCall(ISCreateGeneral(PetscObjectComm((PetscObject)partitioning), last - first, part + first, PETSC_COPY_VALUES, out));
    PetscCall(PetscFree(part));
    PetscFunctionReturn(0);
}

static PetscErrorCode view(MatPartitioning partitioning, PetscViewer viewer)
{
    const outcome *o = partitioning->data;

    PetscFunctionBegin;
    PetscCall(PetscViewerASCIIPrintf(viewer, "  Tessera: %lld rows travel, %lld with the rows cut as they are\n", (long long)o->received,
                                     (long long)o->received_before));
    PetscCall(PetscViewerASCIIPrintf(viewer, "  the largest part has %.2f of its share of rows, %.2f of entries\n", o->rows, o->entries));
    PetscFunctionReturn(0);
}

static PetscErrorCode destroy(MatPartitioning partitioning)
{
    PetscFunctionBegin;
    PetscCall(PetscFree(partitioning->data));
    PetscFunctionReturn(0);
}

PetscErrorCode tsr_petsc_make_partitioning(MatPartitioning partitioning)
{
    outcome *o;

    PetscFunctionBegin;
    PetscCall(PetscNew(&o));
    partitioning->data = o;
    partitioning->ops->apply = apply;
    partitioning->ops->view = view;
    partitioning->ops->destroy = destroy;
    PetscFunctionReturn(0);
}
