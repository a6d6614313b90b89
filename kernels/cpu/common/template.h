/* How one C source becomes many kernels: names per instruction set, lists of types, scalar operators per type.
 *
 * A source listed in cpu_isa_sources (meson.build) is compiled once per instruction set with -DTSR_ISA=baseline, avx2
 * or avx512 and the matching -m flags.  Everything not static in it is named TSR_NAME(base) -> base_avx2.  A
 * caller that is
 * compiled once declares the three names with TSR_DECLARE_ISA and picks one by tsr_cpu_isa().
 *
 * Scalar operators: tsr_add_<monoid>_<type>(x, y), tsr_mul_<op>_<type>(a, b), tsr_identity_<monoid>_<type>(), on the C
 * type tsr_c_<type>.  Integers wrap; bool is a byte holding 0 or 1 (any nonzero byte is read as true).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_TEMPLATE_H
#define TSR_CPU_TEMPLATE_H

#include "kernels/kernels.h"

#include <float.h>
#include <math.h>

#define TSR_PASTE_(a, b) a##_##b
#define TSR_PASTE(a, b) TSR_PASTE_(a, b)
#define TSR_PASTE3_(a, b, c) a##_##b##_##c
#define TSR_PASTE3(a, b, c) TSR_PASTE3_(a, b, c)
#define TSR_PASTE4_(a, b, c, d) a##_##b##_##c##_##d
#define TSR_PASTE4(a, b, c, d) TSR_PASTE4_(a, b, c, d)
#define TSR_PASTE5_(a, b, c, d, e) a##_##b##_##c##_##d##_##e
#define TSR_PASTE5(a, b, c, d, e) TSR_PASTE5_(a, b, c, d, e)

/* One number per semiring: cases of a switch need no relocation, as tables of functions would whenever a process starts. */
#define TSR_SEMIRING(type, add, mul) (((type) * TSR_ADD_COUNT + (add)) * TSR_MUL_COUNT + (mul))

#ifdef TSR_ISA
#define TSR_NAME(base) TSR_PASTE(base, TSR_ISA)
#endif

/* TSR_DECLARE_ISA(extern const table_type, tsr_table); declares tsr_table_baseline, _avx2, _avx512.  The last two
 * exist only
 * where the build has them (TSR_HAVE_X86_ISA). */
