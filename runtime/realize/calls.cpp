// calls: the users' kernels of graphs that are realized.
#include "strata/runtime/realize/calls_p.h"

#include <algorithm>

#include "strata/core/uop/encode.h"
#include "strata/runtime/context_p.h"

namespace strata::runtime {

Calls::Calls(Device& device, std::span<const UOp> nodes, std::span<const UOp> roots, const UOpMap<UOp>& in_memory) {
    for (UOp node : nodes) add(device, node);
    for (size_t call = 0; call < calls_.size(); ++call) look_at_memory(call);
    if (!calls_.empty()) find_held(roots, in_memory);
    for (size_t i = 0; i < calls_.size(); ++i) {
        const UOp node = planned_[i].node;
        const std::vector<bool> writes = written(node);
        for (size_t tensor : tensors(node)) append_bytes(form_, tensor);
        for (size_t s = 0; s < writes.size(); ++s)
            form_ += static_cast<char>('0' + writes[s] + 2 * is_alone(node.src(s)) + 4 * is_unset(node.src(s)) +
                                       8 * calls_[i].held[s]);
        form_ += '\n';
    }
}

UOp Calls::below_reshapes(UOp view) {
    while (view.is(Op::reshape)) view = view.src(0);
    return view;
}

void Calls::add(Device& device, UOp node) {
    const uint64_t id = node.as<CustomArg>().id;
    const auto known = std::ranges::find(planned_, id, [](const PlannedCall& call) { return call.id(); });
    const size_t kernel =
        known == planned_.end() ? kernels_.size() : calls_[static_cast<size_t>(known - planned_.begin())].kernel;
    if (kernel == kernels_.size()) {
        kernels_.emplace_back(device, *find_custom(id), node.src().size());
        users_.push_back(0);
    }
    ++users_[kernel];
    calls_.push_back({.kernel = kernel, .held = std::vector<bool>(node.src().size())});
    planned_.push_back({&kernels_[kernel], node});
}

/// Where the kernel may write to its sources where they are.
void Calls::look_at_memory(size_t call) {
    const UOp node = planned_[call].node;
    const std::vector<bool> writes = written(node);
    for (size_t s = 0; s < writes.size(); ++s) {
        const UOp buffer = below_reshapes(node.src(s));
        if (!writes[s] || !buffer.is(Op::buffer) || !runtime::is_alone(node.src(s), 0, 1)) continue;
        if (!find_buffer(buffer)->allocated()) {
            unset_.insert(buffer);
        } else if (!shares_kernel(call)) {
            alone_.insert(buffer);
            calls_[call].changes_input = true;
        }
    }
}

/// A node's results that others than these graphs hold stay in memory, so that it does not run again for them. All of
/// it does where nobody says what a kernel writes, or where it writes over what it was given.
void Calls::find_held(std::span<const UOp> roots, const UOpMap<UOp>& in_memory) {
    UOpMap<uint32_t> users;  // in these graphs
    UOpMap<std::vector<UOp>> picks;
    std::vector<UOp> stack(roots.begin(), roots.end());
    UOpSet seen;
    while (!stack.empty()) {
        const UOp u = stack.back();
        stack.pop_back();
        if (!seen.insert(u).second || in_memory.contains(u)) continue;
        if (u.is(Op::pick)) picks[u.src(0)].push_back(u);
        for (UOp s : u.src()) ++users[s], stack.push_back(s);
    }
    const UOpSet asked(roots.begin(), roots.end());
    const auto has_others = [&](UOp u) {
        return u.node()->roots() > 0 || u.node()->users.load(std::memory_order_relaxed) > users[u];
    };
    for (size_t i = 0; i < calls_.size(); ++i) {
        Call& call = calls_[i];
        const UOp node = planned_[i].node;
        if (shares_kernel(i)) continue;
        if (call.changes_input || !kernels_[call.kernel].tells_writes() || has_others(node))
            call.held.assign(call.held.size(), true);
        for (UOp pick : picks[node])
            if (asked.contains(pick) || has_others(pick))
                call.held[static_cast<size_t>(pick.as<IndexArg>().index)] = true;
    }
}

std::vector<size_t> Calls::sources() const {
    std::vector<size_t> out;
    for (const PlannedCall& call : planned_) out.push_back(call.node.src().size());
    return out;
}

size_t Calls::first_call_of(UOp custom) const {
    const uint64_t id = custom.as<CustomArg>().id;
    const auto first = std::ranges::find(planned_, id, [](const PlannedCall& call) { return call.id(); });
    STRATA_CHECK(first != planned_.end(), "kernel {} is none of the graph's", id);
    return static_cast<size_t>(first - planned_.begin());
}

/// A kernel that nobody describes, as of assembly, writes its output alone.
std::vector<bool> Calls::written(UOp custom) const {
    const KernelCall& kernel = kernels_[calls_[first_call_of(custom)].kernel];
    std::vector<bool> out;
    for (size_t i = 0; i < custom.src().size(); ++i) out.push_back(kernel.writes(i).value_or(i == 0));
    return out;
}

/// Those of the node as it was given: a schedule reads several that are one memory as one view.
std::vector<size_t> Calls::tensors(UOp custom) const {
    const size_t call = first_call_of(custom);
    const std::span<const UOp> given = shares_kernel(call) ? custom.src() : planned_[call].node.src();
    std::vector<size_t> out;
    for (UOp source : given) out.push_back(static_cast<size_t>(std::ranges::find(given, source) - given.begin()));
    return out;
}

bool Calls::is_dropped(UOp pick) const {
    const size_t call = first_call_of(pick.src(0)), source = static_cast<size_t>(pick.as<IndexArg>().index);
    return !shares_kernel(call) && written(pick.src(0))[source] && !calls_[call].held[source];
}

codegen::UserKernel Calls::kernel(UOp custom) const {
    const size_t call = first_call_of(custom);
    codegen::UserKernel user{.call = static_cast<uint32_t>(call)};
    for (size_t i = 0; i < custom.src().size(); ++i) user.kept.push_back(calls_[call].held[i] ? custom.src(i) : UOp());
    return user;
}

}  // namespace strata::runtime
