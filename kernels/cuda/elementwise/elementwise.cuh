// One vector of an elementwise step: elements and presence in registers, operators, C<M> accum=.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/common/sums.cuh"

#include <climits>

namespace {

// ---- Vectors of elements; bool is stored as bytes ----

template <int V> constexpr unsigned all_bits = (1u << V) - 1;

/* Elements from `at` on, of which `left` exist. */
template <class S, int V> __device__ __forceinline__ void load(S (&out)[V], const void *base, int64_t at, int64_t left)
{
    const S *from = static_cast<const S *>(base) + at;
    if (left >= V) {
        load_vector(out, from);
    } else {
#pragma unroll
        for (int v = 0; v < V; v++)
            out[v] = v < left ? from[v] : S(0);
    }
}

/* Results stay in the cache: the next step reads them. */
template <class S, int V> __device__ __forceinline__ void store(void *base, const S (&in)[V], int64_t at, int64_t left)
{
    S *to = static_cast<S *>(base) + at;
    if (left >= V) {
        constexpr int bytes = piece_bytes<S, V>;
        using raw = typename raw_bytes<bytes>::type;
        raw piece[sizeof in / bytes];
        memcpy(piece, in, sizeof in);
#pragma unroll
        for (int k = 0; k < int(sizeof in / bytes); k++)
            reinterpret_cast<raw *>(to)[k] = piece[k];
    } else {
#pragma unroll
        for (int v = 0; v < V; v++)
            if (v < left)
                to[v] = in[v];
    }
}

/* Bytes 0/1 to bits and back. */
template <int V> __device__ __forceinline__ unsigned load_bits(const int8_t *present, int64_t at, int64_t left)
{
    uint8_t byte[V];
    load(byte, present, at, left);
    unsigned bits = 0;
#pragma unroll
    for (int v = 0; v < V; v++)
        bits |= unsigned(byte[v]) << v;
    return bits;
}
template <int V> __device__ __forceinline__ void store_bits(int8_t *present, unsigned bits, int64_t at, int64_t left)
{
    uint8_t byte[V];
#pragma unroll
    for (int v = 0; v < V; v++)
        byte[v] = bits >> v & 1;
    store(present, byte, at, left);
}

// ---- Operators, as SuiteSparse defines them; no sum is contracted with a product ----

template <class T> __device__ __forceinline__ T plus(T x, T y)
{
    if constexpr (std::is_same_v<T, float>)
        return __fadd_rn(x, y);
    else if constexpr (std::is_same_v<T, double>)
        return __dadd_rn(x, y);
    else if constexpr (std::is_same_v<T, bool>)
        return x || y;
    else
        return T(uint64_t(x) + uint64_t(y));
}
template <class T> __device__ __forceinline__ T minus(T x, T y)
{
    if constexpr (std::is_same_v<T, float>)
        return __fsub_rn(x, y);
    else if constexpr (std::is_same_v<T, double>)
        return __dsub_rn(x, y);
    else if constexpr (std::is_same_v<T, bool>)
        return x != y;
    else
        return T(uint64_t(x) - uint64_t(y));
}
template <class T> __device__ __forceinline__ T times(T x, T y)
{
    if constexpr (std::is_same_v<T, float>)
        return __fmul_rn(x, y);
    else if constexpr (std::is_same_v<T, double>)
        return __dmul_rn(x, y);
    else if constexpr (std::is_same_v<T, bool>)
        return x && y;
    else
        return T(uint64_t(x) * uint64_t(y));
}
template <class T> struct range {
    static constexpr T least = std::numeric_limits<T>::lowest(), most = std::numeric_limits<T>::max();
};
template <class T> __device__ __forceinline__ bool is_negative(T x)
{
    if constexpr (std::is_signed_v<T>)
        return x < T(0);
    else
        return false;
}
/* x / 0 of integers: the most or the least there is, 0 / 0 = 0. */
template <class T> __device__ __forceinline__ T quotient(T x, T y)
{
    if constexpr (std::is_same_v<T, bool>)
        return x;
    else if constexpr (std::is_floating_point_v<T>)
        return x / y;
    else if (y == 0)
        return x == 0 ? T(0) : is_negative(x) ? range<T>::least : range<T>::most;
    else
        return std::is_signed_v<T> && y == T(-1) ? minus(T(0), x) : T(x / y);
}
/* Of floating-point numbers NaN loses, and of two zeros it is y. */
template <class T> __device__ __forceinline__ T least(T x, T y) { return x < y || y != y ? x : y; }
template <class T> __device__ __forceinline__ T most(T x, T y) { return x > y || y != y ? x : y; }
template <class T> __device__ __forceinline__ T negative(T x)
{
    if constexpr (std::is_floating_point_v<T>)
        return -x;
    else if constexpr (std::is_same_v<T, bool>)
        return x;
    else
        return minus(T(0), x);
}
template <class T> __device__ __forceinline__ T magnitude(T x)
{
    if constexpr (std::is_floating_point_v<T>)
        return fabs(x);
    else if constexpr (std::is_signed_v<T>)
        return x < T(0) ? negative(x) : x;
    else
        return x;
}
template <class T> __device__ __forceinline__ T root(T x)
{
    if constexpr (std::is_floating_point_v<T>)
        return sqrt(x);
    else
        return x;
}

template <class T, int V, class F>
__device__ __forceinline__ void each(stored<T> (&z)[V], const stored<T> (&x)[V], const stored<T> (&y)[V], F f)
{
#pragma unroll
    for (int v = 0; v < V; v++)
        z[v] = f(T(x[v]), T(y[v]));
}

/* Operators whose result is of the type.  z may be x or y. */
template <class T, int V>
__device__ __forceinline__ void operate(
    tsr_ewise_op op, stored<T> (&z)[V], const stored<T> (&x)[V], const stored<T> (&y)[V])
{
    switch (op) {
    case TSR_EWISE_IDENTITY:
    case TSR_EWISE_FIRST: each<T>(z, x, y, [](T a, T) { return a; }); break;
    case TSR_EWISE_SECOND: each<T>(z, x, y, [](T, T b) { return b; }); break;
    case TSR_EWISE_ONE:
    case TSR_EWISE_PAIR: each<T>(z, x, y, [](T, T) { return T(1); }); break;
    case TSR_EWISE_AINV: each<T>(z, x, y, [](T a, T) { return negative(a); }); break;
    case TSR_EWISE_ABS: each<T>(z, x, y, [](T a, T) { return magnitude(a); }); break;
    case TSR_EWISE_LNOT: each<T>(z, x, y, [](T a, T) { return T(a == T(0)); }); break;
    case TSR_EWISE_SQRT: each<T>(z, x, y, [](T a, T) { return root(a); }); break;
    case TSR_EWISE_PLUS: each<T>(z, x, y, [](T a, T b) { return plus(a, b); }); break;
    case TSR_EWISE_MINUS: each<T>(z, x, y, [](T a, T b) { return minus(a, b); }); break;
    case TSR_EWISE_RMINUS: each<T>(z, x, y, [](T a, T b) { return minus(b, a); }); break;
    case TSR_EWISE_TIMES: each<T>(z, x, y, [](T a, T b) { return times(a, b); }); break;
    case TSR_EWISE_MINV:
    case TSR_EWISE_DIV:
    case TSR_EWISE_RDIV: /* one copy of the long code of a division */
        each<T>(z, x, y, [op](T a, T b) {
            return quotient(op == TSR_EWISE_MINV ? T(1) : op == TSR_EWISE_DIV ? a : b, op == TSR_EWISE_DIV ? b : a);
        });
        break;
    case TSR_EWISE_MIN: each<T>(z, x, y, [](T a, T b) { return least(a, b); }); break;
    case TSR_EWISE_MAX: each<T>(z, x, y, [](T a, T b) { return most(a, b); }); break;
    case TSR_EWISE_ISEQ: each<T>(z, x, y, [](T a, T b) { return T(a == b); }); break;
    case TSR_EWISE_ISNE: each<T>(z, x, y, [](T a, T b) { return T(a != b); }); break;
    case TSR_EWISE_ISGT: each<T>(z, x, y, [](T a, T b) { return T(a > b); }); break;
    case TSR_EWISE_ISLT: each<T>(z, x, y, [](T a, T b) { return T(a < b); }); break;
    case TSR_EWISE_ISGE: each<T>(z, x, y, [](T a, T b) { return T(a >= b); }); break;
    case TSR_EWISE_ISLE: each<T>(z, x, y, [](T a, T b) { return T(a <= b); }); break;
    case TSR_EWISE_LOR: each<T>(z, x, y, [](T a, T b) { return T(a != T(0) || b != T(0)); }); break;
    case TSR_EWISE_LAND: each<T>(z, x, y, [](T a, T b) { return T(a != T(0) && b != T(0)); }); break;
    default: each<T>(z, x, y, [](T a, T b) { return T((a != T(0)) != (b != T(0))); }); break;
    }
}

template <class T, int V, class F>
__device__ __forceinline__ unsigned bits_of(const stored<T> (&x)[V], const stored<T> (&y)[V], F f)
{
    unsigned bits = 0;
#pragma unroll
    for (int v = 0; v < V; v++)
        bits |= unsigned(f(T(x[v]), T(y[v]))) << v;
    return bits;
}

template <class T, int V>
__device__ __forceinline__ unsigned compare(tsr_ewise_op op, const stored<T> (&x)[V], const stored<T> (&y)[V])
{
    switch (op) {
    case TSR_EWISE_EQ: return bits_of<T>(x, y, [](T a, T b) { return a == b; });
    case TSR_EWISE_NE: return bits_of<T>(x, y, [](T a, T b) { return a != b; });
    case TSR_EWISE_GT: return bits_of<T>(x, y, [](T a, T b) { return a > b; });
    case TSR_EWISE_LT: return bits_of<T>(x, y, [](T a, T b) { return a < b; });
    case TSR_EWISE_GE: return bits_of<T>(x, y, [](T a, T b) { return a >= b; });
    default: return bits_of<T>(x, y, [](T a, T b) { return a <= b; });
    }
}

// ---- One vector of a step ----

struct step_args {
    tsr_ewise_arrays a;
    int64_t count;
    uint64_t x, y; /* scalars */
    tsr_ewise_op op, accum;
    int mask_size; /* bytes of a mask value */
    bool unary, unite, select, accumulates, masked, complement, replace;
    bool x_before, y_before, c_before; /* of a fused step: the operand is what the step before has made */
};

template <class S, int V> struct operand {
    S x[V];
    unsigned present;
};

/* e.x == NULL: the scalar at every place.  before: the operand is that. */
template <class S, int V>
__device__ __forceinline__ void load_operand(
    operand<S, V> &out, const tsr_elements &e, uint64_t scalar, const operand<S, V> *before, int64_t at, int64_t left)
{
    out.present = all_bits<V>;
    if (before) {
        out = *before;
    } else if (e.x) {
        load(out.x, e.x, at, left);
        if (e.present)
            out.present = load_bits<V>(e.present, at, left);
    } else {
        S one;
        memcpy(&one, &scalar, sizeof one);
#pragma unroll
        for (int v = 0; v < V; v++)
            out.x[v] = one;
    }
}

/* Which values are not all zero bits. */
template <class S, int V> __device__ __forceinline__ unsigned load_truth(const void *x, int64_t at, int64_t left)
{
    S value[V];
    load(value, x, at, left);
    unsigned bits = 0;
#pragma unroll
    for (int v = 0; v < V; v++)
        bits |= unsigned(value[v] != 0) << v;
    return bits;
}

template <int V> __device__ __forceinline__ unsigned load_mask(const step_args &q, int64_t at, int64_t left)
{
    const tsr_elements &mask = q.a.mask;
    unsigned bits = mask.present ? load_bits<V>(mask.present, at, left) : all_bits<V>;
    if (mask.x)
        switch (q.mask_size) {
        case 1: bits &= load_truth<uint8_t, V>(mask.x, at, left); break;
        case 2: bits &= load_truth<uint16_t, V>(mask.x, at, left); break;
        case 4: bits &= load_truth<uint32_t, V>(mask.x, at, left); break;
        default: bits &= load_truth<uint64_t, V>(mask.x, at, left); break;
        }
    return q.complement ? bits ^ all_bits<V> : bits;
}

/* z[v] = y[v] where the bit is 0. */
template <class S, int V> __device__ __forceinline__ void where(unsigned bits, S (&z)[V], const S (&y)[V])
{
#pragma unroll
    for (int v = 0; v < V; v++)
        z[v] = bits >> v & 1 ? z[v] : y[v];
}

/* z = op (x, y); R is T, or bool of a comparison.  before: what the step before has made, NULL outside of chains. */
template <class T, class R, int V>
__device__ __forceinline__ void compute(
    operand<stored<R>, V> &z, const step_args &q, const operand<stored<T>, V> *before, int64_t at, int64_t left)
{
    operand<stored<T>, V> x, y;
    load_operand(x, q.a.x, q.x, before && q.x_before ? before : nullptr, at, left);
    if (q.unary)
        y = x;
    else
        load_operand(y, q.a.y, q.y, before && q.y_before ? before : nullptr, at, left);
    z.present = x.present & y.present;
    if constexpr (!std::is_same_v<T, R>) {
        unsigned holds = compare<T>(q.op, x.x, y.x);
#pragma unroll
        for (int v = 0; v < V; v++)
            z.x[v] = holds >> v & 1;
    } else if (q.select) {
        z.present &= compare<T>(q.op, x.x, y.x);
        each<T>(z.x, x.x, y.x, [](T a, T) { return a; });
    } else {
        operate<T>(q.op, z.x, x.x, y.x);
        if (q.unite) {
            where(x.present, x.x, y.x);
            where(z.present, z.x, x.x);
            z.present = x.present | y.present;
        }
    }
}

/* C<M> accum= z. */
template <class R, int V>
__device__ __forceinline__ void join(
    operand<stored<R>, V> &z, const step_args &q, const operand<stored<R>, V> *before, unsigned passes, int64_t at, int64_t left)
{
    operand<stored<R>, V> c;
    load_operand(c, q.a.c, 0, before && q.c_before ? before : nullptr, at, left);
    if (q.accumulates) {
        stored<R> both[V];
        operate<R>(q.accum, both, c.x, z.x);
        where(z.present, z.x, c.x);
        where(~(c.present & z.present), z.x, both);
        z.present |= c.present;
    }
    where(passes, z.x, c.x);
    z.present = (z.present & passes) | (q.replace ? 0 : c.present & ~passes);
}

// ---- What a kernel is told of a step ----

/* Of booleans EQ is ISEQ and so on. */
inline tsr_ewise_op of_its_type(tsr_ewise_op op) { return tsr_ewise_op(op - TSR_EWISE_EQ + TSR_EWISE_ISEQ); }

inline bool makes_bool(const tsr_ewise *s) { return tsr_ewise_compares(s->op) && !s->select && s->type != TSR_BOOL; }

inline step_args arguments(const tsr_ewise *s, const tsr_ewise_arrays *a)
{
    step_args q = {};
    q.a = *a;
    q.count = s->count;
    q.x = s->x.scalar;
    q.y = s->y.scalar;
    q.op = s->type == TSR_BOOL && !s->select && tsr_ewise_compares(s->op) ? of_its_type(s->op) : s->op;
    q.accum = s->accumulates && tsr_ewise_compares(s->accum) ? of_its_type(s->accum) : s->accum;
    q.mask_size = int(size_of(s->mask_type));
    q.unary = tsr_ewise_is_unary(s->op);
    q.unite = s->unite;
    q.select = s->select;
    q.accumulates = s->accumulates;
    q.masked = tsr_ewise_masked(s, a);
    q.complement = s->mask_complement;
    q.replace = s->replace;
    return q;
}

} // namespace
