/* C++17 over tessera.h: handles that free themselves, spans, exceptions.
 *
 *     std::vector<int> offsets, columns;  std::vector<float> values, b, c;
 *     auto a = tessera::matrix::csr<int, float>(m, k, offsets, columns, values);    // looks at the vectors, which must outlive it
 *     auto product = tessera::spmm(a, tessera::dense<const float>(b, k, n), tessera::dense<float>(c, m, n));
 *     product.execute();                                                            // C = A B
 *
 * What functions mean is said in tessera.h.  A call that fails throws tessera::error, with the sentence of tsr_last_error.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESSERA_HPP
#define TESSERA_HPP

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "tessera/attention.h"
#include "tessera/spgemm.h"
#include "tessera/tessera.h"

namespace tessera {

class error : public std::runtime_error {
  public:
    explicit error(tsr_status status) : std::runtime_error(tsr_last_error()), status_(status) {}
    tsr_status status() const noexcept { return status_; }

  private:
    tsr_status status_;
};

inline void check(tsr_status status)
{
    if (status != TSR_OK)
        throw error(status);
}

/* Consecutive elements of somebody else's: std::span, which C++17 does not have. */
template <class T> class span {
  public:
    constexpr span() noexcept = default;
    constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <class C, class = std::enable_if_t<std::is_convertible_v<decltype(std::declval<C &>().data()), T *>>>
    constexpr span(C &&container) : data_(container.data()), size_(container.size())
    {
    }
    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }

  private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

/* The library's number of a C++ type. */
template <class T> constexpr tsr_type type_of()
{
    using V = std::remove_cv_t<T>;
    if constexpr (std::is_same_v<V, bool>)
        return TSR_BOOL;
    else if constexpr (std::is_same_v<V, float>)
        return TSR_FP32;
    else if constexpr (std::is_same_v<V, double>)
        return TSR_FP64;
    else if constexpr (std::is_same_v<V, std::complex<float>>)
        return TSR_FC32;
    else if constexpr (std::is_same_v<V, std::complex<double>>)
        return TSR_FC64;
    else {
        static_assert(std::is_integral_v<V> && sizeof(V) <= 8, "a type of the GraphBLAS C API");
        constexpr int log2 = sizeof(V) == 1 ? 0 : sizeof(V) == 2 ? 1 : sizeof(V) == 4 ? 2 : 3;
        return static_cast<tsr_type>((std::is_signed_v<V> ? TSR_INT8 : TSR_UINT8) + log2);
    }
}

template <class T> tsr_semiring plus_times() { return tsr_default_semiring(type_of<T>()); }

/* A dense matrix in somebody else's memory; ld = 0: no padding. */
template <class T> struct dense : tsr_dense {
    dense(T *elements, std::int64_t rows, std::int64_t columns, tsr_layout order = TSR_ROW_MAJOR, std::int64_t leading = 0,
          tsr_memory_space where = TSR_MEMORY_HOST)
    {
        data = const_cast<std::remove_const_t<T> *>(elements);
        type = type_of<T>();
        layout = order;
        nrows = rows;
        ncols = columns;
        ld = leading ? leading : order == TSR_ROW_MAJOR ? columns : rows;
        memory = where;
    }
    dense(span<T> elements, std::int64_t rows, std::int64_t columns, tsr_layout order = TSR_ROW_MAJOR)
        : dense(elements.data(), rows, columns, order)
    {
        if (rows < 0 || columns < 0 || (columns && elements.size() / static_cast<std::size_t>(columns) < static_cast<std::size_t>(rows)))
            throw std::invalid_argument("tessera::dense: fewer elements than rows times columns");
    }
};

