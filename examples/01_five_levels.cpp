// One sum at five levels: tensor expression, HIP source, UOp kernel, searched schedule, machine instructions.
//
//     five_levels [--full] [--level N]... [--device NAME]
//
// Each level sums the same random float32 tensor on the device; each result is checked against a sum in double.
// 01_five_levels.py is the same in Python.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <set>

#include "strata/asm/dsl/rdna3.h"
#include "strata/asm/llvm/assemble.h"
#include "strata/core/support/settings.h"
#include "strata/core/uop/kernel.h"
#include "strata/ops/custom.h"
#include "strata/ops/tensor.h"
#include "strata/runtime/device.h"
#include "strata/runtime/realize.h"

namespace {

using namespace strata;

constexpr double kTolerance = 1e-3;  // relative

// Level 1: say what, not how. The scheduler splits the reduction in two stages.
Tensor tensor_expression(const Tensor& x) { return x.sum(); }

// Level 2: a HIP kernel as it would run on any AMD GPU; blockDim and gridDim are hidden kernel arguments.
constexpr const char* kHipSource = R"(
#include <hip/hip_runtime.h>

extern "C" __global__ void block_sums(float* out, const float* x) {
    __shared__ float partial[256];
    float sum = 0;
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x) sum += x[i];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}
)";

Tensor hip_source(const Tensor& x) {
    auto kernel = ops::hip_kernel(kHipSource, "block_sums", 1024, 256, {fmt::format("-DN={}ul", x.numel())});
    return ops::custom_kernel(Tensor::empty({1024}), {x}, kernel)[0].sum();
}

// Level 3: the same reduction as a UOp graph. Ranges say what runs where: grid, block, serial.
ops::UserKernel uop_block_sums(int64_t blocks, int64_t elements) {
    using namespace uop;
    const int64_t threads = 256;
    GraphScope scope;  // keeps the nodes until the kernel holds them
    UOp out = buffer(0, dtypes::float32, blocks), x = buffer(1, dtypes::float32, elements);
    UOp g = range(blocks, 0, Axis::global), t = range(threads, 1, Axis::local);
    UOp r = range(elements / (blocks * threads), 2, Axis::reduce), s = range(threads, 3, Axis::reduce);
    UOp acc = placeholder(1, dtypes::float32, Space::reg, 0), total = placeholder(1, dtypes::float32, Space::reg, 1);
    UOp partial = placeholder(threads, dtypes::float32, Space::local);

    UOp running = after(acc, {store(at(acc, 0), 0.0), r});
    UOp added = end(store(at(running, 0), load(at(running, 0)) + load(at(x, (r * blocks + g) * threads + t))), {r});
    UOp shared = after(partial, {barrier(store(at(partial, t), load(at(after(acc, {added}), 0))))});

    UOp summing = after(total, {store(at(total, 0), 0.0), s});
    UOp summed = end(store(at(summing, 0), load(at(summing, 0)) + load(at(shared, s))), {s});
    UOp first_thread = t < 1;
    UOp stored = store(at(out, g, first_thread), load(at(after(total, {summed}), 0)));
    return ops::uop_kernel(sink(end(stored, {g, t}), "uop_block_sums"));
}

Tensor uop_kernel(const Tensor& x) {
    return ops::custom_kernel(Tensor::empty({256}), {x}, uop_block_sums(256, x.numel()))[0].sum();
}

// Level 4: level 1 again, its schedules found by a beam search that checks every candidate's result.
Tensor searched_schedule(const Tensor& x) {
    Settings search = settings();
    search.beam = 2;
    ScopedSettings scope(search);
    return x.sum().realize();
}

// Level 5: RDNA3 machine instructions, as text in LLVM's syntax and with the typed assembler.
constexpr int kThreads = 256, kLoads = 4;  // a block; loads of 16 bytes in flight in each lane
constexpr int kRow = kThreads * 16;        // bytes that one load of the whole block reads

/// Blocks and loop turns: a turn of a block reads kThreads * kLoads * 4 elements.
struct Tiling {
    uint32_t blocks, turns;
    explicit Tiling(int64_t elements) {
        int64_t turns_of_all = elements / (kThreads * kLoads * 4);
        blocks = static_cast<uint32_t>(std::min<int64_t>(1024, turns_of_all));
        turns = static_cast<uint32_t>(turns_of_all / blocks);
    }
};

