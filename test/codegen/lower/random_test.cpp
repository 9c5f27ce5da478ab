#include <gtest/gtest.h>

#include <random>

#include "function.h"

// Random code after the passes that finish it. The linter, which has an analysis of its own, finds nothing; and without
// any one of the waits it finds something.
namespace strata::codegen {
namespace {

class Writer {
  public:
    Writer(isa::Arch arch, uint32_t seed) : random_(seed), family_(isa::info(arch).family) {
        cdna_ = isa::is_cdna(family_);
    }

    std::string write() {
        for (int i = 0; i < 24; ++i) line("v_mov_b32 v{}, {}", i, i);
        for (int i = 4; i < 20; ++i) line("s_mov_b32 s{}, {}", i, i);
        line("{} vcc{}, 0", cdna_ ? "s_mov_b64" : "s_mov_b32", cdna_ ? "" : "_lo");
        const int blocks = 1 + below(4);
        for (int i = 0; i < blocks; ++i) block(i);
        line("s_endpgm");
        return text_;
    }

  private:
    template <class... Args>
    void line(fmt::format_string<Args...> format, Args&&... args) {
        text_ += fmt::format(format, std::forward<Args>(args)...) + "\n";
    }
    int below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
    std::string v() { return fmt::format("v{}", below(24)); }
    std::string v2() {
        const int first = below(11) * 2;
        return fmt::format("v[{}:{}]", first, first + 1);
    }
    std::string s() { return fmt::format("s{}", 4 + below(16)); }

    void block(int i) {
        const bool loop = below(2), skip = below(3) == 0;
        if (skip) line("s_cmp_eq_u32 {}, 0\ns_cbranch_scc1 behind{}", s(), i);
        line("again{}:", i);
        for (int n = 2 + below(12); n > 0; --n) instruction();
        if (loop) line("s_cmp_eq_u32 {}, 0\ns_cbranch_scc1 again{}", s(), i);
        line("behind{}:", i);
        line("s_nop 0");
    }

    void instruction() {
        const int offset = below(64) * 4;
        switch (below(14)) {
            case 0: return line("global_load_{} {}, {}, s[0:1] offset:{}", dword(), v(), v(), offset);
            case 1: return line("global_load_{} {}, {}, s[0:1] offset:{}", pair(), v2(), v(), offset);
            case 2: return line("global_store_{} {}, {}, s[0:1] offset:{}", dword(), v(), v(), offset);
            case 3: return line("{} {}, {} offset:{}", cdna_ ? "ds_read_b32" : "ds_load_b32", v(), v(), offset);
            case 4: return line("{} {}, {} offset:{}", cdna_ ? "ds_write_b32" : "ds_store_b32", v(), v(), offset);
            case 5: return line("s_load_{} {}, s[0:1], {:#x}", dword(), s(), offset);
            case 6:
                return line("global_atomic_add{} {}, {}, {}, s[0:1] {}", cdna_ ? "" : "_u32", v(), v(), v(),
                            returning());
            case 7: return barrier();
            case 8: return line("v_readfirstlane_b32 {}, {}", s(), v());
            case 9: return line("v_exp_f32 {}, {}", v(), v());
            case 10: return line("s_xor_b32 {}, {}, {}", s(), s(), s());
            case 11: return line("v_readlane_b32 {}, {}, {}", s(), v(), s());
            case 12: return line("v_add_f32 {}, {}, {}", v(), s(), v());
            default: return line("v_mul_f32 {}, {}, {}", v(), v(), v());
        }
    }
    std::string_view dword() const { return cdna_ ? "dword" : "b32"; }
    std::string_view pair() const { return cdna_ ? "dwordx2" : "b64"; }
    std::string_view returning() const {
        return family_ == isa::Family::rdna4 ? "th:TH_ATOMIC_RETURN" : family_ == isa::Family::cdna3 ? "sc0" : "glc";
    }
    void barrier() {
        if (family_ == isa::Family::rdna4)
            line("s_barrier_signal -1\ns_barrier_wait 0xffff");
        else
            line("s_barrier");
    }

    std::mt19937 random_;
    isa::Family family_;
    bool cdna_;
    std::string text_;
};

class RandomCodeTest : public testing::TestWithParam<isa::Arch> {};

int seeds(int usual) {
    const char* given = std::getenv("STRATA_FUZZ_SEEDS");
    return given ? std::atoi(given) : usual;
}

TEST_P(RandomCodeTest, FinishedCodeHasNothingToFind) {
    for (int seed = 0; seed < seeds(100); ++seed) {
        const std::string text = Writer(GetParam(), static_cast<uint32_t>(seed)).write();
        Function function(GetParam(), text);
        ASSERT_TRUE(finish(function.code));
        ASSERT_EQ(function.findings(), "") << "seed " << seed << "\n" << text << to_string(function.code);
    }
}

bool is_wait(const Instruction& instruction) {
    return instruction.inst.row->mnemonic.starts_with("s_wait") &&
           instruction.inst.row->mnemonic != "s_waitcnt_depctr" && instruction.inst.row->mnemonic != "s_wait_alu";
}

/// Barriers want nothing under way, of which the linter knows nothing.
bool is_for_barrier(const Block& block, size_t wait) {
    while (is_wait(block.code[wait])) ++wait;
    return block.code[wait].inst.row->mnemonic.starts_with("s_barrier");
}

/// Where loops follow on one another, a way that an earlier round of the data flow found may keep a wait alive.
TEST_P(RandomCodeTest, HardlyAnyWaitIsNeedless) {
    int waits = 0, needless = 0;
    std::string where;
    for (int seed = 0; seed < seeds(100); ++seed) {
        Function function(GetParam(), Writer(GetParam(), static_cast<uint32_t>(seed)).write());
        for (auto pass : {insert_waits, insert_hazards}) ASSERT_TRUE(pass(function.code));
        for (Block& block : function.code.blocks)
            for (size_t i = 0; i < block.code.size(); ++i) {
                if (!is_wait(block.code[i]) || is_for_barrier(block, i)) continue;
                const Instruction wait = block.code[i];
                block.code[i].inst = isa::Inst{.row = isa::find_row(function.code.family, "s_nop")};
                ++waits;
                if (function.findings().empty()) {
                    ++needless;
                    where += fmt::format("seed {}: {} before {}\n", seed, function.print(wait),
                                         function.print(block.code[i + 1]));
                }
                block.code[i] = wait;
            }
    }
    EXPECT_GT(waits, 100);
    EXPECT_LE(needless * 100, waits) << where;
}

INSTANTIATE_TEST_SUITE_P(, RandomCodeTest, testing::ValuesIn(kArchs),
                         [](const auto& arch) { return std::string(isa::info(arch.param).name); });

}  // namespace
}  // namespace strata::codegen
