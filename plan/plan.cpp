// plan: what a run is given is checked by stages, then launched.
#include "strata/plan/plan.h"

#include <algorithm>
#include <array>

namespace strata::plan {
namespace {

bool is_empty(const Operand& operand) { return operand.bytes == 0; }

std::string text_of(std::span<const int64_t> sizes) { return to_string(Shape(sizes.begin(), sizes.end())); }

void check_type(const Operand& wanted, const TensorView& given) {
    if (given.dtype != wanted.dtype)
        plan_error(Status::invalid, wanted.name,
                   {static_cast<uint64_t>(wanted.dtype.scalar), static_cast<uint64_t>(given.dtype.scalar)},
                   "[plan] '{}' is {}, and the plan is for {}", wanted.name, given.dtype.name(), wanted.dtype.name());
    if (given.shape.size() != wanted.shape.size())
        plan_error(Status::invalid, wanted.name, {wanted.shape.size(), given.shape.size()},
                   "[plan] '{}' has shape {}, and the plan is for {}", wanted.name, text_of(given.shape),
                   to_string(wanted.shape));
    for (size_t axis = 0; axis < wanted.shape.size(); ++axis)
        if (given.shape[axis] != wanted.shape[axis])
            plan_error(Status::invalid, wanted.name,
                       {static_cast<uint64_t>(wanted.shape[axis]), static_cast<uint64_t>(given.shape[axis])},
                       "[plan] '{}' has shape {}, and the plan is for {}", wanted.name, text_of(given.shape),
                       to_string(wanted.shape));
    if (is_empty(wanted)) return;
    for (size_t axis = 0; axis < wanted.strides.size(); ++axis)
        if (wanted.shape[axis] > 1 && given.strides[axis] != wanted.strides[axis])
            plan_error(Status::invalid, wanted.name,
                       {static_cast<uint64_t>(wanted.strides[axis]), static_cast<uint64_t>(given.strides[axis])},
                       "[plan] '{}' has strides {}, and the plan is for {}", wanted.name, text_of(given.strides),
                       to_string(wanted.strides));
}

/// Bytes of memory from the first on.
struct Range {
    uint64_t first, bytes;
    bool meets(const Range& other) const { return first < other.first + other.bytes && other.first < first + bytes; }
};
Range range_of(const Operand& operand, const TensorView& given) {
    return {given.data + static_cast<uint64_t>(operand.lowest), operand.bytes};
}

uint64_t alignment_of(uint64_t address) { return address & (~address + 1); }

}  // namespace

uint32_t Plan::launches() const {
    if (!parts_.loaded) return 0;
    return static_cast<uint32_t>(
        std::ranges::count_if(parts_.loaded->sequence().steps, [](const auto& step) { return !step.is_copy(); }));
}

void Plan::check(std::span<const TensorView> given) const {
    const std::vector<Operand>& wanted = parts_.operands;
    if (given.size() != wanted.size())
        plan_error(Status::argument, "", {wanted.size(), given.size()}, "[plan] {} operands were given, it has {}",
                   given.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) check_type(wanted[i], given[i]);
    for (size_t i = 0; i < wanted.size(); ++i)
        if (given[i].bytes < wanted[i].bytes)
            plan_error(Status::buffer, wanted[i].name, {wanted[i].bytes, given[i].bytes},
                       "[plan] '{}' has memory of {} bytes, and its elements reach {}", wanted[i].name, given[i].bytes,
                       wanted[i].bytes);
    for (size_t i = 0; i < wanted.size(); ++i)
        if (given[i].data == 0 && !is_empty(wanted[i]))
            plan_error(Status::argument, wanted[i].name, {1, 0}, "[plan] the address of '{}' is 0", wanted[i].name);
    for (size_t i = 0; i < wanted.size(); ++i) {
        const uint64_t first = range_of(wanted[i], given[i]).first;
        if (first % wanted[i].alignment != 0 && !is_empty(wanted[i]))
            plan_error(Status::misaligned, wanted[i].name, {wanted[i].alignment, alignment_of(first)},
                       "[plan] the memory of '{}' begins at {:#x}, which is no multiple of {}", wanted[i].name, first,
                       wanted[i].alignment);
    }
    check_overlap(given);
}

void Plan::check_overlap(std::span<const TensorView> given) const {
    for (size_t o = 0; o < given.size(); ++o) {
        if (!parts_.operands[o].output || is_empty(parts_.operands[o])) continue;
        const Range output = range_of(parts_.operands[o], given[o]);
        for (size_t i = 0; i < given.size(); ++i) {
            if (i == o || is_empty(parts_.operands[i]) || !output.meets(range_of(parts_.operands[i], given[i])))
                continue;
            const bool in_place =
                given[i].data == given[o].data && std::ranges::find(parts_.over, std::pair(o, i)) != parts_.over.end();
            if (!in_place)
                plan_error(Status::invalid, parts_.operands[o].name, {given[i].data, given[o].data},
                           "[plan] '{}' lies over '{}': give it memory of its own", parts_.operands[o].name,
                           parts_.operands[i].name);
        }
    }
}

void Plan::check_workspace(providers::DevicePtr address, uint64_t bytes) const {
    const uint64_t needed = workspace();
    if (needed == 0) return;
    if (bytes < needed || address == 0)
        plan_error(Status::workspace, "workspace", {needed, address == 0 ? 0 : bytes},
                   "[plan] the workspace has {} bytes, and a run needs {}", address == 0 ? 0 : bytes, needed);
    if (address % kWorkspaceAlignment != 0)
        plan_error(Status::workspace, "workspace", {kWorkspaceAlignment, alignment_of(address)},
                   "[plan] the workspace begins at {:#x}, which is no multiple of {}", address, kWorkspaceAlignment);
}

void Plan::launch(providers::DevicePtr workspace, std::span<const providers::DevicePtr> data) const {
    if (!parts_.loaded) return;
    std::array<providers::DevicePtr, 32> few{};
    std::vector<providers::DevicePtr> many;
    if (data.size() > few.size()) many.resize(data.size());
    const std::span<providers::DevicePtr> from = many.empty() ? std::span(few).first(data.size()) : std::span(many);
    for (size_t i = 0; i < data.size(); ++i) from[i] = data[i] + static_cast<uint64_t>(parts_.operands[i].lowest);
    try {
        parts_.loaded->run({from, workspace});
    } catch (const PlanError&) {
        throw;
    } catch (const Exception& e) {
        throw PlanError(e);
    }
}

void Plan::run(providers::DevicePtr workspace, uint64_t bytes, std::span<const TensorView> given) const {
    check(given);
    check_workspace(workspace, bytes);
    std::array<providers::DevicePtr, 32> few{};
    std::vector<providers::DevicePtr> many;
    if (given.size() > few.size()) many.resize(given.size());
    const std::span<providers::DevicePtr> data = many.empty() ? std::span(few).first(given.size()) : std::span(many);
    for (size_t i = 0; i < given.size(); ++i) data[i] = given[i].data;
    launch(workspace, data);
}

}  // namespace strata::plan