/* A sparse matrix. */
class matrix {
  public:
    /* Offsets and indices are int, unsigned, or of 64 bits, and count from index_base.  values may be empty: all ones of type T. */
    template <class I, class T>
    static matrix csr(std::int64_t nrows, std::int64_t ncols, span<const I> offsets, span<const I> indices, span<const T> values,
                      unsigned flags = 0, int index_base = 0)
    {
        return make<I, T>(tsr_sparse_create_csr, nrows, ncols, nrows, offsets, indices, values, flags, index_base);
    }
    template <class I, class T>
    static matrix csc(std::int64_t nrows, std::int64_t ncols, span<const I> offsets, span<const I> indices, span<const T> values,
                      unsigned flags = 0, int index_base = 0)
    {
        return make<I, T>(tsr_sparse_create_csc, nrows, ncols, ncols, offsets, indices, values, flags, index_base);
    }
    /* Arrays as they are, in device memory for example. */
    static matrix csr(std::int64_t nrows, std::int64_t ncols, const tsr_arrays &arrays, unsigned flags = 0)
    {
        tsr_sparse *made = nullptr;
        check(tsr_sparse_create_csr(&made, nrows, ncols, &arrays, flags));
        return matrix(made);
    }
    /* From coordinates or blocks, which are copied. */
    static matrix coo(std::int64_t nrows, std::int64_t ncols, const tsr_coordinates &entries)
    {
        tsr_sparse *made = nullptr;
        check(tsr_sparse_create_coo(&made, nrows, ncols, &entries));
        return matrix(made);
    }
    template <class I, class T>
    static matrix coo(std::int64_t nrows, std::int64_t ncols, span<const I> rows, span<const I> columns, span<const T> values, int index_base = 0)
    {
        if (rows.size() != columns.size() || (values.size() && values.size() != rows.size()))
            throw std::invalid_argument("tessera::matrix: arrays of different lengths");
        tsr_coordinates entries{};
        entries.index_type = index_type<I>();
        entries.nvals = static_cast<std::int64_t>(rows.size());
        entries.rows = rows.data();
        entries.columns = columns.data();
        entries.type = type_of<T>();
        entries.values = values.size() ? values.data() : nullptr;
        entries.index_base = index_base;
        return coo(nrows, ncols, entries);
    }
    static matrix bsr(std::int64_t nrows, std::int64_t ncols, const tsr_blocks &blocks)
    {
        tsr_sparse *made = nullptr;
        check(tsr_sparse_create_bsr(&made, nrows, ncols, &blocks));
        return matrix(made);
    }
    explicit matrix(tsr_sparse *owned) : handle_(owned) {} /* takes it over */

    template <class I> static constexpr tsr_index_type index_type()
    {
        static_assert(std::is_integral_v<I> && (sizeof(I) == 4 || (sizeof(I) == 8 && std::is_signed_v<I>)), "indices of 32 or 64 bits");
        return sizeof(I) == 4 ? TSR_INDEX_32 : TSR_INDEX_64;
    }

    tsr_sparse *get() const noexcept { return handle_.get(); }
    std::int64_t nrows() const { return size().first; }
    std::int64_t ncols() const { return size().second; }
    std::int64_t nvals() const
    {
        std::int64_t n = 0;
        check(tsr_sparse_size(get(), nullptr, nullptr, &n));
        return n;
    }
    void values_changed() { check(tsr_sparse_values_changed(get())); }
    template <class T> void set_values(span<const T> values) { check(tsr_sparse_set_values(get(), values.data())); }
    matrix &hint(tsr_op op, std::int64_t n, double expected_calls, tsr_precision precision = TSR_PRECISION_EXACT, bool deterministic = true)
    {
        check(tsr_sparse_hint(get(), op, n, expected_calls, precision, deterministic));
        return *this;
    }

  private:
    struct destroy {
        void operator()(tsr_sparse *a) const noexcept { tsr_sparse_destroy(a); }
    };

    template <class I, class T, class Create>
    static matrix make(Create create, std::int64_t nrows, std::int64_t ncols, std::int64_t vectors, span<const I> offsets,
                       span<const I> indices, span<const T> values, unsigned flags, int index_base)
    {
        const std::size_t base = static_cast<std::size_t>(index_base);
        const std::size_t entries = offsets.size() ? static_cast<std::size_t>(offsets.data()[offsets.size() - 1]) - base : 0;
        if (vectors < 0 || offsets.size() != static_cast<std::size_t>(vectors) + 1 || indices.size() < entries ||
            (values.size() && values.size() < entries))
            throw std::invalid_argument("tessera::matrix: arrays shorter than the matrix");
        tsr_arrays arrays{};
        arrays.index_type = index_type<I>();
        arrays.offsets = offsets.data();
        arrays.indices = indices.data();
        arrays.type = type_of<T>();
        arrays.values = values.size() ? values.data() : nullptr;
        arrays.index_base = index_base;
        tsr_sparse *made = nullptr;
        check(create(&made, nrows, ncols, &arrays, flags));
        return matrix(made);
    }
    std::pair<std::int64_t, std::int64_t> size() const
    {
        std::int64_t rows = 0, columns = 0;
        check(tsr_sparse_size(get(), &rows, &columns, nullptr));
        return {rows, columns};
    }

