// Tessera's GPU kernels beside cuSPARSE: times, bounds, errors and conversions, a row of JSON a line; --json adds to a record that
// `bench/record.py header spmm/1 bench_gpu …` began.
//
//   bench_gpu [--matrix all|name,…] [--file x.mtx[.gz]]… [--n 32,128] [--kernel name,…] [--math name,…] [--variant 0,1,…]
//             [--split e] [--shrink k] [--most blocks] [--json FILE] [--no-peers] [--repeats k] [--budget ms]
//             [--shuffle 0,seed,…] [--reorder none,lpa,tca,loa,auto]
//
// Kernels: csr me-tcf me-bcrs hrpb-16 hrpb-32 hrpb-64 bmat-8 bmat-16 panel-32 panel-64 panel (as the matrix wants); name:math+math
//  limits one to these of the arithmetics.
//  hybrid (windows with at least `split` entries in a nonzero vector on Tensor Cores; no --split: by the model of the build).
//  narrow-csr, narrow-hrpb-16, …: TF32 by that kernel's FP16 form, operands scaled by powers of two; finding B's range and rounding B is
//  part of the time.
//  Arithmetic: exact tf32 fp16 bf16 fp64; min_plus (FP32; csr, panels).  n = 1 is SpMV (csr).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>

#include "bench/cuda/arguments.h"
#include "bench/cuda/check.cuh"
#include "bench/cuda/matrices.h"
#include "bench/cuda/measure.h"
#include "bench/cuda/orders.h"
#include "bench/cuda/peers.h"
#include "kernels/cuda/common/cuda_kernels.h"
#include "kernels/cuda/common/fp16_scaling.h"
extern "C" {
#include "backends/cuda/spmm/kernel_table.h"
#include "src/mtx/mm.h"
#include "src/policy/model/model.h"
}

namespace {

const char *const math_names[] = {"exact", "tf32", "fp16", "bf16", "fp64"};
const char *const number_names[] = {"fp32", "fp64", "fp16", "bf16"};

// Those that models have coefficients for, but panels, which need --kernel.
std::vector<std::string> modelled()
{
    std::vector<std::string> names;
    for (int k = 0; k < TSR_GPU_KERNELS; k++)
        if (k != TSR_GPU_PANEL_32 && k != TSR_GPU_PANEL_64)
            names.push_back(tsr_gpu_kernel_names[k]);
    return names;
}

// csr, or one of its like; null: another kernel.
tsr_cuda_csr_kernel *kernel_for_rows(const std::string &kernel)
{
#define BY_NAME(unused, id, format, name) \
    if (kernel == name) \
        return tsr_cuda_spmm_##format;
    TSR_GPU_CSR_LIST(BY_NAME, )
    return kernel == "csr" ? tsr_cuda_spmm_csr : nullptr;
}

struct Options {
    std::vector<std::string> matrices, files, kernels = modelled(),
                                              maths = {"exact", "tf32", "fp16", "fp64"}, orders = {"none"};
    std::vector<int64_t> widths = {128}, variants = {0};
    int shrink = 1, repeats = 2;
    int64_t most = 64;
    std::vector<int64_t> shuffles = {0}; // seeds of new numbers for rows and columns; 0: they stay
    double budget_ms = 250; // of timed runs per case
    double split = 0;       // of hybrid; 0: by the model
    bool peers = true, own_most = true; // no --most: kernels that can choose do
    FILE *json = stdout;
    bool has_math(const char *name) const { return std::find(maths.begin(), maths.end(), name) != maths.end(); }
};

size_t size_of(tsr_number number)
{
    return number == TSR_NUMBER_FP64 ? 8 : number == TSR_NUMBER_FP32 ? 4 : 2;
}

// The dense operands of one matrix and width, in every number asked for.
struct Operands {
    const Csr &a;
    int64_t n;
    float *b32;
    double *exact = nullptr;
    void *c, *c_again;
    std::map<tsr_number, void *> b, x;

