#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "strata/asm/isa/facts.h"

// Which registers an instruction touches, and to what end: the ground of every check.
namespace strata::lint {

/// Registers in a row, under one numbering. Scalars are by operand code up to 127 (VCC 106, M0 125, EXEC 126), then SCC
/// and MODE. Vector registers follow from 256 and accumulation registers from 512, as Operand::code has them. Where
/// both files are one, accumulation registers follow the others at once.
struct Registers {
    static constexpr uint8_t kLow = 1, kHigh = 2, kWhole = 3;
    uint16_t first = 0, count = 0;
    uint8_t halves = kWhole;  ///< of 32 bits; the low or the high half where RDNA3 and RDNA4 touch no other byte
    bool overlaps(const Registers& other) const {
        return first < other.first + other.count && other.first < first + count;
    }
    /// True if they have bits in common.
    bool meets(const Registers& other) const { return halves & other.halves && overlaps(other); }
    bool operator==(const Registers&) const = default;
};
constexpr uint16_t kScc = 128, kMode = 129, kVectors = isa::code::vgpr0;
constexpr bool is_vector(const Registers& registers) { return registers.first >= kVectors; }
std::string name(const Registers& registers);  ///< "v[4:7]", "s2", "vcc", "a0", "scc"

/// How an instruction uses a value that it reads.
enum class Use : uint8_t {
    value,    ///< computed with
    copied,   ///< goes as it is into the result of a move, a select, a lane exchange
    address,  ///< forms an address, or describes memory (V#, SGPR base)
    stored,   ///< goes to memory, or to another part of the GPU
    control,  ///< decides where the wave goes on: branches, jumps, EXEC of a mask operation
    mask,     ///< chooses between lanes' values, or is a carry: a bit a lane
    kept,     ///< what an instruction leaves of its destination
};

/// Vector registers count only in active lanes, unless `every_lane` (readlane, matrix products, permutations).
struct Read {
    Registers registers;
    Use use = Use::value;
    int8_t source = -1;  ///< in Inst::src, from 4 on in Inst::src_y; -1: implicit, or a destination that is read
    bool every_lane = false;
};
struct Write {
    Registers registers;
    bool late = false;        ///< filled some time after the instruction: a wait tells when
    bool every_lane = false;  ///< whatever EXEC says
    bool partly = false;      ///< bits or lanes of it stay as they were
};

struct Access {
    static constexpr size_t kReads = 12, kWrites = 6;
    std::array<Read, kReads> reads{};
    std::array<Write, kWrites> writes{};
    uint8_t read_count = 0, write_count = 0;
    uint16_t counters = 0;  ///< isa::counter bits that the instruction raises
    bool indexed = false;   ///< M0 is added to register numbers: those named here are where counting begins
    std::span<const Read> all_reads() const { return {reads.data(), read_count}; }
    std::span<const Write> all_writes() const { return {writes.data(), write_count}; }
};
/// EXEC is among the reads of every instruction that it governs.
Access access_of(isa::Arch arch, const isa::Inst& inst, int wave_size);
/// True if it is RDNA's message that gives the vector registers back: MSG_DEALLOC_VGPRS (RDNA3 ISA 5.4.2).
bool releases_registers(isa::Family family, const isa::Inst& inst);

/// An instruction on the way of a wave, or of control flow.
struct Step {
    uint64_t pc = 0;  ///< byte offset in the text
    const isa::Inst* inst = nullptr;
    const Access* access = nullptr;
};

}  // namespace strata::lint
