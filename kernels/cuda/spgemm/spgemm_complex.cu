// Sparse times sparse: plus_times of complex numbers, each product and each sum rounded by itself.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/common/complex.cuh"
#include "kernels/cuda/spgemm/spgemm_bins.cuh"

template <class T> struct spgemm_plus_times<complex_number<T>> {
    using value = complex_number<T>;
    using part = spgemm_plus_times<T>;
    static constexpr bool all_shapes = false;
    static __device__ __forceinline__ value multiply(operators op, value a, value b)
    {
        return value(part::merge(op, part::multiply(op, a.re, b.re), -part::multiply(op, a.im, b.im)),
                     part::merge(op, part::multiply(op, a.re, b.im), part::multiply(op, a.im, b.re)));
    }
    static __device__ __forceinline__ value merge(operators op, value s, value t)
    {
        return value(part::merge(op, s.re, t.re), part::merge(op, s.im, t.im));
    }
    static __device__ __forceinline__ value identity(operators op) { return value(part::identity(op), part::identity(op)); }
};

tsr_status spgemm_run_complex(const spgemm_call &call)
{
    return call.product->semiring.type == TSR_FC32 ? spgemm_launcher<spgemm_plus_times<complex_number<float>>>(call).run()
                                                   : spgemm_launcher<spgemm_plus_times<complex_number<double>>>(call).run();
}
