// Graphs, meshes, multigrid and clusters whose squares (or products) are measured.
// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/products.h"

#include <algorithm>
#include <cstdlib>

#include "bench/cuda/check.cuh"
#include "bench/cuda/samples.cuh"
#include "kernels/cuda/spgemm/spgemm.h"
extern "C" {
#include "src/mtx/mm.h"
}

namespace {

constexpr int threads = 256;
constexpr uint64_t none = no_edge;

__host__ __device__ uint64_t key(int64_t row, int64_t col) { return uint64_t(row) << 32 | uint64_t(col); }

template <class F> __global__ void fill_keys(uint64_t *keys, int64_t n, F f)
{
    int64_t e = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (e < n)
        keys[e] = f(e);
}

template <class F> Csr matrix_of(const std::string &name, int64_t rows, int64_t keys_count, const F &f)
{
    auto *keys = device_array<uint64_t>(keys_count);
    fill_keys<<<int((keys_count + threads - 1) / threads), threads>>>(keys, keys_count, f);
    CHECK(cudaGetLastError());
    return csr_of(name, rows, keys, keys_count);
}

// Points of a grid; each entry's number says which neighbour.
struct Grid {
    int64_t x, y, z;
    __device__ uint64_t neighbour(int64_t point, int dx, int dy, int dz) const
    {
        int64_t px = point % x + dx, py = point / x % y + dy, pz = point / (x * y) + dz;
        bool inside = px >= 0 && py >= 0 && pz >= 0 && px < x && py < y && pz < z;
        return inside ? uint64_t((pz * y + py) * x + px) : none;
    }
};

struct FivePoints {
    Grid grid;
    __device__ uint64_t operator()(int64_t e) const
    {
        int64_t point = e / 5;
        int k = int(e % 5);
        uint64_t to = grid.neighbour(point, (k == 1) - (k == 2), (k == 3) - (k == 4), 0);
        return to == none ? none : key(point, int64_t(to));
    }
};

struct SevenPoints {
    Grid grid;
    __device__ uint64_t operator()(int64_t e) const
    {
        int64_t point = e / 7;
        int k = int(e % 7);
        uint64_t to = grid.neighbour(point, (k == 1) - (k == 2), (k == 3) - (k == 4), (k == 5) - (k == 6));
        return to == none ? none : key(point, int64_t(to));
    }
};

// 27 points with `block` unknowns each.
struct Cube {
    Grid grid;
    int block;
    __device__ uint64_t operator()(int64_t e) const
    {
        int64_t row = e / (27 * block), k = e % (27 * block);
        int around = int(k / block);
        uint64_t to = grid.neighbour(row / block, around % 3 - 1, around / 3 % 3 - 1, around / 9 - 1);
        return to == none ? none : key(row, int64_t(to) * block + k % block);
    }
};

// Trilinear interpolation of a cube's points from those with even coordinates; of the transpose if `down`.
struct Interpolation {
    int64_t side, half;
    bool down;
    __device__ uint64_t operator()(int64_t e) const
    {
        int64_t point = e / 8, at[3] = {point % side, point / side % side, point / (side * side)}, coarse[3];
        for (int d = 0; d < 3; d++) {
            bool second = e >> d & 1;
            if (second && at[d] % 2 == 0)
                return none;
            coarse[d] = at[d] / 2 + second;
            if (coarse[d] >= half)
                return none;
        }
        int64_t to = (coarse[2] * half + coarse[1]) * half + coarse[0];
        return down ? key(to, point) : key(point, to);
    }
};

struct Directed {
    RMat graph;
    __device__ uint64_t operator()(int64_t e) const { return graph.edge(uint64_t(e)); }
};

struct Undirected {
    RMat graph;
    __device__ uint64_t operator()(int64_t e) const
    {
        uint64_t edge = graph.edge(uint64_t(e / 2));
        return edge == none || e % 2 == 0 ? edge : edge << 32 | edge >> 32;
    }
};

struct Uniform {
    int64_t n;
    __device__ uint64_t operator()(int64_t e) const
    {
        return key(e / 16, int64_t(uniform(uint64_t(e / 16), uint64_t(e % 16)) * double(n)));
    }
};

// Blocks on the diagonal, of whose places a share has an entry.
struct Blocks {
    int64_t size;
    double share;
    __device__ uint64_t operator()(int64_t e) const
    {
        const int64_t row = e / size;
        return uniform(uint64_t(e), 0) < share ? key(row, row / size * size + e % size) : none;
    }
};

// 256 clusters of 512: of an edge nine ends in ten lie in its own; and the diagonal.
struct Clusters {
    int64_t n;
    Shuffle shuffle;
    __device__ uint64_t operator()(int64_t e) const
    {
        if (e < n)
            return key(e, e);
        uint64_t sample = uint64_t(e - n) / 2;
        int64_t group = int64_t(uniform(sample, 1) * double(n)) / 512;
        int64_t from = 512 * group + power(uniform(sample, 2), 1.2, shuffle);
        int64_t to = uniform(sample, 0) < 0.9 ? 512 * group + power(uniform(sample, 3), 1.2, shuffle) : int64_t(uniform(sample, 3) * double(n));
        if (from == to)
            return none;
        return (e - n) % 2 ? key(to, from) : key(from, to);
    }
};

template <class T> std::vector<T> download(const T *device, int64_t n)
{
    std::vector<T> host(static_cast<size_t>(n));
    CHECK(cudaMemcpy(host.data(), device, size_t(n) * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
}

// Rows of random vertices that have some.
Csr sources(const std::string &name, const Csr &from, int64_t rows)
{
    std::vector<int64_t> p = download(from.p, from.nrows + 1), q = {0};
    std::vector<uint32_t> i = download(from.i, from.nvals), j;
    for (uint64_t draw = 0; int64_t(q.size()) <= rows; draw++) {
        int64_t v = int64_t(uniform(draw, 0) * double(from.nrows));
        if (p[size_t(v)] == p[size_t(v) + 1])
            continue;
        j.insert(j.end(), i.begin() + p[size_t(v)], i.begin() + p[size_t(v) + 1]);
        q.push_back(int64_t(j.size()));
    }
    return upload(name, rows, from.ncols, q, j, {});
}

Csr rmat18() { return matrix_of("rmat18", 1 << 18, 1 << 21, Directed{{18, shuffle_of(1 << 18)}}); }
Csr blocks(const std::string &name, int64_t size, int64_t count, double share) { return matrix_of(name, size * count, size * size * count, Blocks{size, share}); }
Csr er() { return matrix_of("er", 1000000, 16000000, Uniform{1000000}); }

constexpr int64_t fine = 100, coarse = 50;
Csr interpolation(bool down)
{
    int64_t points = fine * fine * fine, rows = down ? coarse * coarse * coarse : points;
    Csr a = matrix_of(down ? "R" : "P", rows, 8 * points, Interpolation{fine, coarse, down});
    a.ncols = down ? points : (coarse * coarse * coarse + 15) / 16 * 16;
    return a;
}
Csr stencil() { return matrix_of("A", fine * fine * fine, 7 * fine * fine * fine, SevenPoints{{fine, fine, fine}}); }

Csr times(const std::string &name, const Csr &a, const Csr &b)
{
    tsr_cuda_device device;
    tsr_cuda_open(0, &device);
    tsr_cuda_csr x = {}, y = {}, c;
    x.nrows = a.nrows, x.ncols = a.ncols, x.nvals = a.nvals, x.p = a.p, x.i = a.i, x.x = a.x;
    y.nrows = b.nrows, y.ncols = b.ncols, y.nvals = b.nvals, y.p = b.p, y.i = b.i, y.x = b.x;
    tsr_cuda_spgemm q = {};
    q.semiring = {TSR_FP32, TSR_ADD_PLUS, TSR_MUL_TIMES}, q.a = &x, q.b = &y, q.device = &device;
    if (tsr_cuda_spgemm_whole(&c, nullptr, &q) != TSR_OK || tsr_cuda_wait(nullptr) != TSR_OK) {
        std::fprintf(stderr, "%s: no product\n", name.c_str());
        std::exit(1);
    }
    Csr result = upload(name, c.nrows, c.ncols, download(c.p, c.nrows + 1), download(c.i, c.nvals), {});
    tsr_cuda_free(c.p, nullptr);
    tsr_cuda_free(c.i, nullptr);
    tsr_cuda_free(c.x, nullptr);
    return result;
}

// Rows of the transpose, on the host.
Csr transposed(const Csr &a)
{
    std::vector<int64_t> p = download(a.p, a.nrows + 1), q(size_t(a.ncols) + 1, 0);
    std::vector<uint32_t> i = download(a.i, a.nvals), j(i.size());
    for (uint32_t column : i)
        q[column + 1]++;
    for (size_t k = 1; k < q.size(); k++)
        q[k] += q[k - 1];
    std::vector<int64_t> at = q;
    for (int64_t row = 0; row < a.nrows; row++)
        for (int64_t e = p[size_t(row)]; e < p[size_t(row) + 1]; e++)
            j[size_t(at[i[size_t(e)]]++)] = uint32_t(row);
    return upload(a.name + "'", a.ncols, a.nrows, q, j, {});
}

} // namespace

const std::vector<std::string> &generated_products()
{
    static const std::vector<std::string> names = {"rmat16", "rmat18", "ms64", "ms4096", "er", "ms4096er", "mesh2d", "mesh27", "fem3",
                                                   "amg-AP", "amg-RAP", "mcl"};
    return names;
}

Product generate_product(const std::string &name)
{
    if (name == "rmat16")
        return {name, matrix_of(name, 1 << 16, 1 << 20, Undirected{{16, shuffle_of(1 << 16)}}), {}};
    if (name == "rmat18")
        return {name, rmat18(), {}};
    if (name == "er")
        return {name, er(), {}};
    if (name == "ms64" || name == "ms4096") {
        Csr graph = rmat18(), rows = sources(name, graph, name == "ms64" ? 64 : 4096);
        return {name, rows, graph};
    }
    if (name == "ms4096er") {
        Csr graph = er(), rows = sources(name, graph, 4096);
        return {name, rows, graph};
    }
    if (name == "mesh2d")
        return {name, matrix_of(name, 1 << 20, 5 << 20, FivePoints{{1024, 1024, 1}}), {}};
    if (name == "mesh27")
        return {name, matrix_of(name, 1 << 18, 27 << 18, Cube{{64, 64, 64}, 1}), {}};
    if (name == "fem3")
        return {name, matrix_of(name, 3 << 15, int64_t(243) << 15, Cube{{32, 32, 32}, 3}), {}};
    if (name.rfind("dense-", 0) == 0)
        return {name, blocks(name, 4096, 1, std::atof(name.c_str() + 6) / 100), {}};
    if (name.rfind("blocks-", 0) == 0)
        return {name, blocks(name, 512, 64, std::atof(name.c_str() + 7) / 100), {}};
    if (name == "mcl")
        return {name, matrix_of(name, 131072, 131072 + 2 * 3276800, Clusters{131072, shuffle_of(512)}), {}};
    if (name == "amg-AP")
        return {name, stencil(), interpolation(false)};
    if (name == "amg-RAP") {
        Csr a = stencil(), p = interpolation(false), ap = times("AP", a, p);
        release(a);
        release(p);
        Csr r = interpolation(true);
        r.ncols = ap.nrows;
        return {name, r, ap};
    }
    std::fprintf(stderr, "no recipe for %s\n", name.c_str());
    std::exit(1);
}

Product product_of_file(const std::string &path)
{
    tsr_mm text;
    tsr_mm_csr csr;
    char error[256];
    if (!tsr_mm_read(&text, path.c_str(), error, sizeof error) || !tsr_mm_to_csr(&csr, &text, error, sizeof error)) {
        std::fprintf(stderr, "%s\n", error);
        std::exit(1);
    }
    std::string name = path.substr(path.find_last_of('/') + 1);
    std::vector<int64_t> p(csr.p, csr.p + csr.nrows + 1);
    std::vector<uint32_t> i(csr.i, csr.i + csr.nvals);
    Csr a = upload(name.substr(0, name.find('.')), csr.nrows, csr.ncols, p, i, {});
    tsr_mm_csr_free(&csr);
    tsr_mm_free(&text);
    bool square = a.nrows == a.ncols;
    return {a.name, a, square ? Csr() : transposed(a)};
}

void release(Product &product)
{
    release(product.a);
    release(product.b);
}
