// Plans from C++: selected, checked and run over memory of an emulated device.
#include "strata/plan/select.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <thread>

#include "strata/plan/row.h"

namespace strata::plan {
namespace {

runtime::Device& device() { return runtime::device("emu:gfx1100"); }
const Preference kAsm{.target = "asm"};

/// Memory of the device with these floats.
struct Floats {
    explicit Floats(std::vector<float> values) : size(values.size()) {
        address = device().api().malloc(0, size * sizeof(float) + 64).value();
        std::memcpy(host(), values.data(), size * sizeof(float));
    }
    ~Floats() { (void)device().api().free(0, address); }
    Floats(const Floats&) = delete;
    float* host() const { return static_cast<float*>(device().api().host_view(0, address)); }
    TensorView view(const Operand& operand) const {
        return {address, size * sizeof(float), operand.dtype, operand.shape, operand.strides};
    }
    size_t size;
    uint64_t address;
};

std::vector<float> numbers(size_t count) {
    std::vector<float> out;
    for (size_t i = 0; i < count; ++i) out.push_back(static_cast<float>(static_cast<int>(i * 37 % 64) - 32) / 8);
    return out;
}

Descriptor swiglu(Shape shape, int64_t axis) {
    return {"swiglu", {{"x", {dtypes::float32, std::move(shape)}}}, {{"axis", std::vector<int64_t>{axis}}}};
}

double swiglu_of(double a, double b) { return a * b / (1 + std::exp(-b)); }

/// The status of the error that f throws, with its operand and amounts.
template <class F>
std::string error_of(F f) {
    try {
        f();
    } catch (const PlanError& e) {
        return fmt::format("{} {} {} {}", name(e.status()), e.operand(), e.needed(), e.got());
    }
    return "OK";
}

TEST(Plan, SwigluOfTheMiddleAxisComputesWhatTheFormulaSays) {
    const auto plan = select(device(), swiglu({2, 4, 8}, 1), kAsm);
    ASSERT_EQ(plan->operands().size(), 2u);
    EXPECT_EQ(plan->operands()[1].shape, (Shape{2, 2, 8}));
    EXPECT_EQ(plan->launches(), 1u);
    const Floats x(numbers(64)), y(std::vector<float>(32));
    const TensorView views[] = {x.view(plan->operands()[0]), y.view(plan->operands()[1])};
    plan->run(0, 0, views);
    for (size_t i = 0; i < 2; ++i)
        for (size_t j = 0; j < 16; ++j) {
            const double wanted = swiglu_of(x.host()[i * 32 + j], x.host()[i * 32 + 16 + j]);
            EXPECT_NEAR(y.host()[i * 16 + j], wanted, 4 * 0x1p-23 * std::max(1.0, std::fabs(wanted)));
        }
}

TEST(Plan, OneDescriptorGivesOnePlan) {
    EXPECT_EQ(select(device(), swiglu({2, 4, 8}, 1), kAsm), select(device(), swiglu({2, 4, 8}, 1), kAsm));
    EXPECT_NE(select(device(), swiglu({2, 4, 8}, 1), kAsm), select(device(), swiglu({2, 4, 8}, 2), kAsm));
}

TEST(Plan, SelectSaysTheFirstThatIsWrong) {
    const auto of = [](Descriptor d, Preference p = kAsm) { return error_of([&] { (void)select(device(), d, p); }); };
    Descriptor d = swiglu({2, 3, 8}, 1);
    EXPECT_EQ(of(d), "INVALID x 4 3");
    d = swiglu({2, 4, 8}, 3);
    EXPECT_EQ(of(d), "INVALID axis 3 3");
    EXPECT_EQ(of(swiglu({}, 0)), "INVALID x 1 0");
    d.operation = "swigul";
    EXPECT_EQ(of(d), "UNSUPPORTED  0 0");
    d = swiglu({2, 3, 8}, 1);
    d.tensors.emplace("z", Spec{dtypes::float32, {1}});
    EXPECT_EQ(of(d), "ARGUMENT z 0 0");
    d = swiglu({2, 3, 8}, 1);
    d.attributes["axis"] = "one";
    EXPECT_EQ(of(d), "ARGUMENT axis 0 0");
    d = swiglu({2, 4, 8}, 1);
    d.tensors["x"].dtype = dtypes::int32;
    EXPECT_EQ(of(d), "UNSUPPORTED x 0 0");
    d = swiglu({2, 4, 8}, 1);
    d.tensors.emplace("y", Spec{dtypes::float32, {2, 4, 8}});
    EXPECT_EQ(of(d), "INVALID y 32 64");
    d.tensors["y"] = {dtypes::float32, {2, 2, 8}, Shape{100, 8, 1}};
    EXPECT_EQ(of(d), "UNSUPPORTED y 0 0");
    EXPECT_EQ(of(swiglu({int64_t{1} << 40, int64_t{1} << 40}, 1)),
              "INVALID x 9223372036854775808 18446744073709551615");
    EXPECT_EQ(of(swiglu({1, 1, 1, 1, 1, 1, 1, 1, 2}, 8)), "UNSUPPORTED x 8 9");
    EXPECT_EQ(of(swiglu({2, 4, 8}, 1), {.target = "ptx"}), "UNSUPPORTED target 0 0");
}

TEST(Plan, ACheckSaysTheFirstThatIsWrongByStages) {
    const auto plan = select(device(), swiglu({2, 4, 8}, 1), kAsm);
    const Floats x(numbers(64)), y(std::vector<float>(32));
    TensorView views[] = {x.view(plan->operands()[0]), y.view(plan->operands()[1])};
    const TensorView right[] = {views[0], views[1]};
    const auto of = [&] { return error_of([&] { plan->check(views); }); };
    EXPECT_EQ(of(), "OK");
    views[0].data = right[1].data;
    EXPECT_EQ(of(), fmt::format("INVALID y {} {}", right[1].data, right[1].data));
    views[1].data += 4;
    EXPECT_EQ(of(), "MISALIGNED y 16 4");
    views[0].data = 0;
    EXPECT_EQ(of(), "ARGUMENT x 1 0");
    views[1].bytes = 127;
    EXPECT_EQ(of(), "BUFFER y 128 127");
    const Shape other{2, 4, 9};
    views[0].shape = other;
    EXPECT_EQ(of(), "INVALID x 8 9");
    EXPECT_EQ(error_of([&] { plan->check(std::span(views).first(1)); }), "ARGUMENT  2 1");
}

TEST(Plan, AnElementwiseOutputMayLieOverAnInput) {
    const auto plan = select(device(), {"add", {{"a", {dtypes::float32, {64}}}, {"b", {dtypes::float32, {64}}}}}, kAsm);
    const Floats a(numbers(64)), b(numbers(64));
    const TensorView views[] = {a.view(plan->operands()[0]), b.view(plan->operands()[1]), a.view(plan->operands()[2])};
    plan->run(0, 0, views);
    for (size_t i = 0; i < 64; ++i) EXPECT_EQ(a.host()[i], 2 * b.host()[i]);
}

TEST(Plan, InputsHaveAnyStrides) {
    const struct {
        Shape shape, strides;
        int64_t first;
    } cases[] = {{{8, 4}, {1, 8}, 0},   {{8, 3}, {4, 1}, 0}, {{4, 4}, {0, 2}, 0},       {{5, 3}, {1, 1}, 0},
                 {{4, 4}, {-8, 1}, 24}, {{3}, {-1}, 2},      {{2, 2, 3}, {10, 3, 2}, 0}};
    for (const auto& c : cases) {
        const auto plan = select(device(), {"neg", {{"x", {dtypes::float32, c.shape, c.strides}}}}, kAsm);
        const Floats x(numbers(64)), y(std::vector<float>(64));
        const TensorView views[] = {
            {x.address + 4 * static_cast<uint64_t>(c.first), 256, dtypes::float32, c.shape, c.strides},
            y.view(plan->operands()[1])};
        std::vector<float> wanted{0};
        std::vector<int64_t> places{c.first};
        for (size_t axis = 0; axis < c.shape.size(); ++axis) {
            std::vector<int64_t> next;
            for (int64_t place : places)
                for (int64_t i = 0; i < c.shape[axis]; ++i) next.push_back(place + i * c.strides[axis]);
            places = next;
        }
        plan->run(0, 0, views);
        for (size_t i = 0; i < places.size(); ++i)
            EXPECT_EQ(y.host()[i], -x.host()[places[i]]) << to_string(c.shape) << to_string(c.strides) << i;
    }
}

TEST(Plan, AnOutputHasTheStridesThatWereAskedFor) {
    const Descriptor d{"neg", {{"x", {dtypes::float32, {4, 6}}}, {"y", {dtypes::float32, {4, 6}, Shape{1, 4}}}}};
    const auto plan = select(device(), d, kAsm);
    const Floats x(numbers(24)), y(std::vector<float>(24));
    const TensorView views[] = {x.view(plan->operands()[0]), y.view(plan->operands()[1])};
    plan->run(0, 0, views);
    for (size_t i = 0; i < 4; ++i)
        for (size_t j = 0; j < 6; ++j) EXPECT_EQ(y.host()[j * 4 + i], -x.host()[i * 6 + j]);
}

TEST(Plan, OutputsWithoutElementsLaunchNothing) {
    const auto plan = select(device(), swiglu({0, 4}, 1), kAsm);
    EXPECT_EQ(plan->launches(), 0u);
    const TensorView views[] = {{0, 0, dtypes::float32, plan->operands()[0].shape, plan->operands()[0].strides},
                                {0, 0, dtypes::float32, plan->operands()[1].shape, plan->operands()[1].strides}};
    plan->run(0, 0, views);
}

TEST(Plan, ThreadsRunOnePlanAtOnce) {
    const auto plan = select(device(), swiglu({2, 4, 8}, 1), kAsm);
    std::vector<std::thread> threads;
    std::atomic<int> wrong = 0;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&, t] {
            const Floats x(std::vector<float>(64, static_cast<float>(t))), y(std::vector<float>(32));
            const TensorView views[] = {x.view(plan->operands()[0]), y.view(plan->operands()[1])};
            for (int i = 0; i < 8; ++i) plan->run(0, 0, views);
            wrong += std::fabs(y.host()[31] - swiglu_of(t, t)) > 1e-5;
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
}

TEST(Plan, EveryRowSaysWhatItTakes) {
    for (const Row& row : rows()) {
        EXPECT_EQ(find_operation(row.name).row, &row) << row.name;
        if (!row.function) continue;
        EXPECT_FALSE(row.outputs.empty()) << row.name;
        EXPECT_NE(row.types, 0u) << row.name;
    }
}

}  // namespace
}  // namespace strata::plan
