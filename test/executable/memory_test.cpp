#include "strata/executable/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "strata/core/support/error.h"
#include "strata/executable/workspace.h"

namespace strata::executable {
namespace {

/// Steps that fill one operand each from some before, of few sizes, as graphs have them.
Executable random_steps(std::mt19937& random, size_t inputs, size_t steps) {
    Executable exe{.inputs = inputs};
    for (size_t i = 0; i < inputs; ++i)
        exe.operands.push_back({.dtype = dtypes::float32,
                                .elements = int64_t{4} << random() % 2,
                                .role = Role::input,
                                .donated = random() % 2 == 0});
    for (size_t s = 0; s < steps; ++s) {
        Step step{.kernel = 0, .operands = {static_cast<uint32_t>(exe.operands.size())}};
        for (size_t reads = random() % 3 + 1; reads > 0; --reads) {
            const size_t newest = exe.operands.size(), back = random() % std::min<size_t>(newest, 6);
            const auto from = static_cast<uint32_t>(newest - 1 - back);
            if (std::ranges::find(step.operands, from) == step.operands.end()) step.operands.push_back(from);
        }
        const int64_t elements = int64_t{4} << random() % 2;
        for (size_t slot = 1; slot < step.operands.size(); ++slot)
            if (exe.operands[step.operands[slot]].elements == elements && random() % 2)
                step.in_place.push_back({0, static_cast<int>(slot)});
        exe.operands.push_back({.dtype = dtypes::float32, .elements = elements});
        exe.steps.push_back(std::move(step));
    }
    for (size_t i = 0; i < 3; ++i) {
        const auto at = static_cast<uint32_t>(random() % exe.operands.size());
        exe.results.push_back(at);
        if (at >= inputs) exe.operands[at].role = Role::result;
    }
    return exe;
}

/// Where a step finds an operand: in the workspace by place, else by itself.
uint32_t memory_of(const Executable& exe, uint32_t at) {
    const uint32_t last = last_heir(exe, at);
    return exe.operands[last].place == kNone ? last : 1'000'000 + exe.operands[last].place;
}

/// True if each step finds what it reads, and each result is there at the end, where memory holds what was filled last.
bool runs(const Executable& exe) {
    std::map<uint32_t, uint32_t> held;
    for (uint32_t at = 0; at < exe.inputs; ++at) held[memory_of(exe, at)] = at;
    for (const Step& step : exe.steps) {
        for (size_t slot = 1; slot < step.operands.size(); ++slot)
            if (held.at(memory_of(exe, step.operands[slot])) != step.operands[slot]) return false;
        held[memory_of(exe, step.operands[0])] = step.operands[0];
        for (uint32_t place : step.freed) held[1'000'000 + place] = kNone;
    }
    return std::ranges::all_of(exe.results, [&](uint32_t at) { return held.at(memory_of(exe, at)) == at; });
}

template <class Visit>
void for_random(const Visit& visit) {
    std::mt19937 random(7);
    for (int round = 0; round < 300; ++round) {
        Executable exe = random_steps(random, 1 + random() % 3, 1 + random() % 20);
        visit(exe, random);
    }
}

TEST(ExecutableMemory, PlacesAndHeirsKeepWhatLaterStepsReadAndFitTheirBytes) {
    size_t shared = 0;
    for_random([&](Executable& exe, std::mt19937&) {
        place_memory(exe);
        EXPECT_TRUE(runs(exe));
        verify_memory(exe);
        std::map<uint32_t, uint64_t> bytes;  // of places
        for (uint32_t at = 0; at < exe.operands.size(); ++at) {
            const Operand& operand = exe.operands[at];
            if (operand.heir != kNone) EXPECT_EQ(exe.operands[operand.heir].bytes(), operand.bytes());
            if (operand.role != Role::workspace) EXPECT_EQ(operand.place, kNone);
            if (operand.place == kNone) continue;
            EXPECT_LT(operand.place, exe.places);
            EXPECT_EQ(bytes.try_emplace(operand.place, operand.bytes()).first->second, operand.bytes());
            ++shared;
        }
        shared -= bytes.size();
        size_t freed = 0;
        for (const Step& step : exe.steps) freed += step.freed.size();
        EXPECT_EQ(freed, exe.places) << "each place is freed once";
    });
    EXPECT_GT(shared, 100u);
}

TEST(ExecutableMemory, ResultsTakeTheMemoryOfDonatedInputsAndOfNoOthers) {
    size_t taken = 0;
    for_random([&](Executable& exe, std::mt19937&) {
        place_memory(exe);
        const std::vector<Lifetime> lives = lifetimes(exe);
        for (uint32_t at = 0; at < exe.inputs; ++at) {
            Operand& input = exe.operands[at];
            if (input.heir == kNone) continue;
            ++taken;
            EXPECT_TRUE(input.donated);
            EXPECT_NE(std::ranges::find(exe.results, input.heir), exe.results.end());
            EXPECT_EQ(std::ranges::find(exe.results, at), exe.results.end());
            EXPECT_EQ(lives[input.heir].bytes, 0u) << "the input's";
            input.donated = false;
            EXPECT_THROW(verify_memory(exe), Exception);
            input.donated = true;
        }
    });
    EXPECT_GT(taken, 10u);
}

TEST(ExecutableMemory, VerifyFindsAnInputThatIsOverwrittenBeforeItsLastRead) {
    size_t lost = 0;
    for_random([&](Executable& exe, std::mt19937& random) {
        place_memory(exe);
        Operand& input = exe.operands[random() % exe.inputs];
        const Step& step = exe.steps[random() % exe.steps.size()];
        if (input.heir != kNone || exe.operands[step.operands[0]].role != Role::result) return;
        input.donated = true, input.heir = step.operands[0];
        if (runs(exe)) return;
        ++lost;
        EXPECT_THROW(verify_memory(exe), Exception);
    });
    EXPECT_GT(lost, 10u);
}

TEST(ExecutableMemory, BytesAreThoseOfWhatLives) {
    for_random([](Executable& exe, std::mt19937&) {
        place_memory(exe);
        const std::vector<Lifetime> lives = lifetimes(exe);
        const std::vector<uint64_t> bytes = bytes_at(exe);
        ASSERT_EQ(bytes.size(), exe.steps.size());
        for (size_t s = 0; s < bytes.size(); ++s) {
            uint64_t alive = 0;
            for (const Lifetime& life : lives) {
                const size_t end = life.heir == kNone ? life.last + 1 : life.last;
                if (life.bytes && life.first <= s && s < end) alive += life.bytes;
            }
            EXPECT_EQ(bytes[s], alive);
        }
    });
}

TEST(ExecutableMemory, AWorkspaceKeepsPlacesApartThatAreInUseAtOnce) {
    uint64_t together = 0, apart = 0;
    for_random([&](Executable& exe, std::mt19937& random) {
        place_memory(exe);
        const uint64_t alignment = uint64_t{4} << random() % 4;
        const Workspace workspace = lay_out_workspace(exe, alignment);
        ASSERT_EQ(workspace.offsets.size(), exe.places);
        std::map<uint32_t, uint32_t> live;  // operands, by place
        for (const Step& step : exe.steps) {
            for (uint32_t at : step.operands) {
                const uint32_t place = exe.operands[last_heir(exe, at)].place;
                if (place != kNone) live[place] = at;
            }
            for (const auto& [place, at] : live) {
                const uint64_t start = workspace.offsets[place], end = start + exe.operands[at].bytes();
                EXPECT_EQ(start % alignment, 0u);
                EXPECT_LE(end, workspace.bytes);
                for (const auto& [other, unused] : live)
                    if (other != place)
                        EXPECT_TRUE(end <= workspace.offsets[other] || workspace.offsets[other] < start);
            }
            for (uint32_t place : step.freed) {
                apart += (exe.operands[live.at(place)].bytes() + alignment - 1) / alignment * alignment;
                live.erase(place);
            }
        }
        together += workspace.bytes;
    });
    EXPECT_LT(together, apart) << "some places lie where others were";
}

TEST(ExecutableMemory, VerifyFindsEveryPlaceThatLosesAValue) {
    size_t lost = 0;
    for_random([&](Executable& exe, std::mt19937& random) {
        place_memory(exe);
        if (exe.places < 2) return;
        std::vector<uint32_t> placed;
        for (uint32_t at = 0; at < exe.operands.size(); ++at)
            if (exe.operands[at].place != kNone) placed.push_back(at);
        Operand& moved = exe.operands[placed[random() % placed.size()]];
        moved.place = (moved.place + 1) % exe.places;
        if (runs(exe)) return;
        ++lost;
        EXPECT_THROW(verify_memory(exe), Exception);
    });
    EXPECT_GT(lost, 20u);
}

}  // namespace
}  // namespace strata::executable
