#include "../kernel.h"

namespace strata::emu::harness {
namespace {

constexpr const char* kSource = R"(
    typedef float f16v __attribute__((ext_vector_type(16)));
    typedef _Float16 h4 __attribute__((ext_vector_type(4)));
    template <class T> __device__ inline void chains(T* o, int n) {
        T x[8], b = o[0], c = o[1]; for (int k = 0; k < 8; ++k) x[k] = TX + k;
        for (int i = 0; i < n; ++i)
            #pragma unroll
            for (int r = 0; r < 16; ++r)
                #pragma unroll
                for (int k = 0; k < 8; ++k) x[k] = __builtin_elementwise_fma(x[k], b, c);
        T s = 0; for (int k = 0; k < 8; ++k) s += x[k];
        o[BX * NX + TX] = s;
    }
    KERNEL void singles(float* o, int n) { chains(o, n); }
    KERNEL void doubles(double* o, int n) { chains(o, n); }
    KERNEL void roots(float* o, int n) {
        float x[8]; for (int k = 0; k < 8; ++k) x[k] = TX + k;
        for (int i = 0; i < n; ++i)
            #pragma unroll
            for (int r = 0; r < 16; ++r)
                #pragma unroll
                for (int k = 0; k < 8; ++k) x[k] = __builtin_amdgcn_rsqf(x[k]);
        float s = 0; for (int k = 0; k < 8; ++k) s += x[k];
        o[BX * NX + TX] = s;
    }
    KERNEL void banks(float* o, uint stride) { __shared__ float t[8192]; float s = 0; for (uint k = 0; k < 64; ++k) { t[(TX * stride + k) & 8191] = s; s += t[(TX * stride + k * 3) & 8191]; } o[BX * NX + TX] = s; }
)";
constexpr const char* kMatrixSource = R"(
    KERNEL void halves(float* o, int n) {
        h4 a, b; for (int k = 0; k < 4; ++k) a[k] = TX, b[k] = k; f16v c = {};
        for (int i = 0; i < n; ++i) c = __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, c, 0, 0, 0);
        for (int k = 0; k < 16; ++k) o[BX * NX + TX] += c[k];
    }
    KERNEL void narrow(float* o, int n) {
        float a = TX, b = 2; f16v c = {};
        for (int i = 0; i < n; ++i) c = __builtin_amdgcn_mfma_f32_32x32x2f32(a, b, c, 0, 0, 0);
        for (int k = 0; k < 16; ++k) o[BX * NX + TX] += c[k];
    }
)";

// One operation an instruction: no packed pairs, no dual issue.
constexpr const char* kOptions = "-O3 -fno-slp-vectorize -mllvm -amdgpu-enable-vopd=0";

/// Rankings of kernels on one arch; a few waves of blocks of 256 fill its default model.
class Rank {
  public:
    explicit Rank(isa::Arch arch) : gpu_(arch), cdna_(isa::is_cdna(isa::info(arch).family)), out_(gpu_, 1024 * 256) {
        std::string source = kSource;
        if (cdna_) source += kMatrixSource;
        module_ = gpu_.load(compile_hip(source, kOptions, isa::info(arch).name)).value();
    }
    /// Cycles of twice the work beyond those of the work.
    double cycles(const char* kernel, int work) { return measure(kernel, 2 * work) - measure(kernel, work); }
    double measure(const char* kernel, int work) {
        Arguments arguments;
        arguments << out_ << work;
        const LaunchConfig shape = config({blocks(), 1, 1}, {256, 1, 1});
        return static_cast<double>(gpu_.launch(*module_, kernel, shape, arguments.bytes()).value().modelled_cycles);
    }

    uint32_t blocks() const { return cdna_ ? 912 : 192; }

  private:
    Gpu gpu_;
    bool cdna_;
    Buffer<double> out_;
    std::shared_ptr<Module> module_;
};

constexpr int kRounds = 4;  // of 128 multiply-adds

TEST(TimingOfFamilies, MatrixProductsBeatTheSameWorkInMultiplyAdds) {
    for (isa::Arch arch : {isa::Arch::gfx942, isa::Arch::gfx90a}) {
        Rank rank(arch);
        // 16384 operations: 128 multiply-adds of a wave, one product of halves, four of singles.
        const double scalar = rank.cycles("singles", kRounds), halves = rank.cycles("halves", kRounds),
                     singles = rank.cycles("narrow", 4 * kRounds);
        EXPECT_GT(scalar, 4 * halves) << isa::info(arch).name;
        EXPECT_GT(scalar, 1.3 * singles) << isa::info(arch).name;
        EXPECT_GT(singles, 2 * halves) << isa::info(arch).name;
    }
}

TEST(TimingOfFamilies, DoublePrecisionIsAtFullRateOnCdnaOnly) {
    for (isa::Arch arch : {isa::Arch::gfx942, isa::Arch::gfx90a}) {
        Rank rank(arch);
        EXPECT_NEAR(rank.cycles("doubles", kRounds) / rank.cycles("singles", kRounds), 1, 0.2) << isa::info(arch).name;
    }
    Rank rdna3(isa::Arch::gfx1100), rdna4(isa::Arch::gfx1201);
    const double three = rdna3.cycles("doubles", kRounds) / rdna3.cycles("singles", kRounds),
                 four = rdna4.cycles("doubles", kRounds) / rdna4.cycles("singles", kRounds);
    EXPECT_NEAR(three, 16, 4);
    EXPECT_NEAR(four, 32, 8);
}

TEST(TimingOfFamilies, TranscendentalsCostFourTimesAMultiplyAdd) {
    for (const isa::ArchInfo& arch : isa::first_archs()) {
        Rank rank(arch.arch);
        EXPECT_NEAR(rank.cycles("roots", kRounds) / rank.cycles("singles", kRounds), 4, 0.8) << arch.name;
    }
}

TEST(TimingOfFamilies, ConflictingBanksCostTimeOnEveryArch) {
    for (const isa::ArchInfo& arch : isa::first_archs()) {
        Rank rank(arch.arch);
        EXPECT_GT(rank.measure("banks", 32), 2 * rank.measure("banks", 1)) << arch.name;
    }
}

/// A compute unit of CDNA has four times 16 lanes of two operations a clock (CDNA3 ISA, 2).
TEST(TimingOfFamilies, MultiplyAddsComeNearThePublishedRate) {
    Rank rank(isa::Arch::gfx942);
    const double work = rank.blocks() * 256.0 * 128 * 2 * kRounds, rate = work / rank.cycles("singles", kRounds) / 304;
    EXPECT_LE(rate, 128);
    EXPECT_GT(rate, 80);
}

}  // namespace
}  // namespace strata::emu::harness
