// merge_lds: load and store merging. Two accesses of local memory by one address are one instruction, where two offsets
// of 8 bits reach both. The offsets are from the address itself, or from one with the common part of all added.
// Before:  ds_load_b32 %v3, %v1 offset:528        After:  ds_load_2addr_b32 %v9[0:1], %v1 offset0:132 offset1:198
//          ds_load_b32 %v4, %v1 offset:792
// Loads move up to the first of two, stores down to the second; none passes what may be of the same bytes.
#include <algorithm>
#include <map>
#include <optional>

#include "strata/codegen/machine/builder.h"
#include "strata/codegen/machine/operands.h"
#include "strata/codegen/machine/passes.h"
#include "strata/codegen/machine/unique_defs.h"

namespace strata::codegen {
namespace {

struct Pairing {
    std::string_view one, two;
    bool stores;
    int32_t bytes;
};
constexpr Pairing kPairings[] = {{"ds_load_b32", "ds_load_2addr_b32", false, 4},
                                 {"ds_load_b64", "ds_load_2addr_b64", false, 8},
                                 {"ds_store_b32", "ds_store_2addr_b32", true, 4},
                                 {"ds_store_b64", "ds_store_2addr_b64", true, 8}};
constexpr int32_t kMostUnits = 255;  // of an offset

class PairLocal {
  public:
    explicit PairLocal(MachineFunction& function)
        : function_(function), values_(function), halves_(function.registers.size()) {
        for (const Pairing& kind : kPairings) rows_.push_back(row_of(function.family, kind.one));
    }

    void run() {
        for (uint32_t b = 0; b < function_.blocks.size(); ++b) find(b);
        if (changes_.empty()) return;
        for (uint32_t b = 0; b < function_.blocks.size(); ++b) write(b);
        for (Block& block : function_.blocks)
            for (Instruction& one : block.code) {
                for (Place& place : one.dst) rename(place);
                for (Place& place : one.src) rename(place);
            }
    }

  private:
    struct Access {
        uint32_t at;
        const Pairing* kind;
        Place address;
        int32_t offset;
        bool paired = false;
    };
    struct Pair {
        const Access *first, *second;
        int32_t base;  ///< that is added to the address
    };
    /// The fate of a place in a block's code.
    struct Change {
        std::vector<Instruction> before;
        std::optional<Instruction> instead;
        bool drops = false;
    };

    const Pairing* kind_of(const Instruction& one) const {
        if (one.pseudo != Pseudo::none || one.predicate || one.keeps || one.inst.gds || !one.src[0]) return nullptr;
        const auto found = std::ranges::find(rows_, one.inst.row);
        if (found == rows_.end()) return nullptr;
        const Pairing& kind = kPairings[found - rows_.begin()];
        const bool fits = kind.stores ? one.src[1] && function_.bank(one.src[1]) == Bank::vector : is_whole(one.dst[0]);
        return fits && one.inst.offset % kind.bytes == 0 ? &kind : nullptr;
    }
    /// A register that becomes half of another one.
    bool is_whole(Place place) const {
        const VirtualRegister& reg = function_.registers[place.reg];
        return reg.fixed < 0 && reg.bank == Bank::vector && reg.dwords == place.dwords && values_.holds(place);
    }

    /// Stretches of loads, or of stores, that nothing comes between which they must not pass.
    void find(uint32_t b) {
        const std::vector<Instruction>& code = function_.blocks[b].code;
        for (uint32_t at = 0; at < code.size(); ++at) {
            const Pairing* kind = kind_of(code[at]);
            const bool stores = !stretch_.empty() && stretch_[0].kind->stores;
            if (kind ? kind->stores != stores : ends(code[at], stores)) close(b);
            bool rewrites = false;
            each_write(code[at], [&](Place place) { rewrites |= is_used(code, place); });
            if (rewrites) close(b);
            if (kind) stretch_.push_back({at, kind, code[at].src[0], code[at].inst.offset});
        }
        close(b);
    }
    bool ends(const Instruction& one, bool stores) const {
        if (has_effect(one)) return true;
        if (one.pseudo != Pseudo::none || !(one.inst.row->flags & isa::kMemory)) return false;
        const isa::Format format = one.inst.row->format;
        return stores && format != isa::Format::GLOBAL && format != isa::Format::SMEM;
    }
    /// True if an access of the stretch reads it.
    bool is_used(const std::vector<Instruction>& code, Place place) const {
        return std::ranges::any_of(stretch_, [&](const Access& access) {
            const auto meets = [&](Place read) {
                return read && read.reg == place.reg && read.first < place.first + place.dwords &&
                       place.first < read.first + read.dwords;
            };
            return std::ranges::any_of(code[access.at].src, meets);
        });
    }

    void close(uint32_t b) {
        std::vector<Pair> pairs;
        for (size_t i = 0; i < stretch_.size(); ++i)
            for (size_t k = i + 1; k < stretch_.size() && !stretch_[i].paired; ++k)
                if (const std::optional<int32_t> base = base_of(b, i, k, pairs)) {
                    pairs.push_back({&stretch_[i], &stretch_[k], *base});
                    stretch_[i].paired = stretch_[k].paired = true;
                }
        for (const Pair& pair : pairs) join(b, pair);
        bases_.clear();
        stretch_.clear();
    }

