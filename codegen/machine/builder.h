#pragma once
#include <optional>
#include <unordered_map>

#include "strata/codegen/machine/machine.h"
#include "strata/codegen/machine/mnemonic.h"

// Writing instructions by RDNA3's names, with operands that their fields may not take.
namespace strata::codegen {

/// A source of an instruction: a register, or a number (zero- or sign-extended bits of the operand's type).
struct Source {
    Place place{};
    std::optional<uint64_t> number{};
    uint16_t fixed = 0;  ///< operand code of a register of its own (exec, null), where there is neither
    bool neg = false, abs = false;

    static Source of(Place place) { return {.place = place}; }
    static Source of_number(uint64_t bits) { return {.number = bits}; }
    static Source of_code(uint16_t code) { return {.fixed = code}; }
    bool operator==(const Source&) const = default;
};

/// The place in a function where code is written, and how.
class Code {
  public:
    explicit Code(MachineFunction& function) : function_(function), block_(0) {}

    /// Instructions of vector units. A value that a source's field cannot hold goes through a register first;
    /// commutative ones may swap their sources. The overloads with `dst` write there.
    Place vector(Mnemonic name, std::initializer_list<Source> sources, int dwords = 1);
    void vector_to(Place dst, Mnemonic name, std::initializer_list<Source> sources);
    /// A comparison: the lanes for which it holds.
    Place compare(Mnemonic name, Source a, Source b);
    /// With a carry out, and in.
    struct Carried {
        Place sum, carry;
    };
    Carried carrying(Mnemonic name, std::initializer_list<Source> sources, int dwords = 1);
    Place carrying_to(Place sum, Mnemonic name, std::initializer_list<Source> sources);  ///< the carry

    Place scalar(Mnemonic name, std::initializer_list<Source> sources, int dwords = 1);
    void scalar_to(Place dst, Mnemonic name, std::initializer_list<Source> sources);
    void scalar_compare(Mnemonic name, Source a, Source b);  ///< into SCC

    /// The instruction as it is, to be filled in.
    Instruction& add(Mnemonic name);
    Instruction& add(const isa::Row& row) { return insert(block_, row); }
    void copy(Place to, const Source& from);

    /// The same value in vector registers, its modifiers applied; `sign`: its sign bit in the last dword.
    Place in_vector(const Source& source, int dwords = 1, uint32_t sign = 0x80000000);
    Place number(uint64_t bits, int dwords);  ///< a constant in scalar registers, loaded before all loops

    bool is_scalar(const Source& s) const { return !s.place || function_.bank(s.place) == Bank::scalar; }

    void open_block(std::string label, uint32_t depth);
    /// The block in front of a loop that may have no step.
    void open_front();
    /// One more branch leads around what comes next, or one fewer: constants are loaded in front of it.
    void begin_detour() { ++detours_; }
    void end_detour() { --detours_; }
    uint32_t block() const { return block_; }
    void go_to(uint32_t block) { block_ = block; }
    uint32_t depth() const { return function_.blocks[block_].depth; }
    void set_origin(uint32_t origin) { origin_ = origin; }

    const isa::Row& row(Mnemonic name) const;
    bool has(Mnemonic name) const;

  private:
    void fill(Instruction& instruction, std::span<const Source> sources);
    void legalize(const isa::Row& row, std::span<Source> sources);
    /// The operand of that type for a number; `literal` is set where it is one.
    static std::optional<isa::Operand> constant(uint32_t& literal, isa::Type type, uint64_t bits);
    Instruction& insert(uint32_t block, const isa::Row& row);

    MachineFunction& function_;
    uint32_t block_, origin_ = 0, before_loops_ = 0, detours_ = 0;
    std::unordered_map<uint64_t, Place> numbers_[3];  ///< by dwords
};

/// The row that a family has for an instruction by its name in RDNA3; nullptr when there is none.
const isa::Row* row_of(isa::Family family, std::string_view name);
/// The instruction that does the same with the first two sources in each other's place: itself where they commute, ""
/// for none.
std::string_view swapped(std::string_view name);
/// The form of a row whose fields take most: VOP3, or the row itself.
const isa::Row& widest(isa::Family family, const isa::Row& row);

}  // namespace strata::codegen
