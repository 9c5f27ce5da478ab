#include "strata/codegen/driver/compile_kernel.h"

#include "../kernel/tensors.h"
#include "../linear/kernels.h"
#include "../target/gfx1100.h"
#include "fixtures.h"
#include "strata/codegen/schedule/named_storage.h"

namespace strata::codegen {
namespace {

using namespace test;

/// The first kernel that computes the root, by hand-written rules.
Scheduled scheduled(UOp root) {
    NamedStorage storage;
    std::vector<UOp> roots{root};
    return heuristic(start_kernel(make_schedule(roots, storage).items.at(0)).kernel, gfx1100);
}

TEST_F(CompileTest, AKernelIsCompiledWithWhatALaunchNeeds) {
    GraphScope scope;
    Scheduled started = scheduled(filled({64, 32}) + number(1));
    executable::Code compiled = compile_kernel(started, gfx1100).value();
    EXPECT_EQ(compiled.entry, "e_2048");
    EXPECT_EQ(compiled.object->arch, isa::Arch::gfx1100);
    EXPECT_EQ(compiled.schedule, to_string(started.actions));
    EXPECT_EQ(compiled.places, (std::vector<executable::ParameterPlace>{{0, 0, 8, {}}, {1, 8, 8, {}}}));
    EXPECT_EQ(compiled.block[0], static_cast<uint32_t>(block_size(started.kernel)));
    EXPECT_EQ(compiled.flops, 2048u);
    EXPECT_GT(compiled.info().vgprs, 0u);
    HipSource source = render_kernel(started.kernel, gfx1100).value();
    EXPECT_EQ(compiled.text, source.text);
    EXPECT_EQ(compiled.code_object(), compile_hip(source, isa::Arch::gfx1100)->code_object());
}

TEST_F(CompileTest, ManyKernelsAreCompiledInOrderAndFailAlone) {
    GraphScope scope;
    Scheduled good = scheduled(filled({64}) + number(1)), other = scheduled(sum(filled({8, 64}), {1}));
    UOp thread = range(0, 4096, Axis::local);
    Kernel wide = kernel("wide", end(store(at(param(0, 4096), thread), constant(dtypes::float32, 1)), {thread}));
    std::vector<Scheduled> kernels{good, {wide, {}}, other};
    auto compiled = compile_kernels(kernels, gfx1100);
    ASSERT_EQ(compiled.size(), 3u);
    ASSERT_FALSE(compiled[1]);
    EXPECT_NE(compiled[1].error().message.find("a block of 4096 threads"), std::string::npos);
    ASSERT_TRUE(compiled[0] && compiled[2]);
    EXPECT_EQ(compiled[0]->entry, good.kernel.name);
    EXPECT_EQ(compiled[2]->entry, other.kernel.name);
}

TEST_F(CompileTest, TheRouteOfATargetDecidesWhatMakesTheCode) {
    GraphScope scope;
    const Scheduled kernel = scheduled(filled({64}) + number(1));
    const Target gfx1100 = target_of(isa::Arch::gfx1100, Route::asm_);
    const executable::Code direct = compile_kernel(kernel, gfx1100, Text::yes).value();
    EXPECT_EQ(direct.route, "direct lowering");
    EXPECT_EQ(direct.text, "");
    EXPECT_NE(direct.assembly.find("global_store_b32"), std::string::npos) << direct.assembly;
    const executable::Code through_hip = compile_kernel(kernel, target_of(isa::Arch::gfx1100, Route::hip)).value();
    EXPECT_NE(through_hip.text.find("__global__"), std::string::npos);
    EXPECT_EQ(through_hip.assembly, "");
    EXPECT_EQ(compile_kernel(kernel, gfx1100).value().assembly, "");
    EXPECT_EQ(direct.entry, through_hip.entry);
    EXPECT_EQ(direct.places, through_hip.places);
}

TEST_F(CompileTest, AnEntryThatTheObjectDoesNotHaveIsALaunchError) {
    executable::Code compiled = compile_hip(scale_kernel(90), isa::Arch::gfx1100).value();
    compiled.entry = "product";
    try {
        (void)compiled.info();
        ADD_FAILURE() << "no error";
    } catch (const Exception& e) {
        EXPECT_EQ(e.kind(), ErrorKind::Launch);
        EXPECT_NE(std::string(e.what()).find("no kernel 'product'; it has: scale"), std::string::npos) << e.what();
    }
}

}  // namespace
}  // namespace strata::codegen
