// verify_in_place: a linear program is walked for its accesses alone, and each pair of in_place() is checked on what
// they touch.
//
// It knows addresses and order, and no rule by which in_place() decides. Values that come from memory are unknown. A
// loop takes all its steps, a predicate holds, and an address that depends on one may be any element.
#include "strata/codegen/linear/verify_in_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "strata/core/uop/reference.h"
#include "strata/core/uop/walk.h"

namespace strata::codegen {
namespace {

constexpr int64_t kMostAccesses = 1 << 15;  // that are walked of one program

using Dims = std::array<int64_t, 3>;

struct Access {
    UOp op;
    std::optional<int64_t> first;  ///< element; none: any
    int lanes;
    bool stores;
    int64_t block, thread;
    int epoch;         ///< barriers of the block before it
    int phase;         ///< 1 after last_block, which all blocks come before
    size_t step;       ///< of its thread
    bool used = true;  ///< of a load: some effect of its thread has the value
};

bool comes_before(const Access& a, const Access& b) {
    if (a.phase != b.phase) return a.phase < b.phase;
    if (a.block != b.block) return false;
    return a.thread == b.thread ? a.step < b.step : a.epoch < b.epoch;
}

bool is_access(UOp u) { return u.is(Op::load) || writes_memory(u); }

class Walk {
  public:
    Walk(const LinearProgram& program, std::span<const executable::InPlace> pairs, std::span<const uint64_t> slots)
        : ops_(program.ops), slots_(slots) {
        for (const executable::InPlace& pair : pairs) accesses_[pair.output], accesses_[pair.input];
        for (size_t d = 0; d < 3; ++d) grid_[d] = program.grid[d], block_[d] = program.block[d];
        std::vector<size_t> open;
        partner_.resize(ops_.size());
        needed_.resize(ops_.size());
        values_.resize(ops_.size());
        for (size_t i = 0; i < ops_.size(); ++i) {
            place_[ops_[i]] = i;
            if (ops_[i].is(Op::range)) open.push_back(i);
            if (!ops_[i].is(Op::end)) continue;
            partner_[i] = open.back(), partner_[open.back()] = i;
            open.pop_back();
        }
        for (UOp u : ops_)
            if (const auto number = u.is(Op::define_var) ? given(u) : std::nullopt; number && *number > 1)
                ends_.push_back(*number);
        find_feeds();
        for (size_t i = ops_.size(); i-- > 0;) mark(i);
        choose_sample();
    }

    /// The accesses of each parameter of the pairs, by slot.
    const std::unordered_map<int, std::vector<Access>>& run() {
        for (int64_t z : sample(grid_[2]))
            for (int64_t y : sample(grid_[1]))
                for (int64_t x : sample(grid_[0])) run_block({x, y, z});
        return accesses_;
    }

  private:
    /// The loads whose values nothing but predicated stores has, by the place of each of those: where its predicate is
    /// false, no value is used.
    void find_feeds() {
        UOpMap<std::vector<size_t>> loads;  // that a value is made of
        std::vector<bool> always(ops_.size());
        feeds_.resize(ops_.size()), waits_.resize(ops_.size()), latest_.resize(ops_.size());
        for (size_t i = 0; i < ops_.size(); ++i) {
            const UOp u = ops_[i];
            std::vector<size_t> own;
            for (UOp s : u.is(Op::store) ? u.src().subspan(1) : u.src())
                if (const auto found = loads.find(skip_after(s)); found != loads.end())
                    own.insert(own.end(), found->second.begin(), found->second.end());
            if (u.is(Op::store))
                for (UOp s : u.src(0).src().subspan(1))
                    if (const auto found = loads.find(skip_after(s)); found != loads.end())
                        for (size_t load : found->second) always[load] = true;
            std::ranges::sort(own);
            own.erase(std::ranges::unique(own).begin(), own.end());
            const bool predicated = u.is(Op::store) && u.src(0).src().size() > 2;
            if (predicated)
                feeds_[i] = own;
            else if (!info(u.op()).elementwise() && !u.is(Op::vec) && !u.is(Op::lane) && !u.is(Op::index))
                for (size_t load : own) always[load] = true;
            if (u.is(Op::load) && slot_of(u)) own.push_back(i), waits_[i] = true;
            if (!own.empty() && !u.is(Op::store)) loads[u] = std::move(own);
        }
        for (size_t i = 0; i < ops_.size(); ++i) waits_[i] = waits_[i] && !always[i];
    }