    std::unique_ptr<tsr_sparse, destroy> handle_;
};

/* A planned product of a matrix, which must outlive it, with the operands it was planned for. */
class plan {
  public:
    plan(tsr_op op, tsr_semiring semiring, const matrix &a, const tsr_dense &first, const tsr_dense &second, unsigned flags = 0)
        : a_(a.get()), first_(first), second_(second)
    {
        tsr_plan *made = nullptr;
        check(tsr_plan_create(&made, op, semiring, a_, &first, &second, flags));
        handle_.reset(made);
    }
    /* The plan that save wrote, of the same matrix and of operands as they were. */
    static plan load(const std::string &path, const matrix &a, const tsr_dense &first, const tsr_dense &second)
    {
        tsr_plan *made = nullptr;
        check(tsr_plan_load(&made, a.get(), path.c_str()));
        return plan(made, a, first, second);
    }
    void save(const std::string &path) const { check(tsr_plan_save(get(), path.c_str())); }

    tsr_plan *get() const noexcept { return handle_.get(); }
    std::string explain() const { return tsr_plan_explain(get()); }
    bool is_asynchronous() const noexcept { return tsr_plan_is_asynchronous(get()); }
    std::size_t workspace_bytes() const noexcept { return tsr_plan_workspace_bytes(get()); }
    void set_workspace(void *workspace, std::size_t bytes) { check(tsr_plan_set_workspace(get(), workspace, bytes)); }

    /* C = alpha op(A) B + beta C, on the operands of the plan or on others like them. */
    void execute(double alpha = 1, double beta = 0, void *stream = nullptr) const { execute(first_, second_, alpha, beta, stream); }
    void execute(const tsr_dense &b, const tsr_dense &c, double alpha = 1, double beta = 0, void *stream = nullptr) const
    {
        check(tsr_execute(get(), alpha, a_, &b, beta, &c, stream));
    }
    /* The same of complex numbers, with complex scalars. */
    void execute_complex(std::complex<double> alpha, std::complex<double> beta = 0, void *stream = nullptr) const
    {
        check(tsr_execute_complex(get(), {alpha.real(), alpha.imag()}, a_, &first_, {beta.real(), beta.imag()}, &second_, stream));
    }
    /* Then a bias and an activation. */
    void execute_fused(const tsr_epilogue &epilogue, double alpha = 1, double beta = 0, void *stream = nullptr) const
    {
        check(tsr_execute_fused(get(), alpha, a_, &first_, beta, &second_, &epilogue, stream));
    }
    /* Many products, the first of which has the plan's operands. */
    void execute_batch(const tsr_batch &batch, double alpha = 1, double beta = 0, void *stream = nullptr) const
    {
        check(tsr_execute_batch(get(), alpha, a_, &first_, beta, &second_, &batch, stream));
    }
    template <class T>
    void execute_sddmm_batch(span<T> values, const tsr_batch &batch, double alpha = 1, double beta = 0, void *stream = nullptr) const
    {
        check(tsr_execute_sddmm_batch(get(), alpha, &first_, &second_, beta, a_, values.data(), &batch, stream));
    }
    /* SDDMM into one value for each entry of S. */
    template <class T> void execute_sddmm(span<T> values, double alpha = 1, double beta = 0, void *stream = nullptr) const
    {
        check(tsr_execute_sddmm(get(), alpha, &first_, &second_, beta, a_, values.data(), stream));
    }

  private:
    struct destroy {
        void operator()(tsr_plan *p) const noexcept { tsr_plan_destroy(p); }
    };
    plan(tsr_plan *owned, const matrix &a, const tsr_dense &first, const tsr_dense &second)
        : a_(a.get()), first_(first), second_(second), handle_(owned)
    {
    }

    tsr_sparse *a_;
    tsr_dense first_, second_;
    std::unique_ptr<tsr_plan, destroy> handle_;
};

/* C = op(A) B with plus and times of C's type. */
template <class B, class C> plan spmm(const matrix &a, const dense<B> &b, const dense<C> &c, unsigned flags = 0)
{
    return plan(TSR_OP_SPMM, plus_times<C>(), a, b, c, flags);
}

