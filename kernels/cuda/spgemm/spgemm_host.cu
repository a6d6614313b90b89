// Sparse times sparse from the host's side: analysis of the rows, bins, storing, and bringing rows to their places in C.
//
// A row's results are stored behind those of whoever was faster, so they take no more memory than they need; how much C will need is estimated
// from a sample first.  What finds no room is counted, and computed when C is there.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/common/arena.cuh"
#include "kernels/cuda/common/fork.cuh"
#include "kernels/cuda/common/sort.cuh"
#include "kernels/cuda/spgemm/spgemm_analysis.cuh"
#include "kernels/cuda/spgemm/spgemm_copy.cuh"

#include <new>

uint64_t tsr_cuda_spgemm_bound_times = 1, tsr_cuda_spgemm_stored_before = 0;
int tsr_cuda_spgemm_sides = Fork::most;

namespace {

unsigned blocks_for(uint64_t n) { return unsigned((n + threads - 1) / threads); }

bool is_complex_type(tsr_type type) { return type == TSR_FC32 || type == TSR_FC64; }

size_t value_size(const tsr_cuda_spgemm *q) { return q->pattern ? 0 : size_of(q->semiring.type); }

} // namespace

/* Everything lies in two allocations: what describes rows, and stored results. */
struct tsr_cuda_spgemm_work {
    int64_t m;
    spgemm_shapes shapes;
    spgemm_totals totals; /* as the device found them */
    int64_t nvals;
    size_t row_bytes;
    void *rows_memory, *stored_memory;
    int64_t *p, *at;
    uint32_t *list, *first, *last;
    spgemm_totals *device_totals;
    uint32_t *stored_i; /* NULL: nothing is stored */
    void *stored_x;
    int64_t capacity;
    spgemm_parts parts[SPGEMM_BINS]; /* of the rows of each bin */
    spgemm_strips strips;
    spgemm_places places; /* code NULL: not kept */
    spgemm_places_memory places_memory;
    void *parts_memory;
    bool close;           /* columns of B's rows lie close together: rows are not divided */
    spgemm_tiles tiles;   /* bits NULL: computed row by row */
};

