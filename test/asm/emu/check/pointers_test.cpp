#include "strata/asm/lint/pointers.h"

#include "strict.h"

// Kernels whose pointers lead into one allocation, as clang compiles them.
namespace strata::emu::harness {
namespace {

constexpr uint32_t kCount = 128;  // elements of x and of y

struct Kernel {
    std::string_view name, body;
    bool promises = true;
    int64_t reaches =
        kCount;  ///< elements of x; of a load that may be wider than what was asked for the first one counts
};

// name(const float* x, float* y, int n): 2 workgroups of 64 lanes.
constexpr Kernel kKernels[] = {
    {"elements", "if (i < n) y[i] = x[i] + 1;"},
    {"reversed", "if (i < n) y[i] = x[n - 1 - i];"},
    {"adds", "if (i < n) y[i] += x[i];"},
    {"wide", "if (i < n / 4) ((float4*)y)[i] = ((const float4*)x)[i];"},
    {"uniform", "if (i < n) y[i] = x[0] + x[1] + x[2] + x[3];", true, 1},
    {"lanes_apart", "if (i & 1) y[i] = x[i] * 2; else y[i] = x[i] - 1;"},
    {"loops", "float s = 0; for (int k = 0; k < 5 + i % 7; ++k) s += x[(i + k * k) % n]; y[i] = s;"},
    {"by_steps",
     "const float* p = x + i; float* q = y + i; for (int k = i; k < n; k += 64, p += 64, q += 64) *q = *p;"},
    {"adds_atomically", "__hip_atomic_fetch_add(y + i, x[i], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);"},
    {"reads_behind", "y[i] = x[i] + 1; sync(); y[i] = x[i ^ 1] * 2;", false},
    {"promises_nothing", "if (i < n) y[i] = x[n - 1 - i];", false},
};

std::string source() {
    std::string all = "typedef float float4 __attribute__((ext_vector_type(4)));\n";
    for (const Kernel& kernel : kKernels) {
        const char* const promise = kernel.promises ? " __restrict__" : "";
        all += "KERNEL void " + std::string(kernel.name) + "(const float*" + promise + " x, float*" + promise +
               " y, int n) { int i = BX * 64 + TX; " + std::string(kernel.body) + " }\n";
    }
    return all;
}

class SharedPointers : public ::testing::TestWithParam<Arch> {
  protected:
    Gpu gpu_{GetParam()};
    std::shared_ptr<Module> load(const std::vector<uint8_t>& code) { return gpu_.load(code).value(); }
    std::vector<Finding> launch(const Module& module, std::string_view name, uint64_t x, uint64_t y, bool counted,
                                bool in_place = false, int n = kCount) {
        std::vector<Finding> found;
        LaunchConfig launch = config({2, 1, 1}, {64, 1, 1});
        launch.check = Check::report;
        launch.findings = &found;
        launch.counted = counted;
        launch.in_place = in_place;
        const auto ran = gpu_.launch(module, name, launch, (Arguments() << x << y << n).bytes());
        EXPECT_TRUE(ran) << ran.error().message;
        return found;
    }
};

TEST_P(SharedPointers, AreFoundWhereBytesAreWrittenThatAPromiseCovers) {
    const auto module = load(compile_hip(source(), "-O2", isa::info(GetParam()).name));
    Buffer<float> both(gpu_, std::vector<float>(4 * kCount, 1.0f)), apart(gpu_, std::vector<float>(kCount, 1.0f));
    const uint64_t x = both.address();
    struct Place {
        uint64_t y;
        int64_t behind;  ///< y starts this many elements after x
    };
    const Place places[] = {
        {x, 0}, {x + 4, 1}, {x + 4 * (kCount - 4), kCount - 4}, {x + 4 * kCount, kCount}, {apart.address(), kCount}};
    for (const Kernel& kernel : kKernels)
        for (const Place& place : places)
            for (const bool counted : {false, true}) {
                const auto found = launch(*module, kernel.name, x, place.y, counted);
                EXPECT_EQ(!found.empty(), kernel.promises && place.behind < kernel.reaches)
                    << kernel.name << " " << place.behind << " " << counted;
                for (const Finding& one : found) {
                    EXPECT_EQ(one.kind, Kind::aliased_pointers) << one.what;
                    EXPECT_NE((one.what + one.fix).find("argument 0"), std::string::npos) << one.what << one.fix;
                    EXPECT_GE(one.witness->address.value(), place.y);
                }
            }
}

TEST_P(SharedPointers, OfALaunchInPlaceAreFoundWhereItReadsWhatItWrote) {
    const auto module = load(compile_hip(source(), "-O2", isa::info(GetParam()).name));
    Buffer<float> both(gpu_, std::vector<float>(4 * kCount, 1.0f));
    for (const std::string_view name : {"elements", "wide", "lanes_apart", "adds_atomically"})
        EXPECT_TRUE(launch(*module, name, both.address(), both.address(), false, true).empty()) << name;
    const auto found = launch(*module, "reads_behind", both.address(), both.address(), false, true);
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found[0].kind, Kind::aliased_pointers) << found[0].what;
    EXPECT_TRUE(launch(*module, "reads_behind", both.address(), both.address() + 4 * kCount, false, true).empty());
}

/// Loads of a uniform byte take the dword around it.
TEST_P(SharedPointers, AreNotTakenToReachWhatWideLoadsTakeBesides) {
    const std::string text =
        "KERNEL void k(const uchar* __restrict__ x, uchar* __restrict__ y, int n) { if (TX < n) y[TX] = x[0] + x[1]; }"
        "KERNEL void l(const ulong* __restrict__ x, int* __restrict__ y, int n) { if (TX < n) y[TX] = x[0] + x[1]; }";
    const auto module = load(compile_hip(text, "-O2", isa::info(GetParam()).name));
    Buffer<int> both(gpu_, std::vector<int>(64, 1));
    EXPECT_TRUE(launch(*module, "k", both.address(), both.address() + 2, false, false, 32).empty());
    EXPECT_TRUE(launch(*module, "l", both.address(), both.address() + 16, false, false, 32).empty());
    EXPECT_FALSE(launch(*module, "l", both.address(), both.address(), false, false, 32).empty());
}

INSTANTIATE_TEST_SUITE_P(Archs, SharedPointers,
                         ::testing::Values(Arch::gfx1100, Arch::gfx1201, Arch::gfx942, Arch::gfx90a),
                         [](const auto& arch) { return std::string(isa::info(arch.param).name); });

/// The arguments that memory instructions are said to use, in the order of the code; -1: none is said.
std::vector<int> arguments(Arch arch, std::string_view text) {
    isa::KernelSpec kernel;
    kernel.name = "k";
    kernel.code = isa::assemble_instructions(text, arch).value();
    kernel.args = {
        {0, 8, "global_buffer", "x", "global"}, {8, 8, "global_buffer", "y", "global"}, {16, 4, "by_value", "n"}};
    kernel.kernarg_size = 20;
    kernel.vgprs = kernel.sgprs = 32;
    kernel.wave_size = isa::info(arch).wave_size;
    const auto object = isa::CodeObject::parse(isa::write_code_object(arch, std::span(&kernel, 1)).value()).value();
    const lint::PointerUses uses = lint::pointers_of(object, object.kernels[0]);
    std::vector<int> out;
    const auto words = isa::assemble_instructions(text, arch).value();
    for (uint64_t pc = 0; pc < 4 * words.size();) {
        const isa::Inst inst = isa::decode(arch, std::span(words).subspan(pc / 4)).value();
        const bool global = inst.row->mnemonic.starts_with("global_");
        if (global) out.push_back(uses.contains(pc) ? uses.at(pc).argument : -1);
        pc += inst.size;
    }
    return out;
}

constexpr std::string_view kArguments =
    "s_load_b128 s[4:7], s[0:1], 0x0\n s_load_b32 s8, s[0:1], 0x10\n s_waitcnt lgkmcnt(0)\n";

TEST(PointersOf, FollowWhatIsComputedWithOneArgument) {
    struct Case {
        std::string_view text;
        std::vector<int> arguments;
    };
    const Case cases[] = {
        {"global_load_b32 v1, v0, s[4:5]\n global_store_b32 v0, v1, s[6:7]\n", {0, 1}},
        {"s_add_u32 s10, s6, 16\n s_addc_u32 s11, s7, 0\n global_load_b32 v1, v0, s[10:11]\n", {1}},
        {"v_add_co_u32 v2, s9, s4, v0\n v_add_co_ci_u32_e64 v3, null, s5, 0, s9\n global_load_b32 v1, v[2:3], off\n",
         {0}},
        {"s_mov_b64 s[10:11], s[4:5]\n v_mov_b32 v2, s10\n v_mov_b32 v3, s11\n global_load_b32 v1, v[2:3], off\n", {0}},
        // one of two, by a choice, by paths, by lanes
        {"s_cmp_eq_u32 s8, 0\n s_cselect_b32 s10, s4, s6\n s_cselect_b32 s11, s5, s7\n"
         "global_load_b32 v1, v0, s[10:11]\n",
         {-1}},
        {"s_cmp_eq_u32 s8, 0\n s_cselect_b32 s10, s4, 0\n s_cselect_b32 s11, s5, 0\n"
         "global_load_b32 v1, v0, s[10:11]\n",
         {-1}},
        {"s_mov_b64 s[10:11], s[4:5]\n s_cmp_eq_u32 s8, 0\n s_cbranch_scc1 2\n s_mov_b64 s[10:11], s[6:7]\n s_nop 0\n"
         "global_load_b32 v1, v0, s[10:11]\n",
         {-1}},
        {"v_mov_b32 v2, s4\n v_mov_b32 v3, s5\n v_cmp_gt_u32 vcc_lo, 7, v0\n s_and_saveexec_b32 s10, vcc_lo\n"
         "global_load_b32 v4, v[2:3], off\n v_mov_b32 v2, s6\n v_mov_b32 v3, s7\n global_load_b32 v5, v[2:3], off\n"
         "s_mov_b32 exec_lo, s10\n global_load_b32 v1, v[2:3], off\n",
         {0, 1, -1}},
        {"v_mov_b32 v2, s4\n v_mov_b32 v3, s5\n v_cmp_gt_u32 vcc_lo, 7, v0\n s_and_saveexec_b32 s10, vcc_lo\n"
         "v_mov_b32 v5, s6\n s_mov_b32 exec_lo, s10\n global_load_b32 v1, v[2:3], off\n",
         {0}},
        // what memory holds, and what nobody knows
        {"global_load_b64 v[2:3], v0, s[4:5]\n s_waitcnt vmcnt(0)\n global_load_b32 v1, v[2:3], off\n", {0, -1}},
        {"v_mov_b32 v2, s8\n v_mov_b32 v3, 0\n global_load_b32 v1, v[2:3], off\n", {-1}},
        {"s_load_b64 s[10:11], s[0:1], s8\n s_waitcnt lgkmcnt(0)\n global_load_b32 v1, v0, s[10:11]\n", {-1}},
        {"s_sub_u32 s10, s6, s4\n s_subb_u32 s11, s7, s5\n s_add_u32 s10, s4, s10\n s_addc_u32 s11, s5, s11\n"
         "global_load_b32 v1, v0, s[10:11]\n",
         {-1}},
        {"global_load_b32 v1, v0, s[4:5]\n s_setpc_b64 s[12:13]\n", {-1}},
    };
    for (const Case& one : cases)
        EXPECT_EQ(arguments(Arch::gfx1100, std::string(kArguments) + std::string(one.text) + "s_endpgm\n"),
                  one.arguments)
            << one.text;
}

}  // namespace
}  // namespace strata::emu::harness