constexpr const char* kAssembly = R"(
.amdgcn_target "amdgcn-amd-amdhsa--gfx1100"
.text
.globl wave_sums
.p2align 8
.type wave_sums,@function
wave_sums:
    s_load_b128 s[4:7], s[0:1], 0x0           // out, x
    v_lshlrev_b32_e32 v1, 4, v0
    s_mul_i32 s3, s2, row
    v_dual_mov_b32 v8, 0 :: v_dual_mov_b32 v9, 0
    v_dual_mov_b32 v10, 0 :: v_dual_mov_b32 v11, 0
    v_add_nc_u32_e32 v1, s3, v1
    s_movk_i32 s8, turns
    s_waitcnt lgkmcnt(0)
next:
    v_add_nc_u32_e32 v2, row * blocks, v1
    global_load_b128 v[12:15], v1, s[6:7]
    v_add_nc_u32_e32 v3, row * blocks * 2, v1
    global_load_b128 v[16:19], v2, s[6:7]
    v_add_nc_u32_e32 v4, row * blocks * 3, v1
    global_load_b128 v[20:23], v3, s[6:7]
    v_add_nc_u32_e32 v1, row * blocks * 4, v1
    global_load_b128 v[24:27], v4, s[6:7]
    s_sub_u32 s8, s8, 1
    s_cmp_lg_u32 s8, 0
    s_waitcnt vmcnt(3)
    v_dual_add_f32 v8, v12, v8 :: v_dual_add_f32 v9, v13, v9
    v_dual_add_f32 v10, v14, v10 :: v_dual_add_f32 v11, v15, v11
    s_waitcnt vmcnt(2)
    v_dual_add_f32 v8, v16, v8 :: v_dual_add_f32 v9, v17, v9
    v_dual_add_f32 v10, v18, v10 :: v_dual_add_f32 v11, v19, v11
    s_waitcnt vmcnt(1)
    v_dual_add_f32 v8, v20, v8 :: v_dual_add_f32 v9, v21, v9
    v_dual_add_f32 v10, v22, v10 :: v_dual_add_f32 v11, v23, v11
    s_waitcnt vmcnt(0)
    v_dual_add_f32 v8, v24, v8 :: v_dual_add_f32 v9, v25, v9
    v_dual_add_f32 v10, v26, v10 :: v_dual_add_f32 v11, v27, v11
    s_cbranch_scc1 next

    v_dual_add_f32 v8, v8, v9 :: v_dual_add_f32 v11, v10, v11
    v_add_f32_e32 v8, v8, v11
    v_add_f32_dpp v8, v8, v8 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1
    v_add_f32_dpp v8, v8, v8 row_shr:2 row_mask:0xf bank_mask:0xf bound_ctrl:1
    v_add_f32_dpp v8, v8, v8 row_shr:4 row_mask:0xf bank_mask:0xf bound_ctrl:1
    v_add_f32_dpp v8, v8, v8 row_shr:8 row_mask:0xf bank_mask:0xf bound_ctrl:1
    s_mov_b32 s9, -1                          // every lane takes lane 15 of the other row
    v_permlanex16_b32 v9, v8, s9, s9
    v_dual_mov_b32 v2, 0 :: v_dual_add_f32 v9, v8, v9
    s_mov_b32 exec_lo, 0x80000000             // lane 31 has the sum of the wave
    global_atomic_add_f32 v2, v9, s[4:5]
    s_nop 0                                   // the message must not follow a memory instruction directly
    s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
    s_endpgm
.size wave_sums, .-wave_sums

.rodata
.p2align 6
.amdhsa_kernel wave_sums
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_user_sgpr_count 2
    .amdhsa_kernarg_size 16
    .amdhsa_wavefront_size32 1
    .amdhsa_next_free_vgpr .amdgcn.next_free_vgpr
    .amdhsa_next_free_sgpr .amdgcn.next_free_sgpr
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: wave_sums
    .symbol: wave_sums.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .max_flat_workgroup_size: 256
    .sgpr_count: 10
    .vgpr_count: 28
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}
...
.end_amdgpu_metadata
)";

isa::Bytes assemble_text(Tiling tiling) {
    std::string sizes = fmt::format(".set row, {}\n.set blocks, {}\n.set turns, {}", kRow, tiling.blocks, tiling.turns);
    return isa::assemble(sizes + kAssembly, isa::Arch::gfx1100, "wave_sums.s").value();
}

