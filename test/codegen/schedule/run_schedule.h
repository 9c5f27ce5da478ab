#pragma once
#include <gtest/gtest.h>

#include <set>
#include <unordered_set>

#include "../kernel/tensors.h"
#include "strata/codegen/cost/cost_model.h"
#include "strata/codegen/schedule/schedule.h"

namespace strata::codegen {

/// Costs of kernels on HostStorage's chip.
inline const CostModel& costs() {
    static const CostModel model{Chip(isa::Arch::gfx1100)};
    return model;
}

/// Memory on the host: new buffers are numbered from 1,000,000, and nodes may be declared to be in memory.
class HostStorage : public Storage {
  public:
    UOp new_buffer(DType dtype, int64_t size) override {
        return make(Op::buffer, dtype, {}, BufferArg{next_++, size, 0});
    }
    UOp find(UOp node) override {
        auto known = held.find(node);
        return known == held.end() ? UOp() : known->second;
    }
    std::vector<bool> written(UOp custom) override { return writes(custom); }
    bool is_alone(UOp view) override { return alone.contains(view); }
    UOpMap<UOp> held;
    std::vector<bool> (*writes)(UOp custom) = [](UOp custom) { return std::vector<bool>(custom.src().size()); };
    std::unordered_set<UOp, UOpHash> alone;  ///< views that nobody else sees

  private:
    uint64_t next_ = 1'000'000;
};

inline Schedule scheduled(std::vector<UOp> roots, HostStorage& storage) { return make_schedule(roots, storage); }
inline Schedule scheduled(std::vector<UOp> roots) {
    HostStorage storage;
    return make_schedule(roots, storage);
}

inline uint64_t buffer_id(UOp buffer) { return buffer.as<BufferArg>().id; }

/// Computations one after the other: an item, and the one that its last block finishes.
inline std::vector<ScheduleItem> stages(const Schedule& schedule) {
    std::vector<ScheduleItem> out;
    for (const ScheduleItem& item : schedule.items) {
        out.push_back(item.without_finish());
        out.insert(out.end(), item.finish.begin(), item.finish.end());
    }
    return out;
}

/// Of the contents, what a schedule reads.
inline test::Memory contents_for(const Schedule& schedule) {
    std::vector<UOp> read = schedule.roots;
    for (const ScheduleItem& item : stages(schedule))
        for (UOp body : item.bodies()) read.push_back(body);
    test::Memory memory;
    for (UOp u : in_order(read))
        if (u.is(Op::buffer) && test::contents().contains(buffer_id(u)))
            memory.emplace(buffer_id(u), test::contents().at(buffer_id(u)));
    return memory;
}

/// Computes the stages in order, each from what is in memory by then, and gives the value of each root.
inline std::vector<test::Array> run(const Schedule& schedule) {
    test::Memory memory = contents_for(schedule);
    for (const ScheduleItem& item : stages(schedule)) {
        const std::vector<UOp> outputs = item.outputs(), bodies = item.bodies();
        std::vector<test::Array> values;
        for (UOp body : bodies) values.push_back(test::evaluate(body, memory));
        for (size_t i = 0; i < outputs.size(); ++i) {
            EXPECT_FALSE(memory.contains(buffer_id(outputs[i]))) << "stored twice: " << to_string(outputs[i]);
            memory[buffer_id(outputs[i])] = values[i];
        }
    }
    for (UOp root : schedule.roots)  // a value without elements has a buffer, but nothing computes it
        for (UOp u : toposort(root))
            if (u.is(Op::buffer) && u.numel() == 0) memory.try_emplace(buffer_id(u), u.dtype(), u.shape());
    std::vector<test::Array> out;
    for (UOp root : schedule.roots) out.push_back(test::evaluate(root, memory));
    return out;
}

/// Shapes and axes of the reductions in the bodies of one kernel: one entry is one loop nest.
inline std::set<std::pair<Shape, std::vector<int>>> loops(const ScheduleItem& item) {
    std::set<std::pair<Shape, std::vector<int>>> out;
    for (UOp u : in_order(item.bodies()))
        if (u.is(Op::reduce) || u.is(Op::scan)) out.emplace(u.src(0).shape(), u.as<ReduceArg>().axes);
    return out;
}

inline void expect_same_values(const std::vector<UOp>& roots, const Schedule& schedule) {
    std::vector<test::Array> got = run(schedule);
    ASSERT_EQ(got.size(), roots.size());
    for (size_t i = 0; i < roots.size(); ++i) {
        EXPECT_EQ(got[i].shape, roots[i].shape());
        EXPECT_EQ(test::difference(got[i], test::evaluate(roots[i], test::contents())), "") << tree(roots[i]);
    }
    for (const ScheduleItem& item : stages(schedule)) EXPECT_LE(loops(item).size(), 1u) << tree(item.body);
}

/// Schedules one root, checks its value, and tells how many kernels it takes, each stage one.
inline size_t kernels(UOp root) {
    Schedule schedule = scheduled({root});
    expect_same_values({root}, schedule);
    return stages(schedule).size();
}

/// Elements of each stored value, in order.
inline std::vector<int64_t> stored(UOp root) {
    Schedule schedule = scheduled({root});
    expect_same_values({root}, schedule);
    std::vector<int64_t> out;
    for (const ScheduleItem& item : stages(schedule)) out.push_back(item.output.numel());
    return out;
}

}  // namespace strata::codegen
