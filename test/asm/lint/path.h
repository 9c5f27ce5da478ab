#pragma once
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "strata/asm/lint/access.h"
#include "strata/asm/llvm/assemble.h"

// Assembly as the steps of a wave that runs it from the first line to the last.
namespace strata::lint::testing {

class Path {
  public:
    Path(isa::Arch arch, std::string_view text) {
        const auto words = isa::assemble_instructions(text, arch);
        EXPECT_TRUE(words) << text << "\n" << (words ? "" : words.error().message);
        if (!words) return;
        const int wave_size = isa::info(arch).wave_size;
        for (size_t at = 0; at < words->size();) {
            const auto inst = isa::decode(arch, std::span(*words).subspan(at), wave_size);
            EXPECT_TRUE(inst) << text;
            if (!inst) return;
            lines_.push_back({*inst, access_of(arch, *inst, wave_size)});
            steps_.push_back({at * 4, &lines_.back().first, &lines_.back().second});
            at += inst->size / 4u;
        }
    }
    const std::vector<Step>& steps() const { return steps_; }

  private:
    std::deque<std::pair<isa::Inst, Access>> lines_;
    std::vector<Step> steps_;
};

}  // namespace strata::lint::testing
