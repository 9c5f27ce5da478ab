#include "helpers.h"

using namespace strata;
using namespace strata::test;

namespace {

const double inf = std::numeric_limits<double>::infinity();

/// Folds the elements of each result in row-major order.
template <class F>
std::vector<double> folded(const Array& a, std::vector<int> axes, double start, F f) {
    Shape to = a.shape;
    for (int axis : axes) to[static_cast<size_t>(axis)] = 1;
    int64_t n = 1;
    for (int64_t d : to) n *= d;
    std::vector<double> out(static_cast<size_t>(n), start);
    size_t k = 0;
    host::each_position(a.shape, [&](std::vector<int64_t> p) {
        for (int axis : axes) p[static_cast<size_t>(axis)] = 0;
        double& v = out[host::offset(to, p)];
        v = f(v, a.number(k++));
    });
    return out;
}

TEST(Reduce, SumsOverAnyAxes) {
    Array a = varied({2, 3, 5}, dtypes::float32);
    Tensor x = tensor(a);
    auto plus = [](double s, double v) { return s + v; };
    expect_values(x.sum(), {}, dtypes::float32, folded(a, {0, 1, 2}, 0, plus));
    expect_values(x.sum(1), {2, 5}, dtypes::float32, folded(a, {1}, 0, plus));
    expect_values(x.sum({-1, 0}), {3}, dtypes::float32, folded(a, {0, 2}, 0, plus));
    expect_values(x.sum({0, 2}, true), {1, 3, 1}, dtypes::float32, folded(a, {0, 2}, 0, plus));
    EXPECT_EQ(x.sum(std::vector<int>{}).uop(), x.uop());
    expect_error(ErrorKind::Shape, "[sum] axis 3", [&] { x.sum(3); });
    expect_error(ErrorKind::Usage, "[sum] axis 1 is named twice", [&] { x.sum({1, -2}); });
}

TEST(Reduce, SumsHaveTheArrayApisTypes) {
    struct Case {
        DType from, to;
    };
    for (Case c : {Case{dtypes::boolean, dtypes::int64},
                   {dtypes::int8, dtypes::int64},
                   {dtypes::int32, dtypes::int64},
                   {dtypes::uint8, dtypes::uint64},
                   {dtypes::uint64, dtypes::uint64},
                   {dtypes::float16, dtypes::float16},
                   {dtypes::bfloat16, dtypes::bfloat16},
                   {dtypes::float64, dtypes::float64}}) {
        Array a = varied({3, 7}, c.from);
        expect_values(tensor(a).sum(0), {7}, c.to, folded(a, {0}, 0, [](double s, double v) { return s + v; }),
                      std::ldexp(1, -7));
        EXPECT_EQ(tensor(a).prod(0).dtype(), c.to);
        EXPECT_EQ(tensor(a).cumsum(0).dtype(), c.to);
    }
    EXPECT_EQ(vec({1, 2}, dtypes::int32).sum({}, false, dtypes::int32).dtype(), dtypes::int32);
}

TEST(Reduce, HalfPrecisionAccumulatesInFloat32) {
    Tensor x = Tensor::ones({4096}, dtypes::float16);  // 2049 is not a float16
    bool wide = false;
    for (UOp u : toposort(x.sum().uop())) wide |= u.is(Op::reduce) && u.dtype() == dtypes::float32;
    EXPECT_TRUE(wide);
    expect_values(x.sum(), {}, dtypes::float16, {4096});
    expect_values(tensor({3}, dtypes::uint8, {200, 200, 200}).sum(), {}, dtypes::uint64, {600});
}

TEST(Reduce, ProductsMaximaMinima) {
    Array a = varied({3, 2, 4}, dtypes::int32);
    expect_values(tensor(a).prod(2), {3, 2}, dtypes::int64,
                  folded(a, {2}, 1, [](double s, double v) { return s * v; }));
    expect_values(tensor(a).max({0, 1}), {4}, dtypes::int32,
                  folded(a, {0, 1}, -1e9, [](double s, double v) { return std::max(s, v); }));
    expect_values(tensor(a).min(), {}, dtypes::int32,
                  folded(a, {0, 1, 2}, 1e9, [](double s, double v) { return std::min(s, v); }));
    expect_values(tensor({2, 3}, dtypes::float32, {1, NAN, 2, -inf, -inf, -inf}).max(1), {2}, dtypes::float32,
                  {NAN, -inf});
    expect_values(tensor({2, 3}, dtypes::float32, {1, NAN, 2, inf, inf, inf}).min(1), {2}, dtypes::float32, {NAN, inf});
    expect_values(vec({0, 1}, dtypes::boolean).max(), {}, dtypes::boolean, {1});
    expect_values(vec({200, 100}, dtypes::uint8).max(), {}, dtypes::uint8, {200});
}

TEST(Reduce, EmptyAxes) {
    Tensor e = tensor({2, 0, 3}, dtypes::float32, {0});
    expect_values(e.sum(1), {2, 3}, dtypes::float32, std::vector<double>(6, 0));
    expect_values(e.prod(), {}, dtypes::float32, {1});
    expect_values(e.sum(0), {0, 3}, dtypes::float32, {});
    expect_values(e.max(0), {0, 3}, dtypes::float32, {});
    expect_values(e.mean(1), {2, 3}, dtypes::float32, std::vector<double>(6, NAN));
    expect_values(e.any(), {}, dtypes::boolean, {0});
    expect_values(e.all(), {}, dtypes::boolean, {1});
    expect_error(ErrorKind::Shape, "[max] of no elements: shape (2, 0, 3)", [&] { e.max(1); });
    expect_error(ErrorKind::Shape, "[argmin] of no elements", [&] { e.argmin(1); });
    EXPECT_EQ(e.cumsum(1).shape(), (Shape{2, 0, 3}));
    EXPECT_EQ(e.softmax(0).shape(), (Shape{2, 0, 3}));
}

TEST(Reduce, MeansVariancesDeviations) {
    Array a = varied({4, 5}, dtypes::float32);
    std::vector<double> mean = folded(a, {0}, 0, [](double s, double v) { return s + v / 4; }), var(5), sample(5),
                        dev(5);
    for (size_t k = 0; k < 20; ++k) var[k % 5] += (a.f[k] - mean[k % 5]) * (a.f[k] - mean[k % 5]) / 4;
    for (size_t k = 0; k < 5; ++k) {
        sample[k] = var[k] * 4 / 3;
        dev[k] = std::sqrt(var[k]);
    }
    Tensor x = tensor(a);
    expect_values(x.mean(0), {5}, dtypes::float32, mean, 1e-6);
    expect_values(x.var(0), {5}, dtypes::float32, var, 1e-6);
    expect_values(x.var(0, 1, true), {1, 5}, dtypes::float32, sample, 1e-6);
    expect_values(x.std(0), {5}, dtypes::float32, dev, 1e-6);
    expect_values(vec({1, 2}, dtypes::int32).mean(), {}, dtypes::float32, {1.5});
    EXPECT_EQ(vec({1, 2}, dtypes::float16).var().dtype(), dtypes::float16);
    expect_values(vec({3}).var({}, 1), {}, dtypes::float32, {NAN});
}

TEST(Reduce, AnyAndAll) {
    Tensor x = tensor({2, 3}, dtypes::float32, {0, 0, 0, 1, NAN, 0});
    expect_values(x.any(1), {2}, dtypes::boolean, {0, 1});
    expect_values(x.all(0), {3}, dtypes::boolean, {0, 0, 0});
    expect_values(x.any(), {}, dtypes::boolean, {1});
    expect_values(x.index({Index::at(1), Index::slice(0, 2)}).all(), {}, dtypes::boolean, {1});
}

TEST(Reduce, ArgmaxFindsTheFirst) {
    Tensor x = tensor({2, 4}, dtypes::float32, {1, 3, 3, 2, 5, NAN, 7, NAN});
    expect_values(x.argmax(1), {2}, dtypes::int64, {1, 1});
    expect_values(x.argmin(1, true), {2, 1}, dtypes::int64, {0, 1});
    expect_values(x.argmax(0), {4}, dtypes::int64, {1, 1, 1, 1});
    expect_values(x.argmax(), {}, dtypes::int64, {5});
    expect_values(x.argmax({}, true), {1, 1}, dtypes::int64, {5});
    expect_values(vec({-inf, -inf}).argmax(), {}, dtypes::int64, {0});
    expect_values(vec({0, 1, 1}, dtypes::boolean).argmax(), {}, dtypes::int64, {1});
    expect_values(vec({4}, dtypes::int8).argmax(0), {}, dtypes::int64, {0});
    expect_error(ErrorKind::Shape, "[argmax] axis 2", [&] { x.argmax(2); });
}

TEST(Reduce, RunningSumsOfEveryLength) {
    for (int64_t n : {1, 2, 31, 32, 33, 64, 97, 1024, 1025, 2500}) {
        Array a = varied({n}, dtypes::int32);
        std::vector<double> wanted;
        double s = 0;
        for (int64_t v : a.i) wanted.push_back(s += static_cast<double>(v));
        SCOPED_TRACE(n);
        expect_values(tensor(a).cumsum(), {n}, dtypes::int64, wanted);
    }
    Array a = varied({3, 70, 2}, dtypes::float32);
    std::vector<double> wanted = a.f;
    for (size_t k = 2; k < wanted.size(); ++k)
        if (k % 140 >= 2) wanted[k] += wanted[k - 2];
    expect_values(tensor(a).cumsum(1), {3, 70, 2}, dtypes::float32, wanted, 1e-6);
    expect_values(vec({1, NAN, 2}).cumsum(0), {3}, dtypes::float32, {1, NAN, NAN});
    expect_values(vec({1, 2, 3, 4}, dtypes::int8).cumprod(), {4}, dtypes::int64, {1, 2, 6, 24});
    Array ones = array({70}, dtypes::int64, {1, 1, 1, 1, 1, 1, 1, 1, 1, 3});
    double p = 1;
    wanted.clear();
    for (int64_t v : ones.i) wanted.push_back(p *= static_cast<double>(v));
    expect_values(tensor(ones).cumprod(0), {70}, dtypes::int64, wanted);
    expect_error(ErrorKind::Usage, "[cumsum] shape (2, 2)", [] { tensor({2, 2}, dtypes::float32, {1}).cumsum(); });
}

TEST(Reduce, ARunningSumIsOneNodeHoweverLongItIs) {
    GraphScope scope;
    for (int64_t n : {2, 100, 1 << 16}) {
        const UOp u = tensor(varied({n}, dtypes::float32)).cumsum().uop();
        EXPECT_TRUE(u.is(Op::scan)) << n;
        EXPECT_EQ(u.shape(), Shape{n});
    }
    EXPECT_FALSE(tensor(varied({1}, dtypes::float32)).cumsum().uop().is(Op::scan)) << "of one element is that element";
}

TEST(Reduce, SoftmaxFamily) {
    Array a = varied({3, 5}, dtypes::float32);
    std::vector<double> soft, logs, lse;
    for (size_t r = 0; r < 3; ++r) {
        double total = 0;
        for (size_t c = 0; c < 5; ++c) total += std::exp(a.f[r * 5 + c]);
        lse.push_back(std::log(total));
        for (size_t c = 0; c < 5; ++c) {
            soft.push_back(std::exp(a.f[r * 5 + c]) / total);
            logs.push_back(a.f[r * 5 + c] - std::log(total));
        }
    }
    Tensor x = tensor(a);
    expect_values(x.softmax(), {3, 5}, dtypes::float32, soft, 1e-6);
    expect_values(x.log_softmax(1), {3, 5}, dtypes::float32, logs, 1e-6);
    expect_values(x.logsumexp(-1), {3}, dtypes::float32, lse, 1e-6);
    expect_values(x.T().softmax(0).T(), {3, 5}, dtypes::float32, soft, 1e-6);
    expect_values(vec({1000, 1000}).softmax(), {2}, dtypes::float32, {0.5, 0.5});
    expect_values(vec({-inf, 0}).log_softmax(), {2}, dtypes::float32, {-inf, 0});
    expect_values(vec({-inf, -inf}).logsumexp(), {}, dtypes::float32, {-inf});
    expect_values(vec({inf, 0}).logsumexp(), {}, dtypes::float32, {inf});
    expect_values(vec({1, 1}, dtypes::int32).softmax(), {2}, dtypes::float32, {0.5, 0.5});
    EXPECT_EQ(vec({1, 1}, dtypes::float16).softmax().dtype(), dtypes::float16);
    expect_error(ErrorKind::Shape, "[softmax] axis 0", [] { Tensor::ones({}).softmax(0); });
}

}  // namespace
