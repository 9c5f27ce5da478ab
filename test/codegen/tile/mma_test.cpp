#include "strata/codegen/tile/mma.h"

#include <gtest/gtest.h>

#include "strata/codegen/tile/copy.h"
#include "strata/codegen/tile/trace.h"
#include "strata/core/layout/layout_error.h"

// Against the places of an atom's elements, counted tile by tile.

namespace strata::lang {
namespace {

using Operand = TiledMma::Operand;

constexpr const char* kArchs[] = {"gfx1100", "gfx1201", "gfx942", "gfx90a", "sm_90"};

codegen::Target target(const char* arch) { return codegen::target_of(codegen::Chip::parse(arch).value()); }

std::vector<MmaAtom> every_atom() {
    std::vector<MmaAtom> out;
    for (const char* arch : kArchs)
        for (const codegen::MatrixShape& s : target(arch).matrix)
            if (!s.by_warpgroups)
                out.push_back(mma_atom(target(arch), s.operand, s.accumulator, std::array{s.m, s.n, s.k}));
    return out;
}

const lo::Layout& tv_of(const MmaAtom& atom, Operand which) {
    return which == Operand::a ? atom.layout_A_tv : which == Operand::b ? atom.layout_B_tv : atom.layout_C_tv;
}

struct Sizes {
    int64_t first, second;
};
Sizes sizes_of(const std::array<int64_t, 3>& mnk, Operand which) {
    return {mnk[which == Operand::b ? 1 : 0], mnk[which == Operand::c ? 1 : 2]};
}
Sizes sizes_of(const MmaAtom& atom, Operand which) {
    return sizes_of(std::array<int64_t, 3>{atom.shape.m, atom.shape.n, atom.shape.k}, which);
}

TEST(TiledMma, GivesEachThreadTheElementsOfItsAtoms) {
    const lo::Layout waves = lo::layout_of("(2,3):(3,1)");  // along n first
    for (const MmaAtom& atom : every_atom()) {
        const TiledMma mma(atom, waves);
        EXPECT_EQ(mma.threads(), 6 * atom.lanes);
        for (const Operand which : {Operand::a, Operand::b, Operand::c}) {
            const Sizes tile = sizes_of(mma.tile_mnk(), which), one = sizes_of(atom, which);
            // Two tiles along each side, the first side fastest: an index is first + 2 * tile.first * second.
            const lo::Layout view(lo::IntTuple{2 * tile.first, 2 * tile.second});
            const lo::Layout mine = mma.by_threads(view, which);
            for (int64_t t = 0; t < mma.threads(); t += 7) {
                const int64_t lane = t % atom.lanes, wave = t / atom.lanes, wave_m = wave / 3, wave_n = wave % 3;
                const int64_t w[] = {which == Operand::b ? wave_n : wave_m, which == Operand::c ? wave_n : 0};
                for (int64_t v = 0; v < tv_of(atom, which).mode(1).size().value(); ++v)
                    for (int64_t rest = 0; rest < 4; ++rest) {
                        const int64_t place = tv_of(atom, which)({lane, v}).known();
                        const int64_t first = place % one.first + w[0] * one.first + rest % 2 * tile.first;
                        const int64_t second = place / one.first + w[1] * one.second + rest / 2 * tile.second;
                        const lo::IntTuple at{{lane, w[0], w[1]}, {v, rest % 2, rest / 2}};
                        ASSERT_EQ(mine(at).known(), first + 2 * tile.first * second) << atom.shape.mnemonic;
                    }
            }
        }
    }
}

TEST(TiledMma, HasLayoutsOfThreadsThatAreThoseOfPartitions) {
    for (const MmaAtom& atom : every_atom()) {
        const TiledMma mma(atom, lo::layout_of("(2,2):(2,1)"), {lo::Tile(lo::IntTuple(4 * atom.shape.m))});
        for (const Operand which : {Operand::a, Operand::b, Operand::c}) {
            const lo::Layout tv = mma.layout_tv(which);
            EXPECT_TRUE(tv.mode(0).size().is(mma.threads()));
            const Sizes tile = sizes_of(mma.tile_mnk(), which);
            const lo::Layout mine = mma.by_threads(lo::Layout(lo::IntTuple{tile.first, tile.second}), which);
            for (int64_t t = 0; t < mma.threads(); t += 5) {
                const int64_t lane = t % atom.lanes, wave = t / atom.lanes;
                const int64_t w[] = {which == Operand::b ? wave % 2 : wave / 2, which == Operand::c ? wave % 2 : 0};
                for (int64_t v = 0; v < tv.mode(1).size().value(); ++v)
                    ASSERT_EQ(tv({t, v}), mine({{lane, w[0], w[1]}, v})) << atom.shape.mnemonic << " " << to_string(tv);
            }
        }
    }
}

TEST(TiledMma, CoversATileOfSumsOnce) {
    for (const MmaAtom& atom : every_atom()) {
        const lo::Layout tv = TiledMma(atom, lo::layout_of("(2,2):(1,2)")).layout_tv(Operand::c);
        EXPECT_TRUE(lo::is_injective(tv)) << atom.shape.mnemonic << " " << to_string(tv);
        EXPECT_TRUE(lo::cosize(tv) == tv.size());
    }
}

TEST(TiledMma, RefusesWhatDoesNotFit) {
    const MmaAtom atom = mma_atom(target("gfx1100"), dtypes::float16);
    EXPECT_THROW(TiledMma(atom, lo::layout_of("(2,2):(1,1)")), lo::LayoutError) << "two waves of one number";
    EXPECT_THROW(TiledMma(atom, lo::layout_of("(2,2,2):(1,2,4)")), lo::LayoutError) << "parts of sums";
    EXPECT_THROW(TiledMma(atom, lo::layout_of("(2,2):(1,2)"), {lo::Tile(lo::IntTuple(48))}), lo::LayoutError);
    const TiledMma mma(atom, lo::layout_of("(2,2):(1,2)"));
    try {
        mma.by_threads(lo::Layout(lo::IntTuple{32, 40}), Operand::c);
        FAIL();
    } catch (const lo::LayoutError& error) {
        EXPECT_EQ(error.mode(), "1");
        EXPECT_NE(error.reason().find("40 elements are no multiple of the 32 of a tile"), std::string::npos)
            << error.what();
    }
}

TEST(MmaAtom, NamesTheRowsThatThereAre) {
    for (const char* arch : kArchs) try {
            mma_atom(target(arch), dtypes::uint64);
            FAIL();
        } catch (const Exception& error) {
            EXPECT_EQ(error.kind(), ErrorKind::Unsupported);
            EXPECT_NE(std::string(error.what()).find("int8 16x16x"), std::string::npos) << error.what();
        }
}

TEST(TiledCopy, CoversItsTileOrIsRefused) {
    const CopyAtom atom = copy_atom(target("gfx1100"), 64, dtypes::float16);
    const TiledCopy copy = TiledCopy::of_threads(atom, lo::layout_of("(8,4):(4,1)"), lo::layout_of("(1,4):(4,1)"));
    EXPECT_EQ(copy.threads(), 32);
    EXPECT_EQ(to_string(copy.tiler()), "[8,16]");
    std::vector<int> seen(128);
    for (int64_t i = 0; i < 128; ++i) ++seen[static_cast<size_t>(copy.layout_tv()(i).known())];
    for (int n : seen) EXPECT_EQ(n, 1);
    const auto make = [&](const char* tv, lo::IntTuple tiler) {
        return TiledCopy(atom, lo::layout_of(tv), lo::Tile(tiler));
    };
    make("(32,4):(1,32)", {8, 16});
    EXPECT_THROW(make("(32,4):(1,16)", {8, 16}), lo::LayoutError) << "some elements twice";
    EXPECT_THROW(make("(32,4):(1,32)", {16, 16}), lo::LayoutError) << "half of the tile";
    EXPECT_THROW(make("(64,2):(1,64)", {8, 16}), lo::LayoutError) << "fewer values than an access";
}

TEST(TiledCopy, OfAnOperandHasWhatTheProductsThreadsHave) {
    for (const MmaAtom& atom : every_atom()) {
        const TiledMma mma(atom, lo::layout_of("(2,2):(1,2)"));
        for (const Operand which : {Operand::a, Operand::b, Operand::c}) {
            const DType type = which == Operand::c ? atom.shape.accumulator : atom.shape.operand;
            const TiledCopy copy = TiledCopy::of_operand({"universal", type.bits(), type}, mma, which);
            EXPECT_EQ(copy.threads(), mma.threads());
        }
    }
}

TEST(CopyAtom, NamesTheWidthsThatThereAre) {
    for (const auto& [bits, kind] : {std::pair(96, "universal"), std::pair(256, "universal"), std::pair(32, "magic")})
        try {
            copy_atom(target("gfx942"), bits, dtypes::float32, kind);
            FAIL();
        } catch (const Exception& error) {
            EXPECT_EQ(error.kind(), ErrorKind::Unsupported);
            EXPECT_NE(std::string(error.what()).find("universal of 8, 16, 32, 64, 128 bits"), std::string::npos)
                << error.what();
        }
    EXPECT_THROW(copy_atom(target("gfx942"), 32, dtypes::float64), Exception);
}

}  // namespace
}  // namespace strata::lang