    Operands(const Csr &matrix, int64_t width) : a(matrix), n(width)
    {
        b32 = device_array<float>(a.ncols * n);
        fill_uniform(b32, a.ncols * n, 7);
        c = device_array<double>(a.nrows * n), c_again = device_array<double>(a.nrows * n);
        if (double(a.nvals) * double(n) < 4e10) {
            exact = device_array<double>(a.nrows * n);
            reference(exact, a, b32, n);
        }
    }
    ~Operands()
    {
        for (auto &held : {b, x})
            for (auto &[number, p] : held)
                if (p != b32 && p != a.x)
                    cudaFree(p);
        cudaFree(b32);
        cudaFree(exact);
        cudaFree(c);
        cudaFree(c_again);
    }
    void *in(std::map<tsr_number, void *> &held, tsr_number number, float *from, int64_t count)
    {
        auto found = held.find(number);
        if (found != held.end())
            return found->second;
        void *p = from;
        if (number != TSR_NUMBER_FP32) {
            p = device_array<char>(count * int64_t(size_of(number)));
            to_number(p, number, from, count);
        }
        return held[number] = p;
    }
    // FP16 numbers that are these times 2^*shift, or NULL.
    static void *narrow(int *shift, const float *from, int64_t count)
    {
        uint32_t range[2], *device_range = device_array<uint32_t>(2);
        void *p = nullptr;
        CHECK(cudaMemset(device_range, 0, sizeof range));
        if (tsr_cuda_find_range(device_range, from, count, 1, count, nullptr) != TSR_OK)
            return nullptr;
        CHECK(cudaMemcpy(range, device_range, sizeof range, cudaMemcpyDeviceToHost));
        cudaFree(device_range);
        if (!tsr_fp16_scale(shift, range))
            return nullptr;
        p = device_array<uint16_t>(count);
        return tsr_cuda_narrow(p, count, from, count, 1, count, std::ldexp(1.0f, *shift), nullptr) == TSR_OK ? p : nullptr;
    }
    void *b_as(tsr_number number) { return in(b, number, b32, a.ncols * n); }
    void *x_as(tsr_number number) { return in(x, number, a.x, a.nvals); }
};

// FP16 numbers in place of TF32 ones.
struct Narrow {
    void *x = nullptr, *b = nullptr;
    int x_shift = 0, b_shift = 0;
    uint32_t *range;

    explicit Narrow(const Operands &o) : range(device_array<uint32_t>(2))
    {
        x = o.a.x ? Operands::narrow(&x_shift, o.a.x, o.a.nvals) : nullptr;
        b = Operands::narrow(&b_shift, o.b32, o.a.ncols * o.n);
    }
    ~Narrow()
    {
        cudaFree(x);
        cudaFree(b);
        cudaFree(range);
    }
    Narrow(const Narrow &) = delete;
    Narrow &operator=(const Narrow &) = delete;
    bool fits(const Operands &o) const { return b && (x || !o.a.x); }
    // What a product does with B first.
    tsr_status prepare(const Operands &o) const
    {
        tsr_status status = tsr_cuda_set(range, 0, 2 * sizeof *range, nullptr);
        if (status == TSR_OK)
            status = tsr_cuda_find_range(range, o.b32, o.n, o.a.ncols, o.n, nullptr);
        return status == TSR_OK ? tsr_cuda_narrow(b, o.n, o.b32, o.n, o.a.ncols, o.n, std::ldexp(1.0f, b_shift), nullptr) : status;
    }
};

struct Record {
    std::string kernel, math;
    int variant = 0;
    double ms = -1, convert_ms = -1, error = -1;
    int64_t bytes = 0;
    bool repeats = true;
    std::string note;
};

struct Bench {
    const Options &options;
    tsr_cuda_device device;
    const Csr *a = nullptr;
    const Narrow *narrow = nullptr; // TF32 by FP16 kernels
    std::string suffix = ""; // of kernels: the order of rows
    double gather = 0, order_ms = 0;

