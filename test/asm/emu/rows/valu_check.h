#pragma once
#include <string>
#include <vector>

#include "../vector/harness.h"
#include "strata/asm/emu/fidelity.h"
#include "valu_form.h"
#include "valu_model.h"

// Runs one instruction on lanes of generated values and compares every lane with the model.
namespace strata::emu::rows {

class Check {
  public:
    Check(isa::Arch arch, int lanes) : arch_(arch), lanes_(lanes), bench_(lanes) {}
    /// `rounds` waves of values; the first difference, or nothing.
    /// With `modes` MODE's rounding and denormals vary, else results round to nearest and denormals stay.
    std::string differs(const isa::Inst& inst, int rounds, Values& values, bool modes = false);

  private:
    struct Half {  // one operation of the instruction: VOPD has two
        const isa::Row* row;
        isa::Operand dst;
        std::span<const isa::Operand> src;
        Run run;
        Fidelity fidelity;
    };
    bool load(const isa::Inst& inst, std::string& problem);
    void fill(Values& values, int round, bool modes);
    void relate(Values& values, int lane);
    uint64_t source_bits(const Half& half, int i, int lane) const;
    static int read_lane(const isa::Row& row, int i, int lane);
    bool moved_source(int lane, uint64_t& bits) const;
    uint64_t selected(uint64_t bits, const isa::Operand& source, int i) const;
    uint64_t with_signs(uint64_t bits, const isa::Operand& source, int i) const;
    bool gather(const Half& half, int lane, Lane& x) const;
    void limit_overflow(const Half& half, Lane& x) const;
    bool finish(const Half& half, Lane& x) const;
    bool flushes(isa::Type type) const;
    bool scale(const isa::Operand& dst, Lane& x) const;
    std::string compare(const valu_test::Variant& variant, const Half& half);
    std::string compare_lane(const Half& half, int lane, const Lane& x, bool active);
    std::string compare_masks(const std::vector<uint8_t>& mask, bool any);
    std::string describe(const Half& half, int lane, const Lane& x, uint32_t got, uint64_t want) const;
    uint32_t before(int row, int lane) const { return file_[static_cast<size_t>(row * lanes_ + lane)]; }
    bool keeps_rest(const isa::Row& row) const;
    uint32_t in_register(const Half& half, const Lane& x, uint32_t old) const;

    isa::Arch arch_;
    int lanes_;
    valu_test::Bench bench_;
    isa::Inst inst_;
    std::vector<Half> halves_;
    std::vector<uint32_t> file_;  ///< the vector registers before
    uint64_t exec_ = 0, mask_in_ = 0;
    uint32_t scalar_[106] = {}, mode_ = 0;
};

}  // namespace strata::emu::rows
