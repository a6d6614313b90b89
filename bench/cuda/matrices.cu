// Undirected graphs emit both directions of an edge; self-loops are dropped, duplicates merged, rows padded to a multiple of 16.
// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/matrices.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>

#include "bench/cuda/check.cuh"
#include "bench/cuda/samples.cuh"

namespace {

constexpr uint64_t none = no_edge;
constexpr int threads = 256;

int blocks_for(int64_t n) { return int((n + threads - 1) / threads); }

// Both ends in one group with some probability, in a larger one with another, else anywhere.
struct Communities {
    int64_t n;
    double small_share, large_share;
    Shuffle small, large, all;
    double small_power, all_power;

    __device__ int64_t end(uint64_t sample, int which, const Shuffle &group, double a) const
    {
        int64_t first = int64_t(uniform(sample, 1) * double(n)) / group.s * group.s;
        int64_t id = first + power(uniform(sample, 2 + which), a, group);
        return id < n ? id : id - group.s;
    }
    __device__ uint64_t edge(uint64_t sample) const
    {
        double u = uniform(sample, 0);
        int64_t from, to;
        if (u < small_share) {
            from = end(sample, 0, small, small_power), to = end(sample, 1, small, small_power);
        } else if (u < small_share + large_share) {
            from = end(sample, 0, large, small_power), to = end(sample, 1, large, small_power);
        } else {
            from = power(uniform(sample, 2), all_power, all), to = power(uniform(sample, 3), all_power, all);
        }
        return from < 0 || to < 0 || from == to ? none : uint64_t(from) << 32 | uint64_t(to);
    }
};

template <class Graph> __global__ void sample_edges(uint64_t *keys, Graph graph, int64_t samples)
{
    int64_t s = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (s >= samples)
        return;
    uint64_t key = graph.edge(uint64_t(s));
    keys[2 * s] = key;
    keys[2 * s + 1] = key == none ? none : key << 32 | key >> 32;
}

__global__ void er_edges(uint64_t *keys, int64_t n)
{
    int64_t e = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (e < 16 * n)
        keys[e] = uint64_t(e / 16) << 32 | uint64_t(uniform(uint64_t(e / 16), uint64_t(e % 16)) * double(n));
}

// Every 80 ids hold two molecules; an atom links to one of the three before it, sometimes also to the fifth before.
__global__ void molecule_edges(uint64_t *keys, int64_t n)
{
    int64_t atom = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (atom >= n)
        return;
    uint64_t group = uint64_t(atom / 80);
    int64_t split = 20 + int64_t(splitmix(group) % 41), place = atom % 80;
    int64_t p = place < split ? place : place - split;
    double u = uniform(uint64_t(atom), 0);
    int64_t d = u < 0.8 ? 1 : u < 0.95 ? 2 : 3;
    int64_t partner[2] = {p > 0 ? atom - (d < p ? d : p) : -1, p >= 5 && uniform(uint64_t(atom), 1) < 0.06 ? atom - 5 : -1};
    for (int k = 0; k < 2; k++) {
        uint64_t key = partner[k] < 0 ? none : uint64_t(atom) << 32 | uint64_t(partner[k]);
        keys[4 * atom + 2 * k] = key;
        keys[4 * atom + 2 * k + 1] = key == none ? none : key << 32 | key >> 32;
    }
}

// Groups of `size` consecutive ids; every pair is linked with the same probability, either way for itself.
__global__ void group_edges(uint64_t *keys, int64_t n, int64_t size, double share)
{
    int64_t e = int64_t(blockIdx.x) * blockDim.x + threadIdx.x, row = e / size, to = row / size * size + e % size;
    if (row < n)
        keys[e] = to < n && uniform(uint64_t(row), uint64_t(e % size)) < share ? uint64_t(row) << 32 | uint64_t(to) : none;
}

// `degree` links of every row from `first` on, to hubs anywhere.
__global__ void tail_edges(uint64_t *keys, int64_t first, int64_t rows, int64_t degree, Shuffle all, double a)
{
    int64_t e = int64_t(blockIdx.x) * blockDim.x + threadIdx.x, row = first + e / degree;
    if (e < rows * degree)
        keys[e] = uint64_t(row) << 32 | uint64_t(power(uniform(uint64_t(row), uint64_t(e % degree)), a, all));
}

// 27-point stencil on a cube with 3 unknowns a point.
__global__ void fem_edges(uint64_t *keys, int64_t side)
{
    int64_t e = int64_t(blockIdx.x) * blockDim.x + threadIdx.x, row = e / 81, k = e % 81;
    if (row >= 3 * side * side * side)
        return;
    int64_t point = row / 3, x = point % side, y = point / side % side, z = point / (side * side);
    int64_t around = k / 3;
    x += around % 3 - 1, y += around / 3 % 3 - 1, z += around / 9 - 1;
    bool inside = x >= 0 && y >= 0 && z >= 0 && x < side && y < side && z < side;
    keys[e] = inside ? uint64_t(row) << 32 | uint64_t(((z * side + y) * side + x) * 3 + k % 3) : none;
}

// 12 links a row: from the template that 8 rows share, near the row, or anywhere.
__global__ void web_edges(uint64_t *keys, int64_t n, Shuffle all)
{
    int64_t e = int64_t(blockIdx.x) * blockDim.x + threadIdx.x, row = e / 12, slot = e % 12;
    if (row >= n)
        return;
    double u = uniform(uint64_t(row), uint64_t(3 * slot)), v = uniform(uint64_t(row), uint64_t(3 * slot + 1));
    int64_t group = row / 8, to;
    if (u < 0.6)
        to = 8 * group + int64_t(uniform(uint64_t(group) + (1ull << 40), uint64_t(slot)) * 101);
    else if (u < 0.9)
        to = row - 100 + int64_t(v * 201);
    else
        to = power(v, 2.0, all);
    keys[e] = to < 0 || to >= n || to == row ? none : uint64_t(row) << 32 | uint64_t(to);
}

__global__ void row_starts(int64_t *p, int64_t nrows, const uint64_t *keys, int64_t nvals)
{
    int64_t row = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (row > nrows)
        return;
    int64_t low = 0, high = nvals;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (int64_t(keys[middle] >> 32) < row)
            low = middle + 1;
        else
            high = middle;
    }
    p[row] = low;
}