    void print(const Operands &o, const Record &r, double compulsory) const
    {
        double flops = 2.0 * double(a->nvals) * double(o.n);
        std::fprintf(options.json,
                     "{\"matrix\":\"%s\",\"nrows\":%lld,\"nvals\":%lld,\"n\":%lld,\"kernel\":\"%s\",\"math\":\"%s\",\"variant\":%d,\"ms\":%.5g,"
                     "\"gflops\":%.5g,\"error\":%.3g,\"order_ms\":%.4g,\"convert_ms\":%.4g,\"bytes\":%lld,\"gather_ms\":%.5g,\"compulsory_ms\":%.5g,"
                     "\"same_bits\":%s,\"note\":\"%s\"}\n",
                     a->name.c_str(), (long long)a->nrows, (long long)a->nvals, (long long)o.n, (r.kernel + suffix).c_str(), r.math.c_str(),
                     r.variant, r.ms, r.ms > 0 ? flops / r.ms * 1e-6 : 0.0, r.error, order_ms, r.convert_ms, (long long)r.bytes, gather, compulsory,
                     r.repeats ? "true" : "false", r.note.c_str());
        std::fflush(options.json);
    }

    // Time, error and repeatability of one product; `run` queues it into the given C.
    void measure(Operands &o, Record r, bool wide, const std::function<tsr_status(void *)> &run) const
    {
        size_t bytes = size_t(a->nrows * o.n) * (wide ? 8 : 4);
        poison(o.c, bytes);
        tsr_status status = run(o.c);
        if (status == TSR_OK)
            status = tsr_cuda_wait(nullptr);
        if (status != TSR_OK) {
            r.note = tsr_status_text(status);
        } else {
            if (o.exact)
                r.error = relative_error(o.c, wide, o.exact, a->nrows * o.n);
            r.ms = median_ms([&] { return run(o.c_again) == TSR_OK; }, options.budget_ms);
            int repeats = r.ms * options.repeats <= 4 * options.budget_ms ? options.repeats : std::min(2, options.repeats);
            for (int k = 0; k < repeats && r.repeats; k++) {
                poison(o.c_again, bytes);
                r.repeats = run(o.c_again) == TSR_OK && same_bits(o.c, o.c_again, bytes);
            }
        }
        print(o, r, compulsory_ms(*a, o.n, r.math == "fp64" ? 8 : r.math == "fp16" || r.math == "bf16" ? 2 : 4));
    }

    int conversions() const { return options.repeats > 1 ? 3 : 1; } // that are timed

    static const char *tsr_status_text(tsr_status status)
    {
        return status == TSR_DECLINED ? "declined" : status == TSR_OUT_OF_MEMORY ? "out of memory" : "failed";
    }

    void peers(Operands &o) const
    {
        for (tsr_number number : {TSR_NUMBER_FP32, TSR_NUMBER_FP16, TSR_NUMBER_FP64}) {
            if (!options.has_math(number == TSR_NUMBER_FP32 ? "exact" : number_names[number]) && number != TSR_NUMBER_FP32)
                continue;
            Record r;
            r.kernel = "cusparse", r.math = number_names[number];
            bool vector = o.n == 1;
            if (vector && number == TSR_NUMBER_FP16)
                continue;
            PeerTime best = vector ? cusparse_spmv(*a, o.x_as(number), o.b_as(number), o.c, number)
                                   : cusparse_spmm(*a, o.x_as(number), o.b_as(number), o.c, o.n, number);
            r.ms = best.ms, r.note = best.best;
            if (o.exact && number != TSR_NUMBER_FP16)
                r.error = relative_error(o.c, number == TSR_NUMBER_FP64, o.exact, a->nrows * o.n);
            print(o, r, compulsory_ms(*a, o.n, int(size_of(number))));
        }
    }

