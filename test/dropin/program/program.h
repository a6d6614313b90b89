/* Random GraphBLAS programs: the pool of objects, typed access, and the families of operations.
 * Everything printed depends on the seed and on what the C API specifies, never on how a library stores an object.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_TEST_PROGRAM_H
#define TSR_TEST_PROGRAM_H

#include <GraphBLAS.h>
#undef I /* the imaginary unit of complex.h, which newer headers include */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- random numbers (rng.c) ---- */
void rng_seed(uint64_t seed);
uint64_t rng_next(void);
int rng_below(int n); /* 0 … n-1 */
bool rng_chance(int percent);

/* ---- types (typed.c) ---- */
#define EACH_TYPE(X)                                                                                                  \
    X(0, BOOL, bool) X(1, INT8, int8_t) X(2, INT16, int16_t) X(3, INT32, int32_t) X(4, INT64, int64_t)                \
    X(5, UINT8, uint8_t) X(6, UINT16, uint16_t) X(7, UINT32, uint32_t) X(8, UINT64, uint64_t) X(9, FP32, float)       \
    X(10, FP64, double)

enum { T_BOOL, T_INT8, T_INT16, T_INT32, T_INT64, T_UINT8, T_UINT16, T_UINT32, T_UINT64, T_FP32, T_FP64, T_USER };
enum { NTYPES = 11, NKINDS = 12 };

typedef struct user_value { /* the user-defined type: two wrapping counters */
    uint32_t a, b;
} user_value;

typedef struct bound { /* |value| < 2^mag, a multiple of 2^-frac; mag > 200: unknown; special: NaN, Inf possible */
    int mag, frac;
    bool special;
} bound;

bool is_float(int type);
size_t type_size(int type);
GrB_Type type_handle(int type);
void value_put(int type, void *x, int64_t p, int v); /* x[p] = v (halves, for floats) */
void *value_at(int type, void *x, int64_t p);
uint64_t value_bits(int type, const void *x, int64_t p); /* canonical: one NaN, one zero */

typedef union { /* one value of any type */
    bool b;
    int64_t i;
    double d;
    user_value u;
} any_value;

GrB_Info mat_build(int type, GrB_Matrix C, const GrB_Index *I, const GrB_Index *J, const void *X, GrB_Index n,
                   GrB_BinaryOp dup);
GrB_Info vec_build(int type, GrB_Vector w, const GrB_Index *I, const void *X, GrB_Index n, GrB_BinaryOp dup);
GrB_Info mat_set(int type, GrB_Matrix C, const void *x, GrB_Index i, GrB_Index j);
GrB_Info vec_set(int type, GrB_Vector w, const void *x, GrB_Index i);
GrB_Info mat_get(int type, void *x, GrB_Matrix A, GrB_Index i, GrB_Index j);
GrB_Info vec_get(int type, void *x, GrB_Vector u, GrB_Index i);
GrB_Info mat_tuples(int type, GrB_Index *I, GrB_Index *J, void *X, GrB_Index *n, GrB_Matrix A);
GrB_Info vec_tuples(int type, GrB_Index *I, void *X, GrB_Index *n, GrB_Vector u);
GrB_Info mat_assign_value(int type, GrB_Matrix C, GrB_Matrix M, GrB_BinaryOp accum, const void *x, const GrB_Index *I,
                          GrB_Index ni, const GrB_Index *J, GrB_Index nj, GrB_Descriptor desc);
GrB_Info mat_subassign_value(int type, GrB_Matrix C, GrB_Matrix M, GrB_BinaryOp accum, const void *x,
                             const GrB_Index *I, GrB_Index ni, const GrB_Index *J, GrB_Index nj, GrB_Descriptor desc);
GrB_Info vec_assign_value(int type, GrB_Vector w, GrB_Vector m, GrB_BinaryOp accum, const void *x, const GrB_Index *I,
                          GrB_Index ni, GrB_Descriptor desc);
GrB_Info mat_bind2(int type, GrB_Matrix C, GrB_Matrix M, GrB_BinaryOp accum, GrB_BinaryOp op, GrB_Matrix A,
                   const void *y, GrB_Descriptor desc);
GrB_Info vec_bind2(int type, GrB_Vector w, GrB_Vector m, GrB_BinaryOp accum, GrB_BinaryOp op, GrB_Vector u,
                   const void *y, GrB_Descriptor desc);
