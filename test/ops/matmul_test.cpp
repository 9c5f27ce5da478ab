#include "helpers.h"
#include "strata/ops/nn.h"

using namespace strata;
using namespace strata::test;

namespace {

/// Plain loops over (batch..., n, k) x (batch..., k, m) with equal batches.
std::vector<double> product(const Array& a, const Array& b, int64_t batches, int64_t n, int64_t k, int64_t m) {
    std::vector<double> out;
    for (int64_t s = 0; s < batches; ++s)
        for (int64_t i = 0; i < n; ++i)
            for (int64_t j = 0; j < m; ++j) {
                double total = 0;
                for (int64_t l = 0; l < k; ++l)
                    total += a.number(static_cast<size_t>((s * n + i) * k + l)) *
                             b.number(static_cast<size_t>((s * k + l) * m + j));
                out.push_back(total);
            }
    return out;
}

TEST(Matmul, Matrices) {
    for (DType t : {dtypes::float32, dtypes::float64, dtypes::int32, dtypes::int64, dtypes::float16}) {
        Array a = varied({3, 7}, t, 1), b = varied({7, 5}, t, 2);
        expect_values(tensor(a).matmul(tensor(b)), {3, 5}, t, product(a, b, 1, 3, 7, 5),
                      t == dtypes::float16 ? 1e-3 : 1e-6);
    }
    Array a = varied({3, 4}, dtypes::int32, 1), b = varied({4, 2}, dtypes::float32, 2);
    expect_values(tensor(a).matmul(tensor(b)), {3, 2}, dtypes::float32, product(a, b, 1, 3, 4, 2), 1e-6);
}

TEST(Matmul, VectorsDropTheirAxis) {
    Array a = varied({4}, dtypes::float32, 1), b = varied({4}, dtypes::float32, 2),
          m = varied({4, 3}, dtypes::float32, 3), r = varied({3, 4}, dtypes::float32, 4);
    expect_values(tensor(a).matmul(tensor(b)), {}, dtypes::float32, product(a, b, 1, 1, 4, 1));
    expect_values(tensor(a).matmul(tensor(m)), {3}, dtypes::float32, product(a, m, 1, 1, 4, 3));
    expect_values(tensor(r).matmul(tensor(a)), {3}, dtypes::float32, product(r, a, 1, 3, 4, 1));
    expect_values(tensor(a).dot(Tensor::full({}, 2.0)), {4}, dtypes::float32,
                  {a.f[0] * 2, a.f[1] * 2, a.f[2] * 2, a.f[3] * 2});
}

TEST(Matmul, BatchesBroadcast) {
    Array a = varied({2, 1, 3, 4}, dtypes::float32, 1), b = varied({5, 4, 2}, dtypes::float32, 2);
    std::vector<double> wanted;
    for (int s = 0; s < 2; ++s)
        for (int t = 0; t < 5; ++t) {
            Array x(dtypes::float32, {3, 4}), y(dtypes::float32, {4, 2});
            std::copy_n(a.f.begin() + s * 12, 12, x.f.begin());
            std::copy_n(b.f.begin() + t * 8, 8, y.f.begin());
            for (double v : product(x, y, 1, 3, 4, 2)) wanted.push_back(v);
        }
    expect_values(tensor(a).matmul(tensor(b)), {2, 5, 3, 2}, dtypes::float32, wanted, 1e-6);
    EXPECT_EQ(Tensor::ones({5, 1, 2, 3}).matmul(Tensor::ones({3})).shape(), (Shape{5, 1, 2}));
}

TEST(Matmul, NarrowTypesAccumulateWide) {
    UOp u = tensor(varied({2, 3}, dtypes::float16)).matmul(tensor(varied({3, 2}, dtypes::float16))).uop();
    bool wide = false;
    for (UOp n : toposort(u)) wide |= n.is(Op::reduce) && n.dtype() == dtypes::float32;
    EXPECT_TRUE(wide);
    expect_values(tensor({1, 2}, dtypes::int8, {100, 100}).matmul(tensor({2, 1}, dtypes::int8, {2, 1})), {1, 1},
                  dtypes::int8, {300 - 256});
    expect_values(tensor({1, 2}, dtypes::boolean, {1, 0}).matmul(tensor({2, 1}, dtypes::boolean, {1, 1})), {1, 1},
                  dtypes::boolean, {1});
}

TEST(Matmul, EmptySides) {
    expect_values(Tensor::ones({2, 0}).matmul(Tensor::ones({0, 3})), {2, 3}, dtypes::float32,
                  std::vector<double>(6, 0));
    EXPECT_EQ(Tensor::ones({0, 4}).matmul(Tensor::ones({4, 3})).shape(), (Shape{0, 3}));
}

TEST(Matmul, MisfitsNameBothShapes) {
    expect_error(ErrorKind::Shape, "[matmul] shapes (2, 3) and (4, 5): inner dimensions 3 and 4 differ",
                 [] { Tensor::ones({2, 3}).matmul(Tensor::ones({4, 5})); });
    expect_error(ErrorKind::Shape, "[matmul] shapes () and (4,)", [] { Tensor::ones({}).matmul(Tensor::ones({4})); });
    expect_error(ErrorKind::Shape, "[matmul] shapes (2,) and (3,)",
                 [] { Tensor::ones({2, 4, 5}).matmul(Tensor::ones({3, 5, 4})); });
}

TEST(Nn, LinearLayer) {
    Array x = varied({2, 3}, dtypes::float32, 1), w = varied({4, 3}, dtypes::float32, 2),
          b = varied({4}, dtypes::float32, 3);
    std::vector<double> wanted;
    for (size_t i = 0; i < 2; ++i)
        for (size_t j = 0; j < 4; ++j) {
            double v = b.f[j];
            for (size_t k = 0; k < 3; ++k) v += x.f[i * 3 + k] * w.f[j * 3 + k];
            wanted.push_back(v);
        }
    expect_values(ops::linear(tensor(x), tensor(w), tensor(b)), {2, 4}, dtypes::float32, wanted, 1e-6);
    expect_error(ErrorKind::Shape, "[linear] shapes (2, 3) and (4, 5)",
                 [] { ops::linear(Tensor::ones({2, 3}), Tensor::ones({4, 5})); });
    expect_error(ErrorKind::Shape, "[linear] bias has shape (3,), it must be (4,)",
                 [] { ops::linear(Tensor::ones({2, 3}), Tensor::ones({4, 3}), Tensor::ones({3})); });
}

TEST(Nn, Normalisations) {
    Array x = varied({3, 5}, dtypes::float32, 1), w = varied({5}, dtypes::float32, 2),
          b = varied({5}, dtypes::float32, 3);
    std::vector<double> layer, rms;
    for (size_t r = 0; r < 3; ++r) {
        double mean = 0, var = 0, square = 0;
        for (size_t c = 0; c < 5; ++c) mean += x.f[r * 5 + c] / 5;
        for (size_t c = 0; c < 5; ++c) {
            var += (x.f[r * 5 + c] - mean) * (x.f[r * 5 + c] - mean) / 5;
            square += x.f[r * 5 + c] * x.f[r * 5 + c] / 5;
        }
        for (size_t c = 0; c < 5; ++c) {
            layer.push_back((x.f[r * 5 + c] - mean) / std::sqrt(var + 1e-5) * w.f[c] + b.f[c]);
            rms.push_back(x.f[r * 5 + c] / std::sqrt(square + 1e-6) * w.f[c]);
        }
    }
    expect_values(ops::layernorm(tensor(x), 1, tensor(w), tensor(b)), {3, 5}, dtypes::float32, layer, 1e-5);
    expect_values(ops::rmsnorm(tensor(x), tensor(w)), {3, 5}, dtypes::float32, rms, 1e-5);
    EXPECT_EQ(ops::layernorm(Tensor::ones({2, 3, 4}, dtypes::float16), 2).dtype(), dtypes::float16);
    expect_error(ErrorKind::Shape, "[layernorm] weight has shape (4,), it must be (3,)",
                 [] { ops::layernorm(Tensor::ones({2, 3}), 1, Tensor::ones({4})); });
    expect_error(ErrorKind::DType, "[rmsnorm] takes floats, not int32",
                 [] { ops::rmsnorm(Tensor::ones({2}, dtypes::int32)); });
}

TEST(Nn, Embedding) {
    Tensor weight = tensor({3, 2}, dtypes::float32, {0, 1, 10, 11, 20, 21});
    expect_values(ops::embedding(tensor({2, 2}, dtypes::int32, {2, 0, 1, 2}), weight), {2, 2, 2}, dtypes::float32,
                  {20, 21, 0, 1, 10, 11, 20, 21});
    expect_error(ErrorKind::DType, "[embedding] indices are float32",
                 [&] { ops::embedding(Tensor::ones({2}), weight); });
}

TEST(Nn, Attention) {
    constexpr int kHeads = 2, kN = 3, kM = 4, kD = 5;
    Array q = varied({kHeads, kN, kD}, dtypes::float32, 1), k = varied({kHeads, kM, kD}, dtypes::float32, 2),
          v = varied({kHeads, kM, kD}, dtypes::float32, 3);
    auto reference = [&](auto seen) {
        std::vector<double> out;
        for (int h = 0; h < kHeads; ++h)
            for (int i = 0; i < kN; ++i) {
                double p[kM], total = 0;
                for (int j = 0; j < kM; ++j) {
                    double s = 0;
                    for (int d = 0; d < kD; ++d) s += q.f[(h * kN + i) * kD + d] * k.f[(h * kM + j) * kD + d];
                    total += p[j] = seen(i, j) ? std::exp(s / std::sqrt(kD)) : 0;
                }
                for (int d = 0; d < kD; ++d) {
                    double s = 0;
                    for (int j = 0; j < kM; ++j) s += p[j] / total * v.f[(h * kM + j) * kD + d];
                    out.push_back(s);
                }
            }
        return out;
    };
    Tensor a = tensor(q), b = tensor(k), c = tensor(v);
    Shape shape{kHeads, kN, kD};
    expect_values(ops::scaled_dot_product_attention(a, b, c), shape, dtypes::float32,
                  reference([](int, int) { return true; }), 1e-5);
    expect_values(ops::scaled_dot_product_attention(a, b, c, {}, true), shape, dtypes::float32,
                  reference([](int i, int j) { return j <= i; }), 1e-5);
    Tensor mask = tensor({1, kM}, dtypes::boolean, {1, 0, 1, 1});
    expect_values(ops::scaled_dot_product_attention(a, b, c, mask), shape, dtypes::float32,
                  reference([](int, int j) { return j != 1; }), 1e-5);
    Tensor bias = tensor({1, kM}, dtypes::float32, {0, -std::numeric_limits<double>::infinity(), 0, 0});
    expect_values(ops::scaled_dot_product_attention(a, b, c, bias), shape, dtypes::float32,
                  reference([](int, int j) { return j != 1; }), 1e-5);
    expect_error(ErrorKind::Shape, "shapes (2, 3), (4, 5) and (4, 3)", [] {
        ops::scaled_dot_product_attention(Tensor::ones({2, 3}), Tensor::ones({4, 5}), Tensor::ones({4, 3}));
    });
}

TEST(Nn, CrossEntropy) {
    Array x = varied({3, 4}, dtypes::float32);
    const int target[3] = {1, 0, 3};
    double total = 0;
    std::vector<double> each;
    for (size_t r = 0; r < 3; ++r) {
        double sum = 0;
        for (size_t c = 0; c < 4; ++c) sum += std::exp(x.f[r * 4 + c]);
        each.push_back(std::log(sum) - x.f[r * 4 + static_cast<size_t>(target[r])]);
        total += each.back();
    }
    Tensor t = vec({1, 0, 3}, dtypes::int64);
    expect_values(ops::cross_entropy(tensor(x), t), {}, dtypes::float32, {total / 3}, 1e-6);
    expect_values(ops::cross_entropy(tensor(x), t, ops::Reduction::none), {3}, dtypes::float32, each, 1e-6);
    expect_values(ops::cross_entropy(tensor(x), t, ops::Reduction::sum), {}, dtypes::float32, {total}, 1e-6);
    expect_error(ErrorKind::Shape, "logits (3, 4) and target (3, 1): target needs shape (3,)",
                 [&] { ops::cross_entropy(tensor(x), t.unsqueeze(1)); });
}

}  // namespace