    // TF32: there is none.
    void csr(Operands &o, const std::string &kernel, tsr_cuda_csr_kernel *by, tsr_cuda_math math, int variant) const
    {
        if (math == TSR_CUDA_TF32)
            return;
        const tsr_number number = tsr_cuda_number(math);
        Record r;
        r.kernel = narrow ? "narrow-" + kernel : kernel, r.math = narrow ? "tf32" : number_names[number], r.variant = variant;
        tsr_cuda_csr m = {};
        m.nrows = a->nrows, m.ncols = a->ncols, m.nvals = a->nvals;
        m.p = a->p, m.i = a->i, m.x = narrow ? narrow->x : o.x_as(number);
        r.convert_ms = median_wall_ms([&] {
            tsr_cuda_csr_work_free(&m, nullptr);
            return tsr_cuda_csr_work(&m, &device, nullptr) == TSR_OK;
        }, conversions());
        tsr_cuda_csr_spmm product = {};
        product.half = size_of(number) == 2;
        product.number = number;
        product.semiring = {number == TSR_NUMBER_FP64 ? TSR_FP64 : TSR_FP32, TSR_ADD_PLUS, TSR_MUL_TIMES};
        product.n = o.n, product.b = narrow ? narrow->b : o.b_as(number), product.ldb = o.n, product.ldc = o.n;
        product.alpha = narrow ? std::ldexp(1.0, -narrow->x_shift - narrow->b_shift) : 1;
        product.device = &device, product.variant = variant;
        size_t scratch = tsr_cuda_csr_partial_bytes(&m, &product);
        product.partial = scratch ? device_array<char>(int64_t(scratch)) : nullptr;
        r.bytes = (a->nrows + 1) * 8 + a->nvals * int64_t(4 + size_of(number));
        measure(o, r, number == TSR_NUMBER_FP64, [&](void *c) {
            product.c = c;
            tsr_status status = narrow ? narrow->prepare(o) : TSR_OK;
            return status == TSR_OK ? by(&m, &product) : status;
        });
        cudaFree(product.partial);
        tsr_cuda_csr_work_free(&m, nullptr);
    }

    tsr_cuda_spmm product_of(Operands &o, tsr_cuda_math math, int variant) const
    {
        tsr_cuda_spmm product = {};
        product.math = math, product.n = o.n;
        product.b = o.b_as(tsr_cuda_number(math)), product.ldb = o.n, product.ldc = o.n, product.row = a->row;
        product.alpha = 1, product.iso = 1, product.device = &device, product.variant = variant;
        return product;
    }

    tsr_source source_of(Operands &o, tsr_number number) const
    {
        tsr_source source = {};
        source.nrows = a->nrows, source.ncols = a->ncols, source.nvals = a->nvals;
        source.p = a->p, source.i = a->i, source.x = o.x_as(number), source.number = number;
        return source;
    }

    static int64_t window_bytes(const tsr_windows &w) { return 24 * (w.nwindows + 1) + 4 * w.nvectors; }
    static int64_t work_bytes(const tsr_work &w) { return 32 * w.nitems; }

    // One representation with its work list, its values stored as `number`: converted (timed), multiplied (timed), freed.
    template <class Format, class Make, class Free, class Multiply>
    void blocks(Operands &o, Record r, tsr_cuda_math math, tsr_number number, Make make, Free drop, Multiply multiply,
                const std::function<int64_t(const Format &)> &bytes) const
    {
        tsr_source source = source_of(o, number);
        r.math = narrow ? "tf32" : math_names[math];
        r.kernel = (narrow ? "narrow-" : "") + r.kernel;
        if (narrow && number == TSR_NUMBER_FP16)
            source.x = narrow->x;
        Format format = {};
        tsr_work work = {};
        r.convert_ms = median_wall_ms([&] {
            drop(&format, nullptr);
            tsr_cuda_free_work(&work, nullptr);
            return make(&format, &source, &work) == TSR_OK;
        }, conversions());
        if (r.convert_ms < 0) {
            r.note = "not converted";
            print(o, r, 0);
            return;
        }
        r.bytes = bytes(format) + window_bytes(format.w) + work_bytes(work);
        tsr_cuda_spmm product = product_of(o, math, r.variant);
        if (narrow) {
            product.b = narrow->b;
            product.alpha = std::ldexp(1.0, -narrow->b_shift - (number == TSR_NUMBER_FP16 ? narrow->x_shift : 0));
        }
        size_t scratch = tsr_cuda_partial_bytes(&work, format.w.height, &product);
        product.partial = scratch ? device_array<char>(int64_t(scratch)) : nullptr;
        measure(o, r, math == TSR_CUDA_FP64, [&](void *c) {
            product.c = c;
            tsr_status status = narrow ? narrow->prepare(o) : TSR_OK;
            return status == TSR_OK ? multiply(&format, &work, &product) : status;
        });
        cudaFree(product.partial);
        drop(&format, nullptr);
        tsr_cuda_free_work(&work, nullptr);
    }

