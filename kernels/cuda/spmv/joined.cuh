// Numbers as integers in the same order, on which products join by atomic operations.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/common/semiring.cuh"

namespace {

template <class T> constexpr bool joins = sizeof(T) >= 4;
template <class T> using unsigned_of = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;
template <class T> using signed_of = std::conditional_t<sizeof(T) == 8, long long, int>;
/* Integers are themselves, floating-point numbers unsigned integers in the same order. */
template <class T> using joined = std::conditional_t<std::is_signed_v<T> && !std::is_floating_point_v<T>, signed_of<T>, unsigned_of<T>>;

template <class T> __device__ __forceinline__ joined<T> to_joined(int add, T t)
{
    if constexpr (std::is_floating_point_v<T>) {
        constexpr joined<T> sign = joined<T>(1) << (8 * sizeof(T) - 1);
        joined<T> bits;
        memcpy(&bits, &t, sizeof bits);
        return t != t ? joined<T>(add == TSR_ADD_MIN ? ~joined<T>(0) : 0) : bits & sign ? ~bits : bits | sign;
    } else {
        return joined<T>(t);
    }
}

template <class T> __device__ __forceinline__ T from_joined(int add, joined<T> s)
{
    if constexpr (std::is_floating_point_v<T>) {
        constexpr joined<T> sign = joined<T>(1) << (8 * sizeof(T) - 1);
        if (s == joined<T>(add == TSR_ADD_MIN ? ~joined<T>(0) : 0))
            return T(NAN);
        joined<T> bits = s & sign ? s & ~sign : ~s;
        T t;
        memcpy(&t, &bits, sizeof t);
        return t;
    } else {
        return T(s);
    }
}

} // namespace
