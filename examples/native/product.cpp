/* The C++ wrapper: the product of two sparse matrices, its pattern first, then its values, then those of changed operands.
 * SPDX-License-Identifier: Apache-2.0 */
#include <cstdio>
#include <tessera/tessera.hpp>
#include <vector>

int main()
{
    constexpr int vertices = 3;
    const std::vector<int> offsets = {1, 3, 4, 4}, heads = {2, 3, 3}; /* 1 -> 2, 1 -> 3, 2 -> 3; indices count from 1 */
    std::vector<double> lengths = {2, 5, 3};
    auto graph = tessera::matrix::csr<int, double>(vertices, vertices, offsets, heads, lengths, 0, 1);

    const tessera::sparse_product walks(tessera::plus_times<double>(), graph, graph);
    std::vector<int> walk_offsets(vertices + 1), walk_heads(static_cast<std::size_t>(walks.nvals()));
    std::vector<double> products(walk_heads.size());
    walks.execute<int, double>(walk_offsets, walk_heads, products);
    std::printf("1 -> %d: %.1f\n", walk_heads[0] + 1, products[0]); /* C's indices count from 0 */
    bool right = products == std::vector<double>{6} && walk_heads[0] == 2;

    lengths[0] = 7;
    graph.values_changed();
    walks.execute_values<double>(products);
    right = right && products == std::vector<double>{21} && walks.execute_new().nvals() == 1;

    try { /* what is wrong is said */
        tessera::matrix::coo<int, double>(vertices, vertices, std::vector<int>{0, 0}, std::vector<int>{1, 1}, std::vector<double>{1, 2});
        right = false;
    } catch (const tessera::error &e) {
        std::printf("%s\n", e.what());
    }
    return right ? 0 : 1;
}
