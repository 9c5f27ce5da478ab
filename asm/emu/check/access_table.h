#pragma once
#include <array>
#include <vector>

#include "strata/asm/emu/check/transfer.h"
#include "strata/asm/emu/observe/per_chunk.h"
#include "strata/asm/lint/hazards.h"

namespace strata::emu {

/// The registers of an instruction one by one: rows that it reads in its active lanes and in all, scalars that it reads
/// (without those that always hold something), rows and scalars that it writes. None if they are too many, or are not whole.
struct Flat {
    static constexpr size_t kMost = 28;
    bool fits = true;
    std::array<uint8_t, 5> ends{};  ///< of each of the five lists in `registers`
    std::array<uint16_t, kMost> registers{};
};

/// What strict mode must know of an instruction.
struct Checked {
    Flat flat;
    lint::Access access;
    lint::Recent::Known rules;
    bool is_barrier = false;
    bool starts_or_waits = false;  ///< an operation that is waited for, a wait, a message
    Transfer transfer = nullptr, transfer_y = nullptr;
};

/// That of the instructions of a program, kept from launch to launch. Thread-safe.
class AccessTable {
  public:
    explicit AccessTable(const Program& program) : program_(program) {}
    struct OfChunk {
        std::vector<Checked> instructions;  ///< by Op::index
        std::vector<bool> is_last;          ///< by op: whether it does its instruction's work; others come before it
    };
    const OfChunk& of(const Chunk& chunk);

  private:
    const Program& program_;
    PerChunk<OfChunk> checked_;
};

}  // namespace strata::emu
