#pragma once
#include <fmt/format.h>

#include <string>

#include "strata/asm/isa/decode_cdna_p.h"

namespace strata::isa {

/// One try to encode an instruction of CDNA2 or CDNA3 as a given row; the sibling of Encoder.
class CdnaEncoder {
  public:
    CdnaEncoder(const FamilyTable& table, const Row& row, const Inst& inst)
        : row_(row), inst_(inst), layout_(table.layout(row.format)) {}

    bool run(Encoded& out);
    std::string& failure() { return failure_; }

  private:
    template <class... Args>
    bool fail(fmt::format_string<Args...> text, Args&&... args) {
        failure_ = fmt::format(text, std::forward<Args>(args)...);
        return false;
    }
    bool alu();
    bool destinations();
    bool source(size_t index, const Field& field);
    bool modifiers();
    bool dpp_word();
    bool sdwa_word();
    bool simm();
    bool scalar_reads();
    bool matrix();

    bool memory();
    bool smem();
    bool ds();
    bool flat();
    bool buffer();

    bool check(const Operand& operand, Type type, uint8_t kind, std::string_view name);
    bool reg(const Operand& operand, const Field& field, Type type, uint8_t kind, std::string_view name,
             uint32_t scale = 1);
    bool data(const Operand& operand, const Field& field, Type type, uint8_t kind, std::string_view name);
    bool flag(uint32_t value, const Field& field, uint32_t modifier, const char* name);
    bool offset(int32_t low, int32_t high);
    void put(const Field& field, uint64_t value) { word_ |= field.put(value); }
    bool native() const { return has_half_registers(row_.format); }

    const Row& row_;
    const Inst& inst_;
    const Layout& layout_;
    uint64_t word_ = 0;
    uint32_t extra_word_ = 0;  ///< of DPP or SDWA
    bool literal_ = false, has_data_ = false, accumulator_ = false;
    std::string failure_;
};

}  // namespace strata::isa