isa::Bytes assemble_typed(Tiling tiling) {
    using namespace isa::rdna3;
    isa::Rdna3 a;
    const auto out = s.range<2>(4), x = s.range<2>(6);
    const auto count = s[8], lanes = s[9];
    a.s_load_b64(out, isa::Rdna3::kernarg(), a.add_argument({"out"}));
    a.s_load_b64(x, isa::Rdna3::kernarg(), a.add_argument({"x"}));
    a.v_lshlrev_b32(v[1], 4, isa::Rdna3::work_item_id());
    a.s_mul_i32(s[3], isa::Rdna3::workgroup_id(), kRow);
    a.v_add_nc_u32(v[1], s[3], v[1]);
    for (int i : {8, 10}) a.dual(v_dual_mov_b32(v[i], 0), v_dual_mov_b32(v[i + 1], 0));
    a.s_movk_i32(count, tiling.turns);
    a.s_waitcnt({.lgkmcnt = 0});

    isa::Label next = a.label("next");
    a.bind(next);
    const uint32_t step = kRow * tiling.blocks;
    for (int i = 0; i < kLoads; ++i) {  // the next place is computed while the load is on its way
        if (i + 1 < kLoads) a.v_add_nc_u32(v[2 + i], step * static_cast<uint32_t>(i + 1), v[1]);
        a.global_load_b128(v.range<4>(12 + 4 * i), v[1 + i], x);
    }
    a.v_add_nc_u32(v[1], step * kLoads, v[1]);
    a.s_sub_u32(count, count, 1);
    a.s_cmp_lg_u32(count, 0);
    for (int i = 0; i < kLoads; ++i) {
        a.s_waitcnt({.vmcnt = static_cast<uint8_t>(kLoads - 1 - i)});
        for (int k : {0, 2})
            a.dual(v_dual_add_f32(v[8 + k], v[12 + 4 * i + k], v[8 + k]),
                   v_dual_add_f32(v[9 + k], v[13 + 4 * i + k], v[9 + k]));
    }
    a.s_cbranch_scc1(next);

    a.dual(v_dual_add_f32(v[8], v[8], v[9]), v_dual_add_f32(v[11], v[10], v[11]));
    a.v_add_f32(v[8], v[8], v[11]);
    for (int lanes_down : {1, 2, 4, 8}) a.v_add_f32(v[8], v[8], v[8], dpp(row_shr(lanes_down), {.bound_ctrl = true}));
    a.s_mov_b32(lanes, -1);
    a.v_permlanex16_b32(v[9], v[8], lanes, lanes);
    a.dual(v_dual_mov_b32(v[2], 0), v_dual_add_f32(v[9], v[8], v[9]));
    a.s_mov_b32(exec_lo, 0x80000000);
    a.global_atomic_add_f32(v[2], v[9], out);
    a.dealloc_vgprs();
    a.s_endpgm();
    return a.finish({.name = "wave_sums", .block = {kThreads, 1, 1}}).value();
}

/// The kernel adds to its output, which therefore starts as a zero in memory.
Tensor run_assembly(const Tensor& x, isa::Bytes code_object) {
    auto kernel = ops::asm_kernel(std::move(code_object), Tiling(x.numel()).blocks, kThreads);
    return ops::custom_kernel(Tensor::zeros({1}).contiguous(), {x}, kernel)[0];
}
Tensor assembly_from_text(const Tensor& x) { return run_assembly(x, assemble_text(Tiling(x.numel()))); }
Tensor assembly_typed(const Tensor& x) { return run_assembly(x, assemble_typed(Tiling(x.numel()))); }

struct Level {
    const char* name;
    Tensor (*sum)(const Tensor& x);
};
constexpr Level kLevels[] = {
    {"1 tensor expression", tensor_expression},
    {"2 HIP source", hip_source},
    {"3 UOp kernel", uop_kernel},
    {"4 searched (beam=2)", searched_schedule},
    {"5 assembly, text", assembly_from_text},
    {"5 assembly, typed", assembly_typed},
};

using Row = std::vector<std::string>;
const Row kColumns = {"level",       "kernels",       "grid x block", "compile ms",
                      "modelled ms", "modelled GB/s", "emulator ms",  "rel. error"};

std::string dims(const std::array<uint32_t, 3>& sizes) {
    std::span<const uint32_t> shown(sizes);
    while (shown.size() > 1 && shown.back() == 1) shown = shown.first(shown.size() - 1);
    return fmt::format("{}", fmt::join(shown, "x"));
}

