#include <gtest/gtest.h>

#include <numeric>

#include "../emu/kernel.h"
#include "strata/asm/dsl/cdna3.h"
#include "strata/asm/dsl/rdna4.h"

// Kernels written with the typed assemblers, run by the emulator.
namespace strata::emu::harness {
namespace {

using isa::Arch;
using isa::Cdna3;
using isa::Label;
using isa::Rdna4;

void run(Gpu& gpu, const isa::Assembler& kernel, const isa::KernelOptions& options, uint32_t grid,
         const Arguments& arguments) {
    Result<isa::Bytes> image = kernel.finish(options);
    ASSERT_TRUE(image) << image.error().message;
    auto module = gpu.load(*image);
    ASSERT_TRUE(module) << module.error().message;
    auto stats = gpu.launch(**module, options.name, config({grid, 1, 1}, options.block), arguments.bytes());
    ASSERT_TRUE(stats) << stats.error().message;
}

template <class Kernel>
void declare_vectors(Kernel& a) {
    for (const char* name : {"out", "x", "y"}) a.add_argument({name});
    a.add_argument({"n", "by_value", 4});
}

Rdna4 add_on_rdna4() {
    using namespace isa::rdna4;
    Rdna4 a;
    declare_vectors(a);
    const Label done = a.label("done");
    a.s_load_b128(s.range<4>(4), Rdna4::kernarg());
    a.s_load_b96(s.range<3>(8), Rdna4::kernarg(), 16);
    a.v_lshl_add_u32(v[1], Rdna4::workgroup_id(), 6, v[0]);
    a.s_wait_kmcnt(0);
    a.v_cmpx_gt_u32(s[10], v[1]);
    a.s_cbranch_execz(done);
    a.v_lshlrev_b32(v[1], 2, v[1]);
    a.global_load_b32(v[2], v[1], s.range<2>(6), th(TH_LOAD_NT));
    a.global_load_b32(v[3], v[1], s.range<2>(8), scope(SCOPE_DEV));
    a.s_wait_loadcnt(0);
    a.v_add_f32(v[2], v[2], v[3]);
    a.global_store_b32(v[1], v[2], s.range<2>(4));
    a.bind(done);
    a.s_endpgm();
    return a;
}

Cdna3 add_on_cdna3() {
    using namespace isa::cdna3;
    Cdna3 a;
    declare_vectors(a);
    const Label done = a.label("done");
    a.s_load_dwordx4(s.range<4>(4), Cdna3::kernarg());
    a.s_load_dwordx2(s.range<2>(8), Cdna3::kernarg(), 16);
    a.s_load_dword(s[10], Cdna3::kernarg(), 24);
    a.v_lshl_add_u32(v[1], Cdna3::workgroup_id(), 6, v[0]);
    a.s_waitcnt({.lgkmcnt = 0});
    a.v_cmpx_gt_u32(vcc, s[10], v[1]);
    a.s_cbranch_execz(done);
    a.v_lshlrev_b32(v[1], 2, v[1]);
    a.global_load_dword(v[2], v[1], s.range<2>(6), nt());
    a.global_load_dword(acc[3], v[1], s.range<2>(8), sc1());
    a.s_waitcnt({.vmcnt = 0});
    a.v_accvgpr_read_b32(v[3], acc[3]);
    a.v_add_f32(v[2], v[2], v[3]);
    a.global_store_dword(v[1], v[2], s.range<2>(4));
    a.bind(done);
    a.s_endpgm();
    return a;
}

void expect_vectors_added(Arch arch, const isa::Assembler& kernel) {
    Gpu gpu(arch);
    const uint32_t n = 200;  // of four blocks of 64: the last one is partly idle
    std::vector<float> x(n), y(n);
    std::iota(x.begin(), x.end(), 0.5f);
    std::iota(y.begin(), y.end(), -300.0f);
    Buffer<float> out(gpu, std::vector<float>(256, -1)), dx(gpu, x), dy(gpu, y);
    run(gpu, kernel, {.name = "add", .block = {64, 1, 1}}, 4, Arguments() << out << dx << dy << n);
    const std::vector<float> sums = out.values();
    for (uint32_t i = 0; i < 256; ++i) ASSERT_EQ(sums[i], i < n ? x[i] + y[i] : -1) << i;
}

TEST(typed_kernels, AddVectorsOnRdna4) { expect_vectors_added(Arch::gfx1201, add_on_rdna4()); }
TEST(typed_kernels, AddVectorsOnCdna3) { expect_vectors_added(Arch::gfx942, add_on_cdna3()); }

/// Sums of the lanes of each wave, seen by all of them.
void expect_waves_summed(Arch arch, const isa::Assembler& kernel, uint32_t lanes) {
    Gpu gpu(arch);
    std::vector<uint32_t> x(128);
    for (uint32_t i = 0; i < 128; ++i) x[i] = i * i * 7919 + 3;
    Buffer<uint32_t> out(gpu, 128), dx(gpu, x);
    run(gpu, kernel, {.name = "sum", .block = {128, 1, 1}}, 1, Arguments() << out << dx);
    for (uint32_t i = 0; i < 128; ++i) {
        const auto first = x.begin() + i / lanes * lanes;
        ASSERT_EQ(out.values()[i], std::accumulate(first, first + lanes, 0u)) << i;
    }
}

TEST(typed_kernels, SumAWaveOnRdna4) {
    using namespace isa::rdna4;
    Rdna4 a;
    for (const char* name : {"out", "x"}) a.add_argument({name});
    a.s_load_b128(s.range<4>(4), Rdna4::kernarg());
    a.v_lshlrev_b32(v[1], 2, v[0]);
    a.s_wait_kmcnt(0);
    a.global_load_b32(v[2], v[1], s.range<2>(6));
    a.s_mov_b32(s[8], 0x76543210);
    a.s_mov_b32(s[9], 0xfedcba98);
    a.s_wait_loadcnt(0);
    for (int mask : {1, 2, 4, 8}) a.v_add_nc_u32(v[2], v[2], v[2], dpp(row_xmask(mask)));
    a.v_permlanex16_b32(v[3], v[2], s[8], s[9]);
    a.dual(v_dual_mov_b32(v[4], v[1]), v_dual_add_nc_u32(v[5], v[2], v[3]));
    a.global_store_b32(v[4], v[5], s.range<2>(4));
    a.s_endpgm();
    expect_waves_summed(Arch::gfx1201, a, 32);
}

TEST(typed_kernels, SumAWaveOnCdna3) {
    using namespace isa::cdna3;
    Cdna3 a;
    for (const char* name : {"out", "x"}) a.add_argument({name});
    a.s_load_dwordx4(s.range<4>(4), Cdna3::kernarg());
    a.v_lshlrev_b32(v[1], 2, v[0]);
    a.s_waitcnt({.lgkmcnt = 0});
    a.global_load_dword(v[2], v[1], s.range<2>(6));
    a.s_waitcnt({.vmcnt = 0});
    for (int lanes : {1, 2, 4, 8}) a.v_add_u32(v[2], v[2], v[2], dpp(row_shr(lanes), {.bound_ctrl = true}));
    a.v_add_u32(v[2], v[2], v[2], dpp(row_bcast15, {.row_mask = 0xa}));
    a.v_add_u32(v[2], v[2], v[2], dpp(row_bcast31, {.row_mask = 0xc}));
    a.v_readlane_b32(s[8], v[2], 63);
    a.v_mov_b32(v[2], s[8]);
    a.global_store_dword(v[1], v[2], s.range<2>(4));
    a.s_endpgm();
    expect_waves_summed(Arch::gfx942, a, 64);
}

/// out = A * B of 32 x 16 by 16 x 32 in two steps of eight. B is given by columns. Lane l holds four values of row or
/// column l % 32, from l / 32 * 4 on (CDNA3 ISA, "Matrix Arithmetic Instructions").
Cdna3 multiply_on_cdna3() {
    using namespace isa::cdna3;
    Cdna3 a;
    for (const char* name : {"out", "a", "b"}) a.add_argument({name});
    a.s_load_dwordx4(s.range<4>(4), Cdna3::kernarg());
    a.s_load_dwordx2(s.range<2>(8), Cdna3::kernarg(), 16);
    a.v_and_b32(v[1], 31, v[0]);
    a.v_lshrrev_b32(v[2], 5, v[0]);
    a.v_lshlrev_b32(v[3], 5, v[1]);
    a.v_lshl_add_u32(v[3], v[2], 3, v[3]);
    a.s_waitcnt({.lgkmcnt = 0});
    for (int step : {0, 1}) {
        a.global_load_dwordx2(v.range<2>(4 + 4 * step), v[3], s.range<2>(6), offset(16 * step));
        a.global_load_dwordx2(v.range<2>(6 + 4 * step), v[3], s.range<2>(8), offset(16 * step));
    }
    a.s_waitcnt({.vmcnt = 0});
    a.v_mfma_f32_32x32x8_f16(acc.range<16>(0), v.range<2>(4), v.range<2>(6), 0);
    a.v_mfma_f32_32x32x8_f16(acc.range<16>(0), v.range<2>(8), v.range<2>(10), acc.range<16>(0));
    a.v_lshlrev_b32(v[12], 2, v[1]);
    a.v_lshl_add_u32(v[12], v[2], 9, v[12]);
    a.s_nop(15);
    a.s_nop(2);
    for (int r = 0; r < 16; ++r)
        a.global_store_dword(v[12], acc[r], s.range<2>(4), offset((8 * (r / 4) + r % 4) * 128));
    a.s_endpgm();
    return a;
}

TEST(typed_kernels, MultiplyMatricesInAccumulationRegisters) {
    Gpu gpu(Arch::gfx942);
    std::vector<_Float16> x(32 * 16), y(32 * 16);
    for (int i = 0; i < 32 * 16; ++i) {
        x[i] = static_cast<_Float16>(i * 37 % 23 - 11);
        y[i] = static_cast<_Float16>((i * 53 % 29 - 14) * 0.25f);
    }
    Buffer<_Float16> dx(gpu, x), dy(gpu, y);
    Buffer<float> out(gpu, 32 * 32);
    run(gpu, multiply_on_cdna3(), {.name = "multiply", .block = {64, 1, 1}}, 1, Arguments() << out << dx << dy);
    const std::vector<float> values = out.values();
    for (int row = 0; row < 32; ++row)
        for (int column = 0; column < 32; ++column) {
            float sum = 0;  // exact: small multiples of a quarter
            for (int k = 0; k < 16; ++k)
                sum += static_cast<float>(x[row * 16 + k]) * static_cast<float>(y[column * 16 + k]);
            ASSERT_EQ(values[row * 32 + column], sum) << row << ", " << column;
        }
}

TEST(typed_kernels, ReachScratchOfGfx90aThroughFlatScratch) {
    using namespace isa::cdna3;
    Cdna3 a(Arch::gfx90a);
    a.add_argument({"out"});
    a.s_add_u32(flat_scratch_lo, s[2], s[5]);  // s4 is the workgroup id, s5 the wave's offset
    a.s_addc_u32(flat_scratch_hi, s[3], 0);
    a.s_load_dwordx2(s.range<2>(8), Cdna3::kernarg());
    a.v_mul_u32_u24(v[1], 3, v[0]);
    a.v_mov_b32(v[2], 8);
    a.scratch_store_dword(v[2], v[1], off, offset(4));
    a.v_lshlrev_b32(v[3], 2, v[0]);
    a.s_waitcnt({.vmcnt = 0, .lgkmcnt = 0});
    a.s_mov_b32(s[10], 0);
    a.scratch_load_dword(v[4], off, s[10], offset(12));
    a.s_waitcnt({.vmcnt = 0});
    a.global_store_dword(v[3], v[4], s.range<2>(8));
    a.s_endpgm();
    Gpu gpu(Arch::gfx90a);
    Buffer<uint32_t> out(gpu, 128);
    run(gpu, a, {.name = "spill", .block = {128, 1, 1}, .scratch = 16}, 1, Arguments() << out);
    for (uint32_t i = 0; i < 128; ++i) ASSERT_EQ(out.values()[i], 3 * i) << i;
}

/// out[i] = table[i & 3] + more[i & 1], both tables beside the code.
template <class Kernel, class Load, class Wait>
void expect_constants_read(Kernel a, Load load, Wait wait) {
    const uint32_t table[] = {11, 22, 33, 44}, more[] = {1000, 2000};
    const isa::VgprRange<1> index(1), value(2), other(3), place(4);
    const isa::SgprRange<2> first(6), second(8), out(4);
    a.add_argument({"out"});
    const isa::Constants at = a.constants(std::span<const uint32_t>(table)),
                         at_more = a.constants(std::span<const uint32_t>(more));
    a.address_of(at, first);
    a.address_of(at_more, second);
    a.v_and_b32(index, 3, a.work_item_id());
    a.v_lshlrev_b32(index, 2, index);
    load(a, value, index, first);
    a.v_and_b32(index, 1, a.work_item_id());
    a.v_lshlrev_b32(index, 2, index);
    load(a, other, index, second);
    a.v_lshlrev_b32(place, 2, a.work_item_id());
    wait(a, out, value, other, place);
    a.s_endpgm();
    EXPECT_FALSE(a.words());
    Gpu gpu(a.arch());
    Buffer<uint32_t> result(gpu, 64);
    run(gpu, a, {.name = "look_up", .block = {64, 1, 1}}, 1, Arguments() << result);
    for (uint32_t i = 0; i < 64; ++i) ASSERT_EQ(result.values()[i], table[i & 3] + more[i & 1]) << i;
}

TEST(typed_kernels, ReadConstantsBesideTheCodeOnRdna4) {
    using namespace isa::rdna4;
    expect_constants_read(
        Rdna4(), [](Rdna4& a, auto to, auto index, auto base) { a.global_load_b32(to, index, base); },
        [](Rdna4& a, auto out, auto x, auto y, auto place) {
            a.s_load_b64(out, Rdna4::kernarg());
            a.s_wait_loadcnt(0);
            a.s_wait_kmcnt(0);
            a.v_add_nc_u32(x, x, y);
            a.global_store_b32(place, x, out);
        });
}

TEST(typed_kernels, ReadConstantsBesideTheCodeOnCdna3) {
    using namespace isa::cdna3;
    expect_constants_read(
        Cdna3(), [](Cdna3& a, auto to, auto index, auto base) { a.global_load_dword(to, index, base); },
        [](Cdna3& a, auto out, auto x, auto y, auto place) {
            a.s_load_dwordx2(out, Cdna3::kernarg());
            a.s_waitcnt({.vmcnt = 0, .lgkmcnt = 0});
            a.v_add_u32(x, x, y);
            a.global_store_dword(place, x, out);
        });
}

TEST(typed_kernels, SayWhatIsWrongWithConstants) {
    Cdna3 a;
    const int line = __LINE__ + 1;
    a.constants(std::span<const uint8_t>(), 16);
    ASSERT_NE(a.error(), nullptr);
    EXPECT_EQ(a.error()->line, line);
    Cdna3 b;
    const uint8_t byte = 7;
    b.constants(std::span(&byte, 1), 3);
    EXPECT_NE(b.error()->message.find("alignment 3"), std::string::npos);
    Cdna3 c;
    c.address_of(c.constants(std::span(&byte, 1), 1), isa::SgprRange<2>(3));
    EXPECT_NE(c.error()->message.find("multiple of 2"), std::string::npos) << c.error()->message;
}

}  // namespace
}  // namespace strata::emu::harness
