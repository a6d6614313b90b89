// Semirings on the device.  A policy says what A, B and the sums are, and how one product joins a sum; the kernels by row are
// templates over it.  Typed policies start from the identity of the monoid; `any_semiring` looks its operators up while running,
// keeps a bit per element for "a product was formed", and skips the absent elements of a bitmap.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/common/cuda_kernels.h"
#include "kernels/cuda/common/device.cuh"

#include <cstring>
#include <limits>
#include <type_traits>

// ---- Vectors of V elements: one load or store of at most 16 bytes each ----

template <int Bytes> struct raw_bytes;
template <> struct raw_bytes<1> { using type = unsigned char; };
template <> struct raw_bytes<2> { using type = unsigned short; };
template <> struct raw_bytes<4> { using type = unsigned; };
template <> struct raw_bytes<8> { using type = uint2; };
template <> struct raw_bytes<16> { using type = uint4; };

template <class T, int V> constexpr int piece_bytes = sizeof(T) * V < 16 ? int(sizeof(T)) * V : 16;

/* Read-only data; the address is aligned to the whole vector. */
template <class T, int V> __device__ __forceinline__ void load_vector(T (&out)[V], const void *at)
{
    constexpr int bytes = piece_bytes<T, V>;
    using raw = typename raw_bytes<bytes>::type;
    raw piece[sizeof(T) * V / bytes];
#pragma unroll
    for (int k = 0; k < int(sizeof piece / bytes); k++)
        piece[k] = __ldg(static_cast<const raw *>(at) + k);
    memcpy(static_cast<void *>(out), piece, sizeof out);
}

/* Not read again soon. */
template <class T, int V> __device__ __forceinline__ void store_vector(void *at, const T (&in)[V])
{
    constexpr int bytes = piece_bytes<T, V>;
    using raw = typename raw_bytes<bytes>::type;
    raw piece[sizeof(T) * V / bytes];
    memcpy(piece, in, sizeof in);
#pragma unroll
    for (int k = 0; k < int(sizeof piece / bytes); k++)
        __stcs(static_cast<raw *>(at) + k, piece[k]);
}

/* Read once. */
template <class T, int V> __device__ __forceinline__ void stream_vector(T (&out)[V], const void *at)
{
    constexpr int bytes = piece_bytes<T, V>;
    using raw = typename raw_bytes<bytes>::type;
    raw piece[sizeof(T) * V / bytes];
#pragma unroll
    for (int k = 0; k < int(sizeof piece / bytes); k++)
        piece[k] = __ldcs(static_cast<const raw *>(at) + k);
    memcpy(static_cast<void *>(out), piece, sizeof out);
}

/* Elements that are read or written once. */
template <class T> __device__ __forceinline__ T load_once(const T *at)
{
    using raw = typename raw_bytes<sizeof(T)>::type;
    raw bits = __ldcs(reinterpret_cast<const raw *>(at));
    T x;
    memcpy(static_cast<void *>(&x), &bits, sizeof x);
    return x;
}
template <class T> __device__ __forceinline__ void store_once(T *at, T x)
{
    using raw = typename raw_bytes<sizeof(T)>::type;
    raw bits;
    memcpy(&bits, &x, sizeof x);
    __stcs(reinterpret_cast<raw *>(at), bits);
}

// ---- Elements ----

