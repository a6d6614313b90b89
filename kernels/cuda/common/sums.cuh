// Sums of the entries present, in the widest sense, and how two of them join.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/common/semiring.cuh"

/* bool is stored as bytes. */
template <class T> using stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
/* Elements that a thread takes at a time. */
template <class T> constexpr int lanes = 16 / int(sizeof(T));

/* Integers and bool, and the greatest and least of all types; `any` is part of the sum, so that no identity is needed. */
template <class T> struct plain_sum {
    T value;
    bool any;

    static __device__ __forceinline__ plain_sum none(tsr_reduce_op) { return {T(0), false}; }
    static __device__ __forceinline__ T of_two(tsr_reduce_op op, T x, T y)
    {
        switch (op) {
        case TSR_REDUCE_PLUS: return T(wide(x) + wide(y));
        case TSR_REDUCE_TIMES: return T(wide(x) * wide(y));
        case TSR_REDUCE_MIN: return x < y || y != y ? x : y;
        case TSR_REDUCE_MAX: return x > y || y != y ? x : y;
        case TSR_REDUCE_LOR: return T(x != T(0) || y != T(0));
        case TSR_REDUCE_LAND: return T(x != T(0) && y != T(0));
        case TSR_REDUCE_LXOR: return T((x != T(0)) != (y != T(0)));
        case TSR_REDUCE_ANY: return x;
        default: return T(x == y);
        }
    }
    /* Sums and products wrap; of bool they are LOR and LAND. */
    static __device__ __forceinline__ auto wide(T x) { return std::conditional_t<std::is_integral_v<T>, uint64_t, T>(x); }
    __device__ __forceinline__ void add(tsr_reduce_op op, T x)
    {
        value = any ? of_two(op, value, x) : x;
        any = true;
    }
    __device__ __forceinline__ void join(tsr_reduce_op op, const plain_sum &other)
    {
        if (other.any)
            add(op, other.value);
    }
    __device__ __forceinline__ T result(tsr_reduce_op) const { return value; }
};

/* Sums and products of floating-point numbers, in FP64; what a sum of FP64 loses is kept apart. */
template <class T> struct real_sum {
    double value, lost;
    bool any;

    static __device__ __forceinline__ real_sum none(tsr_reduce_op op) { return {op == TSR_REDUCE_PLUS ? -0.0 : 1.0, 0.0, false}; }
    /* value + x = sum + what is added to `lost`, exactly. */
    __device__ __forceinline__ void plus(double x)
    {
        double sum = __dadd_rn(value, x);
        if constexpr (sizeof(T) == 8) {
            double part = __dsub_rn(sum, value), rest = __dsub_rn(sum, part);
            lost = __dadd_rn(lost, __dadd_rn(__dsub_rn(x, part), __dsub_rn(value, rest)));
        }
        value = sum;
    }
    __device__ __forceinline__ void add(tsr_reduce_op op, T x)
    {
        any = true;
        if (op == TSR_REDUCE_PLUS)
            plus(x);
        else
            value = __dmul_rn(value, double(x));
    }
    __device__ __forceinline__ void join(tsr_reduce_op op, const real_sum &other)
    {
        any |= other.any;
        if (op == TSR_REDUCE_PLUS) {
            plus(other.value);
            lost = __dadd_rn(lost, other.lost);
        } else {
            value = __dmul_rn(value, other.value);
        }
    }
    /* Where the sum is infinite or NaN, what was lost is NaN. */
    __device__ __forceinline__ T result(tsr_reduce_op) const
    {
        return T(lost != 0 && fabs(value) < INFINITY ? __dadd_rn(value, lost) : value);
    }
};
