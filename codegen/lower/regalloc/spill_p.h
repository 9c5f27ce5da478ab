#pragma once
#include <vector>

#include "strata/codegen/machine/liveness.h"
#include "strata/codegen/machine/register_limits.h"

namespace strata::codegen {

/// The copy of a constant, for a register that nothing but copies of one constant write; nullptr for others.
std::vector<const Instruction*> constants_of(const MachineFunction& function);

/// Takes registers out of the way: each instruction that uses one gets a short-lived register of its own, filled before
/// it and saved after it. Values go to lanes of a vector register (scalars), to accumulation registers (vectors, where
/// these are free), or to scratch. Constants and rematerialisable values (remat_p.h) are computed again. Inserted code
/// writes neither VCC nor EXEC, and no SCC that is live.
class Spiller {
  public:
    Spiller(MachineFunction& function, const RegisterLimits& limits) : function_(function), limits_(limits) {}

    /// `kept`, by register, grows by those made here, which are never to be spilled.
    void spill(const std::vector<uint32_t>& registers, const Liveness& live, std::vector<bool>& kept);

  private:
    enum class Kind : uint8_t { none, remade, lanes, accumulation, scratch };
    struct Slot {
        Kind kind = Kind::none;
        Place place{};        ///< of Kind::accumulation
        uint32_t offset = 0;  ///< first lane of all lanes, first byte of scratch
        Instruction made{};   ///< of Kind::remade: what makes it
    };
    /// A register of one instruction that stands for a place of a spilled one.
    struct Stand {
        Place of, temporary;
    };

    const Slot* slot_of(Place place) const {
        return place && place.reg < slots_.size() && slots_[place.reg].kind != Kind::none ? &slots_[place.reg]
                                                                                          : nullptr;
    }
    Slot choose(uint32_t reg, const Instruction* made);
    Place lanes_register(uint32_t lane);
    void begin_scratch();
    void save_fixed(uint32_t reg);
    Place temporary(Bank bank, int dwords);
    void rewrite(std::vector<Instruction>& code);
    void rewrite(Instruction& instruction);
    bool rewrite_copy(const Instruction& copy);
    Place stand_in(Place place, std::vector<Stand>& stands, bool read);
    void reload(Place to, Place from);
    void save(Place from, Place to);
    void access_scratch(bool store, Place data, uint32_t offset);
    void add_copy(Place to, Place from);

    MachineFunction& function_;
    const RegisterLimits& limits_;
    std::vector<Slot> slots_;  // of each register, those of earlier calls among them
    std::vector<bool>* kept_ = nullptr;
    std::vector<Place> lanes_;  // vector registers that hold scalars
    uint32_t lanes_used_ = 0;
    int accumulations_used_ = 0;
    std::vector<Instruction> entry_;  // to stand in front of everything
    std::vector<Instruction>* out_ = nullptr;
    uint32_t origin_ = 0;  // of the instruction that is rewritten
};

}  // namespace strata::codegen
