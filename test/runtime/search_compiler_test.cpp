// CandidateCompiler: what is compiled ahead, and that it is compiled once.
#include <thread>

#include "helpers.h"
#include "strata/codegen/driver/compile_kernel.h"
#include "strata/core/uop/kernel.h"
#include "strata/runtime/program.h"
#include "strata/runtime/search/search_compiler_p.h"

namespace strata::runtime {
namespace {

using namespace test;
using codegen::Scheduled;

class SearchCompiler : public Runtime {
  protected:
    SearchCompiler() {
        Settings s = settings();
        s.target = "asm";
        s.debug = 5;  // each pass says on stderr that it ran
        direct_.emplace(s);
        for (int i = 0; i < 4; ++i)
            candidates.push_back({as("k" + std::to_string(i), codegen::start_kernel(adding(i)).kernel), {}});
    }
    static codegen::ScheduleItem adding(int number_of) {
        const UOp body = filled({256}) + number(number_of);
        return {make(Op::buffer, body.dtype(), {}, BufferArg{1'000'000, body.numel(), 0}), body};
    }
    static codegen::Kernel as(std::string name, codegen::Kernel kernel) {
        kernel.name = std::move(name);
        return kernel;
    }
    static codegen::Target target() { return target_of(device()); }

    /// How often a candidate was compiled, by what the first pass printed.
    static std::vector<int> times_compiled(const std::string& printed) {
        std::vector<int> times(4);
        for (size_t i = 0; i < times.size(); ++i) {
            const std::string line = "k" + std::to_string(i) + ": predicate_group_stores";
            for (size_t at = printed.find(line); at != std::string::npos; at = printed.find(line, at + 1)) ++times[i];
        }
        return times;
    }
    /// The names of what each() gave, in its order.
    static std::vector<std::string> taken(CandidateCompiler& compiler, std::span<const Scheduled> candidates) {
        std::vector<std::string> names;
        compiler.each(candidates, [&](size_t i, Result<executable::Code> compiled, size_t) {
            EXPECT_EQ(i, names.size());
            names.push_back(compiled ? compiled->entry : compiled.error().message);
        });
        return names;
    }

    GraphScope scope_;
    std::vector<Scheduled> candidates;
    const std::vector<std::string> all{"k0", "k1", "k2", "k3"};

  private:
    std::optional<ScopedSettings> direct_;
};

TEST_F(SearchCompiler, WhatIsCompiledAheadIsNotCompiledAgain) {
    CandidateCompiler compiler(target());
    ::testing::internal::CaptureStderr();
    std::vector<std::string> names;
    std::atomic<bool> found{false};
    compiler.ahead(
        [&] {
            while (!found) std::this_thread::yield();  // some are compiled ahead, the rest is left to who asks
            names = taken(compiler, candidates);
        },
        [&] {
            found = true;
            return candidates;
        });
    EXPECT_EQ(times_compiled(::testing::internal::GetCapturedStderr()), std::vector<int>(4, 1));
    EXPECT_EQ(names, all);
}

TEST_F(SearchCompiler, OthersThanThoseOfBeforeAreCompiledToo) {
    CandidateCompiler compiler(target());
    std::vector<std::string> names;
    compiler.ahead([&] { names = taken(compiler, candidates); },
                   [&] { return std::vector(candidates.begin(), candidates.begin() + 2); });
    EXPECT_EQ(names, all);
    EXPECT_EQ(taken(compiler, candidates), all) << "once more";
}

TEST_F(SearchCompiler, OneThatDoesNotCompileSaysWhyAndTheOthersAreThere) {
    const UOp thread = uop::range(4096, 0, Axis::local);
    const UOp stored = uop::store(uop::at(uop::buffer(0, dtypes::float32, 4096), thread), 1);
    candidates[1] = {codegen::Kernel{uop::sink(uop::end(stored, {thread})), "wide"}, {}};
    CandidateCompiler compiler(target());
    std::vector<std::string> names;
    compiler.ahead([&] { names = taken(compiler, candidates); }, [&] { return candidates; });
    ASSERT_EQ(names.size(), 4u);
    EXPECT_NE(names[1].find("a block of 4096 threads"), std::string::npos) << names[1];
    EXPECT_EQ(names[3], "k3");
}

TEST_F(SearchCompiler, NothingIsBegunAheadWhenTheWorkIsDoneOrFailed) {
    CandidateCompiler compiler(target());
    ::testing::internal::CaptureStderr();
    EXPECT_THROW(compiler.ahead([] { throw std::runtime_error("no judge"); },
                                [&] {
                                    std::this_thread::sleep_for(std::chrono::milliseconds(50));
                                    return candidates;
                                }),
                 std::runtime_error);
    bool asked = false;
    compiler.ahead([] {}, [&] { return asked = true, candidates; });
    EXPECT_FALSE(asked);
    EXPECT_EQ(times_compiled(::testing::internal::GetCapturedStderr()), std::vector<int>(4, 0));
}

}  // namespace
}  // namespace strata::runtime