    /// Nodes that decide where an access goes, or whether and how often it runs.
    void mark(size_t i) {
        const UOp u = ops_[i];
        const auto need = [&](UOp source) {
            if (const auto at = place_.find(skip_after(source)); at != place_.end()) needed_[at->second] = true;
        };
        if (is_access(u) && (slot_of(u) || !feeds_[i].empty())) {
            needed_[i] = true;
            for (UOp s : u.src(0).src().subspan(1)) need(s);
        } else if (u.is(Op::range) || u.is(Op::first_wave)) {
            needed_[i] = true;
            if (!u.src().empty()) need(u.src(0));
        } else if (needed_[i] && !u.is(Op::load)) {
            for (UOp s : u.src()) need(s);
        }
    }

    /// The parameter of a pair that an access reaches.
    std::optional<int> slot_of(UOp access) const {
        const ParamArg& arg = memory_of(access).as<ParamArg>();
        if (arg.space != Space::global || !accesses_.contains(arg.slot)) return {};
        return arg.slot;
    }

    /// Steps of an axis: the first ones and the last, most_ in all, and the last step below each number of the launch.
    /// An axis of a dynamic shape is rounded up to a power of two, or split from one that is: its real end lies inside.
    std::vector<int64_t> sample(int64_t size) const {
        std::vector<int64_t> out;
        for (int64_t i = 0; i < std::min(size, most_); ++i) out.push_back(i);
        if (size <= most_) return out;
        out.back() = size - 1;
        for (int64_t end : ends_) {
            int64_t last = end - 1;
            while (last >= size) last /= 2;
            out.push_back(last);
        }
        std::ranges::sort(out);
        out.erase(std::ranges::unique(out).begin(), out.end());
        return out;
    }

    /// As many of each axis as kMostAccesses allows.
    void choose_sample() {
        const auto work = [&] {
            int64_t around = 1, all = 0;
            for (const Dims& dims : {grid_, block_})
                for (int64_t size : dims) around *= std::min(size, most_);
            std::vector<int64_t> outside;
            for (UOp u : ops_) {
                if (u.is(Op::range)) {
                    outside.push_back(around);
                    around *= std::min(range_arg(u).size, most_);
                } else if (u.is(Op::end)) {
                    around = outside.back();
                    outside.pop_back();
                } else if (is_access(u)) {
                    all += around;
                }
                if (around > kMostAccesses || all > kMostAccesses) return false;
            }
            return true;
        };
        for (most_ = 1 << 12; most_ > 2 && !work();) most_ /= 2;
    }

    void run_block(const Dims& block) {
        const int64_t number = block[0] + grid_[0] * (block[1] + grid_[1] * block[2]);
        for (int64_t z : sample(block_[2]))
            for (int64_t y : sample(block_[1]))
                for (int64_t x : sample(block_[0])) {
                    at_ = {block, Dims{x, y, z}};
                    run_thread(number, x + block_[0] * (y + block_[1] * z));
                }
    }

    void run_thread(int64_t block, int64_t thread) {
        int epoch = 0, phase = 0;
        size_t step = 0;
        std::ranges::fill(latest_, std::nullopt);
        std::vector<std::vector<int64_t>> left;  // steps of the open loops, the next last
        for (size_t pc = 0; pc < ops_.size(); ++pc) {
            const UOp u = ops_[pc];
            epoch += u.is(Op::barrier);
            if (u.is(Op::range)) {
                std::vector<int64_t> steps = sample(steps_of(u));
                std::ranges::reverse(steps);
                left.push_back(std::move(steps));
                if (!next_step(pc, left)) pc = partner_[pc];
            } else if (u.is(Op::end)) {
                if (next_step(partner_[pc], left)) pc = partner_[pc];
            } else if (u.is(Op::last_block)) {
                if (block != 0) return;
                phase = 1, ++epoch;
            } else if (u.is(Op::first_wave)) {
                if (const auto number = value(u.src(0)); number && *number >= u.as<IndexArg>().index) return;
            } else if (needed_[pc] && is_access(u)) {
                touch(u, {u, {}, 1, !u.is(Op::load), block, thread, epoch, phase, ++step});
            } else if (needed_[pc]) {
                values_[pc] = compute(u);
            }
            if (u.is(Op::load)) values_[pc].reset();
        }
    }

    /// False: the loop is over.
    bool next_step(size_t range, std::vector<std::vector<int64_t>>& left) {
        if (left.back().empty()) {
            left.pop_back();
            return false;
        }
        values_[range] = left.back().back();
        left.back().pop_back();
        return true;
    }

    int64_t steps_of(UOp range) const {
        const int64_t all = range_arg(range).size;
        return range.src().empty() ? all : std::clamp<int64_t>(value(range.src(0)).value_or(all), 0, all);
    }