/* What the lane whose number differs by these bits has. */
template <class T> __device__ __forceinline__ T lane_xor(T x, int by)
{
    using raw = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;
    raw bits = 0;
    memcpy(&bits, &x, sizeof x);
    bits = __shfl_xor_sync(~0u, bits, by);
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* U sums of each lane, added over groups of G lanes: afterwards s[0] of lane l is the total number l / (G / U).  A lane gives
 * away half of its sums for the other half of its partner's, as long as it has several. */
template <int G, int U, class T> __device__ __forceinline__ void add_across(T (&s)[U])
{
    int lane = int(threadIdx.x % 32);
#pragma unroll
    for (int by = G / 2, n = U; by > 0; by /= 2) {
        bool upper = lane & by;
        if (n == 1) {
            s[0] += __shfl_xor_sync(~0u, s[0], by);
            continue;
        }
        n /= 2;
#pragma unroll
        for (int k = 0; k < U / 2; k++)
            if (k < n) {
                T given = upper ? s[k] : s[k + n], kept = upper ? s[k + n] : s[k];
                s[k] = kept + __shfl_xor_sync(~0u, given, by);
            }
    }
}

/* Bytes of an element. */
static inline size_t size_of(tsr_type type)
{
    switch (type) {
    case TSR_BOOL:
    case TSR_INT8:
    case TSR_UINT8: return 1;
    case TSR_INT16:
    case TSR_UINT16: return 2;
    case TSR_INT32:
    case TSR_UINT32:
    case TSR_FP32: return 4;
    default: return type == TSR_FC64 ? 16 : 8;
    }
}

// ---- Typed policies ----
//
// element: what B (and A in memory) holds; sum: what is added up and what C holds.  two_levels: few products are added up by
// themselves, then joined to the sum of the row, so that errors grow with the number of such groups only.

struct operators {
    int add, mul;
};

template <class T> __device__ __forceinline__ T fused(T a, T b, T c)
{
    return T(a * b + c);
}
template <> __device__ __forceinline__ float fused(float a, float b, float c)
{
    return fmaf(a, b, c);
}
template <> __device__ __forceinline__ double fused(double a, double b, double c)
{
    return fma(a, b, c);
}

template <class T> struct plus_times {
    using element = T;
    using sum = T;
    static constexpr bool generic = false, two_levels = std::is_same_v<T, float>;
    static __device__ __forceinline__ sum widen(element x) { return x; }
    static __device__ __forceinline__ sum identity() { return T(0); }
    static __device__ __forceinline__ sum step(sum s, sum a, sum b) { return fused<T>(a, b, s); }
    static __device__ __forceinline__ sum merge(sum s, sum t) { return T(s + t); }
};

template <class Half> struct plus_times_half {
    using element = Half;
    using sum = float;
    static constexpr bool generic = false, two_levels = false;
    static __device__ __forceinline__ float widen(__half x) { return __half2float(x); }
    static __device__ __forceinline__ float widen(__nv_bfloat16 x) { return __bfloat162float(x); }
    static __device__ __forceinline__ float identity() { return 0; }
    static __device__ __forceinline__ float step(float s, float a, float b) { return fmaf(a, b, s); }
    static __device__ __forceinline__ float merge(float s, float t) { return s + t; }
};

/* The least (or greatest) of sums a + b (or products a * b).  A quiet NaN is the identity of fmin and fmax: a sum of NaNs alone stays
 * NaN. */
template <class T, bool Greatest, bool Times> struct extreme {
    using element = T;
    using sum = T;
    static constexpr bool generic = false, two_levels = false;
    static __device__ __forceinline__ sum widen(element x) { return x; }
    static __device__ __forceinline__ sum merge(sum s, sum t)
    {
        if constexpr (std::is_same_v<T, float>)
            return Greatest ? fmaxf(s, t) : fminf(s, t);
        else if constexpr (std::is_same_v<T, double>)
            return Greatest ? fmax(s, t) : fmin(s, t);
        else
            return (s < t) == Greatest ? t : s;
    }
    static __device__ __forceinline__ sum identity()
    {
        if constexpr (std::is_floating_point_v<T>)
            return T(NAN);
        else
            return last;
    }
    static __device__ __forceinline__ sum step(sum s, sum a, sum b) { return merge(s, join(a, b)); }

private:
    static constexpr T last = Greatest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
    /* Integers modulo 2^bits. */
    static __device__ __forceinline__ T join(T a, T b)
    {
        if constexpr (std::is_integral_v<T>) {
            using bits = std::make_unsigned_t<T>;
            return T(Times ? bits(a) * bits(b) : bits(a) + bits(b));
        } else {
            return Times ? a * b : a + b;
        }
    }
};

template <class T> using min_plus = extreme<T, false, false>;

// ---- Any semiring of one type ----

template <class T> struct any_semiring {
    using element = std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>;
    using sum = T;
    static constexpr bool generic = true, two_levels = false;
    static __device__ __forceinline__ sum widen(element x)
    {
        if constexpr (std::is_same_v<T, bool>)
            return x != 0;
        else
            return x;
    }
    static __device__ __forceinline__ sum identity() { return T(0); }

    static __device__ __forceinline__ T multiply(int mul, T a, T b)
    {
        switch (mul) {
        case TSR_MUL_TIMES: return wrap(a, b, true);
        case TSR_MUL_FIRST: return a;
        case TSR_MUL_SECOND: return b;
        case TSR_MUL_PAIR: return T(1);
        case TSR_MUL_PLUS: return wrap(a, b, false);
        default: return T(a != T(0) && b != T(0));
        }
    }
    static __device__ __forceinline__ T merge(int add, T s, T t)
    {
        switch (add) {
        case TSR_ADD_PLUS: return wrap(s, t, false);
        case TSR_ADD_MIN: return less(t, s, true);
        case TSR_ADD_MAX: return less(t, s, false);
        case TSR_ADD_ANY: return s;
        default: return T(s != T(0) || t != T(0));
        }
    }
    static __device__ __forceinline__ T begin(int add, T t) { return add == TSR_ADD_LOR ? T(t != T(0)) : t; }

    /* Of every monoid but ANY. */
    static __device__ __forceinline__ T identity(int add)
    {
        if constexpr (std::is_floating_point_v<T>)
            return add == TSR_ADD_MIN || add == TSR_ADD_MAX ? T(NAN) : T(0);
        else
            return add == TSR_ADD_MIN ? greatest : add == TSR_ADD_MAX ? least : T(0);
    }

private:
    static constexpr T greatest = std::numeric_limits<T>::max(), least = std::numeric_limits<T>::lowest();
    /* a * b or a + b, modulo 2^bits. */
    static __device__ __forceinline__ T wrap(T a, T b, bool times)
    {
        if constexpr (std::is_same_v<T, bool>)
            return times ? a && b : a || b;
        else if constexpr (std::is_integral_v<T>)
            return T(times ? uint64_t(a) * uint64_t(b) : uint64_t(a) + uint64_t(b));
        else
            return times ? a * b : a + b;
    }
    /* The lesser (the greater) of both; a NaN loses. */
    static __device__ __forceinline__ T less(T t, T s, bool lesser)
    {
        if constexpr (std::is_same_v<T, float>)
            return lesser ? fminf(s, t) : fmaxf(s, t);
        else if constexpr (std::is_same_v<T, double>)
            return lesser ? fmin(s, t) : fmax(s, t);
        else
            return (t < s) == lesser ? t : s;
    }
};
