/* Products of two sequential AIJ matrices: A B and P' A P.  The first gives C its pattern and its values; those that come again, with other
 * values, compute on C's own arrays.  What the library does not take PETSc computes.
 * SPDX-License-Identifier: Apache-2.0 */
#include <petsc/private/matimpl.h> /* an algorithm that was chosen, and entries that are forced, are told here only */

#include "petsc_plugin.h"

#include <stdlib.h>

#include "tessera/spgemm.h"

/* ---- what is kept with C ---- */

typedef struct arrays {
    PetscInt *offsets, *columns;
    PetscScalar *values;
    int64_t nrows, ncols, nvals;
} arrays;

typedef struct sparse_product {
    tsr_petsc_block a, b;         /* b is empty where both are one matrix */
    tsr_spgemm_plan *inner, *plan; /* A P of P' (A P), else NULL; C */
    arrays inner_arrays;
    tsr_sparse *inner_sparse;
    PetscObjectState c_pattern;   /* of C, when the plan was told its arrays */
    PetscBool fresh;              /* the values that C got with its pattern are still those wanted, if states are these */
    PetscObjectState a_state, b_state, c_state;
} sparse_product;

static void free_arrays(arrays *c)
{
    free(c->offsets);
    free(c->columns);
    free(c->values);
    *c = (arrays){0};
}

static void forget_plans(sparse_product *p)
{
    tsr_spgemm_plan_destroy(p->plan);
    tsr_spgemm_plan_destroy(p->inner);
    tsr_sparse_destroy(p->inner_sparse);
    free_arrays(&p->inner_arrays);
    p->plan = p->inner = NULL;
    p->inner_sparse = NULL;
}

static PetscErrorCode free_product(void *data)
{
    sparse_product *p = data;

    PetscFunctionBegin;
    forget_plans(p);
    tsr_petsc_block_free(&p->a);
    tsr_petsc_block_free(&p->b);
    PetscCall(PetscFree(p));
    PetscFunctionReturn(0);
}

static PetscErrorCode product_of(Mat C, sparse_product **p)
{
    void *data;

    PetscFunctionBegin;
    PetscCall(tsr_petsc_attached(C, "tessera_sparse_product", sizeof **p, free_product, &data));
    *p = data;
    PetscFunctionReturn(0);
}

static const char *name_of(MatProductType type)
{
    return type == MATPRODUCT_AB ? "AIJ x AIJ" : "AIJ' x AIJ x AIJ";
}

/* ---- the library's side ---- */

static tsr_status make_plan(tsr_spgemm_plan **plan, const tsr_sparse *a, const tsr_sparse *b, unsigned flags)
{
    return a && b ? tsr_spgemm_plan_create(plan, tsr_default_semiring(tsr_petsc_scalar_type), a, b, flags) : TSR_OUT_OF_MEMORY;
}

static tsr_status fill(const tsr_spgemm_plan *plan, arrays *c)
{
    tsr_spgemm_plan_size(plan, &c->nrows, &c->ncols, &c->nvals);
    if (c->nvals > PETSC_MAX_INT) {
        return TSR_NOT_SUPPORTED;
    }
    c->offsets = malloc((size_t)(c->nrows + 1) * sizeof *c->offsets);
    c->columns = malloc((size_t)(c->nvals + 1) * sizeof *c->columns);
    c->values = malloc((size_t)(c->nvals + 1) * sizeof *c->values);
    if (!c->offsets || !c->columns || !c->values) {
        return TSR_OUT_OF_MEMORY;
    }
    return tsr_spgemm_execute(plan, tsr_petsc_index_type, c->offsets, c->columns, c->values);
}

/* A P, and the plan of P' times it. */
static tsr_status plan_galerkin(sparse_product *p, const tsr_sparse *b)
{
    arrays *ap = &p->inner_arrays;
    tsr_status status = make_plan(&p->inner, p->a.sparse, b, 0);
    if (status == TSR_OK) {
        status = fill(p->inner, ap);
    }
    if (status == TSR_OK) {
        status = tsr_spgemm_plan_pattern(p->inner, tsr_petsc_index_type, ap->offsets, ap->columns);
    }
    if (status == TSR_OK) {
        const tsr_arrays held = {.index_type = tsr_petsc_index_type, .offsets = ap->offsets, .indices = ap->columns,
                                 .type = tsr_petsc_scalar_type, .values = ap->values};
        status = tsr_sparse_create_csr(&p->inner_sparse, ap->nrows, ap->ncols, &held, TSR_UNCHECKED);
    }
    return status == TSR_OK ? make_plan(&p->plan, b, p->inner_sparse, TSR_SPGEMM_TRANSPOSE_A) : status;
}