    void touch(UOp u, Access access) {
        const UOp index = u.src(0);
        if (index.src().size() > 2)
            if (const auto predicate = value(index.src(2)); predicate && !*predicate) return;
        const size_t place = place_.at(u);
        for (size_t load : feeds_[place])
            if (latest_[load]) accesses_.at(*slot_of(ops_[load]))[*latest_[load]].used = true;
        const std::optional<int> slot = slot_of(u);
        if (!slot) return;
        access.first = value(index.src(1));
        access.lanes = u.is(Op::load) ? u.dtype().lanes : u.src(1).dtype().lanes;
        access.used = !waits_[place];
        latest_[place] = accesses_.at(*slot).size();
        accesses_.at(*slot).push_back(access);
    }

    std::optional<int64_t> value(UOp u) const { return values_[place_.at(skip_after(u))]; }

    std::optional<int64_t> compute(UOp u) const {
        if (u.is_const()) return u.dtype().is_float() ? std::optional<int64_t>() : u.as<ConstArg>().i;
        if (u.is(Op::special)) {
            const SpecialArg& arg = u.as<SpecialArg>();
            return at_[arg.thread ? 1 : 0][static_cast<size_t>(arg.dim)];
        }
        if (u.is(Op::define_var)) return given(u);
        if (!info(u.op()).elementwise() || u.dtype().lanes > 1 || u.dtype().is_float()) return {};
        std::vector<ConstArg> sources;
        for (UOp s : u.src()) {
            const std::optional<int64_t> known = s.dtype().is_float() ? std::optional<int64_t>() : value(s);
            if (!known) return {};
            sources.push_back({*known, 0});
        }
        const auto result = reference(u.op(), u.dtype(), u.src().back().dtype(), sources);
        return result ? std::optional(result->i) : std::nullopt;
    }

    /// The launch's value of a variable; none: a float, or no launch is known.
    std::optional<int64_t> given(UOp variable) const {
        const auto slot = static_cast<size_t>(variable.as<VariableArg>().slot);
        if (variable.dtype().is_float() || slot >= slots_.size()) return {};
        return wrap_to(variable.dtype(), static_cast<int64_t>(slots_[slot]));
    }

    std::span<const UOp> ops_;
    std::span<const uint64_t> slots_;
    Dims grid_{}, block_{};
    std::array<Dims, 2> at_{};  ///< the block, the thread
    int64_t most_ = 1;          ///< steps of a loop that are walked
    std::vector<int64_t> ends_;
    UOpMap<size_t> place_;
    std::vector<size_t> partner_;  ///< of a range its end, of an end its range
    std::vector<bool> needed_;
    std::vector<std::vector<size_t>> feeds_;     ///< of a predicated store, the loads of find_feeds()
    std::vector<bool> waits_;                    ///< of such a load: until one of its stores runs
    std::vector<std::optional<size_t>> latest_;  ///< access of a load
    std::vector<std::optional<int64_t>> values_;
    std::unordered_map<int, std::vector<Access>> accesses_;
};

std::string told(const Access& a) {
    return fmt::format("the {} of thread {} of block {} {} {} barriers", a.stores ? "store" : "load", a.thread, a.block,
                       a.phase ? "in the finish after" : "after", a.epoch);
}

Result<void> check(const LinearProgram& program, const executable::InPlace& pair, const std::vector<Access>& input,
                   const std::vector<Access>& output) {
    const auto wrong = [&](const Access& read, const Access& store, const std::string& where) {
        return make_error(
            ErrorKind::Internal,
            "kernel {}: output {} may not be in the memory of input {}: {} and {} touch {}, in this order or not",
            program.name, pair.output, pair.input, told(store), told(read), where);
    };
    std::unordered_map<int64_t, std::vector<const Access*>> stores;  // by element
    for (const Access& store : output) {
        if (!store.stores) continue;
        if (!store.first && !input.empty()) return wrong(input[0], store, "an element that is not known");
        for (int64_t i = 0; store.first && i < store.lanes; ++i) stores[*store.first + i].push_back(&store);
    }
    for (const Access& access : input) {
        if (!access.used) continue;
        if (!access.first) {
            for (const Access& store : output)
                if (store.stores && !comes_before(access, store))
                    return wrong(access, store, "an element that is not known");
            continue;
        }
        for (int64_t i = 0; i < access.lanes; ++i) {
            const auto found = stores.find(*access.first + i);
            if (found == stores.end()) continue;
            for (const Access* store : found->second)
                if (!comes_before(access, *store))
                    return wrong(access, *store, fmt::format("element {}", found->first));
        }
    }
    return {};
}

}  // namespace

Result<void> verify_in_place(const LinearProgram& program, std::span<const executable::InPlace> pairs,
                             std::span<const uint64_t> slots) {
    if (pairs.empty()) return {};
    Walk walk(program, pairs, slots);
    const auto& accesses = walk.run();
    for (const executable::InPlace& pair : pairs)
        STRATA_TRY_VOID(check(program, pair, accesses.at(pair.input), accesses.at(pair.output)));
    return {};
}

}  // namespace strata::codegen
