// Live intervals of virtual registers.
#include "strata/codegen/machine/liveness.h"

#include <algorithm>
#include <bit>

#include "strata/codegen/machine/operands.h"

namespace strata::codegen {
namespace {

/// A set of small numbers.
class Bits {
  public:
    explicit Bits(size_t size) : words_((size + 63) / 64) {}
    void add(size_t i) { words_[i / 64] |= uint64_t{1} << i % 64; }
    bool has(size_t i) const { return words_[i / 64] >> i % 64 & 1; }
    /// this |= other; whether that added anything.
    bool join(const Bits& other) {
        uint64_t grown = 0;
        for (size_t i = 0; i < words_.size(); ++i) {
            grown |= other.words_[i] & ~words_[i];
            words_[i] |= other.words_[i];
        }
        return grown != 0;
    }
    /// this |= other & ~without; whether that added anything.
    bool join_without(const Bits& other, const Bits& without) {
        uint64_t grown = 0;
        for (size_t i = 0; i < words_.size(); ++i) {
            const uint64_t bits = other.words_[i] & ~without.words_[i];
            grown |= bits & ~words_[i];
            words_[i] |= bits;
        }
        return grown != 0;
    }
    template <class Visit>
    void each_without(const Bits& other, Visit visit) const {
        for (size_t i = 0; i < words_.size(); ++i)
            for (uint64_t left = words_[i] & ~other.words_[i]; left; left &= left - 1)
                visit(i * 64 + static_cast<size_t>(std::countr_zero(left)));
    }

  private:
    std::vector<uint64_t> words_;
};

/// Dwords that an instruction reads or writes.
struct Use {
    uint32_t unit, end;
    bool write;
};

/// Units that some block reads before it writes them. Only those can be live from one block to another; they are
/// numbered in a row so that sets of them are short.
struct Crossing {
    static constexpr uint32_t kLocal = UINT32_MAX;
    std::vector<uint32_t> number;  // of a unit
    std::vector<uint32_t> units;
    std::vector<Bits> in, out, written;  // of each block
};

class Analysis {
  public:
    Analysis(const MachineFunction& function, const std::vector<uint32_t>& base, const std::vector<uint32_t>& starts)
        : function_(function), base_(base), starts_(starts), written_in_(base.back(), Crossing::kLocal) {
        crossing_.number.assign(base.back(), Crossing::kLocal);
        head_.assign(base.back(), kNone);
        open_end_.assign(base.back(), 0);
        uses_.reserve(4 * size_t{starts.back()});
        uses_of_.reserve(starts.back() + 1);
    }

    void run() {
        list_uses();
        find_crossing();
        flow();
        for (uint32_t i = static_cast<uint32_t>(function_.blocks.size()); i-- > 0;) scan(i);
    }

    void collect(std::vector<uint32_t>& first, std::vector<Segment>& segments, std::vector<Segment>& vcc) {
        first.reserve(head_.size() + 1);
        segments.reserve(nodes_.size());
        for (uint32_t head : head_) {
            first.push_back(static_cast<uint32_t>(segments.size()));
            for (uint32_t i = head; i != kNone; i = nodes_[i].next) segments.push_back(nodes_[i].segment);
        }
        first.push_back(static_cast<uint32_t>(segments.size()));
        std::ranges::reverse(vcc_);
        vcc = std::move(vcc_);
    }

  private:
    static constexpr uint32_t kNone = UINT32_MAX;
    struct Node {
        Segment segment;
        uint32_t next;
    };

    void list_uses() {
        auto add = [&](Place place, bool write) {
            const uint32_t unit = base_[place.reg] + place.first;
            uses_.push_back({unit, unit + place.dwords, write});
        };
        for (const Block& block : function_.blocks)
            for (const Instruction& instruction : block.code) {
                uses_of_.push_back(static_cast<uint32_t>(uses_.size()));
                each_read(function_, instruction, [&](Place place) { add(place, false); });
                if (reads_all_lanes(instruction)) add(function_.all_lanes, false);
                each_write(instruction, [&](Place place) { add(place, true); });
            }
        uses_of_.push_back(static_cast<uint32_t>(uses_.size()));
    }
    template <class Visit>
    void each_unit(uint32_t instruction, bool write, Visit visit) const {
        for (uint32_t i = uses_of_[instruction]; i < uses_of_[instruction + 1]; ++i)
            if (uses_[i].write == write)
                for (uint32_t unit = uses_[i].unit; unit < uses_[i].end; ++unit) visit(unit);
    }

    /// The mask of all lanes is needed wherever a predicate may have to be undone: up to the end.
    bool reads_all_lanes(const Instruction& instruction) const {
        return function_.all_lanes && instruction.pseudo == Pseudo::none &&
               (instruction.predicate || instruction.inst.row->mnemonic == "s_endpgm");
    }

    void find_crossing() {
        for (uint32_t block = 0; block < function_.blocks.size(); ++block)
            for (uint32_t k = starts_[block]; k < starts_[block + 1]; ++k) {
                each_unit(k, false, [&](uint32_t unit) {
                    if (written_in_[unit] == block || crossing_.number[unit] != Crossing::kLocal) return;
                    crossing_.number[unit] = static_cast<uint32_t>(crossing_.units.size());
                    crossing_.units.push_back(unit);
                });
                each_unit(k, true, [&](uint32_t unit) { written_in_[unit] = block; });
            }
    }