/* Operands described and plans made anew. */
static PetscErrorCode prepare(sparse_product *p, MatProductType type, Mat A, Mat B, tsr_status *status)
{
    PetscFunctionBegin;
    forget_plans(p);
    PetscCall(tsr_petsc_block_update(&p->a, A, PETSC_FALSE));
    if (B != A) {
        PetscCall(tsr_petsc_block_update(&p->b, B, PETSC_FALSE));
    }
    const tsr_sparse *b = B == A ? p->a.sparse : p->b.sparse;
    *status = type == MATPRODUCT_PtAP ? plan_galerkin(p, b) : make_plan(&p->plan, p->a.sparse, b, 0);
    PetscFunctionReturn(0);
}

/* values: NULL where C has no entries. */
static tsr_status compute_values(sparse_product *p, PetscScalar *values)
{
    PetscScalar none;
    tsr_status status = TSR_OK;
    if (p->inner) {
        status = tsr_spgemm_execute_values(p->inner, p->inner_arrays.values);
        tsr_sparse_values_changed(p->inner_sparse);
    }
    return status == TSR_OK ? tsr_spgemm_execute_values(p->plan, values ? values : &none) : status;
}

/* ---- PETSc's side ---- */

static PetscErrorCode (*own_sparse)(Mat); /* what PETSc's AIJ matrices ask */

