#include "strata/codegen/lower/regalloc/colour_p.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "strata/codegen/lower/regalloc/live_interval_union_p.h"
#include "strata/codegen/lower/regalloc/remat_p.h"
#include "strata/codegen/lower/regalloc/spill_p.h"
#include "strata/codegen/machine/operands.h"
#include "strata/codegen/machine/pressure.h"

namespace strata::codegen {
namespace {

namespace code = isa::code;

constexpr uint32_t kNobody = UINT32_MAX;  // of a stay: VCC where instructions name it
constexpr int kSlack = 8;
constexpr int kLowRows = 128;  // that 16-bit operands of RDNA's short forms reach
constexpr size_t kBanks = 3;
constexpr int kFirstCode[kBanks] = {0, code::vgpr0, code::agpr0};
constexpr size_t kFileRows[kBanks] = {code::vcc_hi + 1, 256, 256};

/// A register that would best lie `delta` dwords after where another lies.
struct Hint {
    uint32_t other;
    int delta;
    uint32_t next;
};

class Assigner {
  public:
    Assigner(MachineFunction& function, const Liveness& liveness, const RegisterLimits& limits,
             const std::vector<bool>& kept)
        : function_(function), live_(liveness), limits_(limits), kept_(kept) {
        for (size_t bank = 0; bank < kBanks; ++bank) files_[bank].resize(kFileRows[bank]);
        const size_t registers = function.registers.size();
        weight_.assign(registers, 0);
        hints_of_.assign(registers, kNobody);
        masks_.assign(registers, false);
        low_.assign(registers, false);
        for (VirtualRegister& reg : function.registers) reg.place = -1;
    }

    std::vector<uint32_t> run() {
        read_code();
        reserve_vcc();
        place_fixed();
        place_masks();
        std::vector<uint32_t> order = registers_in_order();
        size_t next = 0;
        auto place_all = [&](bool accumulation) {
            for (; next < order.size(); ++next) {
                if ((bank(order[next]) == Bank::accumulation) != accumulation) return;
                waiting_.push_back(order[next]);
                while (!waiting_.empty()) {
                    const uint32_t reg = waiting_.back();
                    waiting_.pop_back();
                    place(reg);
                }
            }
        };
        limits_.agprs = std::min(limits_.agprs, (limits_.total - rows_for_vectors()) / 4 * 4);
        place_all(true);
        share_file();
        place_all(false);
        count();
        std::ranges::sort(unplaced_);
        return std::move(unplaced_);
    }

  private:
    Bank bank(uint32_t reg) const { return function_.registers[reg].bank; }
    std::vector<LiveIntervalUnion>& file(uint32_t reg) { return files_[static_cast<size_t>(bank(reg))]; }
    int first_code(uint32_t reg) const { return kFirstCode[static_cast<size_t>(bank(reg))]; }
    int limit(uint32_t reg) const {
        const int of_bank[kBanks] = {limits_.sgprs, low_[reg] ? std::min(limits_.vgprs, kLowRows) : limits_.vgprs,
                                     limits_.agprs};
        return of_bank[static_cast<size_t>(bank(reg))];
    }

    /// Rows of a shared file that accumulation registers leave to vectors. They are as many as vectors want at most,
    /// and a few more for tuples that do not lie side by side. They are at most half.
    int rows_for_vectors() const {
        if (!isa::is_cdna(function_.family)) return 0;
        const int most = PressureMap(function_, live_).most({0, 2 * live_.instructions()})[1];
        return std::min(most + kSlack, limits_.total / 2);
    }

    /// Where vectors and accumulation registers are rows of one file, a0 comes after a multiple of four.
    void share_file() {
        if (!isa::is_cdna(function_.family)) return;
        int agprs = 0;
        for (const VirtualRegister& reg : function_.registers)
            if (reg.bank == Bank::accumulation && reg.place >= 0)
                agprs = std::max(agprs, reg.place - code::agpr0 + reg.dwords);
        limits_.vgprs = std::min(limits_.vgprs, (limits_.total - agprs) / 4 * 4);
    }

