#include "strata/codegen/kernel/signature.h"

#include <unordered_map>

#include "strata/codegen/kernel/scalar_parameters.h"
#include "strata/core/uop/encode.h"

namespace strata::codegen {
namespace {

bool is_leaf(UOp u) { return u.is(Op::buffer) || u.is(Op::constant) || u.is(Op::iota); }

/// Goes through graphs once, sources before users; a node's position is the number of nodes before it.
class Walk {
  public:
    Walk(const InMemory* in_memory, bool abstracts_numbers)
        : in_memory_(in_memory), abstracts_numbers_(abstracts_numbers) {}

    void add(UOp root) {
        stack_.push_back({root, {}, 0});
        while (!stack_.empty()) step();
        const uint32_t at = positions_.at(root);
        roots_.push_back(at);
        if (constant_below_[at] >= 0) fix(constant_below_[at]);
    }

    Signature finish() && {
        for (uint32_t at : roots_) write(at);
        for (const Number& number : numbers_) {
            out_.form += static_cast<char>(number.fixed);
            if (number.fixed)
                append_bytes(out_.form, number.constant.arg());
            else
                out_.numbers.push_back(number.constant);
        }
        write(static_cast<uint32_t>(constant_below_.size()));
        write(static_cast<uint32_t>(roots_.size()));
        return std::move(out_);
    }

  private:
    struct Frame {
        UOp asked, shown;  ///< the node, and what is in its place: a view of memory
        size_t next;
    };
    struct Number {
        UOp constant;
        bool fixed;
    };

    void step() {
        Frame& top = stack_.back();
        if (!top.shown) {
            if (positions_.contains(top.asked)) return stack_.pop_back();
            UOp view = in_memory_ && !is_leaf(top.asked) ? (*in_memory_)(top.asked) : UOp();
            top.shown = view ? view : top.asked;
        }
        if (top.next < top.shown.src().size()) {
            UOp source = top.shown.src()[top.next++];
            if (!positions_.contains(source)) stack_.push_back({source, {}, 0});
            return;
        }
        const Frame done = top;
        stack_.pop_back();
        auto known = positions_.find(done.shown);
        const uint32_t at = known != positions_.end() ? known->second : position_of_new(done.shown);
        positions_[done.shown] = at;
        positions_[done.asked] = at;
    }

    uint32_t position_of_new(UOp u) {
        const auto at = static_cast<uint32_t>(constant_below_.size());
        std::string& form = out_.form;
        const char head[] = {static_cast<char>(u.op()), static_cast<char>(u.dtype().scalar),
                             static_cast<char>(u.dtype().lanes)};
        form.append(head, sizeof head);
        int constant = -1;
        if (u.is(Op::buffer)) {
            append_bytes(form, static_cast<uint64_t>(u.as<BufferArg>().size));
            append_bytes(form, u.as<BufferArg>().device);
            out_.buffers.push_back(u);
        } else if (u.is(Op::constant)) {
            constant = static_cast<int>(numbers_.size());
            numbers_.push_back({u, !abstracts_numbers_ || !can_be_parameter(u.dtype())});
        } else {
            write(static_cast<uint32_t>(u.src().size()));
            for (UOp s : u.src()) write(positions_.at(s));
            u.is(Op::custom) ? write(number_of_call(u)) : append_bytes(form, u.arg());
            constant = follow_constants(u);
        }
        constant_below_.push_back(constant);
        return at;
    }

    /// The number of the first call of the same kernel with the same arguments but tensors.
    uint32_t number_of_call(UOp call) {
        const auto number = static_cast<uint32_t>(out_.calls.size());
        out_.calls.push_back(call);
        return calls_.try_emplace(call.as<CustomArg>().id, number).first->second;
    }

    /// The constant that a view shows; what is known of constants elsewhere has to stay known.
    int follow_constants(UOp u) {
        const bool view = info(u.op()).is(kMovement) && !u.is(Op::pad);
        for (size_t i = 0; i < u.src().size(); ++i) {
            const int constant = constant_below_[positions_.at(u.src(i))];
            if (constant < 0) continue;
            if (view) return constant;
            if (!no_faster_for_knowing(u.op(), i)) fix(constant);
        }
        return -1;
    }

    void fix(int constant) { numbers_[static_cast<size_t>(constant)].fixed = true; }
    void write(uint32_t value) { out_.form.append(reinterpret_cast<const char*>(&value), sizeof value); }

    const InMemory* in_memory_;
    bool abstracts_numbers_;
    Signature out_;
    std::vector<Frame> stack_;
    UOpMap<uint32_t> positions_;
    std::vector<int> constant_below_;  ///< by position: the number of the constant that it is or shows; -1: none
    std::vector<Number> numbers_;
    std::vector<uint32_t> roots_;
    std::unordered_map<uint64_t, uint32_t> calls_;  ///< by id: the first one's number
};

}  // namespace

Signature signature_of(std::span<const UOp> roots, const InMemory& in_memory) {
    Walk walk(&in_memory, true);
    for (UOp root : roots) walk.add(root);
    return std::move(walk).finish();
}

Signature signature_of_bodies(std::span<const UOp> bodies) {
    Walk walk(nullptr, false);
    for (UOp body : bodies) walk.add(body);
    Signature made = std::move(walk).finish();
    STRATA_CHECK(made.calls.empty(), "a user's kernel is no kernel of tensors: {}", to_string(made.calls[0]));
    return made;
}

}  // namespace strata::codegen