/* C = T, whose entries C has; others of C become zero. */
static PetscErrorCode put_values(Mat T, Mat C)
{
    PetscInt m, count;
    const PetscInt *columns;
    const PetscScalar *values;

    PetscFunctionBegin;
    PetscCall(MatZeroEntries(C));
    PetscCall(MatGetSize(T, &m, NULL));
    for (PetscInt row = 0; row < m; row++) {
        PetscCall(MatGetRow(T, row, &count, &columns, &values));
        PetscCall(MatSetValues(C, 1, &row, count, columns, values, INSERT_VALUES));
        PetscCall(MatRestoreRow(T, row, &count, &columns, &values));
    }
    PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

/* A product of its own, as dear as a first one: C's entries are not those of the plan, or memory is short. */
static PetscErrorCode compute_by_petsc(MatProductType type, Mat A, Mat B, Mat C)
{
    Mat T;
    const char *prefix;

    PetscFunctionBegin;
    PetscCall(MatProductCreate(A, B, NULL, &T));
    PetscCall(MatGetOptionsPrefix(C, &prefix)); /* options of T's algorithm are C's */
    PetscCall(MatSetOptionsPrefix(T, prefix));
    PetscCall(MatProductSetType(T, type));
    PetscCall((*own_sparse)(T));
    PetscCall(MatProductSymbolic(T));
    PetscCall(MatProductNumeric(T));
    PetscCall(put_values(T, C));
    PetscCall(MatDestroy(&T));
    PetscFunctionReturn(0);
}

/* The plan of C's pattern works on C's own arrays. */
static PetscErrorCode tell_pattern(sparse_product *p, Mat C, tsr_status *status)
{
    PetscInt m;
    const PetscInt *offsets, *columns;
    PetscBool done;

    PetscFunctionBegin;
    PetscCall(MatGetRowIJ(C, 0, PETSC_FALSE, PETSC_FALSE, &m, &offsets, &columns, &done));
    *status = tsr_spgemm_plan_pattern(p->plan, tsr_petsc_index_type, offsets, columns ? columns : offsets); /* NULL: no entries */
    PetscCall(MatRestoreRowIJ(C, 0, PETSC_FALSE, PETSC_FALSE, &m, &offsets, &columns, &done));
    PetscCall(MatGetNonzeroState(C, &p->c_pattern));
    PetscFunctionReturn(0);
}

static PetscErrorCode states_of(Mat A, Mat B, Mat C, PetscObjectState states[3])
{
    PetscFunctionBegin;
    PetscCall(PetscObjectStateGet((PetscObject)A, &states[0]));
    PetscCall(PetscObjectStateGet((PetscObject)B, &states[1]));
    PetscCall(PetscObjectStateGet((PetscObject)C, &states[2]));
    PetscFunctionReturn(0);
}

/* ---- numeric ---- */

/* The plan that fits what A, B and C are now. */
static PetscErrorCode follow(sparse_product *p, MatProductType type, Mat A, Mat B, Mat C, tsr_status *status)
{
    PetscBool same[2] = {PETSC_TRUE, PETSC_TRUE};
    PetscObjectState pattern;

    PetscFunctionBegin;
    *status = TSR_OK;
    PetscCall(tsr_petsc_block_is_current(&p->a, A, &same[0]));
    if (B != A) {
        PetscCall(tsr_petsc_block_is_current(&p->b, B, &same[1]));
    }
    PetscCall(MatGetNonzeroState(C, &pattern));
    const PetscBool current = same[0] && same[1] && p->plan ? PETSC_TRUE : PETSC_FALSE;
    if (!current) {
        PetscCall(prepare(p, type, A, B, status));
    }
    if (*status == TSR_OK && (!current || p->c_pattern != pattern)) {
        PetscCall(tell_pattern(p, C, status));
    }
    PetscFunctionReturn(0);
}

static PetscErrorCode run(sparse_product *p, Mat A, Mat B, Mat C, tsr_status *status)
{
    PetscScalar *values;

    PetscFunctionBegin;
    PetscCall(tsr_petsc_block_update(&p->a, A, PETSC_FALSE));
    if (B != A) {
        PetscCall(tsr_petsc_block_update(&p->b, B, PETSC_FALSE));
    }
    PetscCall(MatSeqAIJGetArrayWrite(C, &values));
    *status = compute_values(p, values);
    PetscCall(MatSeqAIJRestoreArrayWrite(C, &values));
    PetscFunctionReturn(0);
}

static PetscErrorCode compute_logged(sparse_product *p, MatProductType type, Mat A, Mat B, Mat C)
{
    tsr_status status;

    PetscFunctionBegin;
    PetscCall(PetscLogEventBegin(tsr_petsc_event_ids[TSR_PETSC_MULTIPLY], 0, 0, 0, 0));
    PetscCall(follow(p, type, A, B, C, &status));
    if (status == TSR_OK) {
        PetscCall(run(p, A, B, C, &status));
    }
    if (status != TSR_OK) {
        tsr_petsc_count(name_of(type), status == TSR_INVALID_VALUE ? "C has other entries" : tsr_status_string(status));
        forget_plans(p);
        PetscCall(compute_by_petsc(type, A, B, C));
    }
    PetscCall(PetscLogFlops(2.0 * (tsr_spgemm_plan_work(p->plan) + tsr_spgemm_plan_work(p->inner))));
    PetscCall(PetscLogEventEnd(tsr_petsc_event_ids[TSR_PETSC_MULTIPLY], 0, 0, 0, 0));
    PetscFunctionReturn(0);
}

static PetscErrorCode compute(MatProductType type, Mat A, Mat B, Mat C)
{
    sparse_product *p = NULL;
    PetscObjectState now[3];

    PetscFunctionBegin;
    PetscCall(product_of(C, &p));
    PetscCall(states_of(A, B, C, now));
    tsr_petsc_count(name_of(type), NULL);
    if (!p->fresh || now[0] != p->a_state || now[1] != p->b_state || now[2] != p->c_state) {
        PetscCall(compute_logged(p, type, A, B, C));
    }
    p->fresh = PETSC_FALSE;
    PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

static PetscErrorCode numeric(Mat C)
{
    return tsr_petsc_compute_product(C, compute);
}

static PetscErrorCode compute_ab(Mat A, Mat B, Mat C)
{
    return compute(MATPRODUCT_AB, A, B, C);
}

static PetscErrorCode compute_ptap(Mat A, Mat P, Mat C)
{
    return compute(MATPRODUCT_PtAP, A, P, C);
}

/* ---- symbolic ---- */

/* As PETSc makes it: of A's type, with B's blocks, and open to further entries. */
static PetscErrorCode set_up(Mat C, MatProductType type, Mat A, Mat B, const arrays *c)
{
    MatType name;
    PetscInt bs;

    PetscFunctionBegin;
    PetscCall(MatGetType(A, &name));
    PetscCall(MatSetSizes(C, (PetscInt)c->nrows, (PetscInt)c->ncols, (PetscInt)c->nrows, (PetscInt)c->ncols));
    PetscCall(MatSetType(C, name));
    if (type == MATPRODUCT_AB) {
        PetscCall(MatSetBlockSizesFromMats(C, A, B));
    } else {
        PetscCall(MatGetBlockSizes(B, NULL, &bs));
        PetscCall(MatSetBlockSizes(C, PetscAbs(bs), PetscAbs(bs)));
    }
    PetscFunctionReturn(0);
}

static PetscErrorCode put_entries(Mat C, arrays *c)
{
    PetscScalar *values;
    PetscInt *lengths;

    PetscFunctionBegin;
    PetscCall(PetscMalloc1(c->nrows, &lengths));
    for (int64_t row = 0; row < c->nrows; row++) {
        lengths[row] = c->offsets[row + 1] - c->offsets[row];
    }
    PetscCall(MatSeqAIJSetPreallocation(C, 0, lengths));
    PetscCall(PetscFree(lengths));
    PetscCall(MatSeqAIJSetColumnIndices(C, c->columns));
    PetscCall(MatSeqAIJGetArrayWrite(C, &values));
    PetscCall(PetscArraycpy(values, c->values, c->nvals));
    PetscCall(MatSeqAIJRestoreArrayWrite(C, &values));
    PetscCall(MatSetOption(C, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

static PetscErrorCode take_numeric(Mat C, MatProductType type)
{
    PetscFunctionBegin;
    PetscCall(MatSetOperation(C, MATOP_PRODUCTNUMERIC, (void (*)(void))numeric));
    if (type == MATPRODUCT_AB) {
        PetscCall(MatSetOperation(C, MATOP_MAT_MULT_NUMERIC, (void (*)(void))compute_ab));
    } else {
        PetscCall(MatSetOperation(C, MATOP_PTAP_NUMERIC, (void (*)(void))compute_ptap));
    }
    PetscFunctionReturn(0);
}

/* The first product, into arrays of its own: C can hold as many entries only when they are counted. */
static PetscErrorCode multiply_first(sparse_product *p, MatProductType type, Mat A, Mat B, arrays *c, tsr_status *status)
{
    PetscFunctionBegin;
    PetscCall(PetscLogEventBegin(tsr_petsc_event_ids[TSR_PETSC_MULTIPLY], 0, 0, 0, 0));
    PetscCall(prepare(p, type, A, B, status));
    if (*status == TSR_OK) {
        *status = fill(p->plan, c);
        PetscCall(PetscLogFlops(2.0 * (tsr_spgemm_plan_work(p->plan) + tsr_spgemm_plan_work(p->inner))));
    }
    PetscCall(PetscLogEventEnd(tsr_petsc_event_ids[TSR_PETSC_MULTIPLY], 0, 0, 0, 0));
    PetscFunctionReturn(0);
}

static PetscErrorCode symbolic_by_petsc(Mat C, MatProductType type, tsr_status why)
{
    void (*own)(void);

    PetscFunctionBegin;
    tsr_petsc_count(name_of(type), tsr_status_string(why));
    PetscCall((*own_sparse)(C));
    PetscCall(MatGetOperation(C, MATOP_PRODUCTSYMBOLIC, &own));
    PetscCall(((PetscErrorCode (*)(Mat))own)(C));
    PetscFunctionReturn(0);
}

static PetscErrorCode finish(sparse_product *p, MatProductType type, Mat A, Mat B, Mat C, arrays *c)
{
    PetscObjectState now[3];
    tsr_status told;

    PetscFunctionBegin;
    PetscCall(set_up(C, type, A, B, c));
    PetscCall(put_entries(C, c));
    free_arrays(c);
    PetscCall(tell_pattern(p, C, &told)); /* if not, it is found again */
    PetscCall(take_numeric(C, type));
    PetscCall(states_of(A, B, C, now));
    p->fresh = PETSC_TRUE;
    p->a_state = now[0];
    p->b_state = now[1];
    p->c_state = now[2];
    PetscFunctionReturn(0);
}

static PetscErrorCode symbolic(Mat C)
{
    Mat A, B, third;
    MatProductType type;
    sparse_product *p = NULL;
    arrays c = {0};
    tsr_status status;

    PetscFunctionBegin;
    PetscCall(MatProductGetMats(C, &A, &B, &third));
    PetscCall(MatProductGetType(C, &type));
    PetscCall(product_of(C, &p));
    PetscCall(multiply_first(p, type, A, B, &c, &status));
    if (status == TSR_OK) {
        PetscCall(finish(p, type, A, B, C, &c));
    } else {
        forget_plans(p);
        free_arrays(&c);
        PetscCall(symbolic_by_petsc(C, type, status));
    }
    PetscFunctionReturn(0);
}

/* ---- deciding ---- */

static PetscErrorCode rows_of(Mat A, tsr_petsc_rows *rows)
{
    PetscBool done;

    PetscFunctionBegin;
    PetscCall(MatGetSize(A, NULL, &rows->ncols));
    PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &rows->nrows, &rows->offsets, &rows->columns, &done));
    PetscFunctionReturn(0);
}

static PetscErrorCode restore_rows(Mat A, tsr_petsc_rows *rows)
{
    PetscBool done;

    PetscFunctionBegin;
    PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &rows->nrows, &rows->offsets, &rows->columns, &done));
    PetscFunctionReturn(0);
}

static PetscErrorCode is_expected_faster(Mat A, Mat B, PetscBool *faster)
{
    tsr_petsc_rows a, b;

    PetscFunctionBegin;
    PetscCall(rows_of(A, &a));
    PetscCall(rows_of(B, &b));
    *faster = tsr_petsc_sparse_pays(&a, &b);
    PetscCall(restore_rows(B, &b));
    PetscCall(restore_rows(A, &a));
    PetscFunctionReturn(0);
}

/* Why not?  NULL: the product is ours. */
static PetscErrorCode reason_against(Mat C, MatProductType type, Mat A, Mat B, const char **why)
{
    PetscBool usual, faster = PETSC_TRUE;

    PetscFunctionBegin;
    *why = NULL;
    PetscCall(PetscStrcmp(C->product->alg, type == MATPRODUCT_AB ? "sorted" : "scalable", &usual));
    if (tsr_petsc_settings.sparse == TSR_PETSC_AUTO && usual && !C->force_diagonals) {
        PetscCall(is_expected_faster(A, B, &faster));
    }
    if (tsr_petsc_settings.sparse == TSR_PETSC_NEVER) {
        *why = "-tessera_sparse never";
    } else if (!usual) {
        *why = "its algorithm was chosen";
    } else if (C->force_diagonals) {
        *why = "its diagonal is to be there";
    } else if (!faster) {
        *why = "no gain expected";
    }
    PetscFunctionReturn(0);
}

/* PETSc's answer first: it reads the options of the algorithm, and stays where ours is not wanted. */
static PetscErrorCode choose_sparse(Mat C)
{
    Mat A, B, third;
    MatProductType type;
    const char *why;

    PetscFunctionBegin;
    PetscCall((*own_sparse)(C));
    PetscCall(MatProductGetMats(C, &A, &B, &third));
    PetscCall(MatProductGetType(C, &type));
    if (type != MATPRODUCT_AB && type != MATPRODUCT_PtAP) {
        PetscFunctionReturn(0);
    }
    PetscCall(reason_against(C, type, A, B, &why));
    if (why) {
        tsr_petsc_count(name_of(type), why);
    } else {
        PetscCall(MatSetOperation(C, MATOP_PRODUCTSYMBOLIC, (void (*)(void))symbolic));
    }
    PetscFunctionReturn(0);
}

/* PETSc calls the operation where both matrices have the same, and else asks for a function by the names of their types. */
PetscErrorCode tsr_petsc_hook_sparse(Mat A)
{
    MatType type;
    void (*own)(void);
    char name[128];

    PetscFunctionBegin;
    PetscCall(MatGetOperation(A, MATOP_PRODUCTSETFROMOPTIONS, &own));
    if (own != (void (*)(void))choose_sparse) {
        own_sparse = (PetscErrorCode (*)(Mat))own;
    }
    PetscCall(MatSetOperation(A, MATOP_PRODUCTSETFROMOPTIONS, (void (*)(void))choose_sparse));
    PetscCall(MatGetType(A, &type));
    const char *const pairs[][2] = {{type, type}, {type, MATSEQAIJ}, {MATSEQAIJ, type}};
    for (int k = 0; k < 3; k++) {
        PetscCall(PetscSNPrintf(name, sizeof name, "MatProductSetFromOptions_%s_%s_C", pairs[k][0], pairs[k][1]));
        PetscCall(PetscObjectComposeFunction((PetscObject)A, name, choose_sparse));
    }
    PetscFunctionReturn(0);
}