    /* --most, or the format's own choice. */
    int64_t chosen(const tsr_windows &w, int64_t (*own)(const tsr_windows *, int64_t, const tsr_cuda_device *)) const
    {
        int64_t longest;
        if (!options.own_most || tsr_cuda_longest_window(&longest, &w, nullptr) != TSR_OK)
            return options.most;
        return own(&w, longest, &device);
    }

    static int64_t panel_bytes(const tsr_panel &f) { return 16 * (f.nunits + f.w.nblocks); }

    /* Of panel-32, say; of panel: its own choice. */
    int panel_height(Operands &o, const std::string &kernel) const
    {
        int64_t vectors[5];
        tsr_source source = source_of(o, TSR_NUMBER_FP32);
        if (kernel != "panel")
            return std::atoi(kernel.c_str() + 6);
        return tsr_cuda_count_vectors(vectors, &source, nullptr) == TSR_OK ? tsr_panel_height(a->nrows, vectors) : 32;
    }

    tsr_status make_panel(tsr_panel *f, tsr_work *w, const tsr_source *s, int height, int width) const
    {
        tsr_status status = tsr_cuda_make_panel(f, s, height, width, 1.0, nullptr);
        int64_t most = options.own_most ? tsr_cuda_panel_most(&f->w, &device) : options.most;
        return status == TSR_OK ? tsr_cuda_make_work(w, &f->w, nullptr, most, nullptr) : status;
    }

    tsr_cuda_csr_spmm min_plus_product(Operands &o, int variant) const
    {
        tsr_cuda_csr_spmm product = {};
        product.semiring = {TSR_FP32, TSR_ADD_MIN, TSR_MUL_PLUS};
        product.n = o.n, product.b = o.b32, product.ldb = o.n, product.ldc = o.n;
        product.alpha = 1, product.device = &device, product.variant = variant;
        return product;
    }

    // FP32; no reference: errors are not known.
    void min_plus_csr(Operands &o, Record r) const
    {
        tsr_cuda_csr m = {};
        m.nrows = a->nrows, m.ncols = a->ncols, m.nvals = a->nvals;
        m.p = a->p, m.i = a->i, m.x = a->x;
        if (tsr_cuda_csr_work(&m, &device, nullptr) != TSR_OK)
            return;
        tsr_cuda_csr_spmm product = min_plus_product(o, r.variant);
        size_t scratch = tsr_cuda_csr_partial_bytes(&m, &product);
        product.partial = scratch ? device_array<char>(int64_t(scratch)) : nullptr;
        measure(o, r, false, [&](void *c) {
            product.c = c;
            return tsr_cuda_spmm_csr(&m, &product);
        });
        cudaFree(product.partial);
        tsr_cuda_csr_work_free(&m, nullptr);
    }

    void min_plus_panel(Operands &o, Record r) const
    {
        int height = panel_height(o, r.kernel);
        tsr_panel f = {};
        tsr_work w = {};
        tsr_source source = source_of(o, TSR_NUMBER_FP32);
        tsr_cuda_csr_spmm product = min_plus_product(o, r.variant);
        if (make_panel(&f, &w, &source, height, tsr_panel_width(height)) == TSR_OK) {
            size_t scratch = tsr_cuda_panel_partial_bytes(&f, &w, &product);
            product.partial = scratch ? device_array<char>(int64_t(scratch)) : nullptr;
            r.bytes = panel_bytes(f) + window_bytes(f.w) + work_bytes(w);
            measure(o, r, false, [&](void *c) {
                product.c = c;
                return tsr_cuda_spmm_panel_semiring(&f, &w, a->p, nullptr, &product);
            });
            cudaFree(product.partial);
        }
        tsr_cuda_free_panel(&f, nullptr);
        tsr_cuda_free_work(&w, nullptr);
    }