/// One level's row, and whether its result is right.
std::pair<Row, bool> measure(const Level& level, const Tensor& x, double expected) {
    using Clock = std::chrono::steady_clock;
    runtime::reset_stats();
    auto start = Clock::now();
    double got = level.sum(x).item().as_double();
    double total_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    runtime::Stats stats = runtime::stats();
    double error = std::abs(got - expected) / std::abs(expected);
    auto main = std::max_element(stats.launches.begin(), stats.launches.end(),
                                 [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
    Row row{level.name,
            fmt::format("{}", stats.kernels),
            fmt::format("{} x {}", dims(main->grid), dims(main->block)),
            fmt::format("{:.1f}", total_ms - stats.wall_ms),
            fmt::format("{:.4f}", stats.time_ms),
            fmt::format("{:.1f}", static_cast<double>(x.nbytes()) / stats.time_ms * 1e-6),
            fmt::format("{:.2f}", stats.wall_ms),
            fmt::format("{:.1e}", error)};
    return {row, error <= kTolerance};
}

void show(const std::vector<Row>& rows) {
    std::vector<size_t> widths;
    for (size_t i = 0; i < kColumns.size(); ++i) {
        widths.push_back(kColumns[i].size());
        for (const Row& row : rows) widths[i] = std::max(widths[i], row[i].size());
    }
    auto line = [&](const Row& row) {
        fmt::print("| {:<{}} |", row[0], widths[0]);
        for (size_t i = 1; i < row.size(); ++i) fmt::print(" {:>{}} |", row[i], widths[i]);
        fmt::print("\n");
    };
    line(kColumns);
    fmt::print("|{:-<{}}|", "", widths[0] + 2);
    for (size_t i = 1; i < widths.size(); ++i) fmt::print("{:-<{}}:|", "", widths[i] + 1);
    fmt::print("\n");
    for (const Row& row : rows) line(row);
}

struct Options {
    bool full = false;
    std::set<char> levels;  // empty: all
    std::string device;
};

[[noreturn]] void usage(int status) {
    fmt::print(status ? stderr : stdout,
               "five_levels [--full] [--level N]... [--device NAME]\n"
               "  --full          2^28 elements (1 GiB) instead of 2^18\n"
               "  --level N       only this level, 1 to 5; may be repeated\n"
               "  --device NAME   emu:gfx1100, ...\n");
    std::exit(status);
}

Options parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        std::string_view word = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
        if (word == "--full") {
            options.full = true;
        } else if (word == "--level" && value.size() == 1 && value[0] >= '1' && value[0] <= '5') {
            options.levels.insert(value[0]);
            i++;
        } else if (word == "--device" && !value.empty()) {
            options.device = value;
            i++;
        } else {
            usage(word == "--help" || word == "-h" ? 0 : 2);
        }
    }
    return options;
}

/// Evenly spread numbers in [0, 1): the multiples of an irrational number, without their whole part.
std::vector<float> numbers(size_t count) {
    std::vector<float> out(count);
    uint64_t state = 0;
    for (float& x : out) x = static_cast<float>((state += 0x9e3779b97f4a7c15) >> 40) * 0x1p-24f;
    return out;
}

int run(const Options& options) {
    Settings config = settings();
    if (!options.device.empty()) config.device = options.device;
    ScopedSettings scope(config);

    std::vector<float> host = numbers(size_t{1} << (options.full ? 28 : 18));
    double expected = 0;
    for (float v : host) expected += static_cast<double>(v);
    Tensor x = Tensor::from_host(host.data(), {static_cast<int64_t>(host.size())}, dtypes::float32);
    const runtime::Device& device = x.device();
    fmt::print("sum of {} float32 on {} ({}); times on the device are modelled\n\n", host.size(), device.name(),
               device.properties().name);

    std::vector<Row> rows;
    std::vector<std::string> wrong;
    for (const Level& level : kLevels) {
        if (!options.levels.empty() && !options.levels.contains(level.name[0])) continue;
        auto [row, right] = measure(level, x, expected);
        rows.push_back(row);
        if (!right) wrong.push_back(level.name);
    }
    show(rows);
    if (!wrong.empty())
        fmt::print(stderr, "wrong result (relative error above {:g}): {}\n", kTolerance, fmt::join(wrong, ", "));
    return wrong.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    Options options = parse(argc, argv);
    try {
        return run(options);
    } catch (const std::exception& e) {
        fmt::print(stderr, "five_levels: {}\n", e.what());
        return 1;
    }
}