namespace {

spgemm_run run_of(const tsr_cuda_spgemm *q)
{
    tsr_semiring s = q->semiring;
    bool narrow = s.type == TSR_INT32 || s.type == TSR_UINT32, wide = s.type == TSR_INT64 || s.type == TSR_UINT64;
    if (q->pattern)
        return spgemm_run_pair32;
    if (is_complex_type(s.type))
        return spgemm_run_complex;
    if (s.add == TSR_ADD_PLUS && s.mul == TSR_MUL_PAIR && (narrow || wide))
        return narrow ? spgemm_run_pair32 : spgemm_run_pair64;
    if (s.add != TSR_ADD_PLUS || s.mul != TSR_MUL_TIMES)
        return spgemm_run_any;
    if (s.type == TSR_FP64 || s.type == TSR_FP32)
        return s.type == TSR_FP64 ? spgemm_run_fp64 : spgemm_run_fp32;
    return narrow ? spgemm_run_int32 : wide ? spgemm_run_int64 : spgemm_run_any;
}

constexpr uint64_t little = 2 << 20; /* products: fewer are little to do */

/* Parts of each row of a bin, a power of two: so many that a row of B has eight entries in each, but three where more are needed for a part to fit into a
 * warp's window; and where few rows are heavy, enough for every multiprocessor to have several. */
uint32_t parts_for(const tsr_cuda_spgemm *q, const spgemm_totals &totals, int bin)
{
    constexpr uint64_t least_columns = 512, of_piece = 8, of_piece_least = 3;
    const int rank = bin - SPGEMM_RANK_WARP;
    const uint64_t columns = uint64_t(q->b->ncols), rows = totals.rows[bin];
    if (bin <= SPGEMM_RANK_BLOCK || bin >= SPGEMM_DENSE || rows == 0)
        return 0;
    const uint64_t piece = totals.rank_products[rank] / totals.rank_entries[rank], several = bin > SPGEMM_RANK_BLOCK + 1 ? uint64_t(q->device->sms) * 16 / rows : 0;
    auto is_wider = [&](uint64_t parts, uint64_t windows) { return spgemm_widest(columns, parts, 1) > windows * 32 * spgemm_part_words; };
    uint64_t each = 1;
    while (each < spgemm_strips_most && 2 * each * least_columns <= columns &&
           (2 * each <= several || 2 * each * of_piece <= piece || (is_wider(each, 1) && 2 * each * of_piece_least <= piece)))
        each *= 2;
    return each < 2 || is_wider(each, 2) ? 0 : uint32_t(each);
}

/* Rows that go to one kernel. */
struct bin_rows {
    int bin;
    uint32_t start, rows;
    uint64_t products, entries; // those of rank kernels
    bool has_short_pieces() const { return products < 20 * entries; } // of B
};

/* The bins that have rows.  Where there is little to do, neighbours go together to the kernel of the last: launches cost more than work. */
int list_bins(const tsr_cuda_spgemm_work *w, bin_rows (&bins)[SPGEMM_BINS])
{
    bin_rows waiting = {};
    int count = 0;
    auto launch = [&](int bin) {
        waiting.bin = bin;
        bins[count++] = waiting;
        waiting = { 0, waiting.start + waiting.rows, 0, 0, 0 };
    };
    for (int bin = 0; bin < SPGEMM_BINS; bin++) {
        bool last = bin == 2 || bin == 4 || bin == 6 || bin == SPGEMM_SORT_WIDE || bin == SPGEMM_RANK_BLOCK - 1 || (bin > SPGEMM_RANK_BLOCK && bin != SPGEMM_DENSE);
        if (w->parts[bin].each && waiting.rows)
            launch(bin - 1);
        waiting.rows += w->totals.rows[bin];
        if (bin >= SPGEMM_RANK_WARP && bin < SPGEMM_DENSE) {
            waiting.products += w->totals.rank_products[bin - SPGEMM_RANK_WARP];
            waiting.entries += w->totals.rank_entries[bin - SPGEMM_RANK_WARP];
        }
        if (waiting.rows && (w->totals.products >= little || last))
            launch(bin);
    }
    return count;
}

/* Calls run(bin, rows, product on a stream) for each bin.  They run side by side, those with the heaviest rows first: most leave a part of the device
 * empty. */
template <class Run> tsr_status for_bins(const tsr_cuda_spgemm_work *w, const tsr_cuda_spgemm *product, const Run &run)
{
    bin_rows bins[SPGEMM_BINS];
    int count = list_bins(w, bins);
    const int others = count - 1 < tsr_cuda_spgemm_sides ? count - 1 : tsr_cuda_spgemm_sides;
    Fork fork(product->stream, product->device, others);
    tsr_cuda_spgemm aside = *product;
    tsr_status status = TSR_OK;
    while (count-- > 0 && status == TSR_OK) {
        aside.stream = fork.next();
        status = run(bins[count], &aside);
    }
    tsr_status joined = fork.join();
    return status != TSR_OK ? status : joined != TSR_OK ? joined : launch_status();
}

class Counter {
  public:
    Counter(tsr_cuda_spgemm_work *work, const tsr_cuda_spgemm *product) : w(work), q(product), stream(product->stream) {}

    tsr_status run()
    {
        uint64_t entries = 0;
        tsr_status status = get_rows();
        if (status == TSR_OK)
            status = analyse();
        if (status == TSR_OK)
            status = divide();
        if (status == TSR_OK)
            status = expect_entries(&entries);
        if (status == TSR_OK)
            status = by_tiles(entries);
        if (status == TSR_DECLINED)
            status = by_rows(entries);
        if (status == TSR_OK)
            status = find_offsets();
        return status;
    }

  private:
    tsr_status get_rows()
    {
        Arena arena(stream);
        arena.want(&w->p, w->m + 1);
        arena.want(&w->at, w->m);
        arena.want(&w->list, w->m);
        arena.want(&w->first, w->m);
        arena.want(&w->last, w->m);
        arena.want(&bin, w->m);
        arena.want(&w->device_totals, 1);
        arena.want(&scan, int64_t(tsr_cuda_scan_bytes(w->m)));
        tsr_status status = arena.get();
        w->row_bytes = arena.size();
        w->rows_memory = arena.keep();
        return status;
    }

    void choose_shapes()
    {
        size_t size = value_size(q) > 4 ? value_size(q) : 4, most = q->device->shared_bytes_block / 2; /* 4: products are counted, too */
        uint32_t ncols = uint32_t(q->b->ncols);
        for (int k = 0; k < 2; k++) {
            uint32_t columns = uint32_t((most / (k ? 1 : 4) - 16 * 1024 / (k ? 1 : 4)) / (size + 1)) / 32 * 32;
            w->shapes.dense[k] = columns < ncols ? columns : (ncols + 31) / 32 * 32;
        }
        w->shapes.ncols = ncols;
    }