__global__ void fill_entries(uint32_t *i, float *x, const uint64_t *keys, int64_t nvals)
{
    int64_t e = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (e < nvals) {
        i[e] = uint32_t(keys[e]);
        x[e] = float(double(splitmix(keys[e]) >> 11) * 0x1p-52 - 1.0);
    }
}

__global__ void fill_values(float *x, int64_t n)
{
    int64_t e = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (e < n)
        x[e] = float(double(splitmix(uint64_t(e)) >> 11) * 0x1p-52 - 1.0);
}

} // namespace

// Sorted and without duplicates and `none`; `keys` is consumed.
uint64_t *unique_keys(uint64_t *keys, int64_t count, int64_t *kept)
{
    auto *sorted = device_array<uint64_t>(count);
    auto *number = device_array<int64_t>(1);
    void *scratch = nullptr;
    size_t sort_bytes = 0, unique_bytes = 0;
    cub::DeviceRadixSort::SortKeys(nullptr, sort_bytes, keys, sorted, count);
    cub::DeviceSelect::Unique(nullptr, unique_bytes, sorted, keys, number, count);
    CHECK(cudaMalloc(&scratch, std::max(sort_bytes, unique_bytes)));
    CHECK(cub::DeviceRadixSort::SortKeys(scratch, sort_bytes, keys, sorted, count));
    CHECK(cub::DeviceSelect::Unique(scratch, unique_bytes, sorted, keys, number, count));
    uint64_t last = 0;
    CHECK(cudaMemcpy(kept, number, sizeof *kept, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&last, keys + *kept - 1, sizeof last, cudaMemcpyDeviceToHost));
    *kept -= last == none;
    CHECK(cudaFree(scratch));
    CHECK(cudaFree(number));
    CHECK(cudaFree(sorted));
    return keys;
}

