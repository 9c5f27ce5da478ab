// A laid out executable: which memory each argument is, and manifests of it.
#include "strata/executable/sequence.h"

#include <gtest/gtest.h>

#include <random>

#include "strata/executable/manifest.h"
#include "strata/executable/memory.h"

namespace strata::executable {
namespace {

using Kind = SequenceArgument::Kind;

isa::Bytes object_of(const std::string& entry) {
    isa::KernelSpec spec;
    spec.name = entry;
    spec.code = {0xbfb00000};  // s_endpgm
    spec.kernarg_size = 40;
    return isa::write_code_object(isa::Arch::gfx1100, {&spec, 1}).value();
}

std::shared_ptr<const Code> code(std::vector<ParameterPlace> places) {
    Code made;
    made.object = std::make_shared<const isa::CodeObject>(isa::CodeObject::parse(object_of("k")).value());
    made.entry = "k", made.grid = {4, 1, 1}, made.block = {64, 1, 1}, made.places = std::move(places);
    return std::make_shared<const Code>(std::move(made));
}

/// in0, a constant -> work0 -> out0, and out1, which is in0.
Executable two_steps() {
    Executable exe{.arch = "gfx1100", .inputs = 2, .numbers = 1};
    exe.operands = {{dtypes::float32, 100, Role::input},
                    {dtypes::float32, 100, Role::input},
                    {dtypes::float32, 100},
                    {dtypes::float32, 100, Role::result}};
    exe.kernels = {{"k", code({{0, 0, 8}, {1, 8, 8}, {2, 16, 8}, {3, 24, 4, dtypes::float32}})},
                   {"k", code({{0, 0, 8}, {1, 8, 8}, {2, 16, 4, dtypes::int32}, {3, 24, 8, {}, true}})}};
    exe.steps = {{.kernel = 0, .operands = {2, 0, 1}, .numbers = {{0, 5}}},
                 {.kernel = 1, .operands = {3, 2}, .numbers = {{-1, 6}}}};
    exe.results = {3, 0};
    place_memory(exe);
    return exe;
}

Interface names() {
    return {.inputs = {{"x", dtypes::float32, {100}, {1}}},
            .outputs = {{"y", dtypes::float32, {10, 10}, {10, 1}}, {"z", dtypes::float32, {100}, {1}}},
            .numbers = {{"alpha", dtypes::float32}},
            .constants = {"constant0"}};
}

TEST(Sequence, EachArgumentIsTheMemoryOrTheNumberOfItsPlace) {
    const Sequence made = lay_out(two_steps(), names());
    ASSERT_EQ(made.steps.size(), 3u);
    EXPECT_EQ(made.inputs(), 1u);
    EXPECT_EQ(made.cleared, 4u);
    EXPECT_EQ(made.workspace, 256u + 512u);
    const std::vector<SequenceArgument> first{{Kind::workspace, 256, 0, 8, true},
                                              {Kind::operand, 0, 8, 8},
                                              {Kind::constant, 0, 16, 8},
                                              {Kind::number, 0, 24, 4}};
    EXPECT_EQ(made.steps[0].arguments, first);
    const std::vector<SequenceArgument> second{{Kind::operand, 1, 0, 8, true},
                                               {Kind::workspace, 256, 8, 8},
                                               {Kind::bits, 6, 16, 4},
                                               {Kind::workspace, 0, 24, 8, true}};
    EXPECT_EQ(made.steps[1].arguments, second);
    EXPECT_TRUE(made.steps[1].last_waits && !made.steps[0].last_waits);
    EXPECT_EQ(made.steps[1].argument_bytes(), 32u);
}

TEST(Sequence, AResultThatIsAnInputIsCopied) {
    const Sequence made = lay_out(two_steps(), names());
    EXPECT_TRUE(made.steps[2].is_copy());
    EXPECT_EQ(made.steps[2].bytes, 400u);
    const std::vector<SequenceArgument> copied{{Kind::operand, 2, 0, 8, true}, {Kind::operand, 0}};
    EXPECT_EQ(made.steps[2].arguments, copied);
}

TEST(Sequence, AUsersArgumentsAreThoseOfItsLaunch) {
    PackedSteps packed(2);
    packed[0] = {{Kind::bits, 99, 0, 4}, {Kind::operand, 2, 8, 8}, {Kind::operand, 0, 16, 8, true}};
    const std::vector<SequenceArgument> wanted{
        {Kind::bits, 99, 0, 4}, {Kind::constant, 0, 8, 8}, {Kind::workspace, 256, 16, 8, true}};
    EXPECT_EQ(lay_out(two_steps(), names(), packed).steps[0].arguments, wanted);
}

Json manifest_of(const Sequence& sequence) {
    Json::Object target = target_to_json(sequence, [](size_t) { return std::string("code/gfx1100.co"); });
    Json::Object out = interface_to_json(sequence);
    for (const char* member : {"steps", "workspace"}) {
        out[member] = Json::Object{{"gfx1100", target[member]}};
        target.erase(member);
    }
    out["targets"] = Json::Object{{"gfx1100", target}};
    return out;
}

Result<Sequence> read(const Json& manifest) {
    const isa::Bytes image = object_of("k");
    const std::string_view bytes(reinterpret_cast<const char*>(image.data()), image.size());
    return sequence_of(manifest, "gfx1100", [&](std::string_view name) {
        return name == "code/gfx1100.co" ? std::optional(bytes) : std::nullopt;
    });
}

TEST(Manifest, IsReadAsItWasWritten) {
    const Json manifest = manifest_of(lay_out(two_steps(), names()));
    const Sequence again = read(Json::parse(manifest.dump()).value()).value();
    EXPECT_EQ(manifest_of(again).dump(), manifest.dump());
    EXPECT_EQ(again.kernels.size(), 2u);
}

TEST(Manifest, SaysWhichMemberIsWrong) {
    const std::string right = manifest_of(lay_out(two_steps(), names())).dump();
    const auto with = [&](std::string_view before, std::string_view after) {
        std::string text = right;
        const size_t at = text.find(before);
        EXPECT_NE(at, text.npos) << before;
        text.replace(at, before.size(), after);
        const auto got = read(Json::parse(text).value());
        return got ? "nothing is wrong" : got.error().message;
    };
    EXPECT_EQ(with(R"("name":"x")", R"("name":"y")"), "outputs[0] has a name that is there already");
    EXPECT_EQ(with(R"("dtype":"float32","name":"x")", R"("dtype":"float31","name":"x")"),
              "inputs[0] has no dtype 'float31'");
    EXPECT_EQ(with(R"("strides":[10,1])", R"("strides":[9,1])"),
              "outputs[0] has strides that do not reach each element once");
    EXPECT_EQ(with(R"("operand":"x")", R"("operand":"q")"),
              "steps.gfx1100[0].arguments[1] names the operand 'q', which there is not");
    EXPECT_EQ(with(R"("workspace":256)", R"("workspace":99999)"),
              "steps.gfx1100[0].arguments[0] has no 'workspace' that is a number of at most 768");
    EXPECT_EQ(with(R"("kernel":1)", R"("kernel":2)"), "steps.gfx1100[1] names a kernel that there is not");
    EXPECT_EQ(with(R"("grid":[4,1,1])", R"("grid":[0,1,1])"), "steps.gfx1100[0] has a 'grid' that no launch has");
    EXPECT_EQ(with(R"("offset":24)", R"("offset":48)"), "steps.gfx1100[0] has arguments that its kernel does not take");
    EXPECT_EQ(with(R"("name":"k")", R"("name":"j")"),
              "targets.gfx1100.kernels[0] has no kernel 'j' in code/gfx1100.co");
    EXPECT_EQ(with("code/gfx1100.co", "code/x.co"),
              "targets.gfx1100.kernels[0] needs the file code/x.co, which is not there");
    EXPECT_EQ(with(R"("bytes":400,"copy")", R"("bytes":404,"copy")"), "steps.gfx1100[2] copies what does not fit");
    EXPECT_EQ(with(R"("offset":8,"operand":"x")", R"("offset":8,"operand":"x","written":true)"),
              "steps.gfx1100[0].arguments[1] would write an input or a constant");
    EXPECT_EQ(sequence_of(Json::parse(right).value(), "gfx942", {}).error().message, "workspace has no gfx942");
}

TEST(Manifest, DamagedOnesCanBeRunOrAreRefused) {
    const std::string right = manifest_of(lay_out(two_steps(), names())).dump();
    std::mt19937 random(5);
    size_t whole = 0;
    for (int i = 0; i < 5'000; ++i) {
        std::string damaged = right;
        for (unsigned k = random() % 2 + 1; k > 0; --k) {
            char& byte = damaged[random() % damaged.size()];
            byte =
                byte >= '0' && byte <= '9' ? static_cast<char>('0' + random() % 10) : static_cast<char>(random() % 128);
        }
        const auto json = Json::parse(damaged);
        if (!json) continue;
        const auto got = read(*json);
        if (!got) continue;
        ++whole;
        for (const SequenceStep& step : got->steps)
            for (const SequenceArgument& argument : step.arguments)
                EXPECT_TRUE(argument.kind != Kind::workspace || argument.value <= got->workspace);
    }
    EXPECT_GT(whole, 10u);
}

}  // namespace
}  // namespace strata::executable
