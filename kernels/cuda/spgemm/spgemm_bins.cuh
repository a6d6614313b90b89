// Launches the kernel of a bin for one semiring.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/spgemm/spgemm_places.cuh"
#include "kernels/cuda/spgemm/spgemm_rank.cuh"
#include "kernels/cuda/spgemm/spgemm_sort.cuh"

#include <atomic>

template <class P> class spgemm_launcher {
    using V = typename P::value;

  public:
    explicit spgemm_launcher(const spgemm_call &c) : call(c)
    {
        const tsr_cuda_spgemm &s = *c.product;
        q = { s.a->p, s.b->p, s.a->i, s.b->i, static_cast<const V *>(s.a->x), static_cast<const V *>(s.b->x), iso(s.a_iso), iso(s.b_iso),
              { s.semiring.add, s.semiring.mul }, !s.pattern, s.mask || s.mask_bits, s.mask_bits, s.mask_words, s.mask ? s.mask->p : nullptr, s.mask ? s.mask->i : nullptr,
              s.mask ? s.mask->x : nullptr, s.mask_size, s.mask_complement };
        if (s.pattern || !tsr_mul_reads_a(s.semiring.mul))
            q.ax = nullptr;
        if (s.pattern || !tsr_mul_reads_b(s.semiring.mul))
            q.bx = nullptr;
        const spgemm_place<void> &p = c.place;
        place = { p.mode, p.p, p.at, p.i, static_cast<V *>(p.x), p.capacity, p.cursor, p.deferred, p.sampled, p.again };
    }

    tsr_status run() const
    {
        if (call.places)
            return sum_places();
        if (call.parts.each)
            return rank_parts();
        if constexpr (P::all_shapes)
            return run_shape();
        else
            return run_few();
    }

  private:
    tsr_status run_shape() const
    {
        switch (call.bin) {
        case SPGEMM_SORT: return sort<uint32_t, 8, 8>();
        case SPGEMM_SORT + 1: return sort<uint32_t, 16, 8>();
        case SPGEMM_SORT + 2: return sort<uint32_t, 32, 8>();
        case SPGEMM_SORT + 3: return sort<uint32_t, 64, 16>();
        case SPGEMM_SORT + 4: return sort<uint32_t, 128, 32>();
        case SPGEMM_SORT + 5: return sort<uint32_t, 256, 32>();
        case SPGEMM_SORT + 6: return sort<uint32_t, 512, 32>();
        case SPGEMM_SORT_WIDE: return sort<unsigned long long, 512, 32>();
        case SPGEMM_RANK_WARP:
        case SPGEMM_RANK_WARP + 1:
        case SPGEMM_RANK_WARP + 2: return rank<32>({ narrow_words(), 512, 0 });
        case SPGEMM_RANK_BLOCK:
        case SPGEMM_RANK_BLOCK + 1:
        case SPGEMM_RANK_BLOCK + 2:
        case SPGEMM_RANK_BLOCK + 3: return rank_block_of();
        case SPGEMM_DENSE: return dense_small();
        default: return call.shapes.dense[1] <= 5120 ? dense<256>(call.shapes.dense[1]) : dense<512>(call.shapes.dense[1]);
        }
    }

    /* The same bins with fewer kernels. */
    tsr_status run_few() const
    {
        switch (call.bin) {
        case SPGEMM_SORT:
        case SPGEMM_SORT + 1:
        case SPGEMM_SORT + 2: return sort<uint32_t, 32, 8>();
        case SPGEMM_SORT + 3:
        case SPGEMM_SORT + 4: return sort<uint32_t, 128, 32>();
        case SPGEMM_SORT + 5:
        case SPGEMM_SORT + 6:
        case SPGEMM_SORT_WIDE: return sort<unsigned long long, 512, 32>();
        case SPGEMM_RANK_WARP:
        case SPGEMM_RANK_WARP + 1:
        case SPGEMM_RANK_WARP + 2: return rank<32>({ narrow_words(), 512, 0 });
        case SPGEMM_RANK_BLOCK:
        case SPGEMM_RANK_BLOCK + 1: return rank<128>({ window(8192), most_sums(2048), 0 });
        case SPGEMM_RANK_BLOCK + 2:
        case SPGEMM_RANK_BLOCK + 3: return rank<512>({ window(16384), most_sums(4096), 0 });
        default: return dense<512>(call.shapes.dense[call.bin - SPGEMM_DENSE]);
        }
    }

    /* Of complex FP64 numbers the bits are the real part. */
    static V iso(uint64_t bits)
    {
        V x;
        memset(static_cast<void *>(&x), 0, sizeof x);
        memcpy(static_cast<void *>(&x), &bits, sizeof x < sizeof bits ? sizeof x : sizeof bits);
        return x;
    }

    /* More threads for more products, and where a wide window leaves room for few blocks; in very wide ones few words are touched by the lightest rows,
     * and by more where B's rows have their columns close together. */
    tsr_status rank_block_of() const
    {
        uint32_t words = window(16384), wide = words <= 2048 ? 0 : words <= 4096 ? 1 : call.shapes.ncols <= spgemm_wide_columns ? 2 : 3;
        uint32_t heavy = uint32_t(call.bin - SPGEMM_RANK_BLOCK), sums = sums_of(8192) << heavy;
        const uint32_t ncols = call.shapes.ncols, coarse = ncols / 1024 + 1;
        const bool few = call.close ? heavy < 2 && ncols <= spgemm_named_columns : heavy == 0 && ncols <= 16384 * 32;
        if (wide == 3 && few)
            return call.close && heavy == 0 ? rank<32, true>({ 512, sums_of(4096), coarse }) : rank<64, true>({ 2048, sums, coarse });
        if (words > 4096 && heavy != 2 && heavy > 1)
            sums = sums_of(16384);
        switch (heavy > wide ? heavy : wide) {
        case 0: return rank<64>({ words, sums, 0 });
        case 1: return rank<128>({ words, sums, 0 });
        case 2: return rank<256>({ words, sums, 0 });
        default: return rank<512>({ words, sums, 0 });
        }
    }

    tsr_status dense_small() const
    {
        bool few = call.rows.count < 8u * uint32_t(call.product->device->sms);
        return few ? dense<256>(call.shapes.dense[0]) : dense<128>(call.shapes.dense[0]);
    }

    /* Sums in so many bytes. */
    static constexpr uint32_t sums_of(uint32_t bytes) { return bytes / uint32_t(sizeof(V)); }

    /* So many, or what takes as much memory as so many of 8 bytes. */
    static constexpr uint32_t most_sums(uint32_t sums) { return sizeof(V) > 8 ? sums / 2 : sums; }

    uint32_t narrow_words() const { return spgemm_warp_words << (call.bin - SPGEMM_RANK_WARP); }

    /* Words of a window: no more than the columns need. */
    uint32_t window(uint32_t most) const
    {
        uint32_t all = (call.shapes.ncols + 127) / 128 * 4;
        return all < most ? all : most;
    }

    /* Enough blocks to fill the device a few times over; each takes several rows.  What was found out about a kernel is kept for the device of the
     * last launch. */
    template <class Kernel> tsr_status launch(Kernel *kernel, std::atomic<uint64_t> *kept, int threads, int rows_of_block, size_t shared, unsigned *grid) const
    {
        uint64_t known = kept->load(), key = (shared + 1) << 16 | uint64_t(uint16_t(call.product->device->ordinal));
        int blocks = int(known % 64);
        if (known / 64 != key) {
            if (!allow_shared(kernel, shared) ||
                cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared) != cudaSuccess || blocks < 1)
                return as_failed();
            kept->store(key * 64 + uint64_t(blocks));
        }
        uint64_t rows = uint64_t(call.rows.count) * (call.parts.each ? call.parts.each : 1);
        uint64_t needed = (rows + uint64_t(rows_of_block) - 1) / uint64_t(rows_of_block);
        uint64_t most = uint64_t(blocks) * uint64_t(call.product->device->sms) * 8;
        *grid = unsigned(needed < most ? needed : most);
        return TSR_OK;
    }

    static tsr_status as_failed()
    {
        cudaGetLastError();
        return TSR_INTERNAL_ERROR;
    }

    tsr_status sum_places() const
    {
        const spgemm_places &places = *call.places;
        int64_t blocks = places.windows + (places.many + places_warps - 1) / places_warps;
        TSR_LAUNCH(spgemm_sum_places<P>, unsigned(blocks), unsigned(places_threads), 0, call.product->stream, q, places, place.x);
        return launch_status();
    }

    template <class Key, int N, int G> tsr_status sort() const
    {
        constexpr int threads = spgemm_sort_threads<Key>, groups = threads / G;
        constexpr size_t shared = groups * (N * sizeof(V) + (N + N / 16) * sizeof(Key));
        unsigned grid;
        auto kernel = spgemm_sort_rows<P, Key, N, G>;
        static std::atomic<uint64_t> kept;
        tsr_status status = launch(kernel, &kept, threads, groups, shared, &grid);
        if (status == TSR_OK)
            TSR_LAUNCH(kernel, grid, unsigned(threads), shared, call.product->stream, q, call.rows, place);
        return status;
    }

    template <int T, bool Names = false> tsr_status rank(spgemm_sizes sizes) const
    {
        constexpr bool may_pack = T == 32, packs = may_pack && Names;
        if (packs || (may_pack && call.short_pieces))
            return q.masked ? rank_of<T, Names, true, may_pack>(sizes) : rank_of<T, Names, false, may_pack>(sizes);
        return q.masked ? rank_of<T, Names, true, packs>(sizes) : rank_of<T, Names, false, packs>(sizes);
    }

    template <int T, bool Names, bool Sieved, bool Packed> tsr_status rank_of(spgemm_sizes sizes) const
    {
        constexpr int threads = rank_block<T>, teams = threads / T;
        size_t shared = teams * rank_bytes<T, Names, V>(sizes);
        unsigned grid;
        auto kernel = spgemm_rank_rows<P, T, Names, Sieved, Packed>;
        static std::atomic<uint64_t> kept;
        tsr_status status = launch(kernel, &kept, threads, teams, shared, &grid);
        if (status == TSR_OK)
            TSR_LAUNCH(kernel, grid, unsigned(threads), shared, call.product->stream, q, call.rows, place, sizes);
        return status;
    }

    /* Columns of most parts fit into one window; their sums get what shared memory is left. */
    tsr_status rank_parts() const
    {
        constexpr int threads = rank_block<32>, teams = threads / 32;
        uint64_t widest = spgemm_widest(call.shapes.ncols, call.strips.count, call.parts.wide);
        uint32_t words = uint32_t(widest < 32 * spgemm_part_words ? widest + 127 : 32 * spgemm_part_words) / 128 * 4;
        size_t room = call.product->device->shared_bytes_sm / spgemm_part_blocks - 1024, window = rank_bytes<32, false, V>({ words, 0, 0 });
        spgemm_sizes sizes = { words, sums_of(uint32_t(room / teams > window + 1024 ? room / teams - window : 1024)), 0 };
        size_t shared = teams * rank_bytes<32, false, V>(sizes);
        unsigned grid;
        auto kernel = spgemm_rank_parts<P>;
        static std::atomic<uint64_t> kept;
        tsr_status status = launch(kernel, &kept, threads, teams, shared, &grid);
        if (status == TSR_OK)
            TSR_LAUNCH(kernel, grid, unsigned(threads), shared, call.product->stream, q, call.rows, call.parts, call.strips, place, sizes);
        return status;
    }

    template <int T> tsr_status dense(uint32_t columns) const
    {
        size_t shared = dense_bytes<V>(T, columns);
        unsigned grid;
        auto kernel = spgemm_dense_rows<P, T>;
        static std::atomic<uint64_t> kept;
        tsr_status status = launch(kernel, &kept, T, 1, shared, &grid);
        if (status == TSR_OK)
            TSR_LAUNCH(kernel, grid, unsigned(T), shared, call.product->stream, q, call.rows, place, columns);
        return status;
    }

    const spgemm_call &call;
    spgemm_operands<V> q;
    spgemm_place<V> place;
};
