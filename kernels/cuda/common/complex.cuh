// Complex numbers on the device, and how their products join a sum: by the formulas of school, of fused steps.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/common/semiring.cuh"

/* Real part first, as the caller has them. */
template <class T> struct alignas(2 * sizeof(T)) complex_number {
    T re, im;
    complex_number() = default;
    __host__ __device__ constexpr explicit complex_number(T real, T imaginary = T(0)) : re(real), im(imaginary) { }
    __device__ __forceinline__ complex_number conjugated(bool wanted) const { return complex_number(re, wanted ? -im : im); }
};

template <class T> __device__ __forceinline__ complex_number<T> operator+(complex_number<T> x, complex_number<T> y)
{
    return complex_number<T>(x.re + y.re, x.im + y.im);
}

/* x * y + s. */
template <class T> __device__ __forceinline__ complex_number<T> add_product(complex_number<T> s, complex_number<T> x, complex_number<T> y)
{
    return complex_number<T>(fused<T>(-x.im, y.im, fused<T>(x.re, y.re, s.re)), fused<T>(x.im, y.re, fused<T>(x.re, y.im, s.im)));
}

template <class T> __device__ __forceinline__ complex_number<T> operator*(complex_number<T> x, complex_number<T> y)
{
    return complex_number<T>(fused<T>(-x.im, y.im, x.re * y.re), fused<T>(x.im, y.re, x.re * y.im));
}

template <class T> constexpr bool is_complex = false;
template <class T> constexpr bool is_complex<complex_number<T>> = true;

template <class T> struct plus_times<complex_number<T>> {
    using element = complex_number<T>;
    using sum = complex_number<T>;
    static constexpr bool generic = false, two_levels = std::is_same_v<T, float>;
    static __device__ __forceinline__ sum widen(element x) { return x; }
    static __device__ __forceinline__ sum identity() { return sum(T(0)); }
    static __device__ __forceinline__ sum step(sum s, sum a, sum b) { return ::add_product(s, a, b); }
    static __device__ __forceinline__ sum merge(sum s, sum t) { return s + t; }
};