    tsr_status set_totals()
    {
        const unsigned long long before = tsr_cuda_spgemm_stored_before;
        tsr_status status = tsr_cuda_set(w->device_totals, 0, sizeof w->totals, stream);
        if (status != TSR_OK || before == 0)
            return status;
        status = tsr_cuda_to_device(&w->device_totals->cursor, &before, sizeof before, stream);
        return status == TSR_OK ? tsr_cuda_wait(stream) : status;
    }

    tsr_status read_totals()
    {
        tsr_status status = tsr_cuda_to_host(&w->totals, w->device_totals, sizeof w->totals, stream);
        return status == TSR_OK ? tsr_cuda_wait(stream) : status;
    }

    template <int G> void analyse_by(const analysis &s)
    {
        unsigned needed = blocks_for(uint64_t(s.m) * G), most = unsigned(q->device->sms) * 32;
        TSR_LAUNCH(analyse_rows<G>, needed < most ? needed : most, unsigned(threads), 0, stream, s);
    }

    tsr_status analyse()
    {
        choose_shapes();
        const tsr_cuda_csr *a = q->a, *b = q->b;
        analysis s = { a->p, b->p, q->mask && !q->mask_complement ? q->mask->p : nullptr, a->i, b->i, w->m, w->shapes, w->first, w->last, bin, w->device_totals };
        tsr_status status = set_totals();
        if (status == TSR_OK) /* parts of a row are added up there */
            status = tsr_cuda_set(w->p, 0, size_t(w->m) * sizeof *w->p, stream);
        if (status != TSR_OK)
            return status;
        if (a->nvals < 8 * w->m)
            analyse_by<2>(s);
        else if (a->nvals < 16 * w->m)
            analyse_by<8>(s);
        else
            analyse_by<32>(s);
        TSR_LAUNCH(list_rows, blocks_for((uint64_t(w->m) + 3) / 4), unsigned(threads), 0, stream, bin, w->m, w->device_totals, w->list);
        status = launch_status();
        return status == TSR_OK ? read_totals() : status;
    }

    tsr_status by_rows(uint64_t entries)
    {
        tsr_status status = get_store(entries);
        return status == TSR_OK ? compute(SPGEMM_STORE, 1) : status;
    }

    /* They take no more than results before they are in C would, if values differ half as much again.  entries: of C, about. */
    tsr_status by_tiles(uint64_t entries)
    {
        if (!spgemm_tiles_fit(q))
            return TSR_DECLINED;
        const tsr_spgemm_tile_counts known = { double(w->totals.products), double(entries), double(q->a->nvals) + double(q->b->nvals), 0, 0, 0 };
        const size_t results = size_t(entries) * entry_bytes(), usual = (spgemm_tiles_count_only(q) ? results : results / 2 * 3) + tiles_least, room = q->memory > w->row_bytes ? q->memory - w->row_bytes : 0;
        return spgemm_tiles_count(&w->tiles, q, known, w->p, q->memory && room < usual ? room : usual);
    }

    tsr_status divide()
    {
        uint32_t each[SPGEMM_BINS], most = 0;
        for (int bin = 0; bin < SPGEMM_BINS; bin++) {
            each[bin] = parts_for(q, w->totals, bin);
            most = most > each[bin] ? most : each[bin];
        }
        most = strips_that_fit(most);
        if (most == 0 && !asks_closeness())
            return TSR_OK;
        tsr_status status = spgemm_cut_strips(&w->strips, q);
        w->close = status == TSR_DECLINED;
        if (status == TSR_OK && most)
            status = get_parts(each);
        return status == TSR_DECLINED ? TSR_OK : status;
    }

    /* Are there heavy rows so wide that it matters whether B's rows have their columns close together? */
    bool asks_closeness() const
    {
        const unsigned long long *products = w->totals.rank_products + (SPGEMM_RANK_BLOCK - SPGEMM_RANK_WARP);
        return q->b->ncols > spgemm_wide_columns && q->b->ncols <= spgemm_named_columns && products[0] + products[1] > little;
    }

