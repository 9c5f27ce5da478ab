#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "strata/asm/isa/inst.h"
#include "strata/codegen/linear/linear.h"
#include "strata/codegen/target/target.h"

// A kernel as machine instructions over virtual registers: what selection makes and the passes of passes.def finish.
namespace strata::codegen {

/// Register files.
enum class Bank : uint8_t { scalar, vector, accumulation };

/// A register of any number of dwords, before allocation says where it lives. It may be written more than once (loop
/// counters, accumulators, parts of a tuple one by one). A vector register holds a value a lane.
struct VirtualRegister {
    Bank bank = Bank::vector;
    uint8_t dwords = 1;
    uint8_t align = 1;   ///< of the first dword's number
    int16_t fixed = -1;  ///< operand code (isa/constants.h) where the machine puts it: live from the entry on
    int16_t place = -1;  ///< operand code of the first dword, once allocated
};

/// Some dwords of a virtual register.
struct Place {
    static constexpr uint32_t kNone = UINT32_MAX;
    uint32_t reg = kNone;
    uint8_t first = 0, dwords = 1;
    explicit operator bool() const { return reg != kNone; }
    bool operator==(const Place&) const = default;
    Place part(int from, int count = 1) const {
        return {reg, static_cast<uint8_t>(first + from), static_cast<uint8_t>(count)};
    }
};

/// Entries of the list that are no instructions of the machine.
enum class Pseudo : uint8_t {
    none,
    copy,  ///< dst[0] = src[0]: a Place of as many dwords in any bank, or the constant inst.src[0] (one dword)
};

/// One instruction. Registers that allocation places are in `dst` and `src`. Where these are empty `inst` has the
/// operand: a constant, or a register of its own (exec, m0, null). `inst` has the row, operand types and modifiers in
/// any case.
struct Instruction {
    Pseudo pseudo = Pseudo::none;
    isa::Inst inst;
    std::array<Place, 2> dst{};
    std::array<Place, 4> src{};
    /// Lane mask: runs for these lanes alone; what dst holds in others matters only where keeps says so.
    Place predicate{};
    bool as_readers = false;  ///< the predicate is that of all who read the result: it may run for other lanes too
    /// Some of dst[0], or lanes without the predicate, stay as they were or are added to: dst[0] is read too.
    bool keeps = false;
    bool unchanging = false;  ///< loads from memory that nobody writes while the kernel runs
    bool checks = false;      ///< ends the kernel where an index is wrong: no access may come before
    /// A place that the compiler alone knows (Op::schedule): the kinds of schedule_classes.def that may pass it. With a
    /// size it is those of a group. -1: an instruction of the machine.
    int32_t passes = -1;
    uint16_t group_size = 0, group = 0;  ///< of an instruction: its group's place in the block, from 1 on
    uint32_t target = 0;                 ///< of a branch: index of a block
    uint32_t origin = 0;                 ///< index into LinearProgram::ops of what it was selected for
    static constexpr int32_t kUnsteady = INT32_MIN;
    int32_t stride = kUnsteady;  ///< bytes that its address moves by from one round of the innermost loop to the next
};

/// Straight code. Control goes on with the next block, or where the last instruction branches to.
struct Block {
    std::string label;   ///< of the loop that it begins, "" for none
    uint32_t depth = 0;  ///< loops around it
    std::vector<Instruction> code;
};

/// An instruction to be filled in: its operands have types alone.
Instruction instruction_of(const isa::Row& row, uint32_t origin);

/// Tuples: scalars of 2 start at even registers, of more at multiples of 4 (RDNA3 ISA 3.1.1). CDNA's vectors of more
/// than one start at even registers (CDNA3 ISA 3.6.4).
uint8_t alignment(isa::Family family, Bank bank, int dwords);

struct MachineFunction {
    const LinearProgram& program;
    const Target& target;
    isa::Family family;
    std::vector<VirtualRegister> registers;
    std::vector<Block> blocks;  ///< in the order of the text; 0 is the entry
    int workitem_id_dims = 0;   ///< 0: x alone
    int user_sgprs = 2;         ///< scalars before the workgroup ids (not RDNA4's): see workarounds.h
    std::array<bool, 3> workgroup_ids{};
    bool partial_waves = false;           ///< EXEC does not begin as all ones
    Place all_lanes{};                    ///< EXEC as it began, where partial_waves; a mask
    uint32_t scratch = 0;                 ///< bytes a lane
    int vgprs = 0, agprs = 0, sgprs = 0;  ///< highest number in use and one, once allocated

    int wave_size() const { return target.wave_size; }
    uint8_t mask_dwords() const { return static_cast<uint8_t>(wave_size() / 32); }

    Place add(Bank bank, int dwords, int align = 0);  ///< a new register; align 0: what its bank needs
    /// The instruction that the family has by this name, to be filled in.
    Instruction make(std::string_view mnemonic, uint32_t origin) const;
    Bank bank(Place place) const { return registers[place.reg].bank; }
    /// Blocks that may run after block i.
    std::vector<uint32_t> successors(uint32_t i) const;
};

/// Registers of an instruction that are no operands: isa::implicit bits, EXEC of vector instructions among them.
uint8_t implicit_reads(const MachineFunction& function, const Instruction& instruction);
uint8_t implicit_writes(const MachineFunction& function, const Instruction& instruction);

bool is_branch(const Instruction& instruction);

/// With virtual registers as %v7[0:1], %s3; placed ones as themselves.
std::string to_string(const MachineFunction& function, const Instruction& instruction);
std::string to_string(const MachineFunction& function);

}  // namespace strata::codegen
