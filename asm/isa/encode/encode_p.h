#pragma once
#include <string>

#include "strata/asm/isa/table_p.h"

namespace strata::isa {

struct ImageForm;
struct ImageLayout;

/// The distinct scalar registers and literals that a vector instruction reads over the constant bus.
struct ScalarReads {
    std::array<uint16_t, 6> codes{};
    size_t count = 0;

    void add(const Operand& operand) {
        uint16_t code = operand.code;
        bool constant = is_inline_integer(code) || is_inline_real(code);
        if (!operand.present() || operand.is_vector() || constant || code == code::null) return;
        for (size_t i = 0; i < count; ++i)
            if (codes[i] == code) return;
        codes[count++] = code;
    }
};

/// One try to encode an instruction as a given row; a Result<Encoded> costs a string only on failure.
class Encoder {
  public:
    Encoder(const FamilyTable& table, const Row& row, const Inst& inst)
        : table_(table), rules_(table.rules), row_(row), inst_(inst), layout_(table.layout(row.format)) {}

    bool run(Encoded& out);
    std::string& failure() { return failure_; }

  private:
    template <class... Args>
    bool fail(fmt::format_string<Args...> text, Args&&... args) {
        failure_ = fmt::format(text, std::forward<Args>(args)...);
        return false;
    }
    bool encode_alu();
    bool encode_matrix();
    bool encode_vopd();
    bool encode_memory();
    bool encode_smem();
    bool encode_cdna_smem();
    bool encode_ds();
    bool encode_flat();
    bool encode_buffer();
    bool encode_image();
    bool image_addresses(const ImageForm& form, bool rdna4);
    bool image_registers(const ImageForm& form, const ImageLayout& bits);

    bool destinations();
    bool source(size_t index, const Field& field);
    /// True if a 16-bit operand of a native form is the upper half of its register; `bit` is its bit of op_sel.
    bool upper_half(Type type, size_t bit) const { return names_halves_ && is_half(type) && inst_.op_sel >> bit & 1; }
    uint32_t register_halves() const;
    bool implicit(const Operand& operand, uint16_t code, std::string_view name);
    bool modifiers();
    bool takes_extra_word();
    bool dpp_word();
    bool sdwa_word();
    bool simm();
    bool scalar_reads();

    bool vopd_half(const Row& row, const Operand* sources, const Field* fields, char half);
    bool vopd_banks();
    bool vopd_scalars();

    bool reg(const Operand& operand, const Field& field, Type type, uint8_t kind, std::string_view name,
             uint32_t scale = 1);
    bool data(const Operand& operand, const Field& field, Type type, uint8_t kind, std::string_view name);
    bool check(const Operand& operand, Type type, uint8_t kind, std::string_view name);
    bool check_vector(const Operand& operand, Type type, uint8_t kind, std::string_view name);
    uint32_t hardware_code(const Operand& operand) const {
        return operand.is_agpr() ? operand.code - code::agpr0 + code::vgpr0 : rules_.swap_m0(operand.code);
    }
    bool flag(uint32_t value, const Field& field, uint32_t modifier, const char* name);
    bool offset(int32_t low, int32_t high);
    bool absent(const Operand& operand, std::string_view name);
    void put(const Field& field, uint64_t value) {
        if (field.shift < 64) {
            word_ |= field.put(value);
        } else {
            third_ |= static_cast<uint32_t>(Field{static_cast<uint8_t>(field.shift - 64), field.bits}.put(value));
        }
    }
    bool cache_control();
    bool returns_where_asked();
    /// The bits that must be set where no modifier of the row owns them.
    uint64_t ones() const { return table_.bits_of(row_).ones; }
    bool has_extra_word() const { return inst_.dpp.kind != DppKind::none || inst_.sdwa.present; }

    const FamilyTable& table_;
    const Rules& rules_;
    const Row& row_;
    const Inst& inst_;
    const Layout& layout_;
    uint64_t word_ = 0;
    uint32_t third_ = 0;
    uint32_t extra_word_ = 0;  ///< of DPP or SDWA
    bool literal_ = false;
    bool has_third_ = false;                       ///< of a format that may have two words or three
    bool has_data_ = false, accumulator_ = false;  ///< whether data registers were seen, and in which file they are
    bool names_halves_ = false;                    ///< bit 7 of a 16-bit operand's register number is the half
    std::string failure_;
};

}  // namespace strata::isa