    void read_code() {
        for (const Block& block : function_.blocks) {
            float use = 1;
            for (uint32_t i = 0; i < block.depth && i < 8; ++i) use *= 10;
            for (const Instruction& instruction : block.code) {
                each_read(function_, instruction, [&](Place place) { weight_[place.reg] += use; });
                each_write(instruction, [&](Place place) { weight_[place.reg] += use; });
                note_hints(instruction);
                note_masks(instruction);
                note_low(instruction);
            }
        }
        const std::vector<const Instruction*> constants = constants_of(function_);
        for (uint32_t reg = 0; reg < weight_.size(); ++reg) {
            if (constants[reg]) weight_[reg] /= 4;  // nothing needs to be saved
            uint32_t length = 1;
            for (uint32_t i = 0; i < function_.registers[reg].dwords; ++i)
                for (Segment segment : live_.segments(live_.unit(reg, i))) length += segment.end - segment.begin;
            weight_[reg] =
                kept_[reg] ? std::numeric_limits<float>::infinity() : weight_[reg] / static_cast<float>(length);
        }
    }

    void note_hints(const Instruction& instruction) {
        const Place to = instruction.dst[0];
        if (is_register_copy(instruction)) {
            hint(to, instruction.src[0]);
        } else if (instruction.pseudo == Pseudo::none && to && instruction.src[2] &&
                   instruction.inst.row->mnemonic.starts_with("v_fma")) {
            hint(to, instruction.src[2]);
        }
    }
    void hint(Place a, Place b) {
        if (a.reg == b.reg || bank(a.reg) != bank(b.reg)) return;
        add_hint(a.reg, b.reg, b.first - a.first);
        add_hint(b.reg, a.reg, a.first - b.first);
    }
    void add_hint(uint32_t reg, uint32_t other, int delta) {
        hints_.push_back({other, delta, hints_of_[reg]});
        hints_of_[reg] = static_cast<uint32_t>(hints_.size() - 1);
    }

    void note_masks(const Instruction& instruction) {
        for (size_t i = 0; i < instruction.dst.size(); ++i)
            if (instruction.dst[i] && instruction.inst.dst[i].type == isa::Type::lanes)
                masks_[instruction.dst[i].reg] = true;
        for (size_t i = 0; i < instruction.src.size(); ++i)
            if (instruction.src[i] && instruction.inst.src[i].type == isa::Type::lanes)
                masks_[instruction.src[i].reg] = true;
    }

    /// RDNA's 16-bit forms with a literal have no long form that would reach all registers.
    void note_low(const Instruction& instruction) {
        if (instruction.pseudo != Pseudo::none || isa::is_cdna(function_.family)) return;
        const isa::Row& row = *instruction.inst.row;
        if (!(row.flags & isa::kLiteral) || !isa::is_half(row.dst[0])) return;
        for (Place place : {instruction.dst[0], instruction.src[0], instruction.src[1], instruction.src[2]})
            if (place) low_[place.reg] = true;
    }

    void reserve_vcc() {
        for (uint16_t half : {code::vcc_lo, code::vcc_hi})
            for (Segment segment : live_.vcc()) files_[0][half].add(segment, kNobody);
    }

    void place_fixed() {
        for (uint32_t reg = 0; reg < function_.registers.size(); ++reg)
            if (function_.registers[reg].fixed >= 0) settle(reg, function_.registers[reg].fixed - first_code(reg));
    }

    /// Gives VCC to masks that live in one block: those that end first, which is the greatest number of them.
    void place_masks() {
        std::vector<std::pair<Segment, uint32_t>> masks;
        const int dwords = function_.mask_dwords();
        for (uint32_t reg = 0; reg < masks_.size(); ++reg) {
            const VirtualRegister& row = function_.registers[reg];
            if (!masks_[reg] || row.dwords != dwords || row.fixed >= 0 || reg == function_.all_lanes.reg) continue;
            const std::span<const Segment> live = live_.segments(live_.unit(reg, 0));
            if (live.empty()) continue;
            const Segment whole{live.front().begin, live.back().end};
            if (in_one_block(whole)) masks.push_back({whole, reg});
        }
        std::ranges::sort(masks, {}, [](const auto& mask) { return std::pair(mask.first.end, mask.second); });
        for (const auto& [whole, reg] : masks)
            if (fits(reg, code::vcc_lo)) settle(reg, code::vcc_lo);
    }
    bool in_one_block(Segment segment) const {
        uint32_t first = 0, last = static_cast<uint32_t>(function_.blocks.size());
        while (last - first > 1) {
            const uint32_t middle = (first + last) / 2;
            (live_.block(middle).begin <= segment.begin ? first : last) = middle;
        }
        return segment.end <= live_.block(first).end;
    }

