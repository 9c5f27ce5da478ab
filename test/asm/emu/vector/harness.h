#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "strata/asm/emu/program/handlers.h"
#include "strata/asm/emu/vector/operation.h"
#include "strata/asm/isa/inst.h"
#include "strata/asm/llvm/assemble.h"

// Runs vector instructions one at a time on a bare Wave, through the chooser of each host variant that this machine can
// run.
namespace strata::emu::valu_test {

struct Variant {
    const char* name;
    const HandlerSet* set;
    std::optional<Op> choose(const Decoded& decoded) const { return make_op(*set, decoded); }
};

inline std::vector<Variant> variants() {
    std::vector<Variant> all;
    for (const HandlerSet& set : host_handlers()) all.push_back({set.name, &set});
    return all;
}

/// Decoded straight-line code with its handlers.
struct Code {
    std::vector<isa::Inst> insts;
    std::vector<Op> ops;

    bool load(const Variant& variant, std::span<const uint32_t> words, int lanes, isa::Arch arch = isa::Arch::gfx1100) {
        for (size_t at = 0; at < words.size();) {
            auto inst = isa::decode(arch, words.subspan(at));
            if (!inst) {
                ADD_FAILURE() << inst.error().message;
                return false;
            }
            insts.push_back(*inst);
            at += inst->size / 4;
        }
        for (const isa::Inst& inst : insts)
            if (!add(variant, inst, lanes, arch)) {
                ADD_FAILURE() << variant.name << ": no handler for " << inst.row->mnemonic;
                return false;
            }
        end();
        return true;
    }
    /// One more op; false if there is none for the instruction.
    bool add(const Variant& variant, const isa::Inst& inst, int lanes, isa::Arch arch = isa::Arch::gfx1100) {
        std::optional<Op> op = variant.choose({inst, arch, lanes});
        if (!op) return false;
        op->index = static_cast<uint32_t>(ops.size());
        ops.push_back(*op);
        return true;
    }
    /// After the last op.
    void end() {
        ops.emplace_back([](Wave*, const Op*) -> const Op* { return nullptr; });
    }
};

/// A wave with 256 vector registers and, for CDNA, 256 accumulation registers after them.
class Bench {
  public:
    explicit Bench(int lanes) : lanes_(lanes) {
        memory_.reset(static_cast<char*>(std::aligned_alloc(128, size())));
        std::memset(memory_.get(), 0, size());
        new (memory_.get()) Wave;
        wave().lanes = lanes;
        wave().vgprs = 256;
        wave().mode = mode::kPlain;
        set_exec(~uint64_t{0});
        wave().fault = &fault_;
    }
    Wave& wave() { return *reinterpret_cast<Wave*>(memory_.get()); }
    uint32_t& v(int row, int lane) { return wave().row(row)[lane]; }
    uint64_t v64(int row, int lane) { return v(row, lane) | uint64_t{v(row + 1, lane)} << 32; }
    uint64_t s64(int code) { return wave().s[code] | (lanes_ == 64 ? uint64_t{wave().s[code + 1]} << 32 : 0); }
    void set_exec(uint64_t mask) {
        wave().s[126] = static_cast<uint32_t>(mask);
        if (lanes_ == 64) wave().s[127] = static_cast<uint32_t>(mask >> 32);
    }
    void set_mask(int code, uint64_t mask) {
        wave().s[code] = static_cast<uint32_t>(mask);
        if (lanes_ == 64) wave().s[code + 1] = static_cast<uint32_t>(mask >> 32);
    }
    const std::string& fault() const { return fault_; }

    /// Runs straight-line vector code; false (with a test failure) when an instruction has no handler.
    bool run(const Variant& variant, std::span<const uint32_t> words, isa::Arch arch = isa::Arch::gfx1100) {
        Code code;
        return code.load(variant, words, lanes_, arch) && run(code);
    }
    bool run(const Code& code) {
        wave().stop = Stop::none;
        wave().run_start = code.ops.data();
        for (const Op* op = code.ops.data(); op;) op = op->run(&wave(), op);
        return wave().stop == Stop::none;
    }

  private:
    struct Free {
        void operator()(char* p) const { std::free(p); }
    };
    size_t size() const { return (sizeof(Wave) + 512u * 4u * static_cast<size_t>(lanes_) + 127) / 128 * 128; }
    int lanes_;
    std::unique_ptr<char, Free> memory_;
    std::string fault_;
};

/// Assembled once a text.
inline const std::vector<uint32_t>& assembled(const std::string& text, int lanes, isa::Arch arch = isa::Arch::gfx1100) {
    static std::map<std::tuple<std::string, int, isa::Arch>, std::vector<uint32_t>> known;
    const auto [at, added] = known.try_emplace({text, lanes, arch});
    if (!added) return at->second;
    auto words = isa::assemble_instructions(text, arch, lanes);
    if (!words)
        ADD_FAILURE() << text << ": " << words.error().message;
    else
        at->second = *words;
    return at->second;
}

/// Deterministic bits that favour what arithmetic gets wrong.
class Inputs {
  public:
    explicit Inputs(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
    uint64_t next() {
        state_ ^= state_ << 13, state_ ^= state_ >> 7, state_ ^= state_ << 17;
        return state_ * 0x2545f4914f6cdd1du;
    }
    uint32_t dword() {
        static constexpr uint32_t special[] = {
            0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000, 0x3f800000, 0xbf800000, 0x7f7fffff,
            0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0xffc00123, 0x3f000000, 0x4b000000, 0x4effffff,
            0x4f000000, 0xcf000000, 0x4f800000, 0xffffffff, 0x7fffffff, 0x3f7fffff, 0xbf000000, 0x00003c00, 0xbc00fc00,
            0x7e007c01, 0x04000001, 0x7bff03ff, 0x80018000, 0x3ff00000, 0x7ff00000, 0xfff80000, 0x00100000, 0x000fffff};
        const uint64_t r = next();
        const uint32_t bits = static_cast<uint32_t>(r >> 32);
        switch (r & 7) {
            case 0:
            case 1: return special[r >> 8 & 0xff ? (r >> 8) % std::size(special) : 0];
            case 2: return bits & 63;
            case 3: return 0u - (bits & 255);
            case 4:
            case 5: return (bits & 0x807fffff) | (110 + (bits >> 23 & 31)) << 23;      // floats of moderate size
            case 6: return (bits & 0x83ff83ff) | (0x30003000u + (bits & 0x0c000c00));  // halves of moderate size
            default: return bits;
        }
    }

  private:
    uint64_t state_;
};

}  // namespace strata::emu::valu_test