    /* Their cuts take an eighth of what C will take, about. */
    uint32_t strips_that_fit(uint32_t wanted)
    {
        w->strips.by_entry = q->a->nvals < q->b->nrows;
        const uint64_t rows = uint64_t(w->strips.by_entry ? q->a->nvals : q->b->nrows), room = bound() * entry_bytes() / 4;
        for (w->strips.count = wanted; w->strips.count >= spgemm_strips_least; w->strips.count /= 2)
            if (rows * (w->strips.count + 1) * sizeof *w->strips.cuts <= room)
                return w->strips.count;
        return w->strips.count = 0;
    }

    tsr_status get_parts(uint32_t (&each)[SPGEMM_BINS])
    {
        Arena arena(stream);
        for (int bin = 0; bin < SPGEMM_BINS; bin++) {
            each[bin] = each[bin] < w->strips.count ? each[bin] : w->strips.count;
            if (each[bin] == 0)
                continue;
            arena.want(&w->parts[bin].counts, int64_t(w->totals.rows[bin]) * each[bin]);
            arena.want(&w->parts[bin].at, int64_t(w->totals.rows[bin]) * each[bin]);
        }
        tsr_status status = arena.get();
        if (status != TSR_OK)
            return status;
        for (int bin = 0; bin < SPGEMM_BINS; bin++)
            w->parts[bin].each = each[bin], w->parts[bin].wide = each[bin] ? w->strips.count / each[bin] : 0;
        w->row_bytes += arena.size() + w->strips.bytes;
        w->parts_memory = arena.keep();
        return TSR_OK;
    }

    /* Bytes of an entry that is stored. */
    size_t entry_bytes() const { return 4 + value_size(q); }

    /* Entries of C, at most. */
    uint64_t bound_of(int bin) const { return w->totals.bound[bin] * tsr_cuda_spgemm_bound_times; }
    uint64_t bound() const
    {
        uint64_t sum = 0;
        for (int k = 0; k < SPGEMM_BINS; k++)
            sum += bound_of(k);
        return sum;
    }

    /* Bins that matter; but with many products for a column, dense rows have most columns of their span. */
    bool is_sampled(int bin) const
    {
        bool full = bin >= SPGEMM_DENSE && w->totals.products > 16 * bound();
        return !full && bound_of(bin) > bound() / 32;
    }

    /* Entries of C, about: from every 33rd row of the bins that matter. */
    tsr_status estimate(uint64_t *entries)
    {
        tsr_status status = compute(SPGEMM_COUNT, sample_stride);
        if (status == TSR_OK)
            status = read_totals();
        double sum = 65536;
        for (int k = 0; k < SPGEMM_BINS; k++) {
            uint64_t rows = uint64_t(w->totals.rows[k]) * (w->parts[k].each ? w->parts[k].each : 1);
            uint64_t sampled = (rows + sample_stride - 1) / sample_stride;
            double most = double(bound_of(k));
            double guess = is_sampled(k) ? 1.04 * double(w->totals.sampled[k]) * double(rows) / double(sampled) : most;
            sum += guess < most ? guess : most;
        }
        *entries = sum < double(bound()) ? uint64_t(sum) : bound();
        return status;
    }

    /* Heavy rows of few are hardly ever without a column that comes twice: three tenths are left out, and what finds no room is computed to its place. */
    tsr_status expect_entries(uint64_t *entries)
    {
        uint64_t heavy = 0;
        for (int k = SPGEMM_RANK_WARP; k < SPGEMM_DENSE; k++)
            heavy += bound_of(k);
        *entries = bound();
        if (*entries * entry_bytes() > sample_least)
            return estimate(entries);
        *entries -= heavy * 3 / 10;
        return TSR_OK;
    }

    tsr_status get_store(uint64_t entries)
    {
        if (q->memory) {
            uint64_t room = q->memory > w->row_bytes ? (q->memory - w->row_bytes) / entry_bytes() : 0;
            entries = entries < room ? entries : room;
        }
        if (entries == 0)
            return TSR_OK;
        Arena arena(stream);
        char *values;
        arena.want(&w->stored_i, int64_t(entries));
        arena.want(&values, int64_t(entries * value_size(q)));
        tsr_status status = arena.get();
        if (status != TSR_OK) { /* then later, to their places */
            w->stored_i = nullptr;
            return status == TSR_OUT_OF_MEMORY ? TSR_OK : status;
        }
        w->stored_memory = arena.keep();
        w->capacity = int64_t(entries);
        w->stored_i = reinterpret_cast<uint32_t *>(first_of(w->stored_i, sizeof *w->stored_i));
        w->stored_x = reinterpret_cast<void *>(first_of(values, value_size(q)));
        return TSR_OK;
    }