Csr csr_of(const std::string &name, int64_t n, uint64_t *keys, int64_t count)
{
    Csr a;
    a.name = name;
    a.nrows = a.ncols = (n + 15) / 16 * 16;
    keys = unique_keys(keys, count, &a.nvals);
    a.p = device_array<int64_t>(a.nrows + 1);
    a.i = device_array<uint32_t>(a.nvals);
    a.x = device_array<float>(a.nvals);
    row_starts<<<blocks_for(a.nrows + 1), threads>>>(a.p, a.nrows, keys, a.nvals);
    fill_entries<<<blocks_for(a.nvals), threads>>>(a.i, a.x, keys, a.nvals);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(keys));
    return a;
}

namespace {

template <class Graph> Csr sampled(const std::string &name, int64_t n, const Graph &graph, int64_t samples)
{
    auto *keys = device_array<uint64_t>(2 * samples);
    sample_edges<<<blocks_for(samples), threads>>>(keys, graph, samples);
    CHECK(cudaGetLastError());
    return csr_of(name, n, keys, 2 * samples);
}

// Two parts of mixed density: `head` rows (`head_edges` of them, filled in by the caller), and a sparse tail of `tail` rows.
Csr with_tail(const std::string &name, uint64_t *keys, int64_t head, int64_t head_edges, int64_t tail, int64_t degree, double a)
{
    int64_t n = head + tail;
    tail_edges<<<blocks_for(tail * degree), threads>>>(keys + head_edges, head, tail, degree, shuffle_of(n), a);
    CHECK(cudaGetLastError());
    return csr_of(name, n, keys, head_edges + tail * degree);
}

// Dense communities with a sparse periphery.
Csr periphery(const std::string &name, int64_t n)
{
    constexpr int64_t size = 96, degree = 12;
    int64_t dense = n / 5 / size * size, sparse = n - dense;
    auto *keys = device_array<uint64_t>(dense * size + sparse * degree);
    group_edges<<<blocks_for(dense * size), threads>>>(keys, dense, size, 0.6);
    return with_tail(name, keys, dense, dense * size, sparse, degree, 1.3);
}

// A FEM mesh with a power-law tail.
Csr mesh_and_tail(const std::string &name, int64_t side, int64_t tail)
{
    constexpr int64_t degree = 16;
    int64_t points = 3 * side * side * side;
    auto *keys = device_array<uint64_t>(81 * points + tail * degree);
    fem_edges<<<blocks_for(81 * points), threads>>>(keys, side);
    return with_tail(name, keys, points, 81 * points, tail, degree, 2.0);
}

// As many samples as give `target` entries within 2 %.
Csr communities(const std::string &name, const Communities &graph, int64_t target)
{
    int64_t samples = target / 2;
    for (int attempt = 0;; attempt++) {
        Csr a = sampled(name, graph.n, graph, samples);
        double ratio = double(a.nvals) / double(target);
        if (attempt == 12 || std::fabs(ratio - 1) < 0.02)
            return a;
        release(a);
        samples = int64_t(double(samples) * (ratio < 1 ? 1 + 1.25 * (1 / ratio - 1) : 1 / ratio));
    }
}

} // namespace

const std::vector<std::string> &generated_names()
{
    static const std::vector<std::string> names = {"rmat20", "reddit", "protein", "ddi", "molecules", "products", "fem", "er", "web"};
    return names;
}

