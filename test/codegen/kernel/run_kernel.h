#pragma once
#include <algorithm>

#include "../../ops/evaluate.h"
#include "strata/codegen/kernel/kernel.h"
#include "strata/core/uop/reference.h"

namespace strata::test {

/// Elements of each param, by slot.
using Slots = std::vector<Array>;

/// The meaning of a kernel of loops and reductions, straight from its graph: every range counts up one by one, whatever
/// its axis. Throws std::runtime_error where an access leaves its memory or an element is written twice.
class KernelRun {
  public:
    KernelRun(const codegen::Kernel& kernel, Slots& slots)
        : order_(toposort(kernel.sink)), slots_(slots), written_(slots[0].numel()) {
        values_.resize(order_.size());
        known_.assign(order_.size(), false);
        users_.resize(order_.size());
        UOpMap<std::vector<UOp>> open;
        for (size_t i = 0; i < order_.size(); ++i) {
            UOp u = order_[i];
            place_[u] = i;
            std::vector<UOp>& mine = open[u];
            if (u.is(Op::range)) mine.push_back(u);
            for (UOp s : u.src())
                for (UOp r : open[s])
                    if (std::find(mine.begin(), mine.end(), r) == mine.end()) mine.push_back(r);
            for (UOp r : mine)
                if (r != u) users_[place_.at(r)].push_back(i);
        }
        for (UOp effect : kernel.sink.src()) run(effect);
    }
    size_t written() const { return static_cast<size_t>(std::count(written_.begin(), written_.end(), true)); }

  private:
    void run(UOp effect) {
        if (effect.is(Op::store)) return store(effect);
        if (!effect.is(Op::end)) throw std::runtime_error("no effect of a plain kernel: " + to_string(effect));
        loop(effect.src().subspan(1), [&] { run(effect.src(0)); });
    }

    template <class Body>
    void loop(std::span<const UOp> ranges, const Body& body) {
        if (ranges.empty()) return body();
        size_t r = place_.at(ranges[0]);
        const bool in_loop = known_[r];  // of a row, which an end walks and reductions inside of it
        const ConstArg before = values_[r];
        for (int64_t i = 0; i < ranges[0].as<RangeArg>().size; ++i) {
            for (size_t user : users_[r]) known_[user] = false;
            values_[r] = {i, 0};
            known_[r] = true;
            loop(ranges.subspan(1), body);
        }
        known_[r] = in_loop;
        values_[r] = before;
        for (size_t user : users_[r]) known_[user] = false;
    }

    bool open(UOp index) { return index.src().size() < 3 || value(index.src(2)).i; }
    std::pair<Array*, size_t> element(UOp index) {
        Array& memory = slots_.at(static_cast<size_t>(index.src(0).as<ParamArg>().slot));
        int64_t at = value(index.src(1)).i;
        if (at < 0 || at >= static_cast<int64_t>(memory.numel()))
            throw std::runtime_error("element " + std::to_string(at) + " of " + std::to_string(memory.numel()));
        return {&memory, static_cast<size_t>(at)};
    }
    void store(UOp u) {
        if (!open(u.src(0))) return;
        auto [memory, at] = element(u.src(0));
        if (written_.at(at)) throw std::runtime_error("element " + std::to_string(at) + " is written twice");
        written_[at] = true;
        ConstArg v = value(u.src(1));
        if (memory->dtype.is_float())
            memory->f[at] = v.f;
        else
            memory->i[at] = v.i;
    }

    ConstArg value(UOp u) {
        size_t i = place_.at(u);
        if (known_[i]) return values_[i];
        ConstArg v = compute(u);
        known_[i] = true;
        return values_[i] = v;
    }

    ConstArg compute(UOp u) {
        if (u.is_const()) return u.as<ConstArg>();
        if (u.is(Op::range)) throw std::runtime_error("used outside of its loop: " + to_string(u));
        if (u.is(Op::load)) {
            if (!open(u.src(0))) return value(u.src(1));
            auto [memory, at] = element(u.src(0));
            return memory->dtype.is_float() ? ConstArg{0, memory->f[at]} : ConstArg{memory->i[at], 0};
        }
        if (u.is(Op::reduce)) return reduced(u);
        if (u.is(Op::scan)) return scanned(u);
        // Only the chosen side of a condition may be looked at: the other one may lie outside of memory.
        if (u.is(Op::where)) return value(u.src(value(u.src(0)).i ? 1 : 2));
        std::vector<ConstArg> sources;
        for (UOp s : u.src()) sources.push_back(value(s));
        auto result = reference(u.op(), u.dtype(), u.src().back().dtype(), sources);
        if (!result) throw std::runtime_error("no value: " + to_string(u));
        return *result;
    }

    ConstArg reduced(UOp u) {
        std::optional<ConstArg> total;
        loop(u.src().subspan(1), [&] {
            ConstArg both[] = {total.value_or(ConstArg{}), value(u.src(0))};
            total = total ? *reference(u.as<ReduceArg>().op, u.dtype(), u.dtype(), both) : both[1];
        });
        return *total;
    }

    /// The reduction of all steps up to this one.
    ConstArg scanned(UOp u) {
        const std::span<const UOp> along = u.src().subspan(1);
        const auto step = [&] {
            std::vector<int64_t> at;
            for (UOp r : along) at.push_back(value(r).i);
            return at;
        };
        const std::vector<int64_t> here = step();
        std::optional<ConstArg> total;
        loop(along, [&] {
            if (step() > here) return;
            ConstArg both[] = {total.value_or(ConstArg{}), value(u.src(0))};
            total = total ? *reference(u.as<ReduceArg>().op, u.dtype(), u.dtype(), both) : both[1];
        });
        return *total;
    }

    std::vector<UOp> order_;
    Slots& slots_;
    UOpMap<size_t> place_;
    std::vector<ConstArg> values_;
    std::vector<bool> known_, written_;
    std::vector<std::vector<size_t>> users_;  // of a range: what is computed from it
};

}  // namespace strata::test
