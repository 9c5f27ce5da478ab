#include "strata/executable/memory.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "strata/core/support/error.h"

namespace strata::executable {
namespace {

std::vector<size_t> last_uses(const Executable& exe) {
    std::vector<size_t> last_use(exe.operands.size());
    for (size_t s = 0; s < exe.steps.size(); ++s)
        for (uint32_t at : exe.steps[s].operands) last_use[at] = s;
    return last_use;
}

/// A result that was asked for takes the memory of an input, of which there may be as much as it needs.
bool may_take(const Executable& exe, uint32_t to, uint32_t input) {
    const Operand &result = exe.operands[to], &donor = exe.operands[input];
    const auto asked = [&](uint32_t at) { return std::ranges::find(exe.results, at) != exe.results.end(); };
    return donor.donated && asked(to) && !asked(input) && result.dtype == donor.dtype &&
           result.elements == donor.elements;
}

/// Lets each step fill memory that no later step reads; that of donated inputs before all other.
void find_heirs(Executable& exe, const std::vector<size_t>& last_use) {
    std::vector<bool> taken(exe.operands.size());
    const auto take = [&](const Step& step, size_t s, bool inputs) {
        for (const InPlace& pair : step.in_place) {
            const uint32_t to = step.operands[static_cast<size_t>(pair.output)],
                           from = step.operands[static_cast<size_t>(pair.input)];
            if (to < exe.inputs || taken[to] || (from < exe.inputs) != inputs) continue;
            Operand& dying = exe.operands[from];
            if (dying.role == Role::result || dying.heir != kNone || last_use[from] != s) continue;
            if (inputs && !may_take(exe, to, from)) continue;
            dying.heir = to;
            taken[to] = true;
        }
    };
    for (const bool inputs : {true, false})
        for (size_t s = 0; s < exe.steps.size(); ++s) take(exe.steps[s], s, inputs);
}

/// Places for values as steps fill them, given back as steps read them last.
class Places {
  public:
    explicit Places(Executable& exe) : exe_(exe), last_use_(last_uses(exe)), held_(bytes_at(exe)) {
        if (!held_.empty()) peak_ = *std::ranges::max_element(held_);
    }

    void run() {
        for (size_t s = 0; s < exe_.steps.size(); ++s) {
            for (uint32_t at : exe_.steps[s].operands) place(at, s);
            for (uint32_t at : exe_.steps[s].operands) vacate(at, s);
        }
        exe_.places = static_cast<uint32_t>(free_at_.size());
        for (uint32_t place = 0; place < exe_.places; ++place) exe_.steps[free_at_[place]].freed.push_back(place);
    }

  private:
    static constexpr ptrdiff_t kLongest = 256;  ///< steps that a place waits for what is filled in it next

    void place(uint32_t at, size_t step) {
        Operand& operand = exe_.operands[at];
        if (operand.role != Role::workspace || operand.place != kNone) return;
        const uint32_t last = last_heir(exe_, at);
        if (exe_.operands[last].role == Role::result) return;
        if (operand.place = exe_.operands[last].place; operand.place != kNone) return;
        exe_.operands[last].place = operand.place = place_for(operand.bytes(), step);
        free_at_[operand.place] = last_use_[last];
    }

    void vacate(uint32_t at, size_t step) {
        const Operand& operand = exe_.operands[at];
        if (operand.place == kNone || last_use_[at] != step || operand.heir != kNone) return;
        vacant_[operand.bytes()].push_back(operand.place);
    }

    uint32_t place_for(uint64_t bytes, size_t step) {
        std::vector<uint32_t>& fits = vacant_[bytes];
        if (!fits.empty()) {
            const auto from = held_.begin() + static_cast<ptrdiff_t>(free_at_[fits.back()]) + 1,
                       to = held_.begin() + static_cast<ptrdiff_t>(step);
            const bool may_wait =
                to - from <= kLongest && std::all_of(from, to, [&](uint64_t now) { return now + bytes <= peak_; });
            if (may_wait) {
                std::for_each(from, to, [&](uint64_t& now) { now += bytes; });
                const uint32_t place = fits.back();
                fits.pop_back();
                return place;
            }
        }
        free_at_.push_back(0);
        return static_cast<uint32_t>(free_at_.size()) - 1;
    }

