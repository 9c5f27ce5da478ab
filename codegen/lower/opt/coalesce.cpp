// coalesce: coalescing of copies. Registers that copies join become one, and the result of a matrix product lies where
// its accumulator was.
// Before and after: instructions over virtual registers. Two registers can be one, or one a part of the other, where
// neither is live when the other is written. Copies between them do not count (Chaitin). Copies in loops come first.
#include <algorithm>
#include <deque>

#include "strata/codegen/machine/liveness.h"
#include "strata/codegen/machine/operands.h"
#include "strata/codegen/machine/passes.h"

namespace strata::codegen {
namespace {

/// A write of one dword; `from` is what a copy gives it, else empty.
struct Definition {
    uint32_t position = 0;
    Place from{};
};

/// Facts of one dword of a register; they grow with each copy that joins it.
struct Unit {
    std::span<const Segment> live;
    std::span<const Definition> definitions;
};

bool live_at(std::span<const Segment> live, uint32_t position) {
    auto after = std::ranges::upper_bound(live, position, {}, &Segment::begin);
    return after != live.begin() && position < std::prev(after)->end;
}

/// Places that would best be one: a copy's, or a matrix product's result and accumulator.
struct Pair {
    uint32_t depth, instruction;
    const Instruction* at;
};

class Coalescer {
  public:
    explicit Coalescer(MachineFunction& function) : function_(function), live_(function) {
        parent_.resize(function.registers.size());
        for (uint32_t reg = 0; reg < parent_.size(); ++reg) parent_[reg] = {reg, 0, function.registers[reg].dwords};
    }

    void run(std::vector<Pair> pairs) {
        describe();
        std::ranges::sort(pairs, {}, [](const Pair& pair) { return std::pair(~pair.depth, pair.instruction); });
        for (const Pair& pair : pairs) join(pair);
        rewrite();
    }

    static std::vector<Pair> find_pairs(const MachineFunction& function) {
        std::vector<Pair> pairs;
        uint32_t k = 0;
        for (const Block& block : function.blocks)
            for (const Instruction& instruction : block.code) {
                const bool product = instruction.pseudo == Pseudo::none && instruction.inst.row->flags & isa::kMatrix &&
                                     instruction.src[2] && !instruction.predicate;
                const bool fits = product && source(instruction).dwords == instruction.dst[0].dwords;
                if (is_register_copy(instruction) || fits) pairs.push_back({block.depth, k, &instruction});
                ++k;
            }
        return pairs;
    }

  private:
    static const Place& source(const Instruction& instruction) { return instruction.src[is_copy(instruction) ? 0 : 2]; }