GrB_Info mat_select(int type, GrB_Matrix C, GrB_Matrix M, GrB_BinaryOp accum, GrB_IndexUnaryOp op, GrB_Matrix A,
                    const void *y, GrB_Descriptor desc);
GrB_Info vec_select(int type, GrB_Vector w, GrB_Vector m, GrB_BinaryOp accum, GrB_IndexUnaryOp op, GrB_Vector u,
                    const void *y, GrB_Descriptor desc);
GrB_Info mat_apply_index(int type, GrB_Matrix C, GrB_Matrix M, GrB_BinaryOp accum, GrB_IndexUnaryOp op, GrB_Matrix A,
                         const void *y, GrB_Descriptor desc);
GrB_Info vec_apply_index(int type, GrB_Vector w, GrB_Vector m, GrB_BinaryOp accum, GrB_IndexUnaryOp op, GrB_Vector u,
                         const void *y, GrB_Descriptor desc);
GrB_Info scalar_set(int type, GrB_Scalar s, const void *x);
GrB_Info scalar_get(int type, void *x, GrB_Scalar s);
GrB_Info mat_reduce_value(int type, void *x, GrB_BinaryOp accum, GrB_Monoid monoid, GrB_Matrix A);
GrB_Info vec_reduce_value(int type, void *x, GrB_BinaryOp accum, GrB_Monoid monoid, GrB_Vector u);
GrB_Info mat_export_copy(int type, GrB_Index *p, GrB_Index *i, void *x, GrB_Index *np, GrB_Index *ni, GrB_Index *nx,
                         GrB_Format format, GrB_Matrix A);
GrB_Info mat_import_copy(int type, GrB_Matrix *A, GrB_Index nrows, GrB_Index ncols, const GrB_Index *p,
                         const GrB_Index *i, const void *x, GrB_Index np, GrB_Index ni, GrB_Index nx,
                         GrB_Format format);

/* ---- operators (operators.c) ---- */
enum { OP_TIMES, OP_FIRST, OP_SECOND, OP_PAIR, OP_PLUS, OP_LAND, OP_MINUS, OP_MIN, OP_MAX, OP_LOR, OP_LXOR, OP_ISEQ,
       OP_ISGT, OP_RMINUS, OP_ANY,
       OP_DIV, OP_RDIV, OP_ISNE, OP_ISLT, OP_ISGE, OP_ISLE, OP_EQ, OP_NE, OP_GT, OP_LT, OP_GE, OP_LE, OP_COUNT }; /* behind ANY: of few programs */
enum { MON_PLUS, MON_MIN, MON_MAX, MON_ANY, MON_LOR, MON_TIMES, MON_LAND, MON_LXOR, MON_COUNT, MON_EQ = MON_COUNT, MON_ALL };

void operators_init(void);
void operators_free(void);
GrB_BinaryOp binary_op(int op, int type);
GrB_BinaryOp user_binary(int type); /* FP64, INT32 and USER only, else NULL; z = x + 2 y for the first two */
GrB_UnaryOp tame_op(int type);      /* maps every value to a small dyadic one */
GrB_UnaryOp nested_op(void);        /* FP64: calls GraphBLAS */
GrB_UnaryOp plain_unary(int which, int type);
GrB_IndexUnaryOp select_op(int which, int type, bool *by_value);
enum { INDEX_OP_OF_USER = 16, INDEX_OPS };
GrB_IndexUnaryOp index_op(int which, int type, int *of); /* of: the type of the scalar beside A */
GrB_IndexUnaryOp user_select_op(void);                   /* of FP64, by a place and an INT64 */
GrB_Monoid monoid(int mon, int type); /* NULL: does not exist */
/* Monoid and operator of this type, or a monoid of BOOL and a comparison.  Built-in name if there is one and `builtin`, otherwise made from its operators.  Cached.  NULL: does not exist. */
GrB_Semiring semiring(int mon, int op, int type, bool builtin);
GrB_Semiring user_semiring(int type);      /* FP64, INT32, USER */
enum { POSITIONAL = 4, ALL_POSITIONAL = 8 };
GrB_Semiring positional_semiring(int which); /* INT64; from POSITIONAL on INT32 */
GrB_Descriptor descriptor(bool replace, bool comp, bool structural, bool t0, bool t1);
GrB_Descriptor method_descriptor(int method, bool t0, bool t1); /* GxB_AxB_METHOD set: 0 … 3 */
bound op_bound(int op, bound x, bound y);

