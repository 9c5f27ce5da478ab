#include <bit>
#include <cmath>
#include <functional>

#include "dot_reference.h"
#include "harness.h"

// Vector operations that RDNA3 lacks, against the rules of the RDNA4 ISA document, and gfx1201's where they differ.
namespace strata::emu {
namespace {

using namespace valu_test;
using namespace reference;
using isa::Arch;

class ValuRdna4 : public testing::TestWithParam<int> {
  protected:
    void SetUp() override {
        if (!isa::llvm_available()) GTEST_SKIP() << "needs libLLVM 19 to assemble";
    }
    int lanes() const { return GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Waves, ValuRdna4, testing::Values(32, 64),
                         [](const auto& info) { return "wave" + std::to_string(info.param); });

/// A binary format as raw bits.
struct Raw {
    int width, digits;
    uint64_t sign() const { return uint64_t{1} << (width - 1); }
    uint64_t quiet() const { return uint64_t{1} << (digits - 1); }
    bool nan(uint64_t x) const { return (x & (sign() - 1)) > ((sign() - 1) >> digits) << digits; }
    __int128 order(uint64_t x) const {  // -0 below +0
        return x & sign() ? -static_cast<__int128>(x & (sign() - 1)) - 1 : static_cast<__int128>(x);
    }
};
constexpr Raw kHalfBits{16, 10}, kSingle{32, 23}, kDouble{64, 52};

uint64_t numeric(const Raw& f, uint64_t a, uint64_t b, bool largest) {
    if (f.nan(a) && f.nan(b)) return a | f.quiet();
    if (f.nan(a)) return b;
    if (f.nan(b)) return a;
    return (f.order(a) < f.order(b)) != largest ? a : b;
}
uint64_t propagating(const Raw& f, uint64_t a, uint64_t b, bool largest) {
    if (f.nan(a)) return a | f.quiet();
    if (f.nan(b)) return b | f.quiet();
    return (f.order(a) < f.order(b)) != largest ? a : b;
}
uint64_t numeric_median(const Raw& f, uint64_t a, uint64_t b, uint64_t c) {
    if (f.nan(a) || f.nan(b) || f.nan(c)) return numeric(f, numeric(f, a, b, false), c, false);
    const uint64_t top = numeric(f, numeric(f, a, b, true), c, true);
    if (top == a) return numeric(f, b, c, true);
    return top == b ? numeric(f, a, c, true) : numeric(f, a, b, true);
}

using Select = std::function<uint64_t(const Raw&, uint64_t, uint64_t, uint64_t)>;
struct Selection {
    const char* name;
    int sources;
    Select value;
};
std::vector<Selection> selections() {
    auto two = [](auto rule, bool largest) {
        return [=](const Raw& f, uint64_t a, uint64_t b, uint64_t) { return rule(f, a, b, largest); };
    };
    auto three = [](auto rule, bool first, bool second) {
        return
            [=](const Raw& f, uint64_t a, uint64_t b, uint64_t c) { return rule(f, rule(f, a, b, first), c, second); };
    };
    return {{"min_num", 2, two(numeric, false)},
            {"max_num", 2, two(numeric, true)},
            {"minimum", 2, two(propagating, false)},
            {"maximum", 2, two(propagating, true)},
            {"min3_num", 3, three(numeric, false, false)},
            {"max3_num", 3, three(numeric, true, true)},
            {"minmax_num", 3, three(numeric, false, true)},
            {"maxmin_num", 3, three(numeric, true, false)},
            {"minimum3", 3, three(propagating, false, false)},
            {"maximum3", 3, three(propagating, true, true)},
            {"minimummaximum", 3, three(propagating, false, true)},
            {"maximumminimum", 3, three(propagating, true, false)},
            {"med3_num", 3, numeric_median}};
}

uint32_t value_bits(Inputs& inputs, bool nans) {
    constexpr uint32_t kNans[] = {0x7fc00001, 0xffc00002, 0x7f800003, 0xff800004, 0x7e017c02, 0xfe03fc04, 0x7ff40000};
    return nans && inputs.next() % 4 == 0 ? kNans[inputs.next() % std::size(kNans)] : inputs.dword();
}

/// Runs `text` on random v0..v5, EXEC and old v8, v9, and hands every lane to `check(in, got, active)`.
template <class Check>
void on_random_lanes(const std::string& text, int lanes, Check&& check) {
    const auto& words = assembled(text, lanes, Arch::gfx1201);
    ASSERT_FALSE(words.empty()) << text;
    for (const Variant& variant : variants()) {
        Bench bench(lanes);
        Code code;
        ASSERT_TRUE(code.load(variant, words, lanes, Arch::gfx1201)) << text;
        Inputs inputs(std::hash<std::string>{}(text));
        for (int round = 0; round < 12; ++round) {
            std::vector<In> in(static_cast<size_t>(lanes));
            const uint64_t exec = round % 3 ? ~uint64_t{0} : inputs.next();
            bench.set_exec(exec);
            bench.wave().mode = mode::kPlain | (round & 1 ? mode::kIeee : 0);  // the bit means nothing here
            for (int lane = 0; lane < lanes; ++lane) {
                for (int i = 0; i < 6; ++i) bench.v(i, lane) = in[lane].v[i] = value_bits(inputs, round & 2);
                for (int i = 0; i < 2; ++i) bench.v(8 + i, lane) = in[lane].old[i] = inputs.dword();
                in[lane].lane = lane;
            }
            ASSERT_TRUE(bench.run(code)) << text << ": " << bench.fault();
            for (int lane = 0; lane < lanes; ++lane) {
                const uint64_t got = bench.v64(8, lane), old = in[lane].old[0] | uint64_t{in[lane].old[1]} << 32;
                SCOPED_TRACE(std::string(variant.name) + " " + text + " lane " + std::to_string(lane));
                if (exec >> lane & 1)
                    check(in[lane], got);
                else
                    ASSERT_EQ(got, old) << "inactive";
                if (testing::Test::HasFatalFailure()) return;
            }
        }
    }
}

TEST_P(ValuRdna4, MinimaAndMaximaFollowTheirRulesForNanAndZeros) {
    for (const Selection& s : selections()) {
        const std::string name = std::string("v_") + s.name;
        on_random_lanes(name + "_f32 v8, v0, v1" + (s.sources == 3 ? ", v2" : ""), lanes(),
                        [&](const In& x, uint64_t got) {
                            ASSERT_EQ(static_cast<uint32_t>(got), s.value(kSingle, x.u(0), x.u(1), x.u(2)))
                                << std::hex << x.u(0) << " " << x.u(1) << " " << x.u(2);
                        });
        on_random_lanes(name + "_f16 v8, v0, v1" + (s.sources == 3 ? ", v2" : ""), lanes(),
                        [&](const In& x, uint64_t got) {
                            ASSERT_EQ(static_cast<uint32_t>(got),
                                      s.value(kHalfBits, x.u16(0), x.u16(1), x.u16(2)) | (x.old[0] & 0xffff0000))
                                << std::hex << x.u16(0) << " " << x.u16(1) << " " << x.u16(2);
                        });
        if (s.sources == 3) continue;
        on_random_lanes(name + "_f64 v[8:9], v[0:1], v[2:3]", lanes(), [&](const In& x, uint64_t got) {
            ASSERT_EQ(got, s.value(kDouble, x.q(0), x.q(1), 0)) << std::hex << x.q(0) << " " << x.q(1);
        });
        on_random_lanes("v_pk_" + std::string(s.name) + "_f16 v8, v0, v1", lanes(), [&](const In& x, uint64_t got) {
            ASSERT_EQ(static_cast<uint32_t>(got),
                      s.value(kHalfBits, x.u16(0), x.u16(1), 0) | s.value(kHalfBits, x.hi16(0), x.hi16(1), 0) << 16);
        });
    }
}

TEST_P(ValuRdna4, SelectionsTakeSignsAndDpp) {
    on_random_lanes("v_min_num_f32_e64 v8, -v0, |v1|", lanes(), [&](const In& x, uint64_t got) {
        ASSERT_EQ(static_cast<uint32_t>(got), numeric(kSingle, x.u(0) ^ 0x80000000, x.u(1) & 0x7fffffff, false));
    });
    on_random_lanes("v_maximum_f16 v8, -v0, |v1|", lanes(), [&](const In& x, uint64_t got) {
        ASSERT_EQ(got & 0xffff, propagating(kHalfBits, x.u16(0) ^ 0x8000, x.u16(1) & 0x7fff, true));
    });
    on_random_lanes("v_min_num_f32_dpp v8, v0, v1 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf", lanes(),
                    [&](const In& x, uint64_t got) {
                        ASSERT_EQ(static_cast<uint32_t>(got), numeric(kSingle, x.u(0), x.u(1), false));
                    });
    on_random_lanes("v_maximum3_f32_e64_dpp v8, v0, v1, v2 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf", lanes(),
                    [&](const In& x, uint64_t got) {
                        const uint64_t first = propagating(kSingle, x.u(0), x.u(1), true);
                        ASSERT_EQ(static_cast<uint32_t>(got), propagating(kSingle, first, x.u(2), true));
                    });
}

TEST_P(ValuRdna4, ClampMakesNanZeroWithoutAModeBit) {
    for (const Variant& variant : variants()) {
        Bench bench(lanes());
        for (int lane = 0; lane < lanes(); ++lane) {
            bench.v(0, lane) = lane & 1 ? 0x7fc00000 : float_bits(2.5f);
            bench.v(1, lane) = 0x3c007e00;
        }
        ASSERT_TRUE(bench.run(
            variant,
            assembled("v_maximum_f32 v8, v0, v0 clamp\nv_pk_maximum_f16 v9, v1, v1 clamp", lanes(), Arch::gfx1201),
            Arch::gfx1201));
        EXPECT_EQ(bench.v(8, 0), float_bits(1.0f));
        EXPECT_EQ(bench.v(8, 1), 0u);
        EXPECT_EQ(bench.v(9, 0), 0x3c000000u);
    }
}

TEST_P(ValuRdna4, PermlaneVarTakesEachLanesOwnSelector) {
    for (const Variant& variant : variants()) {
        for (int form = 0; form < 8; ++form) {
            const bool across = form & 1, fetch_inactive = form & 2, bound = form & 4;
            Bench bench(lanes());
            const uint64_t exec = 0xfdff7fffbffdfff7u;
            bench.set_exec(exec);
            for (int lane = 0; lane < lanes(); ++lane)
                bench.v(1, lane) = static_cast<uint32_t>(100 + lane),
                           bench.v(2, lane) = 0xfffffff0u | static_cast<uint32_t>(lane * 7 + 3) % 16,
                           bench.v(8, lane) = static_cast<uint32_t>(800 + lane);
            const std::string text = std::string(across ? "v_permlanex16_var_b32" : "v_permlane16_var_b32") +
                                     " v8, v1, v2 op_sel:[" + (fetch_inactive ? "1," : "0,") + (bound ? "1]" : "0]");
            ASSERT_TRUE(bench.run(variant, assembled(text, lanes(), Arch::gfx1201), Arch::gfx1201));
            for (int lane = 0; lane < lanes(); ++lane) {
                const int from = ((across ? lane / 16 ^ 1 : lane / 16) * 16) + (lane * 7 + 3) % 16;
                int want = 100 + from;
                if (!(exec >> from & 1) && !fetch_inactive) want = bound ? 0 : 800 + lane;
                if (!(exec >> lane & 1)) want = 800 + lane;
                EXPECT_EQ(bench.v(8, lane), static_cast<uint32_t>(want)) << variant.name << " " << text << " " << lane;
            }
        }
    }
}

TEST_P(ValuRdna4, ScalarTranscendentalsGiveWhatAVectorLaneGivesWhateverExecIs) {
    constexpr const char* kNames[] = {"exp", "log", "rcp", "rsq", "sqrt"};
    Inputs inputs(5);
    for (const Variant& variant : variants()) {
        for (const char* name : kNames) {
            for (const bool half : {false, true}) {
                const std::string suffix = std::string(name) + (half ? "_f16" : "_f32");
                for (int n = 0; n < 40; ++n) {
                    Bench bench(lanes());
                    const uint32_t x = inputs.dword();
                    bench.wave().s[4] = x;
                    for (int lane = 0; lane < lanes(); ++lane) bench.v(0, lane) = x;
                    ASSERT_TRUE(bench.run(
                        variant,
                        assembled("v_" + suffix + "_e64 v8, -|v0|\nv_" + suffix + " v9, v0", lanes(), Arch::gfx1201),
                        Arch::gfx1201));
                    bench.set_exec(0);
                    ASSERT_TRUE(bench.run(
                        variant,
                        assembled("v_s_" + suffix + " s6, -|s4|\nv_s_" + suffix + " s7, s4", lanes(), Arch::gfx1201),
                        Arch::gfx1201));
                    const uint32_t keep = half ? 0xffff : ~0u;
                    EXPECT_EQ(bench.wave().s[6], bench.v(8, 0) & keep) << variant.name << " " << suffix << " of " << x;
                    EXPECT_EQ(bench.wave().s[7], bench.v(9, 0) & keep) << variant.name << " " << suffix << " of " << x;
                }
            }
        }
        Bench bench(lanes());
        ASSERT_TRUE(bench.run(
            variant,
            assembled("v_s_exp_f32 s6, 4.0\nv_s_rcp_f16 s7, 2.0\nv_s_sqrt_f32 s8, 4.0 clamp", lanes(), Arch::gfx1201),
            Arch::gfx1201));
        EXPECT_EQ(bench.wave().s[6], float_bits(16.0f));
        EXPECT_EQ(bench.wave().s[7], 0x3800u);
        EXPECT_EQ(bench.wave().s[8], float_bits(1.0f));
    }
}

TEST_P(ValuRdna4, DoublesAndWideShiftsHaveAShortForm) {
    on_random_lanes("v_add_f64_e32 v[8:9], v[0:1], v[2:3]", lanes(), [](const In& x, uint64_t got) {
        const double want = x.d(0) + x.d(1);
        ASSERT_TRUE(got == double_bits(want) || (std::isnan(want) && std::isnan(to_double(got))));
    });
    on_random_lanes("v_lshlrev_b64_e32 v[8:9], v4, v[0:1]", lanes(),
                    [](const In& x, uint64_t got) { ASSERT_EQ(got, x.q(0) << (x.u(4) & 63)); });
    on_random_lanes(lanes() == 32 ? "v_mad_co_u64_u32 v[8:9], s10, v0, v1, v[2:3]"
                                  : "v_mad_co_u64_u32 v[8:9], s[10:11], v0, v1, v[2:3]",
                    lanes(), [](const In& x, uint64_t got) { ASSERT_EQ(got, uint64_t{x.u(0)} * x.u(1) + x.q(1)); });
}

// ---- floats of one byte (OCP): 1.4.3 without infinity, 1.5.2 with it ----

Wide byte_value(uint32_t byte, bool brain) {
    const int digits = brain ? 2 : 3, bias = brain ? 15 : 7;
    const int exponent = static_cast<int>(byte >> digits & ((1u << (7 - digits)) - 1)),
              mantissa = static_cast<int>(byte & ((1u << digits) - 1));
    const Wide sign = byte & 0x80 ? -1 : 1;
    if (brain && exponent == 31)
        return mantissa ? std::numeric_limits<Wide>::quiet_NaN() : sign * std::numeric_limits<Wide>::infinity();
    if (!brain && (byte & 0x7f) == 0x7f) return std::numeric_limits<Wide>::quiet_NaN();
    return sign * (exponent ? std::ldexp(Wide((1 << digits) + mantissa), exponent - bias - digits)
                            : std::ldexp(Wide(mantissa), 1 - bias - digits));
}
/// By search: the nearest value, of two the even one. Past the largest by half a step or more it is NaN or infinity, or
/// with FP16_OVFL the largest.
uint32_t byte_bits(Wide x, bool brain, bool saturate) {
    const uint32_t largest = brain ? 0x7b : 0x7e, sign = std::signbit(x) ? 0x80 : 0;
    if (std::isnan(x)) return 0x7f;
    const Wide magnitude = std::fabs(x), step = byte_value(largest, brain) - byte_value(largest - 1, brain);
    const Wide limit = byte_value(largest, brain) + step / 2;
    const bool tie_goes_up = largest & 1;
    if (magnitude > limit || (magnitude == limit && tie_goes_up)) return sign | (saturate ? largest : largest + 1);
    uint32_t best = 0;
    for (uint32_t b = 1; b <= largest; ++b) {
        const Wide now = std::fabs(byte_value(b, brain) - magnitude),
                   then = std::fabs(byte_value(best, brain) - magnitude);
        if (now < then || (now == then && !(b & 1))) best = b;
    }
    return sign | best;
}
bool same_byte(uint32_t a, uint32_t b, bool brain) {
    return a == b || (std::isnan(byte_value(a, brain)) && std::isnan(byte_value(b, brain)));
}

TEST_P(ValuRdna4, BytesWidenExactlyFromTheSelectedPlace) {
    for (const bool brain : {false, true}) {
        const std::string type = brain ? "bf8" : "fp8";
        for (uint32_t byte = 0; byte < 4; ++byte) {
            const std::string text = "v_cvt_f32_" + type + "_e64 v8, v0 byte_sel:" + std::to_string(byte);
            on_random_lanes(text, lanes(), [&](const In& x, uint64_t got) {
                const Wide want = byte_value(x.u(0) >> (8 * byte) & 0xff, brain),
                           have = to_float(static_cast<uint32_t>(got));
                ASSERT_TRUE(want == have || (std::isnan(want) && std::isnan(have))) << std::hex << x.u(0);
            });
        }
        for (uint32_t word = 0; word < 2; ++word) {
            const std::string text = "v_cvt_pk_f32_" + type + "_e64 v[8:9], v0" + (word ? " op_sel:[1,0]" : "");
            on_random_lanes(text, lanes(), [&](const In& x, uint64_t got) {
                for (uint32_t i = 0; i < 2; ++i) {
                    const Wide want = byte_value(x.u(0) >> (16 * word + 8 * i) & 0xff, brain),
                               have = to_float(static_cast<uint32_t>(got >> (32 * i)));
                    ASSERT_TRUE(want == have || (std::isnan(want) && std::isnan(have))) << std::hex << x.u(0);
                }
            });
        }
    }
}

TEST_P(ValuRdna4, PairsNarrowToNearestIntoTheSelectedHalf) {
    Inputs inputs(31);
    for (const Variant& variant : variants()) {
        for (int form = 0; form < 8; ++form) {
            const bool brain = form & 1, high = form & 2, saturate = form & 4;
            Bench bench(lanes());
            bench.wave().mode = mode::kPlain | (saturate ? mode::kFp16Ovfl : 0) | 1;  // rounding up does not matter
            for (int round = 0; round < 20; ++round) {
                for (int lane = 0; lane < lanes(); ++lane) {
                    const uint32_t near = static_cast<uint32_t>(inputs.next()) & 0x80ffffffu;
                    bench.v(0, lane) = round & 1 ? inputs.dword() : near | 0x38000000u + ((inputs.next() & 15) << 23);
                    bench.v(1, lane) = round & 1 ? inputs.dword() : (near & 0xfff00000u) | 0x3a000000u;
                    bench.v(8, lane) = 0xdeadbeef;
                }
                const std::string text = std::string("v_cvt_pk_") + (brain ? "bf8" : "fp8") + "_f32 v8, -v0, v1" +
                                         (high ? " op_sel:[0,0,1]" : "");
                ASSERT_TRUE(bench.run(variant, assembled(text, lanes(), Arch::gfx1201), Arch::gfx1201));
                for (int lane = 0; lane < lanes(); ++lane) {
                    const uint32_t got = bench.v(8, lane), pair = high ? got >> 16 : got & 0xffff;
                    ASSERT_EQ(high ? got & 0xffff : got >> 16, high ? 0xbeefu : 0xdeadu);
                    const uint32_t low = byte_bits(-to_float(bench.v(0, lane)), brain, saturate),
                                   top = byte_bits(to_float(bench.v(1, lane)), brain, saturate);
                    ASSERT_TRUE(same_byte(pair & 0xff, low, brain) && same_byte(pair >> 8, top, brain))
                        << variant.name << " " << text << std::hex << " of " << bench.v(0, lane) << " "
                        << bench.v(1, lane) << ": " << pair << ", want " << top << " " << low;
                }
            }
        }
    }
}

TEST_P(ValuRdna4, StochasticRoundingGoesUpInProportion) {
    for (const Variant& variant : variants()) {
        for (uint32_t byte = 0; byte < 4; ++byte) {
            Bench bench(lanes());
            // A quarter of the way from 1 to its successor 1.125; random numbers evenly spread.
            for (int lane = 0; lane < lanes(); ++lane) {
                bench.v(0, lane) = float_bits(1.03125f);
                bench.v(1, lane) = static_cast<uint32_t>(lane) * (lanes() == 32 ? 0x08000000u : 0x04000000u);
                bench.v(8, lane) = 0xaaaaaaaa;
            }
            const std::string text = "v_cvt_sr_fp8_f32 v8, v0, v1 byte_sel:" + std::to_string(byte);
            ASSERT_TRUE(bench.run(variant, assembled(text, lanes(), Arch::gfx1201), Arch::gfx1201));
            int up = 0;
            for (int lane = 0; lane < lanes(); ++lane) {
                const uint32_t got = bench.v(8, lane), result = got >> (8 * byte) & 0xff;
                ASSERT_EQ(got | 0xffu << (8 * byte), 0xaaaaaaaa | 0xffu << (8 * byte)) << "other bytes stay";
                ASSERT_TRUE(result == 0x38 || result == 0x39) << std::hex << result;
                up += result == 0x39;
            }
            EXPECT_EQ(up, lanes() / 4) << variant.name;
        }
    }
}

TEST_P(ValuRdna4, TheAddendOfADotProductOfBytesTakesItsSignModifiers) {
    for (const char* bytes : {"fp8_fp8", "fp8_bf8", "bf8_fp8", "bf8_bf8"}) {
        const std::string name = std::string("v_dot4_f32_") + bytes;
        auto value = [&](const In& x, uint32_t c) {
            auto format = [&](size_t at) { return name[at] == 'f' ? kFp8 : kBf8; };
            return dot_single(true, format(11), format(15), x.u(0), x.u(1), c);
        };
        auto check = [&](uint32_t want, uint64_t got) { ASSERT_EQ(want, static_cast<uint32_t>(got)); };
        on_random_lanes(name + " v8, v0, v1, v2 neg_lo:[0,0,1]", lanes(),
                        [&](const In& x, uint64_t got) { check(value(x, x.u(2) ^ 0x80000000), got); });
        on_random_lanes(name + " v8, v0, v1, v2 neg_hi:[0,0,1]", lanes(),
                        [&](const In& x, uint64_t got) { check(value(x, x.u(2) & 0x7fffffff), got); });
    }
}

TEST(ValuRdna4Dual, MinimaOfPairsQuietTwoNans) {
    if (!isa::llvm_available()) GTEST_SKIP() << "needs libLLVM 19 to assemble";
    Inputs inputs(9);
    for (const Variant& variant : variants()) {
        Bench bench(32);
        bench.wave().mode = mode::kPlain | mode::kIeee;
        std::vector<In> in(32);
        for (int lane = 0; lane < 32; ++lane)
            for (int i = 0; i < 4; ++i) bench.v(i, lane) = in[lane].v[i] = value_bits(inputs, true);
        ASSERT_TRUE(bench.run(
            variant, assembled("v_dual_min_num_f32 v0, v1, v2 :: v_dual_max_num_f32 v1, v0, v3", 32, Arch::gfx1201),
            Arch::gfx1201));
        for (int lane = 0; lane < 32; ++lane) {
            EXPECT_EQ(bench.v(0, lane), numeric(kSingle, in[lane].u(1), in[lane].u(2), false)) << variant.name;
            EXPECT_EQ(bench.v(1, lane), numeric(kSingle, in[lane].u(0), in[lane].u(3), true)) << variant.name;
        }
    }
}

}  // namespace
}  // namespace strata::emu