#ifdef TSR_HAVE_X86_ISA
#define TSR_DECLARE_ISA(type, base) type base##_baseline; type base##_avx2; type base##_avx512
#define TSR_PICK_ISA(base) \
    (tsr_cpu_isa() == TSR_ISA_AVX512 ? base##_avx512 : tsr_cpu_isa() == TSR_ISA_AVX2 ? base##_avx2 : base##_baseline)
#else
#define TSR_DECLARE_ISA(type, base) type base##_baseline
#define TSR_PICK_ISA(base) (base##_baseline)
#endif

typedef uint8_t tsr_c_bool;
typedef int8_t tsr_c_int8;
typedef int16_t tsr_c_int16;
typedef int32_t tsr_c_int32;
typedef int64_t tsr_c_int64;
typedef uint8_t tsr_c_uint8;
typedef uint16_t tsr_c_uint16;
typedef uint32_t tsr_c_uint32;
typedef uint64_t tsr_c_uint64;
typedef float tsr_c_fp32;
typedef double tsr_c_fp64;
typedef struct tsr_c_fc32 { float re, im; } tsr_c_fc32;
typedef struct tsr_c_fc64 { double re, im; } tsr_c_fc64;

/* F(type, wide): wide is an unsigned type in which + and * do not overflow into undefined behaviour. */
#define TSR_FOR_SIGNED(F) F(int8, uint32_t) F(int16, uint32_t) F(int32, uint32_t) F(int64, uint64_t)
#define TSR_FOR_UNSIGNED(F) F(uint8, uint32_t) F(uint16, uint32_t) F(uint32, uint32_t) F(uint64, uint64_t)
#define TSR_FOR_FLOATS(F) F(fp32, float) F(fp64, double)
#define TSR_FOR_COMPLEX(F) F(fc32, float) F(fc64, double)
#define TSR_FOR_INTEGERS(F) TSR_FOR_SIGNED(F) TSR_FOR_UNSIGNED(F)
#define TSR_FOR_NUMBERS(F) TSR_FOR_INTEGERS(F) TSR_FOR_FLOATS(F)

/* F(name, type, sum) of each monoid that there are loops for: sum joins x and y of that type. */
#define TSR_MONOIDS_OF_NUMBERS(F, type)         \
    F(plus, type, tsr_add_plus_##type(x, y))    \
    F(times, type, tsr_mul_times_##type(x, y))  \
    F(min, type, tsr_add_min_##type(x, y))      \
    F(max, type, tsr_add_max_##type(x, y))
#define TSR_MONOIDS_OF_BOOL(F) F(lor, bool, x | y) F(land, bool, x & y) F(lxor, bool, x ^ y) F(eq, bool, x == y)
#define TSR_FOR_MONOIDS(F)             \
    TSR_MONOIDS_OF_NUMBERS(F, int8)    \
    TSR_MONOIDS_OF_NUMBERS(F, int16)   \
    TSR_MONOIDS_OF_NUMBERS(F, int32)   \
    TSR_MONOIDS_OF_NUMBERS(F, int64)   \
    TSR_MONOIDS_OF_NUMBERS(F, uint8)   \
    TSR_MONOIDS_OF_NUMBERS(F, uint16)  \
    TSR_MONOIDS_OF_NUMBERS(F, uint32)  \
    TSR_MONOIDS_OF_NUMBERS(F, uint64)  \
    TSR_MONOIDS_OF_NUMBERS(F, fp32)    \
    TSR_MONOIDS_OF_NUMBERS(F, fp64)    \
    TSR_MONOIDS_OF_BOOL(F)

/* Returns PICK(name, type) of such a monoid (tsr_reduce_op) and its type.  The file undefines bool, which would be expanded before it is
 * pasted into a name. */
#define TSR_OF_NUMBERS(value, type, op, PICK)          \
    case value:                                        \
        switch (op) {                                  \
        case TSR_REDUCE_PLUS: return PICK(plus, type);   \
        case TSR_REDUCE_TIMES: return PICK(times, type); \
        case TSR_REDUCE_MIN: return PICK(min, type);     \
        case TSR_REDUCE_MAX: return PICK(max, type);     \
        default: break;                                \
        }                                              \
        break;
#define TSR_RETURN_OF_MONOID(of_type, op, PICK)        \
    switch (of_type) {                                 \
    case TSR_BOOL:                                     \
        switch (op) {                                  \
        case TSR_REDUCE_LOR: return PICK(lor, bool);     \
        case TSR_REDUCE_LAND: return PICK(land, bool);   \
        case TSR_REDUCE_LXOR: return PICK(lxor, bool);   \
        case TSR_REDUCE_EQ: return PICK(eq, bool);       \
        default: break;                                \
        }                                              \
        break;                                         \
    TSR_OF_NUMBERS(TSR_INT8, int8, op, PICK)           \
    TSR_OF_NUMBERS(TSR_INT16, int16, op, PICK)         \
    TSR_OF_NUMBERS(TSR_INT32, int32, op, PICK)         \
    TSR_OF_NUMBERS(TSR_INT64, int64, op, PICK)         \
    TSR_OF_NUMBERS(TSR_UINT8, uint8, op, PICK)         \
    TSR_OF_NUMBERS(TSR_UINT16, uint16, op, PICK)       \
    TSR_OF_NUMBERS(TSR_UINT32, uint32, op, PICK)       \
    TSR_OF_NUMBERS(TSR_UINT64, uint64, op, PICK)       \
    TSR_OF_NUMBERS(TSR_FP32, fp32, op, PICK)           \
    TSR_OF_NUMBERS(TSR_FP64, fp64, op, PICK)           \
    default: break;                                    \
    }

/* The arithmetic that differs between integers and floats. */
#define TSR_SCALAR_INTEGER(type, wide) \
    static inline tsr_c_##type tsr_add_plus_##type(tsr_c_##type x, tsr_c_##type y) \
    { return (tsr_c_##type)((wide)x + (wide)y); } \
    static inline tsr_c_##type tsr_add_min_##type(tsr_c_##type x, tsr_c_##type y) { return x < y ? x : y; } \
    static inline tsr_c_##type tsr_add_max_##type(tsr_c_##type x, tsr_c_##type y) { return x > y ? x : y; } \
    static inline tsr_c_##type tsr_mul_times_##type(tsr_c_##type a, tsr_c_##type b) \
    { return (tsr_c_##type)((wide)a * (wide)b); } \
    static inline tsr_c_##type tsr_mul_plus_##type(tsr_c_##type a, tsr_c_##type b) { return tsr_add_plus_##type(a, \
        b); } \
    static inline tsr_c_##type tsr_identity_plus_##type(void) { return 0; }

#define TSR_SCALAR_SIGNED(type, wide) \
    static inline tsr_c_##type tsr_identity_max_##type(void) \
    { return (tsr_c_##type)((wide)1 << (8 * sizeof(tsr_c_##type) - 1)); } \
    static inline tsr_c_##type tsr_identity_min_##type(void) { return (tsr_c_##type)~tsr_identity_max_##type(); }

#define TSR_SCALAR_UNSIGNED(type, wide) \
    static inline tsr_c_##type tsr_identity_max_##type(void) { return 0; } \
    static inline tsr_c_##type tsr_identity_min_##type(void) { return (tsr_c_##type)~(wide)0; }

/* -0.0 is the identity of IEEE addition (+0.0 would turn -0.0 into +0.0), NaN that of fmin and fmax.  These are written so that one
 * instruction compares and chooses: which is less, nobody foresees. */
#define TSR_SCALAR_FLOAT(type, real) \
    static inline real tsr_add_plus_##type(real x, real y) { return x + y; } \
    static inline real tsr_add_min_##type(real x, real y) { return x != x ? y : y < x ? y : x; } \
    static inline real tsr_add_max_##type(real x, real y) { return x != x ? y : y > x ? y : x; } \
    static inline real tsr_mul_times_##type(real a, real b) { return a * b; } \
    static inline real tsr_mul_plus_##type(real a, real b) { return a + b; } \
    static inline real tsr_identity_plus_##type(void) { return (real)-0.0; } \
    static inline real tsr_identity_min_##type(void) { return (real)NAN; } \
    static inline real tsr_identity_max_##type(void) { return (real)NAN; }

/* By the formulas of school: not those of C99's Annex G, which look for infinities. */
#define TSR_SCALAR_COMPLEX(type, real) \
    static inline tsr_c_##type tsr_add_plus_##type(tsr_c_##type x, tsr_c_##type y) \
    { return (tsr_c_##type){ x.re + y.re, x.im + y.im }; } \
    static inline tsr_c_##type tsr_mul_times_##type(tsr_c_##type a, tsr_c_##type b) \
    { return (tsr_c_##type){ a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re }; } \
    static inline tsr_c_##type tsr_identity_plus_##type(void) { return (tsr_c_##type){ (real)-0.0, (real)-0.0 }; }

/* Operators that are the same text for every type. ANY keeps what came first. */
#define TSR_SCALAR_COMMON(type, wide) \
    static inline tsr_c_##type tsr_add_any_##type(tsr_c_##type x, tsr_c_##type y) { (void)y; return x; } \
    static inline tsr_c_##type tsr_add_lor_##type(tsr_c_##type x, tsr_c_##type y) \
    { return (tsr_c_##type)((x != 0) | (y != 0)); } \
    static inline tsr_c_##type tsr_identity_lor_##type(void) { return 0; } \
    static inline tsr_c_##type tsr_identity_times_##type(void) { return 1; } \
    static inline tsr_c_##type tsr_mul_first_##type(tsr_c_##type a, tsr_c_##type b) { (void)b; return a; } \
    static inline tsr_c_##type tsr_mul_second_##type(tsr_c_##type a, tsr_c_##type b) { (void)a; return b; } \
    static inline tsr_c_##type tsr_mul_pair_##type(tsr_c_##type a, tsr_c_##type b) { (void)a; (void)b; return 1; } \
    static inline tsr_c_##type tsr_mul_and_##type(tsr_c_##type a, tsr_c_##type b) \
    { return (tsr_c_##type)((a != 0) & (b != 0)); }

TSR_FOR_INTEGERS(TSR_SCALAR_INTEGER)
TSR_FOR_SIGNED(TSR_SCALAR_SIGNED)
TSR_FOR_UNSIGNED(TSR_SCALAR_UNSIGNED)
TSR_FOR_FLOATS(TSR_SCALAR_FLOAT)
TSR_FOR_COMPLEX(TSR_SCALAR_COMPLEX)
TSR_FOR_NUMBERS(TSR_SCALAR_COMMON)

/* Boolean: TIMES is AND, PLUS is OR, as in the GraphBLAS C API. */
TSR_SCALAR_COMMON(bool, uint32_t)
static inline tsr_c_bool tsr_mul_times_bool(tsr_c_bool a, tsr_c_bool b) { return (a != 0) & (b != 0); }
static inline tsr_c_bool tsr_identity_land_bool(void) { return 1; }
static inline tsr_c_bool tsr_identity_lxor_bool(void) { return 0; }
static inline tsr_c_bool tsr_identity_eq_bool(void) { return 1; }
static inline tsr_c_bool tsr_mul_plus_bool(tsr_c_bool a, tsr_c_bool b) { return (a != 0) | (b != 0); }

#endif