    void min_plus(Operands &o, const std::string &kernel, int variant)
    {
        Record r;
        r.kernel = kernel, r.math = "min_plus", r.variant = variant;
        double *exact = o.exact;
        o.exact = nullptr; // of another semiring
        if (kernel == "csr")
            min_plus_csr(o, r);
        else if (kernel.compare(0, 5, "panel") == 0)
            min_plus_panel(o, r);
        o.exact = exact;
    }

    void tensor(Operands &o, const std::string &kernel, tsr_cuda_math math, int variant) const
    {
        Record r;
        r.kernel = kernel, r.variant = variant;
        int64_t size = int64_t(size_of(tsr_cuda_number(math))), nvals = a->nvals, most = options.most;
        int height = kernel.find('-') == std::string::npos ? 0 : std::atoi(kernel.c_str() + kernel.find('-') + 1);
        if (kernel == "me-tcf") {
            blocks<tsr_me_tcf>(o, r, math, tsr_cuda_number(math), [&](tsr_me_tcf *f, const tsr_source *s, tsr_work *w) {
                tsr_status status = tsr_cuda_make_me_tcf(f, s, nullptr);
                return status == TSR_OK ? tsr_cuda_make_work(w, &f->w, nullptr, chosen(f->w, tsr_cuda_me_tcf_most), nullptr) : status;
            }, tsr_cuda_free_me_tcf, tsr_cuda_spmm_me_tcf, [&](const tsr_me_tcf &f) { return nvals * (1 + size) + 4 * f.w.nblocks; });
        } else if (kernel == "me-bcrs") {
            int width = math == TSR_CUDA_FP16 || math == TSR_CUDA_BF16 ? 16 : 8;
            blocks<tsr_me_bcrs>(o, r, math, tsr_cuda_number(math), [&](tsr_me_bcrs *f, const tsr_source *s, tsr_work *w) {
                tsr_status status = tsr_cuda_make_me_bcrs(f, s, width, 1.0, nullptr);
                int64_t own = options.own_most ? tsr_cuda_me_bcrs_most(&f->w, &device) : most;
                return status == TSR_OK ? tsr_cuda_make_work(w, &f->w, nullptr, own, nullptr) : status;
            }, tsr_cuda_free_me_bcrs, tsr_cuda_spmm_me_bcrs, [&](const tsr_me_bcrs &f) { return 8 * f.w.nvectors * size; });
        } else if (kernel.compare(0, 5, "bmat-") == 0) {
            blocks<tsr_bmat>(o, r, math, tsr_cuda_number(math), [&](tsr_bmat *f, const tsr_source *s, tsr_work *w) {
                tsr_status status = tsr_cuda_make_bmat(f, s, height, nullptr);
                return status == TSR_OK ? tsr_cuda_make_work(w, &f->w, f->mask, most, nullptr) : status;
            }, tsr_cuda_free_bmat, tsr_cuda_spmm_bmat, [&](const tsr_bmat &f) { return nvals * size + f.w.nblocks * height; });
        } else if (kernel.compare(0, 5, "panel") == 0) {
            height = panel_height(o, kernel);
            tsr_number number = math == TSR_CUDA_FP64 ? TSR_NUMBER_FP64 : TSR_NUMBER_FP32;
            blocks<tsr_panel>(o, r, math, number, [&](tsr_panel *f, const tsr_source *s, tsr_work *w) {
                return make_panel(f, w, s, height, tsr_panel_width(height));
            }, tsr_cuda_free_panel, tsr_cuda_spmm_panel, panel_bytes);
        } else if (kernel.compare(0, 5, "hrpb-") == 0) {
            blocks<tsr_hrpb>(o, r, math, tsr_cuda_number(math), [&](tsr_hrpb *f, const tsr_source *s, tsr_work *w) {
                tsr_status status = tsr_cuda_make_hrpb(f, s, height, nullptr);
                return status == TSR_OK ? tsr_cuda_make_work(w, &f->w, nullptr, chosen(f->w, tsr_cuda_hrpb_most), nullptr) : status;
            }, tsr_cuda_free_hrpb, tsr_cuda_spmm_hrpb, [&](const tsr_hrpb &f) { return nvals * size + 13 * f.nbricks + 4 * f.w.nblocks; });
        } else {
            std::fprintf(stderr, "no kernel %s\n", kernel.c_str());
            std::exit(1);
        }
    }