    Executable& exe_;
    const std::vector<size_t> last_use_;
    std::vector<uint64_t> held_;  ///< bytes at each step, with places that wait
    uint64_t peak_ = 0;
    std::map<uint64_t, std::vector<uint32_t>> vacant_;  ///< by bytes, the last one vacated last
    std::vector<size_t> free_at_;                       ///< by place
};

/// Replays the steps over memory: of each piece, which value is in it.
class Replay {
  public:
    explicit Replay(const Executable& exe) : exe_(exe), filled_(exe.operands.size()) {
        for (uint32_t at = 0; at < exe.inputs; ++at) fill(at);
    }

    void step(size_t s) {
        const std::vector<uint32_t>& operands = exe_.steps[s].operands;
        std::vector<size_t> outputs;
        for (size_t slot = 0; slot < operands.size(); ++slot) {
            if (filled_[operands[slot]])
                check_holds(s, operands[slot]);
            else
                outputs.push_back(slot);
        }
        for (size_t output : outputs) {
            check_overwrites(s, output);
            fill(operands[output]);
        }
        for (uint32_t place : exe_.steps[s].freed) held_[{true, place}] = kNone;
    }

    /// Nothing fills a result of no elements.
    void check_result(uint32_t at) const {
        const auto now = held_.find(piece_of(at));
        STRATA_CHECK(now == held_.end() || now->second == at, "result {} is overwritten", at);
    }

  private:
    using Piece = std::pair<bool, uint32_t>;  // of the workspace, and its place; else an operand

    Piece piece_of(uint32_t at) const {
        const uint32_t last = last_heir(exe_, at), place = exe_.operands[last].place;
        return place == kNone ? Piece(false, last) : Piece(true, place);
    }
    void fill(uint32_t at) { held_[piece_of(at)] = at, filled_[at] = true; }

    void check_holds(size_t step, uint32_t at) const {
        const uint32_t now = held_.at(piece_of(at));
        STRATA_CHECK(now == at, "step {} reads operand {}, whose memory holds operand {} by then", step, at, now);
    }
    /// An operand that the step itself overwrote was checked at that step.
    void check_overwrites(size_t step, size_t output) const {
        const std::vector<uint32_t>& operands = exe_.steps[step].operands;
        const auto before = held_.find(piece_of(operands[output]));
        if (before == held_.end()) return;
        STRATA_CHECK(before->second >= exe_.inputs || exe_.operands[before->second].donated,
                     "step {} overwrites input {}, which was not donated", step, before->second);
        const auto slot = std::ranges::find(operands, before->second) - operands.begin();
        const bool may =
            slot == std::ssize(operands) || std::ranges::any_of(exe_.steps[step].in_place, [&](InPlace pair) {
                return pair.output == static_cast<int>(output) && pair.input == slot;
            });
        STRATA_CHECK(may, "step {} fills slot {} in the memory of slot {}", step, output, slot);
    }

    const Executable& exe_;
    std::map<Piece, uint32_t> held_;
    std::vector<bool> filled_;
};

}  // namespace

std::vector<Lifetime> lifetimes(const Executable& exe) {
    const std::vector<size_t> last_use = last_uses(exe);
    std::vector<Lifetime> lives(exe.operands.size());
    for (size_t i = exe.inputs; i < lives.size(); ++i) {
        const Operand& operand = exe.operands[i];
        lives[i] = {operand.bytes(), exe.steps.size(), operand.role == Role::result ? exe.steps.size() : last_use[i],
                    operand.heir};
    }
    for (size_t i = 0; i < exe.inputs; ++i)
        if (const uint32_t heir = exe.operands[i].heir; heir != kNone) lives[heir].bytes = 0;
    for (size_t s = exe.steps.size(); s-- > 0;)
        for (uint32_t at : exe.steps[s].operands)
            if (at >= exe.inputs) lives[at].first = s;
    return lives;
}

std::vector<uint64_t> bytes_at(const Executable& exe) {
    std::vector<uint64_t> bytes(exe.steps.size() + 2);
    for (const Lifetime& life : lifetimes(exe)) {
        if (life.bytes == 0 || life.first == exe.steps.size()) continue;
        bytes[life.first] += life.bytes;
        bytes[life.heir == kNone ? life.last + 1 : life.last] -= life.bytes;  // the heir counts from then on
    }
    std::partial_sum(bytes.begin(), bytes.end(), bytes.begin());
    bytes.resize(exe.steps.size());
    return bytes;
}

void place_memory(Executable& exe) {
    find_heirs(exe, last_uses(exe));
    Places(exe).run();
}

void verify_memory(const Executable& exe) {
    Replay replay(exe);
    for (size_t s = 0; s < exe.steps.size(); ++s) replay.step(s);
    for (uint32_t result : exe.results) replay.check_result(result);
}

}  // namespace strata::executable
