#include "strata/ops/capture.h"

#include "device_values.h"
#include "strata/core/support/settings.h"
#include "strata/ops/gradients.h"

using namespace strata;
using namespace strata::test;

namespace {

using Floats = std::vector<float>;

/// A capture of what `f` does to these tensors, with what it gave then.
template <class F>
std::pair<std::unique_ptr<ops::Capture>, std::vector<Tensor>> captured(const std::vector<Tensor*>& inputs, F f) {
    auto capture = std::make_unique<ops::Capture>(inputs);
    std::vector<Tensor> results;
    const ops::Capture::Scope scope(*capture);
    results = f();
    std::vector<Tensor*> all;
    for (Tensor& t : results) all.push_back(&t);
    capture->finish(all);
    return {std::move(capture), std::move(results)};
}

std::vector<Tensor> again(ops::Capture& capture, const std::vector<Tensor*>& inputs) {
    EXPECT_EQ(capture.mismatch(inputs), std::nullopt);
    return capture.replay(inputs, capture.feed());
}

TEST(Capture, DoesTheSameToOtherValues) {
    Tensor x = on_device(Floats{1, 2, 3}), y = on_device(Floats{10, 20, 30});
    const auto [capture, first] = captured({&x, &y}, [&] { return std::vector{x * y, (x + y).sum()}; });
    EXPECT_EQ(computed<float>(first[0]), (Floats{10, 40, 90}));
    EXPECT_EQ(computed<float>(first[1]), Floats{66});
    Tensor a = on_device(Floats{-1, 0, 5}), b = on_device(Floats{2, 3, 4});
    const std::vector<Tensor> second = again(*capture, {&a, &b});
    EXPECT_EQ(computed<float>(second[0]), (Floats{-2, 0, 20}));
    EXPECT_EQ(computed<float>(second[1]), Floats{13});
    EXPECT_EQ(computed<float>(first[0]), (Floats{10, 40, 90})) << "what was given before stays";
}

TEST(Capture, EarlierResultsStayAsLongAsSomebodyHasThem) {
    Tensor x = on_device(Floats{1, 2});
    const auto [capture, first] = captured({&x}, [&] { return std::vector{x * 2}; });
    std::vector<Tensor> kept;
    for (float i = 0; i < 6; ++i) {
        Tensor t = on_device(Floats{i, -i});
        kept.push_back(again(*capture, {&t})[0]);
    }
    for (float i = 0; i < 6; ++i) EXPECT_EQ(computed<float>(kept[static_cast<size_t>(i)]), (Floats{2 * i, -2 * i}));
}

TEST(Capture, TakesMemoryAgainThatNobodyHas) {
    Tensor x = on_device(Floats{1, 2});
    const auto [capture, first] = captured({&x}, [&] { return std::vector{x * 2}; });
    for (int i = 0; i < 4; ++i) again(*capture, {&x});
    const size_t nodes = live_nodes();
    for (int i = 0; i < 100; ++i) EXPECT_EQ(computed<float>(again(*capture, {&x})[0]), (Floats{2, 4}));
    EXPECT_EQ(live_nodes(), nodes);
}

TEST(Capture, ChangesTensorsAsTheFunctionDid) {
    Tensor sum = on_device(Floats{0, 0}), x = on_device(Floats{1, 2});
    const auto [capture, first] = captured({&sum, &x}, [&] {
        sum.assign(sum + x);
        return std::vector<Tensor>{};
    });
    EXPECT_EQ(computed<float>(sum), (Floats{1, 2}));
    for (int i = 0; i < 3; ++i) again(*capture, {&sum, &x});
    EXPECT_EQ(computed<float>(sum), (Floats{4, 8}));
    EXPECT_EQ(computed<float>(x), (Floats{1, 2}));
}

TEST(Capture, LeavesGradientsAndAddsToThem) {
    Tensor w = on_device(Floats{1, 2}), x = on_device(Floats{3, 4});
    w.requires_grad_();
    const auto descend = [&](Tensor& w, const Tensor& x) {
        (w * w * x).sum().backward();
        return std::vector<Tensor>{};
    };
    const auto [first, none] = captured({&w, &x}, [&] { return descend(w, x); });
    EXPECT_EQ(computed<float>(w.grad()), (Floats{6, 16}));
    EXPECT_NE(first->mismatch({&w, &x}), std::nullopt) << "it has a gradient now";
    w.set_grad(Tensor());
    again(*first, {&w, &x});
    EXPECT_EQ(computed<float>(w.grad()), (Floats{6, 16}));
    const auto [more, nothing] = captured({&w, &x}, [&] { return descend(w, x); });
    again(*more, {&w, &x});
    EXPECT_EQ(computed<float>(w.grad()), (Floats{18, 48}));
}

TEST(Capture, GivesInputsAndViewsOfThemBack) {
    Tensor x = on_device(Floats{1, 2, 3, 4});
    const auto [capture, first] =
        captured({&x}, [&] { return std::vector{x, x.reshape({2, 2}).permute({1, 0}), Tensor::zeros({0})}; });
    Tensor y = on_device(Floats{5, 6, 7, 8});
    const std::vector<Tensor> results = again(*capture, {&y});
    EXPECT_EQ(computed<float>(results[0]), (Floats{5, 6, 7, 8}));
    EXPECT_EQ(computed<float>(results[1]), (Floats{5, 7, 6, 8}));
    EXPECT_EQ(results[2].shape(), Shape{0});
    EXPECT_EQ(capture->actions(), 0u);
}

TEST(Capture, IsOfShapesTypesSharingAndSettings) {
    Tensor x = on_device(Floats{1, 2}), y = on_device(Floats{3, 4});
    const auto [capture, first] = captured({&x, &y}, [&] { return std::vector{x + y}; });
    Tensor longer = on_device(Floats{1, 2, 3}), whole = on_device(std::vector<int32_t>{1, 2});
    EXPECT_EQ(capture->mismatch({&x, &y}), std::nullopt);
    EXPECT_EQ(*capture->mismatch({&x, &longer}), "a tensor is float32 (3,), not float32 (2,)");
    EXPECT_EQ(*capture->mismatch({&whole, &y}), "a tensor is int32 (2,), not float32 (2,)");
    Tensor lazy = x + 1;
    EXPECT_EQ(capture->mismatch({&lazy, &y}), std::nullopt) << "it is computed";
    EXPECT_TRUE(lazy.is_realized());
    Tensor leaf = on_device(Floats{1, 2});
    leaf.requires_grad_();
    EXPECT_EQ(*capture->mismatch({&leaf, &y}), "another tensor requires a gradient");
    Settings other = settings();
    other.beam += 1;
    const ScopedSettings scope(other);
    EXPECT_EQ(*capture->mismatch({&x, &y}), "other settings are in force");
}

TEST(Capture, TellsWhatTwoOfThemDoOtherwise) {
    Tensor x = on_device(Floats{1, 2});
    const auto by = [&](double factor) { return captured({&x}, [&] { return std::vector{x * factor}; }); };
    const auto twice = by(2), again_twice = by(2);
    EXPECT_EQ(twice.first->difference(*again_twice.first), std::nullopt);
    const auto two_steps = captured({&x}, [&] { return std::vector{(x * 2).contiguous().sum(), x * 2}; });
    EXPECT_NE(twice.first->difference(*two_steps.first), std::nullopt);
    const auto changes = captured({&x}, [&] {
        Tensor product = x * 2;
        x.assign(product);
        return std::vector{product};
    });
    EXPECT_NE(twice.first->difference(*changes.first), std::nullopt);
}

TEST(Capture, FillsWhatTheHostGivesAnew) {
    float next = 1;
    const auto feed = [&] {
        std::vector<uint8_t> bytes(sizeof(float));
        std::memcpy(bytes.data(), &next, sizeof next);
        next += 1;
        return bytes;
    };
    Tensor x = on_device(Floats{10});
    const auto [capture, first] =
        captured({&x}, [&] { return std::vector{x * ops::fed({1}, dtypes::float32, "emu:gfx1100", feed)}; });
    EXPECT_TRUE(capture->is_fed());
    EXPECT_EQ(computed<float>(first[0]), Floats{10});
    EXPECT_EQ(computed<float>(again(*capture, {&x})[0]), Floats{20});
    EXPECT_EQ(computed<float>(again(*capture, {&x})[0]), Floats{30});
}

TEST(Capture, RefusesWhatIsOutOfItsSight) {
    Tensor x = on_device(Floats{1, 2}), hidden = on_device(Floats{3, 4});
    expect_error(ErrorKind::Usage, "neither arguments nor variables",
                 [&] { captured({&x}, [&] { return std::vector{x + hidden}; }); });
    expect_error(ErrorKind::Usage, "pass it as an argument", [&] {
        captured({&x}, [&] {
            hidden.assign(x);
            return std::vector<Tensor>{};
        });
    });
    expect_error(ErrorKind::Usage, "strata.where", [&] {
        captured({&x}, [&] {
            computed<float>(x + 1);
            return std::vector<Tensor>{};
        });
    });
    EXPECT_EQ(ops::Capture::active(), nullptr) << "an error ends it";
}

}  // namespace