Csr generate(const std::string &name, int shrink)
{
    auto group = [](int64_t n, int64_t small, int64_t large, double share, double large_share, double a, double a_all) {
        return Communities{n, share, large_share, shuffle_of(small), shuffle_of(large), shuffle_of(n), a, a_all};
    };
    if (name == "rmat20") {
        int levels = 20;
        for (int s = shrink; s > 1; s /= 2)
            levels--;
        return sampled(name, 1ll << levels, RMat{levels, shuffle_of(1ll << levels)}, 1ll << (levels + 4));
    }
    if (name == "reddit") {
        int64_t n = 232965 / shrink;
        return communities(name, group(n, n / 50, n / 50, 0.8, 0, 1.5, 1.5), 114800000 / shrink);
    }
    if (name == "protein") {
        int64_t n = 132534 / shrink;
        return communities(name, group(n, 1035, n / 8, 0.5, 0.45, 1.2, 1.2), 79100000 / shrink);
    }
    if (name == "ddi")
        return communities(name, group(4267, 4267, 4267, 0, 0, 1.3, 1.3), 2135000);
    if (name == "products") {
        int64_t n = 2449029 / shrink;
        return communities(name, group(n, 500, 500, 0.6, 0, 1.2, 1.5), 123700000 / shrink);
    }
    if (name == "er") {
        int64_t n = 1000000 / shrink;
        auto *keys = device_array<uint64_t>(16 * n);
        er_edges<<<blocks_for(16 * n), threads>>>(keys, n);
        return csr_of(name, n, keys, 16 * n);
    }
    if (name == "periphery")
        return periphery(name, 1500000 / shrink);
    if (name == "mesh-tail")
        return mesh_and_tail(name, shrink == 1 ? 50 : int64_t(50 / std::cbrt(shrink)), 1000000 / shrink);
    if (name == "molecules") {
        int64_t n = 3139968 / shrink;
        auto *keys = device_array<uint64_t>(4 * n);
        molecule_edges<<<blocks_for(n), threads>>>(keys, n);
        return csr_of(name, n, keys, 4 * n);
    }
    if (name == "fem") {
        int64_t side = shrink == 1 ? 80 : int64_t(80 / std::cbrt(shrink)), n = 3 * side * side * side;
        auto *keys = device_array<uint64_t>(81 * n);
        fem_edges<<<blocks_for(81 * n), threads>>>(keys, side);
        return csr_of(name, n, keys, 81 * n);
    }
    if (name == "web") {
        int64_t n = 685230 / shrink;
        auto *keys = device_array<uint64_t>(12 * n);
        web_edges<<<blocks_for(12 * n), threads>>>(keys, n, shuffle_of(n));
        return csr_of(name, n, keys, 12 * n);
    }
    std::fprintf(stderr, "no recipe for %s\n", name.c_str());
    std::exit(1);
}

Csr upload(const std::string &name, int64_t nrows, int64_t ncols, const std::vector<int64_t> &p, const std::vector<uint32_t> &i,
           const std::vector<float> &x)
{
    Csr a;
    a.name = name, a.nrows = nrows, a.ncols = ncols, a.nvals = int64_t(i.size());
    a.p = device_array<int64_t>(nrows + 1);
    a.i = device_array<uint32_t>(a.nvals);
    a.x = device_array<float>(a.nvals);
    CHECK(cudaMemcpy(a.p, p.data(), p.size() * sizeof p[0], cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(a.i, i.data(), i.size() * sizeof i[0], cudaMemcpyHostToDevice));
    if (x.empty())
        fill_values<<<blocks_for(a.nvals), threads>>>(a.x, a.nvals);
    else
        CHECK(cudaMemcpy(a.x, x.data(), x.size() * sizeof x[0], cudaMemcpyHostToDevice));
    CHECK(cudaDeviceSynchronize());
    return a;
}

void release_arrays(Csr &a)
{
    cudaFree(a.p);
    cudaFree(a.i);
    cudaFree(a.x);
    a.p = nullptr, a.i = nullptr, a.x = nullptr;
}

void release(Csr &a)
{
    release_arrays(a);
    cudaFree(a.row);
    a = Csr();
}