    /// Accumulation registers first, which decide how many rows are left; then by where they begin, tuples before
    /// others. After a spill kept registers come before those, the longest first. So what lives throughout the program
    /// finds a row that no short-lived one takes, which it could not evict.
    std::vector<uint32_t> registers_in_order() const {
        std::vector<std::pair<uint64_t, uint32_t>> keys;
        const bool spilled = std::ranges::count(kept_, true) > 1;  // one register is always kept
        for (uint32_t reg = 0; reg < function_.registers.size(); ++reg) {
            const VirtualRegister& row = function_.registers[reg];
            if (row.place >= 0) continue;
            uint32_t begin = UINT32_MAX, end = 0;
            for (uint32_t i = 0; i < row.dwords; ++i) {
                const std::span<const Segment> live = live_.segments(live_.unit(reg, i));
                if (live.empty()) continue;
                begin = std::min(begin, live.front().begin);
                end = std::max(end, live.back().end);
            }
            if (begin == UINT32_MAX) continue;
            const bool first = spilled && kept_[reg];
            const uint64_t other = row.bank != Bank::accumulation, small = first ? 0 : 255u - row.dwords;
            keys.push_back({other << 48 | small << 32 | (first ? UINT32_MAX - (end - begin) : begin), reg});
        }
        std::ranges::sort(keys);
        std::vector<uint32_t> order;
        order.reserve(keys.size());
        for (const auto& [key, reg] : keys) order.push_back(reg);
        return order;
    }

    bool fits(uint32_t reg, int at) { return first_fit(reg, at, at).has_value(); }

    /// The first place of [at, last] that is free.
    std::optional<int> first_fit(uint32_t reg, int at, int last) {
        const VirtualRegister& row = function_.registers[reg];
        const LiveIntervalUnion* const rows = file(reg).data();
        const uint32_t unit = live_.unit(reg, 0);
        const std::span<const Segment> first = live_.segments(unit);
        const auto is_free = [&](const LiveIntervalUnion* place) {
            for (uint32_t i = 0; i < row.dwords; ++i)
                for (Segment segment : live_.segments(unit + i))
                    if (!place[i].is_free(segment)) return false;
            return true;
        };
        for (; at <= last; at += row.align)  // most are taken where the register begins
            if ((first.empty() || rows[at].is_free(first.front())) && is_free(rows + at)) return at;
        return {};
    }

    void settle(uint32_t reg, int at) {
        VirtualRegister& row = function_.registers[reg];
        row.place = static_cast<int16_t>(first_code(reg) + at);
        for (uint32_t i = 0; i < row.dwords; ++i)
            for (Segment segment : live_.segments(live_.unit(reg, i)))
                file(reg)[static_cast<size_t>(at) + i].add(segment, reg);
    }

    void leave(uint32_t reg) {
        VirtualRegister& row = function_.registers[reg];
        const auto at = static_cast<size_t>(row.place - first_code(reg));
        for (uint32_t i = 0; i < row.dwords; ++i)
            for (Segment segment : live_.segments(live_.unit(reg, i))) file(reg)[at + i].remove(segment);
        row.place = -1;
        if (row.fixed >= 0) {
            unplaced_.push_back(reg);
        } else {
            waiting_.push_back(reg);
        }
    }

