/* The C++ wrapper: a saved plan, a layer of a graph network with bias and ReLU, two products in one call, and complex numbers.
 * SPDX-License-Identifier: Apache-2.0 */
#include <complex>
#include <cstdio>
#include <filesystem>
#include <tessera/tessera.hpp>
#include <vector>

namespace {

constexpr int vertices = 3, features = 2;
const std::vector<int> offsets = {0, 1, 3, 4}, neighbours = {1, 0, 2, 1}; /* a path of three vertices */

/* ReLU (A H + bias) by a plan that is saved and loaded. */
bool layer(const tessera::matrix &graph)
{
    const std::vector<double> h = {1, 2, 3, 4, 5, 6}, bias = {-5, 1};
    std::vector<double> next(h.size());
    const tessera::dense<const double> in(h, vertices, features);
    const tessera::dense<double> out(next, vertices, features);
    const auto path = (std::filesystem::temp_directory_path() / "tessera-layers.plan").string();
    tessera::spmm(graph, in, out).save(path);
    const auto loaded = tessera::plan::load(path, graph, in, out);
    std::filesystem::remove(path);
    loaded.execute_fused({bias.data(), TSR_ACTIVATION_RELU});
    std::printf("vertex 1: %.0f %.0f\n", next[2], next[3]);
    return next == std::vector<double>{0, 5, 1, 9, 0, 5};
}

/* A times two matrices that lie one after the other. */
bool batch(const tessera::matrix &graph)
{
    const std::vector<double> h = {1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60};
    std::vector<double> sums(h.size());
    const tessera::dense<const double> in(h.data(), vertices, features);
    tessera::spmm(graph, in, tessera::dense<double>(sums.data(), vertices, features)).execute_batch({2, 0, vertices * features, vertices * features});

    /* The scalar product of the features of each edge's ends, for both. */
    std::vector<double> weights(2 * neighbours.size());
    const tessera::dense<const double> turned(h.data(), features, vertices, TSR_COL_MAJOR);
    tessera::sddmm(graph, in, turned).execute_sddmm_batch<double>(weights, {2, 4, vertices * features, vertices * features});
    std::printf("edge 0-1: %.0f and %.0f\n", weights[0], weights[4]);
    return sums == std::vector<double>{3, 4, 6, 8, 3, 4, 30, 40, 60, 80, 30, 40} && weights[0] == 11 && weights[4] == 1100;
}

/* i times the conjugate transpose. */
bool turn()
{
    using number = std::complex<float>;
    const std::vector<number> values = {{0, 1}, {1, 1}, {2, 0}, {0, -1}}, x = {1, 1, 1};
    std::vector<number> y(vertices);
    const auto a = tessera::matrix::csr<int, number>(vertices, vertices, offsets, neighbours, values);
    const tessera::dense<const number> in(x, vertices, 1);
    const tessera::plan product(TSR_OP_SPMV, tessera::plus_times<number>(), a, in, tessera::dense<number>(y, vertices, 1), TSR_TRANSPOSE_A | TSR_CONJUGATE_A);
    product.execute_complex({0, 1});
    std::printf("y: %g%+gi\n", double(y[0].real()), double(y[0].imag()));
    return y == std::vector<number>{{1, 1}, {0, 0}, {0, 2}};
}

} // namespace

int main()
{
    const auto graph = tessera::matrix::csr<int, double>(vertices, vertices, offsets, neighbours, {});
    return layer(graph) && batch(graph) && turn() ? 0 : 1;
}
