#include <fmt/format.h>

#include "../kernel.h"
#include "strata/asm/dsl/assembler.h"
#include "strata/asm/llvm/assemble.h"
#include "strata/asm/object/object_spec.h"

// Code objects of the own writer, loaded and run: device variables, function pointers, source lines.
namespace strata::emu::harness {
namespace {

using isa::Arch;
using isa::Assembler;

/// Assembles lines; "{load}" and the like stand for the family's spelling.
class Code {
  public:
    explicit Code(Arch arch) : a(arch), family_(isa::info(arch).family) {}

    void line(std::string_view text) {
        a.emit_line(fmt::format(fmt::runtime(text), fmt::arg("load", pick("global_load_dword", "global_load_b32")),
                                fmt::arg("store", pick("global_store_dword", "global_store_b32")),
                                fmt::arg("load_pair", pick("s_load_dwordx2", "s_load_b64")),
                                fmt::arg("load_word", pick("s_load_dword", "s_load_b32")),
                                fmt::arg("add", pick("v_add_u32", "v_add_nc_u32")), fmt::arg("low", low()),
                                fmt::arg("high", family_ == isa::Family::rdna4 ? "s_add_co_ci_u32" : "s_addc_u32")));
    }
    void wait() {
        if (family_ != isa::Family::rdna4) return line("s_waitcnt vmcnt(0) lgkmcnt(0)");
        line("s_wait_loadcnt 0x0");
        line("s_wait_kmcnt 0x0");
    }
    /// s[4:5] = the address of a variable
    void address_of(std::string_view holder, std::string_view target, isa::ObjectSpec& object) {
        line("s_getpc_b64 s[4:5]");
        const size_t pc = a.size();
        line("{low} s4, s4, 0x12345678");
        const size_t low = a.size() - 4;
        line("{high} s5, s5, 0x12345678");
        object.add_pc_relative(holder, pc, low, a.size() - 4, target);
    }
    isa::KernelSpec kernel(std::string name) const {
        isa::KernelOptions options;
        options.name = std::move(name);
        options.block = {1, 1, 1};
        options.sgprs = 32;
        return a.kernel(options).value();
    }

    Assembler a;