/* ---- pool (pool.c) ---- */
typedef struct object {
    union {
        GrB_Matrix m;
        GrB_Vector v;
        void *handle;
    };
    bool vector;
    bool dense; /* believed: full or bitmap */
    bool hyper; /* asked to be held hypersparse */
    bool failed; /* may hold an error string: must not be an operand (7.4.0 frees it twice) */
    int busy;   /* an operand of the operation being made */
    int type;
    int nrows, ncols; /* vector: ncols = 1 */
    bound b;
} object;

enum { POOL_MATRICES = 12, POOL_VECTORS = 8, POOL_SIZES = 4 };
enum { WANT_ANY, WANT_SPARSE, WANT_DENSE };
enum { TYPE_ANY = -1 };

typedef struct pool {
    object matrices[POOL_MATRICES];
    object vectors[POOL_VECTORS];
    int sizes[POOL_SIZES];
    bool allow_hyper;
    bool large;
    const GrB_Index *all;
} pool;

extern pool the_pool;

void pool_init(bool large, bool allow_hyper);
void pool_make_iso(int percent); /* so many more of the objects to come */
void pool_free(void);
void pool_release(void);  /* no operand is busy any more */
int pool_size(void);      /* one of this program's dimensions */
object *pool_matrix(int nrows, int ncols, int type, int want);
object *pool_vector(int size, int type, int want);
object *pool_any_matrix(void);
object *pool_any_vector(void);
GrB_Matrix make_matrix(int nrows, int ncols, int type, int want, bound *b, bool *hyper);
GrB_Vector make_vector(int size, int type, int want, bound *b);
void object_replace(object *o, void *handle); /* frees the old handle */
void object_free(object *o);
GrB_Info object_wait(object *o);
void operand(object *o); /* about to be read: an error string is dropped first */
void without_negative_zero(object *o);
void operand_mask(object *o, bool with_accum);
void without_hyper(object *o, bool only_if_empty); /* no longer held hypersparse */
void tame(object *o);     /* make its values small and dyadic */
void tame_for(object *o, int type, int log2_terms); /* … unless so many of them sum exactly in `type` anyhow */
bool bound_exact(bound b, int type);
bound bound_cast(bound b, int from, int to);
/* The bound of o after o<M> accum= T, T of type `from`; accum < 0: none. */
void object_bound(object *o, bound t, int from, int accum);
/* An accumulator's number (never ANY), or -1: none.  *type: o's own type, mostly. */
int random_accum(const object *o, int *type);
int random_type(void);

/* ---- report (digest.c) ---- */
void report_init(bool full);
void report_count(const object *o); /* with iso: how many entries */
void report_iso(bool iso); /* also whether an object is iso */
void report_rarely(bool rarely); /* objects are seldom looked at from now on */
void report_text(const char *name, GrB_Info info); /* an operation without an output object */
void report(const char *name, GrB_Info info, object *out);
void report_value(const char *name, GrB_Info info, int type, const void *x);
void report_structure(const char *name, GrB_Info info, GrB_Matrix C); /* C is FP64 */
uint64_t digest_matrix(GrB_Matrix A, int type, int nrows, int ncols, bool values);
uint64_t digest_vector(GrB_Vector u, int type, bool values);
void report_pool(void);

/* ---- the program (random_program.c) ---- */
void free_by_program(void *block); /* what GraphBLAS allocated for the program */

/* ---- families of operations ---- */
void op_products(void);   /* products.c */
void op_any_products(void);
void op_threads(void);    /* threads.c */
void op_elementwise(void);/* elementwise.c */
void op_chains(void);     /* chains.c */
void op_assign(void);     /* assign.c */
void op_extract(void);
void op_mutate(void);     /* mutate.c */
void op_options(void);
void op_transfer(void);   /* transfer.c */
void op_whole(void);      /* whole.c */
void op_iterate(void);    /* iterate.c */
void op_errors(void);     /* errors.c */
void op_nested(void);

#endif