    void place(uint32_t reg) {
        if (std::optional<int> at = hinted(reg)) return settle(reg, *at);
        const VirtualRegister& row = function_.registers[reg];
        const int last = limit(reg) - row.dwords;
        if (std::optional<int> at = first_fit(reg, 0, last)) return settle(reg, *at);
        weigh_remakes();
        int best = -1;
        float least = weight_[reg];
        for (int at = 0; at <= last; at += row.align)
            if (const float cost = cost_of(reg, at, least); cost < least) {
                least = cost;
                best = at;
            }
        if (best < 0) return unplaced_.push_back(reg);
        for (uint32_t other : neighbours(reg, best)) leave(other);
        settle(reg, best);
    }

    /// Once something has to give way: rematerialised vectors need no scratch.
    void weigh_remakes() {
        if (std::exchange(remakes_known_, true)) return;
        const std::vector<const Instruction*> remakes = rematerialisations(function_, live_);
        for (uint32_t reg = 0; reg < weight_.size(); ++reg)
            if (remakes[reg] && bank(reg) == Bank::vector) weight_[reg] /= 4;  // lanes cost scalars no more
    }

    std::optional<int> hinted(uint32_t reg) {
        const VirtualRegister& row = function_.registers[reg];
        for (uint32_t i = hints_of_[reg]; i != kNobody; i = hints_[i].next) {
            const int16_t other = function_.registers[hints_[i].other].place;
            if (other < 0) continue;
            const int at = other + hints_[i].delta - first_code(reg);
            const bool inside = at >= 0 && at + row.dwords <= limit(reg) && at % row.align == 0;
            if (inside && fits(reg, at)) return at;
        }
        return {};
    }

    template <class Visit>
    void each_neighbour(uint32_t reg, int at, Visit visit) {
        for (uint32_t i = 0; i < function_.registers[reg].dwords; ++i) {
            const LiveIntervalUnion& row = file(reg)[static_cast<size_t>(at) + i];
            for (Segment segment : live_.segments(live_.unit(reg, i)))
                for (const LiveIntervalUnion::Stay* stay = row.overlap(segment);
                     stay && stay != row.end() && stay->begin < segment.end; ++stay)
                    if (!visit(stay->who)) return;
        }
    }

    std::vector<uint32_t> neighbours(uint32_t reg, int at) {
        std::vector<uint32_t> found;
        each_neighbour(reg, at, [&](uint32_t who) {
            if (std::ranges::find(found, who) == found.end()) found.push_back(who);
            return true;
        });
        return found;
    }

    /// The cost to free a place: the sum over those there, or as much as `enough`.
    float cost_of(uint32_t reg, int at, float enough) {
        float cost = 0;
        seen_.clear();
        each_neighbour(reg, at, [&](uint32_t who) {
            if (who == kNobody) return cost = enough, false;
            if (std::ranges::find(seen_, who) != seen_.end()) return true;
            seen_.push_back(who);
            cost += weight_[who];
            return cost < enough;
        });
        return std::min(cost, enough);
    }

    void count() {
        int counts[kBanks] = {};
        for (const VirtualRegister& reg : function_.registers) {
            if (reg.place < 0 || (reg.bank == Bank::scalar && reg.place >= code::vcc_lo)) continue;
            int& most = counts[static_cast<size_t>(reg.bank)];
            most = std::max(most, reg.place - kFirstCode[static_cast<size_t>(reg.bank)] + reg.dwords);
        }
        function_.sgprs = counts[0];
        function_.vgprs = counts[1];
        function_.agprs = counts[2];
    }

    MachineFunction& function_;
    const Liveness& live_;
    RegisterLimits limits_;
    const std::vector<bool>& kept_;
    std::vector<LiveIntervalUnion> files_[kBanks];
    std::vector<float> weight_;  // of each register: uses for its length
    bool remakes_known_ = false;
    std::vector<Hint> hints_;
    std::vector<uint32_t> hints_of_;  // the first of each register
    std::vector<bool> masks_;         // that are read or written as a bit a lane
    std::vector<bool> low_;           // that must be among the first kLowRows
    std::vector<uint32_t> waiting_, unplaced_, seen_;
};

}  // namespace

std::vector<uint32_t> assign(MachineFunction& function, const Liveness& liveness, const RegisterLimits& limits,
                             const std::vector<bool>& kept) {
    return Assigner(function, liveness, limits, kept).run();
}

}  // namespace strata::codegen
