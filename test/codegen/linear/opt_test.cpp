#include "strata/codegen/linear/opt.h"

#include <gtest/gtest.h>

#include "../target/gfx1100.h"
#include "random_kernel.h"
#include "strata/codegen/linear/linear.h"
#include "strata/core/text/parse.h"

namespace strata::codegen {
namespace {

std::vector<std::string> all_names() {
    std::vector<std::string> names;
    for (const PassName& pass : linear_passes()) names.emplace_back(pass.name);
    return names;
}

TEST(Opt, AllPassesInOrderGiveWhatLinearizeOrders) {
    GraphScope scope;
    for (unsigned seed = 0; seed < 20; ++seed) {
        SCOPED_TRACE(seed);
        const Kernel kernel = RandomKernel(seed).make();
        const Result<UOp> after = run_passes(kernel.sink, all_names(), gfx1100);
        ASSERT_TRUE(after) << after.error().message;
        const LinearProgram program = linearize(kernel, gfx1100).value();
        EXPECT_EQ(order(Scopes(*after)).value(), program.ops);
    }
}

TEST(Opt, GraphsOfAnyStageAreReadFromTheirText) {
    GraphScope scope;
    for (unsigned seed = 0; seed < 20; ++seed) {
        SCOPED_TRACE(seed);
        const Kernel kernel = RandomKernel(seed).make();
        const UOp after = run_passes(kernel.sink, all_names(), gfx1100).value();
        for (const UOp sink : {kernel.sink, after}) {
            const Result<UOp> read = parse_tree(tree(sink));
            ASSERT_TRUE(read) << read.error().message << tree(sink);
            EXPECT_EQ(*read, sink);
        }
    }
}

TEST(Opt, APassThatIsNotThereListsThoseThatAre) {
    GraphScope scope;
    const Result<UOp> after = run_passes(RandomKernel(1).make().sink, std::vector<std::string>{"vectorise"}, gfx1100);
    ASSERT_FALSE(after);
    EXPECT_NE(after.error().message.find("there is no pass 'vectorise'; those there are: predicate_group_stores"),
              std::string::npos)
        << after.error().message;
    EXPECT_FALSE(run_passes(constant(dtypes::float32, 1), std::vector<std::string>{}, gfx1100));
}

}  // namespace
}  // namespace strata::codegen
