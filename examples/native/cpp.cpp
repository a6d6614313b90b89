/* The C++ wrapper: averages over a cycle of six vertices, a sampled product, coordinates, blocks, attention, and an error.
 * SPDX-License-Identifier: Apache-2.0 */
#include <cmath>
#include <cstdio>
#include <tessera/tessera.hpp>
#include <vector>

int main()
{
    constexpr int vertices = 6, features = 3;
    const std::vector<int> offsets = {0, 2, 4, 6, 8, 10, 12}, neighbours = {1, 5, 0, 2, 1, 3, 2, 4, 3, 5, 0, 4};
    std::vector<float> h(vertices * features), mean(h.size()), weights(neighbours.size());
    for (std::size_t k = 0; k < h.size(); k++)
        h[k] = static_cast<float>(k);

    /* Without values every entry is 1.  The vectors stay ours. */
    auto graph = tessera::matrix::csr<int, float>(vertices, vertices, offsets, neighbours, {});
    graph.hint(TSR_OP_SPMM, features, 1000);
    const tessera::dense<const float> in(h, vertices, features);
    const auto product = tessera::spmm(graph, in, tessera::dense<float>(mean, vertices, features));
    std::puts(product.explain().c_str());
    product.execute(0.5);
    std::printf("vertex 2: %.1f %.1f %.1f\n", double(mean[6]), double(mean[7]), double(mean[8]));

    /* The scalar product of the features of each edge's ends. */
    const tessera::dense<const float> turned(h.data(), features, vertices, TSR_COL_MAJOR);
    tessera::sddmm(graph, in, turned).execute_sddmm<float>(weights);
    std::printf("edge 0-1: %.1f\n", double(weights[0]));

    const auto squared = tessera::multiply(tessera::plus_times<float>(), graph, graph);
    std::printf("paths of two: %lld entries\n", static_cast<long long>(squared.nvals()));

    /* The same graph from its edges, counted from 0, and as blocks of two by two. */
    std::vector<int> ends;
    for (int v = 0; v < vertices; v++)
        ends.insert(ends.end(), 2, v);
    const auto listed = tessera::matrix::coo<int, float>(vertices, vertices, ends, neighbours, {});
    const std::vector<int> starts = {0, 3, 6, 9}, columns = {0, 1, 2, 0, 1, 2, 0, 1, 2};
    const std::vector<float> next = {0, 1, 1, 0}, up = {0, 0, 1, 0}, down = {0, 1, 0, 0};
    std::vector<float> values;
    for (const auto *block : {&next, &up, &down, &down, &next, &up, &up, &down, &next})
        values.insert(values.end(), block->begin(), block->end());
    tsr_blocks blocks{};
    blocks.index_type = TSR_INDEX_32;
    blocks.height = blocks.width = 2;
    blocks.offsets = starts.data();
    blocks.indices = columns.data();
    blocks.type = TSR_FP32;
    blocks.values = values.data();
    const auto tiled = tessera::matrix::bsr(vertices, vertices, blocks);
    bool same = true;
    for (const auto *other : {&listed, &tiled}) {
        std::vector<float> again(h.size());
        tessera::spmm(*other, in, tessera::dense<float>(again, vertices, features)).execute(0.5);
        same = same && again == mean;
    }

    /* Each vertex attends to its neighbours; with scale 0 all alike, which is the average again. */
    std::vector<float> attended(h.size());
    const auto heads = [](float *data) { return tsr_heads{data, TSR_FP32, vertices, 1, features, features, features, TSR_MEMORY_HOST}; };
    const tsr_heads given = heads(h.data()), out = heads(attended.data());
    const tessera::attention layer(graph, given, given, given, out);
    std::puts(layer.explain().c_str());
    layer.execute(0, given, given, given, out);
    for (std::size_t k = 0; k < mean.size(); k++)
        same = same && std::fabs(attended[k] - mean[k]) < 1e-5f;

    /* Vertex 2 averages rows 1 and 3; edge 0-1 is 0 * 3 + 1 * 4 + 2 * 5; each vertex is two steps from two others and itself. */
    bool caught = false;
    try {
        graph.hint(TSR_OP_SPMM, -1, 0);
    } catch (const tessera::error &e) {
        std::puts(e.what());
        caught = e.status() == TSR_INVALID_VALUE;
    }
    return caught && same && mean[6] == 6 && weights[0] == 14 && squared.nvals() == 18 ? 0 : 1;
}