/* The values of a pattern of X Y, with plus and times of X's type. */
template <class X, class Y> plan sddmm(const matrix &s, const dense<X> &x, const dense<Y> &y, unsigned flags = 0)
{
    return plan(TSR_OP_SDDMM, plus_times<X>(), s, x, y, flags);
}

/* Attention over a pattern, which must outlive it (tessera/attention.h). */
class attention {
  public:
    attention(const matrix &s, const tsr_heads &q, const tsr_heads &k, const tsr_heads &v, const tsr_heads &o, unsigned flags = 0)
    {
        tsr_attention_plan *made = nullptr;
        check(tsr_attention_plan_create(&made, s.get(), &q, &k, &v, &o, flags));
        handle_.reset(made);
    }

    tsr_attention_plan *get() const noexcept { return handle_.get(); }
    std::string explain() const { return tsr_attention_plan_explain(get()); }
    bool is_asynchronous() const noexcept { return tsr_attention_plan_is_asynchronous(get()); }

    void execute(double scale, const tsr_heads &q, const tsr_heads &k, const tsr_heads &v, const tsr_heads &o, float *lse = nullptr,
                 void *stream = nullptr) const
    {
        check(tsr_attention_execute(get(), scale, &q, &k, &v, &o, lse, stream));
    }
    /* A gradient that is nullptr is not computed. */
    void backward(double scale, const tsr_heads &q, const tsr_heads &k, const tsr_heads &v, const tsr_heads &o, const float *lse,
                  const tsr_heads &grad_o, const tsr_heads *grad_q, const tsr_heads *grad_k, const tsr_heads *grad_v, void *stream = nullptr) const
    {
        check(tsr_attention_backward(get(), scale, &q, &k, &v, &o, lse, &grad_o, grad_q, grad_k, grad_v, stream));
    }

  private:
    struct destroy {
        void operator()(tsr_attention_plan *p) const noexcept { tsr_attention_plan_destroy(p); }
    };
    std::unique_ptr<tsr_attention_plan, destroy> handle_;
};

/* A planned op(A) op(B) of two sparse matrices, which must outlive it; flags of tessera/spgemm.h. */
class sparse_product {
  public:
    sparse_product(tsr_semiring semiring, const matrix &a, const matrix &b, unsigned flags = 0)
    {
        tsr_spgemm_plan *made = nullptr;
        check(tsr_spgemm_plan_create(&made, semiring, a.get(), b.get(), flags));
        handle_.reset(made);
    }

    tsr_spgemm_plan *get() const noexcept { return handle_.get(); }
    std::int64_t nrows() const { return size(0); }
    std::int64_t ncols() const { return size(1); }
    std::int64_t nvals() const { return size(2); }
    double work() const noexcept { return tsr_spgemm_plan_work(get()); }
    std::string explain() const { return tsr_spgemm_plan_explain(get()); }

    /* C; I: indices of 32 or 64 bits.  The spans are as long as the product says. */
    template <class I, class T> void execute(span<I> offsets, span<I> indices, span<T> values) const
    {
        check(tsr_spgemm_execute(get(), matrix::index_type<I>(), offsets.data(), indices.data(), values.data()));
    }
    /* Its values, after those of the operands have changed. */
    template <class T> void execute_values(span<T> values) const { check(tsr_spgemm_execute_values(get(), values.data())); }
    /* The same in device memory; offsets and indices may both be nullptr. */
    template <class I, class T> void execute_device(I *offsets, I *indices, T *values, void *stream = nullptr) const
    {
        check(tsr_spgemm_execute_device(get(), matrix::index_type<I>(), offsets, indices, values, stream));
    }
    matrix execute_new() const
    {
        tsr_sparse *made = nullptr;
        check(tsr_spgemm_execute_new(get(), &made));
        return matrix(made);
    }

  private:
    struct destroy {
        void operator()(tsr_spgemm_plan *p) const noexcept { tsr_spgemm_plan_destroy(p); }
    };
    std::int64_t size(int which) const
    {
        std::int64_t sizes[3] = {};
        check(tsr_spgemm_plan_size(get(), &sizes[0], &sizes[1], &sizes[2]));
        return sizes[which];
    }
    std::unique_ptr<tsr_spgemm_plan, destroy> handle_;
};

/* A B as a new matrix. */
inline matrix multiply(tsr_semiring semiring, const matrix &a, const matrix &b, unsigned flags = 0)
{
    return sparse_product(semiring, a, b, flags).execute_new();
}

} // namespace tessera

#endif