    /* Where the array would begin of which this is what comes after `stored_before`. */
    static uintptr_t first_of(const void *array, size_t size)
    {
        return reinterpret_cast<uintptr_t>(array) - size_t(tsr_cuda_spgemm_stored_before) * size;
    }

    tsr_status compute(spgemm_mode mode, uint32_t stride)
    {
        spgemm_totals *t = w->device_totals;
        const int64_t end = w->capacity + int64_t(tsr_cuda_spgemm_stored_before);
        spgemm_place<void> place = { mode, w->p, w->at, w->stored_i, w->stored_x, end, &t->cursor, &t->deferred, t->sampled, false };
        return for_bins(w, q, [&](const bin_rows &some, const tsr_cuda_spgemm *aside) {
            if (mode == SPGEMM_COUNT && !is_sampled(some.bin))
                return TSR_OK;
            place.sampled = t->sampled + some.bin;
            spgemm_call call = { aside, nullptr, some.bin, some.has_short_pieces(), w->close, w->shapes, { w->list + some.start, (some.rows + stride - 1) / stride, stride, w->first, w->last }, {}, w->strips, place };
            if (w->parts[some.bin].each)
                call.parts = w->parts[some.bin], call.rows.count = some.rows;
            return run_of(q)(call);
        });
    }

    tsr_status find_offsets()
    {
        tsr_status status = tsr_cuda_scan(w->p, w->m, 1, scan, stream);
        if (status == TSR_OK)
            status = tsr_cuda_to_host(&w->nvals, w->p + w->m, sizeof w->nvals, stream);
        return status == TSR_OK ? read_totals() : status;
    }

    static constexpr uint32_t sample_stride = 33; /* odd, so that all parts of rows are met */
    static constexpr size_t tiles_least = size_t(16) << 20; /* bytes that tiles may take wherever there is room */
    static constexpr size_t sample_least = size_t(96) << 20; /* bytes of results above which rows are sampled */
    tsr_cuda_spgemm_work *w;
    const tsr_cuda_spgemm *q;
    void *stream;
    uint8_t *bin = nullptr;
    char *scan = nullptr;
};

// ---- Filling ----

class Filler {
  public:
    Filler(const tsr_cuda_spgemm_work *work, const tsr_cuda_spgemm *product, const tsr_cuda_csr *result)
        : w(work), q(product), c(result), stream(product->stream) {}

    tsr_status copy() const
    {
        switch (value_size(q)) {
        case 0:
        case 1: return copy_as<uint8_t>();
        case 2: return copy_as<uint16_t>();
        case 4: return copy_as<uint32_t>();
        case 8: return copy_as<uint64_t>();
        default: return copy_as<uint4>();
        }
    }

    tsr_status sum_places() const
    {
        spgemm_call call = {};
        call.product = q;
        call.places = &w->places;
        call.place.x = c->x;
        return run_of(q)(call);
    }

    /* again: every row, values only; else those that were not stored. */
    tsr_status compute(bool again) const
    {
        const spgemm_place<void> place = { SPGEMM_DIRECT, c->p, w->at, c->i, c->x, 0, nullptr, nullptr, nullptr, again };
        return for_bins(w, q, [&](const bin_rows &some, const tsr_cuda_spgemm *aside) {
            spgemm_call call = { aside, nullptr, some.bin, some.has_short_pieces(), w->close, w->shapes, { w->list + some.start, some.rows, 1, w->first, w->last }, w->parts[some.bin], w->strips, place };
            return run_of(q)(call);
        });
    }

  private:
    template <int G, class V> void copy_short(const copying<V> &s, void *aside) const
    {
        TSR_LAUNCH((copy_rows<V, G>), blocks_for(uint64_t(w->m) * G), unsigned(threads), 0, aside, s);
    }

    template <class V> void copy_short_of(const copying<V> &s, void *aside) const
    {
        double average = double(c->nvals) / double(w->m);
        if (average <= 8)
            copy_short<4>(s, aside);
        else if (average <= 32)
            copy_short<8>(s, aside);
        else if (average <= 96)
            copy_short<16>(s, aside);
        else
            copy_short<32>(s, aside);
    }