  private:
    std::string_view pick(std::string_view gfx9, std::string_view later) const {
        return family_ == isa::Family::cdna2 || family_ == isa::Family::cdna3 ? gfx9 : later;
    }
    std::string_view low() const { return family_ == isa::Family::rdna4 ? "s_add_co_u32" : "s_add_u32"; }
    isa::Family family_;
};

/// bump() adds 5 to the variable `counter`; call(out, i) writes what function i of `table` makes of 21.
isa::ObjectSpec sample(Arch arch, int version) {
    isa::ObjectSpec object;
    object.abi_version = version;
    object.globals = {{"counter", {37, 0, 0, 0}}, {"table", {}, 16, 8}, {"scale", {100, 0, 0, 0}, 4, 4, true}};
    object.references = {{"table", 0, "twice"}, {"table", 8, "plus_scale"}};
    Code bump(arch), call(arch), twice(arch), plus(arch);
    bump.address_of("bump", "counter", object);
    bump.line("v_mov_b32 v0, 0");
    bump.line("{load} v2, v0, s[4:5]");
    bump.wait();
    bump.line("{add} v2, 5, v2");
    bump.line("{store} v0, v2, s[4:5]");
    bump.line("s_endpgm");
    object.kernels.push_back(bump.kernel("bump"));

    call.a.add_argument({"out"});
    call.a.add_argument({"i", "by_value", 4});
    call.line("{load_pair} s[6:7], s[0:1], 0x0");
    call.line("{load_word} s8, s[0:1], 0x8");
    call.address_of("call", "table", object);
    call.wait();
    call.line("s_lshl_b32 s8, s8, 3");
    call.line("{low} s4, s4, s8");
    call.line("{high} s5, s5, 0");
    call.line("{load_pair} s[10:11], s[4:5], 0x0");
    call.line("v_mov_b32 v0, 0");
    call.line("v_mov_b32 v1, 21");
    call.wait();
    call.line("s_swappc_b64 s[30:31], s[10:11]");
    call.line("{store} v0, v1, s[6:7]");
    call.line("s_endpgm");
    object.kernels.push_back(call.kernel("call"));
    object.kernels.back().vgprs = 3;

    twice.line("v_lshlrev_b32 v1, 1, v1");
    twice.line("s_setpc_b64 s[30:31]");
    plus.address_of("plus_scale", "scale", object);
    plus.line("{load} v2, v0, s[4:5]");
    plus.wait();
    plus.line("{add} v1, v1, v2");
    plus.line("s_setpc_b64 s[30:31]");
    object.functions = {{"twice", twice.a.words().value()}, {"plus_scale", plus.a.words().value()}};
    return object;
}

class WrittenObject : public ::testing::TestWithParam<std::tuple<Arch, int>> {};

TEST_P(WrittenObject, RunsWithItsVariablesAndFunctionPointers) {
    const auto [arch, version] = GetParam();
    Gpu gpu(arch);
    Result<isa::Bytes> image = isa::write_code_object(arch, sample(arch, version));
    ASSERT_TRUE(image) << image.error().message;
    auto module = gpu.load(*image);
    ASSERT_TRUE(module) << module.error().message;
    EXPECT_EQ((*module)->object().abi_version, version);
    size_t size = 0;
    const DeviceAddress counter = (*module)->symbol("counter", &size).value();
    EXPECT_EQ(size, 4u);
    uint32_t value = 0;
    for (uint32_t want : {42u, 47u}) {
        auto stats = gpu.launch(**module, "bump", config({1, 1, 1}, {1, 1, 1}), {});
        ASSERT_TRUE(stats) << stats.error().message;
        gpu.read(&value, counter, 4).value();
        EXPECT_EQ(value, want);
    }
    Buffer<uint32_t> out(gpu, 1);
    for (uint32_t i : {0u, 1u}) {
        auto stats = gpu.launch(**module, "call", config({1, 1, 1}, {1, 1, 1}), (Arguments() << out << i).bytes());
        ASSERT_TRUE(stats) << stats.error().message;
        EXPECT_EQ(out.values()[0], i ? 121u : 42u);
    }
    // A constant cannot be written.
    EXPECT_FALSE((*module)->symbol("twice"));
    EXPECT_TRUE((*module)->symbol("scale"));
}

INSTANTIATE_TEST_SUITE_P(Archs, WrittenObject,
                         ::testing::Combine(::testing::Values(Arch::gfx1100, Arch::gfx1201, Arch::gfx942, Arch::gfx90a),
                                            ::testing::Values(4, 5, 6)),
                         [](const auto& test) {
                             return fmt::format("{}_v{}", isa::info(std::get<0>(test.param)).name,
                                                std::get<1>(test.param));
                         });

TEST(AssembledKernel, AFaultNamesTheLineThatWroteTheInstruction) {
    Gpu gpu(Arch::gfx1100);
    Assembler a(Arch::gfx1100);
    a.emit_line("v_mov_b32 v0, 0");
    a.emit_line("s_mov_b64 s[4:5], 0");
    const int before = __LINE__;
    a.emit_line("global_store_b32 v0, v0, s[4:5]");
    a.emit_line("s_endpgm", isa::Location("other.s", 77, 5));
    isa::KernelOptions options;
    options.name = "poke";
    auto module = gpu.load(a.finish(options).value());
    ASSERT_TRUE(module) << module.error().message;
    auto stats = gpu.launch(**module, "poke", config({1, 1, 1}, {32, 1, 1}), {});
    ASSERT_FALSE(stats);
    EXPECT_EQ(stats.error().kind, ErrorKind::MemoryFault);
    const std::string where = fmt::format("kernel 'poke' at {}:{}:", __FILE__, before + 1);
    EXPECT_NE(stats.error().message.find(where), std::string::npos) << stats.error().message;
}

TEST(AssembledText, AFaultNamesTheLineOfTheText) {
    Gpu gpu(Arch::gfx1100);
    const std::string text = R"(; a comment, a macro and a label do not shift the lines
.macro clear reg
    v_mov_b32 \reg, 0
.endm
.text
.globl poke
.p2align 8
.type poke,@function
poke:
    clear v0
    s_mov_b64 s[4:5], 0

    global_store_b32 v0, v0, s[4:5]
    s_endpgm
.rodata
.p2align 6
.amdhsa_kernel poke
    .amdhsa_next_free_vgpr 1
    .amdhsa_next_free_sgpr 6
.end_amdhsa_kernel
)";
    Result<isa::Bytes> image = isa::assemble(text, Arch::gfx1100, "folder of \"mine\"/poke.s");
    ASSERT_TRUE(image) << image.error().message;
    auto module = gpu.load(*image);
    ASSERT_TRUE(module) << module.error().message;
    auto stats = gpu.launch(**module, "poke", config({1, 1, 1}, {32, 1, 1}), {});
    ASSERT_FALSE(stats);
    const std::string where = "kernel 'poke' at folder of \"mine\"/poke.s:13, code offset 0x8 ";
    EXPECT_NE(stats.error().message.find(where), std::string::npos) << stats.error().message;
}

}  // namespace
}  // namespace strata::emu::harness
