#include "strata/executable/file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "strata/executable/memory.h"

namespace strata::executable {
namespace {

std::shared_ptr<const Code> code_named(const std::string& entry) {
    isa::KernelSpec spec;
    spec.name = entry;
    spec.code = {0xbfb00000};  // s_endpgm
    spec.kernarg_size = 24;
    Code code;
    code.object = std::make_shared<const isa::CodeObject>(
        isa::CodeObject::parse(isa::write_code_object(isa::Arch::gfx1100, {&spec, 1}).value()).value());
    code.entry = entry, code.text = "__global__", code.assembly = "s_endpgm", code.schedule = "local(0, 64)";
    code.grid = {7, 1, 1}, code.block = {64, 1, 1}, code.dynamic_lds = 512, code.flops = 99, code.route = "clang";
    code.places = {{0, 0, 8, {}}, {1, 8, 8, {}}, {2, 16, 4, dtypes::float32}, {3, 20, 4, {}, true}};
    code.buffers = {{"out0", dtypes::float32, 4}, {"in1", dtypes::float16, 4}};
    code.parameters = {{.kind = Parameter::Kind::pointer, .size = 8, .name = "p", .pointee = dtypes::int8}};
    return std::make_shared<const Code>(std::move(code));
}

Executable example() {
    Executable exe{.arch = "gfx1100", .inputs = 1, .numbers = 2};
    exe.operands = {{dtypes::float32, 4, Role::input}, {dtypes::float16, 4}, {dtypes::float16, 4}, {dtypes::int32, 4}};
    exe.operands[3].role = Role::result;
    exe.kernels = {{"e_4", code_named("e_4")}, {"users", nullptr}};
    exe.steps = {{.kernel = 0, .operands = {1, 0}, .numbers = {{1, 5}, {-1, 6}}},
                 {.operands = {2, 1}},
                 {.kernel = 1, .operands = {3, 2}, .in_place = {{0, 1}}}};
    exe.results = {3, 0};
    exe.names = {"in0", "work0", "", "out0"};
    exe.origins = {{"float32 (4,)"}, {"float16 (4,)", "a copy"}, {}, {}};
    exe.provenance = {{"float16 (4,)", {{"mul", 2}}, 16, 8, "it is asked for"}, {}, {}};
    exe.operands[0].donated = true;
    place_memory(exe);
    return exe;
}

/// Numbers stand at every eighth byte, but for texts.
template <class Visit>
void for_damaged(const std::string& bytes, const Visit& visit) {
    for (size_t length = 0; length < bytes.size(); ++length) visit(bytes.substr(0, length));
    std::mt19937 random(3);
    for (size_t at = 0; at + 8 <= bytes.size(); ++at)
        for (const uint64_t wrong : {uint64_t{0}, uint64_t{5}, uint64_t{1} << 40, ~uint64_t{0}, uint64_t{random()}}) {
            std::string damaged = bytes;
            std::memcpy(&damaged[at], &wrong, sizeof wrong);
            if (damaged != bytes) visit(damaged);
        }
}

TEST(ExecutableFile, EveryFieldIsReadAsItWasWritten) {
    const std::string bytes = to_bytes(example());
    const std::optional<Executable> read = of_bytes(bytes);
    ASSERT_TRUE(read);
    EXPECT_EQ(to_bytes(*read), bytes);
    EXPECT_EQ(read->kernels[0].code->info().kernarg_size, 24u);
    EXPECT_EQ(read->kernels[0].code->places, example().kernels[0].code->places);
    EXPECT_FALSE(read->kernels[1].code);
    EXPECT_FALSE(of_bytes(bytes + '\0'));
}

TEST(ExecutableFile, OfOtherBytesNothingIsReadThatCannotRun) {
    size_t read_anyway = 0;
    for_damaged(to_bytes(example()), [&](const std::string& damaged) {
        const std::optional<Executable> exe = of_bytes(damaged);
        if (!exe) return;
        ++read_anyway;  // a number that may be anything, or a byte of a text
        (void)lifetimes(*exe);
        (void)bytes_at(*exe);
        for (const Kernel& kernel : exe->kernels) {
            if (!kernel.code) continue;
            (void)kernel.code->info();
            for (const ParameterPlace& place : kernel.code->places)
                EXPECT_LE(place.offset + place.bytes, bytes_of(kernel.code->places));
        }
        for (const Step& step : exe->steps) {
            EXPECT_TRUE(std::ranges::all_of(step.operands, [&](uint32_t at) { return at < exe->operands.size(); }));
            EXPECT_TRUE(std::ranges::all_of(step.freed, [&](uint32_t place) { return place < exe->places; }));
            EXPECT_TRUE(step.kernel == kNone || step.kernel < exe->kernels.size());
        }
    });
    EXPECT_GT(read_anyway, 0u);
}

TEST(ExecutableFile, AnotherVersionIsNotRead) {
    std::string bytes = to_bytes(example());
    ++bytes[0];
    EXPECT_FALSE(of_bytes(bytes));
}

}  // namespace
}  // namespace strata::executable