    // The half that is best where windows are dense, and which windows are.
    static tsr_cuda_split_rule rule_of(tsr_cuda_math math, int64_t n, double split)
    {
        tsr_cuda_split_rule rule = {{-std::log2(split), 1}};
        if (split <= 0)
            std::copy_n(tsr_model_default(90)->window[math][tsr_nearest_width(double(n))], TSR_CUDA_SPLIT_TERMS, rule.w);
        return rule;
    }

    void hybrid(Operands &o, tsr_cuda_math math) const
    {
        bool exact = math == TSR_CUDA_EXACT, wide = math == TSR_CUDA_FP64;
        tsr_cuda_half half = exact ? TSR_CUDA_HALF_ME_BCRS : wide ? TSR_CUDA_HALF_BMAT : TSR_CUDA_HALF_HRPB;
        tsr_cuda_split_rule rule = rule_of(math, o.n, options.split);
        tsr_source source = source_of(o, tsr_cuda_number(math));
        tsr_cuda_hybrid both = {};
        Record r;
        r.kernel = "hybrid", r.math = math_names[math];
        r.convert_ms = median_wall_ms([&] {
            tsr_cuda_free_hybrid(&both, nullptr);
            return tsr_cuda_make_hybrid(&both, &source, half, exact ? 8 : 16, 1.0, &rule, &device, nullptr) == TSR_OK;
        }, conversions());
        if (r.convert_ms < 0) {
            r.note = "no dense window";
            print(o, r, 0);
            return;
        }
        r.note = std::to_string(both.nwindows) + " of " + std::to_string(both.as.w.nwindows) + " windows";
        r.bytes = window_bytes(both.as.w) + work_bytes(both.work);
        tsr_cuda_spmm product = product_of(o, math, 0);
        product.partial = device_array<char>(int64_t(tsr_cuda_hybrid_partial_bytes(&both, &product)));
        measure(o, r, wide, [&](void *c) {
            product.c = c;
            return tsr_cuda_spmm_hybrid(&both, &product);
        });
        cudaFree(product.partial);
        tsr_cuda_free_hybrid(&both, nullptr);
    }

    // Is the arithmetic asked for, of this kernel ("csr", "hrpb-16:tf32+fp16")?
    bool wants(const std::string &kernel, const char *math) const
    {
        size_t colon = kernel.find(':');
        if (colon == std::string::npos)
            return options.has_math(math);
        return ("+" + kernel.substr(colon + 1) + "+").find(std::string("+") + math + "+") != std::string::npos;
    }

    void run_narrow(Operands &o, const std::string &kernel, int variant)
    {
        Narrow half(o);
        if (!half.fits(o))
            return;
        narrow = &half;
        tsr_cuda_csr_kernel *const by_rows = kernel_for_rows(kernel);
        if (by_rows && !a->row)
            csr(o, kernel, by_rows, TSR_CUDA_FP16, variant);
        else if (!by_rows)
            tensor(o, kernel, TSR_CUDA_FP16, variant);
        narrow = nullptr;
    }