    void flow() {
        const size_t blocks = function_.blocks.size();
        const Bits none(crossing_.units.size());
        crossing_.in.assign(blocks, none);
        crossing_.out = crossing_.written = crossing_.in;
        for (size_t i = 0; i < blocks; ++i)
            for (uint32_t k = starts_[i]; k < starts_[i + 1]; ++k) {
                each_unit(k, false, [&](uint32_t unit) {
                    const uint32_t number = crossing_.number[unit];
                    if (number != Crossing::kLocal && !crossing_.written[i].has(number)) crossing_.in[i].add(number);
                });
                each_unit(k, true, [&](uint32_t unit) {
                    if (crossing_.number[unit] != Crossing::kLocal) crossing_.written[i].add(crossing_.number[unit]);
                });
            }
        std::vector<std::vector<uint32_t>> next(blocks);
        for (uint32_t i = 0; i < blocks; ++i) next[i] = function_.successors(i);
        for (bool changed = true; changed;) {
            changed = false;
            for (size_t i = blocks; i-- > 0;) {
                bool grown = false;
                for (uint32_t successor : next[i]) grown |= crossing_.out[i].join(crossing_.in[successor]);
                if (grown) changed |= crossing_.in[i].join_without(crossing_.out[i], crossing_.written[i]);
            }
        }
    }

    void add(uint32_t unit, Segment segment) {
        const uint32_t head = head_[unit];
        if (head != kNone && segment.end >= nodes_[head].segment.begin) {
            nodes_[head].segment.begin = std::min(segment.begin, nodes_[head].segment.begin);
            return;
        }
        head_[unit] = static_cast<uint32_t>(nodes_.size());
        nodes_.push_back({segment, head});
    }

    /// Where the unit's value begins, seen from its end.
    void begin(uint32_t unit, uint32_t position) {
        add(unit, {position, std::max(open_end_[unit], write_after(position))});
        open_end_[unit] = 0;
    }
    static uint32_t write_after(uint32_t position) { return (position | 1) + 1; }

    /// A value that is live after the block and at the start of the next one stays open from there.
    void scan(uint32_t block) {
        const uint32_t start = starts_[block], end = starts_[block + 1];
        const Bits none(crossing_.units.size());
        const bool last = block + 1 == function_.blocks.size();
        crossing_.out[block].each_without(last ? none : crossing_.in[block + 1],
                                          [&](size_t number) { open_end_[crossing_.units[number]] = 2 * end; });
        const std::vector<Instruction>& code = function_.blocks[block].code;
        uint32_t vcc_end = 0;
        for (uint32_t k = end; k-- > start;) {
            const Instruction& instruction = code[k - start];
            scan_vcc(instruction, k, vcc_end);
            const uint32_t written = writes_early(function_, instruction) ? read_position(k) : write_position(k);
            each_unit(k, true, [&](uint32_t unit) { begin(unit, written); });
            each_unit(k, false, [&](uint32_t unit) {
                if (!open_end_[unit]) open_end_[unit] = read_position(k) + 1;
            });
        }
        if (vcc_end) vcc_.push_back({read_position(start), vcc_end});
        crossing_.in[block].each_without(block ? crossing_.out[block - 1] : none, [&](size_t number) {
            const uint32_t unit = crossing_.units[number];
            add(unit, {read_position(start), open_end_[unit]});
            open_end_[unit] = 0;
        });
    }

    void scan_vcc(const Instruction& instruction, uint32_t k, uint32_t& vcc_end) {
        if (writes_vcc(function_, instruction)) {
            vcc_.push_back({write_position(k), std::max(vcc_end, write_position(k) + 1)});
            vcc_end = 0;
        }
        if (!vcc_end && reads_vcc(function_, instruction)) vcc_end = read_position(k) + 1;
    }

    const MachineFunction& function_;
    const std::vector<uint32_t>& base_;
    const std::vector<uint32_t>& starts_;
    std::vector<uint32_t> written_in_;
    std::vector<Use> uses_;
    std::vector<uint32_t> uses_of_;  // the first of each instruction
    Crossing crossing_;
    std::vector<Node> nodes_;
    std::vector<uint32_t> head_;      // of a unit's segments, the first one
    std::vector<uint32_t> open_end_;  // of the value that is live where the scan stands; 0: none
    std::vector<Segment> vcc_;
};

}  // namespace

Liveness::Liveness(const MachineFunction& function) {
    base_.reserve(function.registers.size() + 1);
    base_.push_back(0);
    for (const VirtualRegister& reg : function.registers) base_.push_back(base_.back() + reg.dwords);
    starts_.push_back(0);
    for (const Block& block : function.blocks)
        starts_.push_back(starts_.back() + static_cast<uint32_t>(block.code.size()));
    Analysis analysis(function, base_, starts_);
    analysis.run();
    analysis.collect(first_, segments_, vcc_);
}

bool Liveness::live_at(uint32_t unit, uint32_t position) const {
    const std::span<const Segment> all = segments(unit);
    auto after = std::ranges::upper_bound(all, position, {}, &Segment::begin);
    return after != all.begin() && position < std::prev(after)->end;
}

}  // namespace strata::codegen
