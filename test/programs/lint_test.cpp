// clang's code of every program of this folder is free of findings, and is not when a wait is taken away.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "device_run.h"
#include "strata/asm/isa/inst.h"
#include "strata/asm/lint/lint.h"

namespace programs {
namespace {

using namespace strata;

std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const auto& file : std::filesystem::directory_iterator(STRATA_SOURCE_DIR "/test/programs"))
        if (const std::string name = file.path().stem(); file.path().extension() == ".cpp" && !name.ends_with("_test"))
            all.push_back(name);
    std::ranges::sort(all);
    return all;
}

const isa::Segment& text_of(const isa::CodeObject& object) { return *object.code_at(object.kernels[0].entry_address); }

/// The linter's findings in all kernels, as text.
std::string findings(const isa::CodeObject& object) {
    std::string all;
    for (const isa::KernelInfo& kernel : object.kernels) {
        const auto found = lint::lint(object, kernel.name);
        if (!found) return found.error().message;
        for (const lint::Finding& finding : *found) all += lint::to_text(finding, object, text_of(object));
    }
    return all;
}

/// Waits for counters in the kernels' code, each at its offset in the image. One right before a barrier orders memory
/// against other waves, which strict mode judges and the linter does not.
std::vector<size_t> waits_of(const isa::CodeObject& object) {
    std::vector<size_t> all;
    const std::span<const uint8_t> text = text_of(object).bytes;
    for (const isa::KernelInfo& kernel : object.kernels) {
        const auto symbol = std::ranges::find(object.symbols, kernel.entry_address, &isa::Symbol::address);
        if (symbol == object.symbols.end()) continue;
        size_t at = symbol->address - text_of(object).address;
        std::vector<size_t> last;
        for (const size_t end = at + symbol->size; at < end;) {
            std::array<uint32_t, 3> words{};
            memcpy(words.data(), text.data() + at, std::min(sizeof words, text.size() - at));
            const auto inst = isa::decode(object.arch, words, kernel.descriptor.wave_size(isa::info(object.arch)));
            if (!inst) break;
            const std::string_view name = inst->row->mnemonic;
            if (name.starts_with("s_wait") && name != "s_wait_alu" && name != "s_waitcnt_depctr") {
                last.push_back(static_cast<size_t>(text.data() - object.image.data()) + at);
            } else {
                if (!name.starts_with("s_barrier")) all.insert(all.end(), last.begin(), last.end());
                last.clear();
            }
            at += inst->size;
        }
    }
    return all;
}

class Lint : public ::testing::TestWithParam<Machine> {};

TEST_P(Lint, FindsNothingInWhatClangMakes) {
    size_t kernels = 0;
    for (const std::string& name : names())
        for (const char* level : {"-O0", "-O2"}) {
            const auto code = compile(name, GetParam(), level);
            ASSERT_TRUE(code) << name << ": " << code.error().message;
            const isa::CodeObject object = isa::CodeObject::parse(*code).value();
            kernels += object.kernels.size();
            EXPECT_EQ(findings(object), "") << name << " " << level;
        }
    EXPECT_GT(kernels, 150u);
}

/// Those that stay unseen order memory against other waves: a barrier does not follow at once.
TEST_P(Lint, FindsWaitsThatAreTakenAway) {
    constexpr uint32_t nop = 0xbf800000;  // of all families
    size_t waits = 0, found = 0;
    for (const std::string& name : names()) {
        const auto code = compile(name, GetParam(), "-O2");
        ASSERT_TRUE(code) << name << ": " << code.error().message;
        for (const size_t at : waits_of(isa::CodeObject::parse(*code).value())) {
            std::vector<uint8_t> changed = *code;
            memcpy(changed.data() + at, &nop, sizeof nop);
            ++waits;
            found += !findings(isa::CodeObject::parse(std::move(changed)).value()).empty();
        }
    }
    EXPECT_GT(waits, 1000u);
    EXPECT_GT(static_cast<double>(found), 0.975 * static_cast<double>(waits)) << found << " of " << waits;
}

INSTANTIATE_TEST_SUITE_P(Programs, Lint, ::testing::ValuesIn(machines().begin(), machines().end()),
                         [](const auto& machine) { return std::string(machine.param.name); });

}  // namespace
}  // namespace programs
