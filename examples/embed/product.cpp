// The same from C++17: strata.hpp closes what it opens, and throws what calls report.
#include <cstdio>
#include <strata/strata.hpp>

int main(int argc, char** argv) {
    const strata_api::Context context(argc > 1 ? argv[1] : "emu:gfx1100");
    const auto plan =
        context.select(context.describe("mul").tensor("a", STRATA_FLOAT32, {8, 16}).tensor("b", STRATA_FLOAT32, {16}));
    std::vector<strata_tensor> operands;
    for (const strata_operand& operand : plan.operands()) {
        operands.push_back(operand.like);
        operands.back().data = context.alloc(operand.like.bytes);
    }
    std::vector<float> a(8 * 16, 3), b(16, 5), y(8 * 16);
    context.upload(operands[0].data, a.data(), a.size() * sizeof(float));
    context.upload(operands[1].data, b.data(), b.size() * sizeof(float));
    plan.run(operands);
    context.download(y.data(), operands[2].data, y.size() * sizeof(float));
    std::printf("3 * 5 = %g\n", y[127]);
    try {
        context.select(context.describe("mul").tensor("a", STRATA_FLOAT32, {3}).tensor("b", STRATA_FLOAT32, {4}));
    } catch (const strata_api::Error& error) {
        std::printf("%s of '%s': needs %llu, got %llu\n", strata_status_name(error.status), error.operand.c_str(),
                    static_cast<unsigned long long>(error.needed), static_cast<unsigned long long>(error.got));
    }
    return y[127] == 15 ? 0 : 1;
}
