#include "strata/ops/tracing.h"

#include <algorithm>

#include "strata/core/uop/walk.h"
#include "strata/ops/leaf_p.h"
#include "strata/runtime/buffer.h"

namespace strata::ops {
namespace {

thread_local Tracing* tracing = nullptr;

}  // namespace

Tracing::Tracing(std::string function)
    : function_(std::move(function)), first_(runtime::Buffer::next_id()), leaves_(living_leaves()) {}

Tracing* Tracing::active() { return tracing; }

Tracing::Scope::Scope(Tracing& now) : previous_(tracing) { tracing = &now; }
Tracing::Scope::~Scope() { tracing = previous_; }

void Tracing::add_argument(const Tensor& stand_in, std::string name) {
    arguments_.push_back(
        {&stand_in, stand_in.numel() ? Root(below_views(stand_in.in_memory())) : Root(), std::move(name)});
}

void Tracing::add_outside(const Tensor& t, std::string name) { outside_.push_back({&t, Root(), std::move(name)}); }

const Tracing::Named* Tracing::argument_of(UOp buffer) const {
    const auto found = std::ranges::find_if(arguments_, [&](const Named& n) { return n.buffer.get() == buffer; });
    return found == arguments_.end() ? nullptr : &*found;
}

bool Tracing::is_older(const Tensor& t) const {
    if (t.is_complex() || !t.is_realized() || t.numel() == 0) return false;
    const UOp buffer = below_views(t.in_memory());
    return !argument_of(buffer) && runtime::find_buffer(buffer)->id() < first_;
}

std::string Tracing::argument_below(const Tensor& view) const {
    if (view.is_complex() || !view.is_realized() || view.numel() == 0) return "";
    const Named* argument = argument_of(below_views(view.in_memory()));
    return argument ? argument->name : "";
}

void Tracing::read(std::span<const UOp> nodes) const {
    for (UOp root : nodes)
        for (UOp u : toposort(root))
            if (const Named* argument = u.is(Op::buffer) ? argument_of(u) : nullptr)
                user_error(ErrorKind::Usage,
                           "[compile] {} reads the values of '{}' while it is compiled (.item(), .numpy(), realize(), "
                           "if, range, int, a mask as index): they come with each call. Give a Python number where a "
                           "value decides",
                           function_, argument->name);
}

void Tracing::assigned(const Tensor& t) const {
    const auto is_it = [&](const Named& n) { return n.object == &t; };
    if (const auto found = std::ranges::find_if(arguments_, is_it); found != arguments_.end())
        user_error(ErrorKind::Usage,
                   "[compile] {} changes its argument '{}': a compiled function leaves its arguments as they are. "
                   "Change a copy, such as {} + 0, and return it",
                   function_, found->name, found->name);
    const auto found = std::ranges::find_if(outside_, is_it);
    if (found == outside_.end() && !is_older(t)) return;
    user_error(ErrorKind::Usage,
               "[compile] {} changes {}, which was there before: a compiled function gives new tensors and changes "
               "none. Return the new value, and assign it after the call. Call eval() of a layer with running "
               "statistics first",
               function_,
               found == outside_.end() ? fmt::format("a tensor of shape {}", to_string(t.shape()))
                                       : fmt::format("'{}'", found->name));
}

void Tracing::leaves_gradient(const Leaf& leaf) const {
    if (std::ranges::find(leaves_, &leaf, &std::shared_ptr<Leaf>::get) == leaves_.end()) return;
    user_error(ErrorKind::Usage,
               "[compile] {} leaves a gradient in a tensor of shape {} by backward(): a compiled function gives new "
               "tensors and changes none. Return the gradient that strata.grad gives",
               function_, to_string(leaf.shape));
}

}  // namespace strata::ops