    /// Lists the writes of each unit.
    void describe() {
        std::vector<uint32_t> first(live_.units() + 1);
        auto each_definition = [&](auto visit) {
            uint32_t k = 0;
            for (const Block& block : function_.blocks)
                for (const Instruction& instruction : block.code) {
                    const uint32_t position =
                        writes_early(function_, instruction) ? read_position(k) : write_position(k);
                    each_write(instruction, [&](Place place) {
                        for (int i = 0; i < place.dwords; ++i)
                            visit(live_.unit(place.part(i)),
                                  Definition{position,
                                             is_register_copy(instruction) ? instruction.src[0].part(i) : Place{}});
                    });
                    ++k;
                }
        };
        each_definition([&](uint32_t unit, const Definition&) { ++first[unit + 1]; });
        for (size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
        definitions_.resize(first.back());
        std::vector<uint32_t> next = first;
        each_definition([&](uint32_t unit, const Definition& row) { definitions_[next[unit]++] = row; });
        units_.resize(live_.units());
        for (uint32_t i = 0; i < units_.size(); ++i)
            units_[i] = {live_.segments(i), {definitions_.data() + first[i], definitions_.data() + first[i + 1]}};
    }

    /// The place in terms of the register that its own has become a part of.
    Place resolved(Place place) {
        Place& up = parent_[place.reg];
        if (up.reg != place.reg && parent_[up.reg].reg != up.reg) up = resolved(up);
        return {up.reg, static_cast<uint8_t>(place.first + up.first), place.dwords};
    }

    void join(const Pair& pair) {
        const Place to = resolved(pair.at->dst[0]), from = resolved(source(*pair.at));
        if (to.reg == from.reg || function_.bank(to) != function_.bank(from)) return;
        const bool copy = is_copy(*pair.at);
        if (!copy)
            for (size_t i = 0; i < 2; ++i)
                if (const Place factor = pair.at->src[i]; factor && resolved(factor).reg == from.reg) return;
        const int shift = to.first - from.first;
        const uint32_t tied = copy ? UINT32_MAX : read_position(pair.instruction);
        if (!attach(from.reg, to.reg, shift, tied)) attach(to.reg, from.reg, -shift, tied);
    }

    /// Makes `guest` the part of `host` that begins at dword `at`, if nothing speaks against it.
    bool attach(uint32_t guest, uint32_t host, int at, uint32_t tied) {
        VirtualRegister& big = function_.registers[host];
        const VirtualRegister& small = function_.registers[guest];
        if (at < 0 || at + small.dwords > big.dwords || at % small.align) return false;
        if (big.fixed >= 0 || small.fixed >= 0) return false;
        for (uint32_t i = 0; i < small.dwords; ++i)
            if (interfere({guest, static_cast<uint8_t>(i)}, {host, static_cast<uint8_t>(at + static_cast<int>(i))},
                          tied))
                return false;
        for (uint32_t i = 0; i < small.dwords; ++i)
            merge({guest, static_cast<uint8_t>(i)}, {host, static_cast<uint8_t>(at + static_cast<int>(i))});
        big.align = std::max(big.align, small.align);
        parent_[guest] = {host, static_cast<uint8_t>(at), small.dwords};
        return true;
    }

    bool is_copy_of(const Definition& definition, Place of) {
        if (!definition.from) return false;
        const Place from = resolved(definition.from);
        return from.reg == of.reg && from.first == of.first;
    }

    bool interfere(Place a, Place b, uint32_t tied) { return overwrites(a, b, tied) || overwrites(b, a, tied); }
    /// True if something is written to `a` while `b` is live. A product that is `tied` may fill its accumulator.
    bool overwrites(Place a, Place b, uint32_t tied) {
        const std::span<const Segment> live = units_[live_.unit(b)].live;
        for (const Definition& definition : units_[live_.unit(a)].definitions) {
            const uint32_t position = definition.position == tied ? tied + 1 : definition.position;
            if (live_at(live, position) && !is_copy_of(definition, b)) return true;
        }
        return false;
    }

    void merge(Place guest, Place host) {
        Unit& into = units_[live_.unit(host)];
        const Unit& from = units_[live_.unit(guest)];
        std::vector<Segment>& live = live_pool_.emplace_back();
        std::ranges::merge(into.live, from.live, std::back_inserter(live), {}, &Segment::begin, &Segment::begin);
        size_t kept = 0;
        for (const Segment& segment : live) {
            if (kept && live[kept - 1].end >= segment.begin)
                live[kept - 1].end = std::max(live[kept - 1].end, segment.end);
            else
                live[kept++] = segment;
        }
        live.resize(kept);
        std::vector<Definition>& all = definition_pool_.emplace_back();
        auto add = [&](const Unit& unit, Place other) {
            for (const Definition& definition : unit.definitions)
                if (!is_copy_of(definition, other)) all.push_back(definition);
        };
        add(into, guest);
        add(from, host);
        into = {live, all};
    }

    void rewrite() {
        auto update = [&](Place& place) {
            if (place) place = resolved(place);
        };
        update(function_.all_lanes);
        for (Block& block : function_.blocks) {
            for (Instruction& instruction : block.code) {
                for (Place& place : instruction.dst) update(place);
                for (Place& place : instruction.src) update(place);
                update(instruction.predicate);
            }
            std::erase_if(block.code, [](const Instruction& instruction) {
                return is_copy(instruction) && instruction.src[0] == instruction.dst[0];
            });
        }
    }

    MachineFunction& function_;
    Liveness live_;
    std::vector<Place> parent_;  // of a register: itself, or the part of another that it has become
    std::vector<Definition> definitions_;
    std::vector<Unit> units_;
    std::deque<std::vector<Segment>> live_pool_;
    std::deque<std::vector<Definition>> definition_pool_;
};

}  // namespace

Result<void> coalesce(MachineFunction& function) {
    if (std::vector<Pair> pairs = Coalescer::find_pairs(function); !pairs.empty())
        Coalescer(function).run(std::move(pairs));
    return {};
}

}  // namespace strata::codegen