    /// The number to add to the address so that offsets reach two accesses, if they can be one.
    std::optional<int32_t> base_of(uint32_t block, size_t i, size_t k, std::span<const Pair> pairs) const {
        const Access &a = stretch_[i], &b = stretch_[k];
        const int32_t low = std::min(a.offset, b.offset), high = std::max(a.offset, b.offset), bytes = a.kind->bytes;
        if (b.paired || a.kind != b.kind || a.address != b.address || high - low < bytes) return {};
        for (size_t between = i + 1; a.kind->stores && between < k; ++between) {
            const Access& passed = stretch_[between];
            const bool apart = passed.offset >= a.offset + bytes || passed.offset + passed.kind->bytes <= a.offset;
            if (passed.address != a.address || !apart) return {};
        }
        if (high <= kMostUnits * bytes) return 0;
        for (const Pair& known : pairs)
            if (known.first->address == a.address && known.base <= low && high - known.base <= kMostUnits * bytes &&
                (low - known.base) % bytes == 0)
                return known.base;
        // Outside of loops it would cost a register more than it is worth.
        return function_.blocks[block].depth && high - low <= kMostUnits * bytes ? std::optional(low) : std::nullopt;
    }

    void join(uint32_t b, const Pair& pair) {
        const std::vector<Instruction>& code = function_.blocks[b].code;
        const Access &first = *pair.first, &second = *pair.second;
        const Pairing& kind = *first.kind;
        Instruction made = instruction_of(*row_of(function_.family, kind.two), code[first.at].origin);
        made.inst.offset = (first.offset - pair.base) / kind.bytes;
        made.inst.offset1 = (second.offset - pair.base) / kind.bytes;
        made.src[0] = pair.base ? address_at(b, first, pair.base) : first.address;
        if (kind.stores) {
            made.src[1] = code[first.at].src[1];
            made.src[2] = code[second.at].src[1];
        } else {
            const int dwords = kind.bytes / 4;
            made.dst[0] = function_.add(Bank::vector, 2 * dwords);
            halves_[code[first.at].dst[0].reg] = made.dst[0].part(0, dwords);
            halves_[code[second.at].dst[0].reg] = made.dst[0].part(dwords, dwords);
        }
        changes_[{b, kind.stores ? second.at : first.at}].instead = made;
        changes_[{b, kind.stores ? first.at : second.at}].drops = true;
    }

    /// The block outside of the loop where the address is made, or this one.
    uint32_t made_in(Place address, uint32_t b) const {
        const uint32_t block = values_.holds(address) ? values_.block(values_.unit(address)) : b;
        const bool outside = block != UniqueDefs::kBefore && function_.blocks[block].depth < function_.blocks[b].depth;
        return outside ? block : b;
    }
    /// The address with this added, made in front of the loop where the address itself is.
    Place address_at(uint32_t b, const Access& first, int32_t base) {
        const auto [known, fresh] = bases_.try_emplace({first.address.reg, first.address.first, base});
        if (!fresh) return known->second;
        Instruction sum =
            instruction_of(*row_of(function_.family, "v_add_nc_u32"), function_.blocks[b].code[first.at].origin);
        sum.dst[0] = known->second = function_.add(Bank::vector, 1);
        const std::optional<uint16_t> code = isa::inline_integer_code(base);
        sum.inst.src[0].code = code.value_or(isa::code::literal);
        if (!code) sum.inst.literal = static_cast<uint32_t>(base);
        sum.src[1] = first.address;
        std::pair<uint32_t, uint32_t> place{b, first.at};
        if (const uint32_t block = made_in(first.address, b); block != b) {
            const auto writes = [&](const Instruction& one) {
                bool found = false;
                each_write(one, [&](Place written) { found |= written.reg == first.address.reg; });
                return found;
            };
            const std::vector<Instruction>& there = function_.blocks[block].code;
            place = {block, static_cast<uint32_t>(std::ranges::find_if(there, writes) - there.begin()) + 1};
        }
        changes_[place].before.push_back(std::move(sum));
        return known->second;
    }

    void rename(Place& place) const {
        if (!place || place.reg >= halves_.size() || !halves_[place.reg]) return;
        place = halves_[place.reg].part(place.first, place.dwords);
    }

    void write(uint32_t b) {
        std::vector<Instruction>& code = function_.blocks[b].code;
        std::vector<Instruction> all;
        for (uint32_t at = 0; at <= code.size(); ++at) {
            const auto change = changes_.find({b, at});
            if (change != changes_.end()) {
                for (Instruction& one : change->second.before) all.push_back(std::move(one));
                if (change->second.drops) continue;
                if (change->second.instead) code[at] = *change->second.instead;
            }
            if (at < code.size()) all.push_back(std::move(code[at]));
        }
        code = std::move(all);
    }

    MachineFunction& function_;
    UniqueDefs values_;  // of the function as it was
    std::vector<const isa::Row*> rows_;
    std::vector<Access> stretch_;
    std::map<std::tuple<uint32_t, uint8_t, int32_t>, Place> bases_;  // of the stretch
    std::vector<Place> halves_;                                      // of each register: what it has become part of
    std::map<std::pair<uint32_t, uint32_t>, Change> changes_;        // by block and place
};

}  // namespace

Result<void> merge_lds(MachineFunction& function) {
    PairLocal(function).run();
    return {};
}

}  // namespace strata::codegen