    void run_kernel(Operands &o, const std::string &wanted, int variant)
    {
        const std::string kernel = wanted.substr(0, wanted.find(':')), prefix = "narrow-";
        if (kernel.compare(0, prefix.size(), prefix) == 0) {
            if (o.n > 1 && wants(wanted, "tf32"))
                run_narrow(o, kernel.substr(prefix.size()), variant);
            return;
        }
        if (o.n > 1 && wants(wanted, "min_plus"))
            min_plus(o, kernel, variant);
        tsr_cuda_csr_kernel *const by_rows = kernel_for_rows(kernel);
        if (by_rows && a->row)
            return; // it writes C in A's order
        for (int math = 0; math < TSR_CUDA_MATH_COUNT; math++) {
            if (!wants(wanted, math_names[math]))
                continue;
            if (by_rows)
                csr(o, kernel, by_rows, tsr_cuda_math(math), variant);
            else if (o.n > 1 && kernel == "hybrid")
                hybrid(o, tsr_cuda_math(math));
            else if (o.n > 1)
                tensor(o, kernel, tsr_cuda_math(math), variant);
        }
    }

    void run(const Csr &matrix)
    {
        a = &matrix;
        for (int64_t n : options.widths) {
            gather = n % 4 == 0 ? gather_ms(matrix, n) : -1;
            Operands o(matrix, n);
            if (options.peers)
                peers(o);
            for (int64_t variant : options.variants)
                for (const std::string &kernel : options.kernels)
                    run_kernel(o, kernel, int(variant));
        }
    }
};

Options parse(int argc, char **argv)
{
    Options o;
    Arguments given(argc, argv);
    o.peers = !given.flag("--no-peers");
    given.take("--matrix", &o.matrices, generated_names());
    o.files = given.all("--file");
    given.take("--n", &o.widths);
    given.take("--kernel", &o.kernels);
    given.take("--math", &o.maths);
    given.take("--variant", &o.variants);
    given.take("--shrink", &o.shrink);
    o.own_most = !given.take("--most", &o.most);
    given.take("--split", &o.split);
    given.take("--budget", &o.budget_ms);
    given.take("--shuffle", &o.shuffles);
    given.take("--reorder", &o.orders);
    given.take("--repeats", &o.repeats);
    given.take("--json", &o.json);
    given.finish();
    return o;
}

Csr read_file(const std::string &path)
{
    char error[256];
    tsr_mm text;
    tsr_mm_csr csr;
    if (!tsr_mm_read(&text, path.c_str(), error, sizeof error) || !tsr_mm_to_csr(&csr, &text, error, sizeof error)) {
        std::fprintf(stderr, "%s\n", error);
        std::exit(1);
    }
    std::vector<int64_t> p(csr.p, csr.p + csr.nrows + 1);
    std::vector<uint32_t> i(csr.i, csr.i + csr.nvals);
    std::vector<float> x;
    if (csr.value)
        x.assign(csr.value, csr.value + csr.nvals);
    std::string name = path.substr(path.rfind('/') + 1);
    Csr a = upload(name.substr(0, name.find('.')), csr.nrows, csr.ncols, p, i, x);
    tsr_mm_csr_free(&csr);
    tsr_mm_free(&text);
    return a;
}

} // namespace

int main(int argc, char **argv)
{
    Options options = parse(argc, argv);
    Bench bench{options, open_gpu()};
    auto in_orders = [&](const Csr &a) {
        for (const std::string &order : options.orders) {
            Csr b = reordered(a, order, &bench.order_ms);
            if (order != "auto" || b.row) { // it would be "none" again
                bench.suffix = order == "none" ? "" : "+" + order;
                bench.run(b);
            }
            if (b.row)
                release(b);
        }
    };
    auto one = [&](Csr a) {
        auto begin = std::chrono::steady_clock::now();
        for (int64_t seed : options.shuffles) {
            if (seed)
                shuffle(a, uint64_t(seed));
            in_orders(a);
        }
        std::fprintf(stderr, "%s: %.1f s\n", a.name.c_str(), std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        release(a);
    };
    for (const std::string &name : options.matrices)
        one(generate(name, options.shrink));
    for (const std::string &path : options.files)
        one(read_file(path));
    return 0;
}
