/* Iterators: the header's macros read the struct that GB_Iterator_attach filled, with no further call.
 * SPDX-License-Identifier: Apache-2.0 */
#include "program.h"

static uint64_t mix(uint64_t hash, uint64_t a, uint64_t b)
{
    return (hash ^ a) * 0x100000001B3u ^ (b + (hash >> 31));
}

static uint64_t walk_rows(GxB_Iterator it, int nrows)
{
    uint64_t hash = 1;
    for (int i = 0; i < nrows; i++) {
        GrB_Info info = GxB_rowIterator_seekRow(it, (GrB_Index)i);
        uint64_t sum = 0, count = 0;
        if (info != GrB_SUCCESS || (int)GxB_rowIterator_getRowIndex(it) != i) continue;
        for (; info == GrB_SUCCESS; info = GxB_rowIterator_nextCol(it), count++)
            sum += GxB_rowIterator_getColIndex(it) * 2654435761u;
        hash = mix(mix(hash, (uint64_t)i, count), sum, 0);
    }
    return hash;
}

static uint64_t walk_columns(GxB_Iterator it, int ncols)
{
    uint64_t hash = 1;
    for (int j = 0; j < ncols; j++) {
        GrB_Info info = GxB_colIterator_seekCol(it, (GrB_Index)j);
        uint64_t sum = 0, count = 0;
        if (info != GrB_SUCCESS || (int)GxB_colIterator_getColIndex(it) != j) continue;
        for (; info == GrB_SUCCESS; info = GxB_colIterator_nextRow(it), count++)
            sum += GxB_colIterator_getRowIndex(it) * 2654435761u;
        hash = mix(mix(hash, (uint64_t)j, count), sum, 0);
    }
    return hash;
}

static void iterate_vectors(object *A)
{
    GxB_Iterator it = NULL;
    uint64_t hash = 0;
    int by_col = 0;
    operand(A);
    GxB_Matrix_Option_get(A->m, GxB_FORMAT, &by_col);
    GxB_Iterator_new(&it);
    bool by_row = by_col == GxB_BY_ROW;
    GrB_Info info = by_row ? GxB_rowIterator_attach(it, A->m, NULL) : GxB_colIterator_attach(it, A->m, NULL);
    if (info == GrB_SUCCESS) hash = by_row ? walk_rows(it, A->nrows) : walk_columns(it, A->ncols);
    GxB_Iterator_free(&it);
    report_value(by_row ? "rows" : "columns", info, T_UINT64, &hash);
}

static void iterate_vector(object *u)
{
    GxB_Iterator it = NULL;
    uint64_t hash = 1;
    operand(u);
    GxB_Iterator_new(&it);
    GrB_Info info = GxB_Vector_Iterator_attach(it, u->v, NULL);
    if (info == GrB_SUCCESS) {
        GrB_Info more = GxB_Vector_Iterator_seek(it, 0);
        for (; more == GrB_SUCCESS; more = GxB_Vector_Iterator_next(it))
            hash = mix(hash, GxB_Vector_Iterator_getIndex(it), 0);
    }
    GxB_Iterator_free(&it);
    report_value("vec_iterate", info, T_UINT64, &hash);
}

void op_iterate(void)
{
    if (rng_chance(65)) iterate_vectors(pool_any_matrix());
    else iterate_vector(pool_any_vector());
}