    template <class V> tsr_status copy_as() const
    {
        copying<V> s = { c->p, w->at, w->stored_i, static_cast<const V *>(w->stored_x), c->i, q->pattern ? nullptr : static_cast<V *>(c->x), w->m };
        Fork fork(stream, q->device, w->totals.products < little ? 0 : 2);
        copy_short_of(s, fork.next());
        uint32_t start = 0, rows = 0; /* sorted rows are short */
        for (int k = 0; k < SPGEMM_BINS; k++)
            *(k < SPGEMM_RANK_WARP ? &start : &rows) += w->totals.rows[k];
        if (rows)
            TSR_LAUNCH(copy_long_rows<V>, rows, unsigned(threads), 0, fork.next(), s, w->list + start);
        start = 0;
        for (int k = 0; k < SPGEMM_BINS; start += w->totals.rows[k++])
            if (const uint64_t all = uint64_t(w->totals.rows[k]) * w->parts[k].each)
                TSR_LAUNCH(copy_parts<V>, unsigned((all + warps - 1) / warps), unsigned(threads), 0, fork.next(), s, w->list + start, w->parts[k], all);
        tsr_status joined = fork.join();
        return joined == TSR_OK ? launch_status() : joined;
    }

    const tsr_cuda_spgemm_work *w;
    const tsr_cuda_spgemm *q;
    const tsr_cuda_csr *c;
    void *stream;
};

bool takes(const tsr_cuda_spgemm *q)
{
    tsr_semiring s = q->semiring;
    bool fits = q->a->nrows < UINT32_MAX && q->b->ncols < UINT32_MAX && q->a->ncols == q->b->nrows;
    fits = fits && (!q->mask || (q->mask->nrows == q->a->nrows && q->mask->ncols == q->b->ncols));
    fits = fits && (!q->mask_bits || q->mask_words * 32 >= q->b->ncols);
    bool monoid_fits = s.type != TSR_BOOL || s.add == TSR_ADD_LOR || s.add == TSR_ADD_ANY;
    bool complex_fits = !is_complex_type(s.type) || (s.add == TSR_ADD_PLUS && s.mul == TSR_MUL_TIMES);
    return fits && (q->pattern || (monoid_fits && complex_fits));
}

void free_places(tsr_cuda_spgemm_work *work, void *stream)
{
    tsr_cuda_free(work->places_memory.entries, stream);
    tsr_cuda_free(work->places_memory.code, stream);
    work->places_memory = {};
    work->places = {};
}

void free_stored(tsr_cuda_spgemm_work *work, void *stream)
{
    tsr_cuda_free(work->stored_memory, stream);
    work->stored_memory = work->stored_x = nullptr;
    work->stored_i = nullptr;
}

} // namespace

tsr_status tsr_cuda_spgemm_count(tsr_cuda_spgemm_work **work, tsr_cuda_spgemm_size *size, const tsr_cuda_spgemm *product)
{
    *work = nullptr;
    if (!takes(product))
        return TSR_DECLINED;
    auto *made = new (std::nothrow) tsr_cuda_spgemm_work();
    if (!made)
        return TSR_OUT_OF_MEMORY;
    made->m = product->a->nrows;
    tsr_status status = Counter(made, product).run();
    if (status != TSR_OK) {
        tsr_cuda_spgemm_free(made, product->stream);
        return status;
    }
    size_t entry = 4 + value_size(product);
    if (size)
        *size = { made->nvals, made->totals.products, made->row_bytes + made->tiles.bytes + size_t(made->capacity) * entry, made->tiles.bits != nullptr };
    *work = made;
    return TSR_OK;
}

/* Values only. */
static tsr_status fill_again(const tsr_cuda_spgemm_work *work, const tsr_cuda_spgemm *product, const tsr_cuda_csr *c)
{
    const Filler filler(work, product, c);
    const tsr_status by_tiles = work->tiles.bits ? spgemm_tiles_fill(&work->tiles, product, c, true) : TSR_DECLINED;
    if (by_tiles != TSR_DECLINED)
        return by_tiles;
    return work->places.code ? filler.sum_places() : filler.compute(true);
}

tsr_status tsr_cuda_spgemm_fill(tsr_cuda_spgemm_work *work, const tsr_cuda_spgemm *product, tsr_cuda_csr *c, bool again)
{
    Filler filler(work, product, c);
    void *stream = product->stream;
    if (again)
        return product->pattern ? TSR_OK : fill_again(work, product, c);
    tsr_status status = cudaMemcpyAsync(c->p, work->p, size_t(work->m + 1) * sizeof *c->p, cudaMemcpyDeviceToDevice,
                                        static_cast<cudaStream_t>(stream)) == cudaSuccess ? TSR_OK : TSR_INTERNAL_ERROR;
    if (status == TSR_OK && work->tiles.bits)
        return spgemm_tiles_fill(&work->tiles, product, c, false);
    if (status == TSR_OK && work->stored_i)
        status = filler.copy();
    if (status == TSR_OK && work->totals.deferred)
        status = filler.compute(false);
    free_stored(work, stream);
    return status;
}

/* Are places kept?  Where columns have many products, what adds them up column by column is faster; tiles need none. */
static bool are_worth_it(const tsr_cuda_spgemm_work *work, const tsr_cuda_spgemm *product)
{
    constexpr uint64_t many = 12;
    bool numbers_fit = product->b->nvals <= int64_t(UINT32_MAX) && product->a->nvals <= int64_t(UINT32_MAX) && work->totals.products < UINT32_MAX;
    return !work->tiles.bits && numbers_fit && work->nvals > 0 && work->totals.products < many * uint64_t(work->nvals);
}

tsr_status tsr_cuda_spgemm_keep(tsr_cuda_spgemm_work *work, size_t *bytes, const tsr_cuda_spgemm *product, const tsr_cuda_csr *c,
    size_t most_bytes)
{
    *bytes = 0;
    void *stream = product->stream;
    uint32_t *counts;
    tsr_cuda_csr counted = *c;
    tsr_cuda_spgemm q = *product;
    size_t scratch = size_t(work->nvals) * sizeof *counts, kept = size_t(work->totals.products) * sizeof *work->places.code;
    if (!are_worth_it(work, product) || scratch + kept > most_bytes)
        return TSR_DECLINED;
    tsr_status status = tsr_cuda_malloc(reinterpret_cast<void **>(&counts), scratch, stream);
    if (status != TSR_OK)
        return status;
    q.semiring = { TSR_UINT32, TSR_ADD_PLUS, TSR_MUL_PAIR };
    q.pattern = false;
    counted.x = counts;
    status = Filler(work, &q, &counted).compute(true);
    if (status == TSR_OK)
        status = spgemm_find_places(&work->places, &work->places_memory, { work->list, work->totals.rows }, &q, &counted, work->totals.products,
                                    counts, most_bytes - scratch);
    if (status != TSR_OK)
        free_places(work, stream);
    *bytes = work->places_memory.bytes;
    tsr_cuda_free(counts, stream);
    return status;
}

void tsr_cuda_spgemm_free(tsr_cuda_spgemm_work *work, void *stream)
{
    if (!work)
        return;
    free_stored(work, stream);
    free_places(work, stream);
    spgemm_tiles_free(&work->tiles, stream);
    tsr_cuda_free(work->parts_memory, stream);
    tsr_cuda_free(work->strips.memory, stream);
    tsr_cuda_free(work->rows_memory, stream);
    delete work;
}

tsr_status tsr_cuda_spgemm_whole(tsr_cuda_csr *c, tsr_cuda_spgemm_size *size, const tsr_cuda_spgemm *product)
{
    tsr_cuda_spgemm_work *work;
    tsr_cuda_spgemm_size found;
    *c = {};
    tsr_status status = tsr_cuda_spgemm_count(&work, &found, product);
    if (status != TSR_OK)
        return status;
    c->nrows = product->a->nrows, c->ncols = product->b->ncols, c->nvals = found.nvals;
    status = tsr_cuda_malloc(reinterpret_cast<void **>(&c->p), size_t(c->nrows + 1) * sizeof *c->p, product->stream);
    if (status == TSR_OK)
        status = tsr_cuda_malloc(reinterpret_cast<void **>(&c->i), size_t(c->nvals) * sizeof *c->i, product->stream);
    if (status == TSR_OK && !product->pattern)
        status = tsr_cuda_malloc(&c->x, size_t(c->nvals) * value_size(product), product->stream);
    if (status == TSR_OK)
        status = tsr_cuda_spgemm_fill(work, product, c, false);
    tsr_cuda_spgemm_free(work, product->stream);
    if (size)
        *size = found;
    if (status != TSR_OK) {
        tsr_cuda_free(c->p, product->stream);
        tsr_cuda_free(c->i, product->stream);
        tsr_cuda_free(c->x, product->stream);
        *c = {};
    }
    return status;
}
