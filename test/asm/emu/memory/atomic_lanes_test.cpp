#include <bit>
#include <functional>
#include <optional>

#include "../kernel.h"
#include "harness.h"

// Where the lanes of an atomic meet: in one place, in a few, in one each; across the ends of memory; across threads.
namespace strata::emu::harness {
namespace {

using isa::Arch;

/// RDNA3's and CDNA's name after _atomic_, that after ds_ (DS puts _rtn before the type), and the meaning.
struct Operation {
    std::string rdna, cdna, local, type;
    int operands;
    std::function<uint32_t(uint32_t old, uint32_t data, uint32_t second)> result;
};
float as_float(uint32_t x) { return std::bit_cast<float>(x); }
const Operation kOperations[] = {
    {"add_u32", "add", "add", "u32", 1, [](uint32_t o, uint32_t d, uint32_t) { return o + d; }},
    {"sub_u32", "sub", "sub", "u32", 1, [](uint32_t o, uint32_t d, uint32_t) { return o - d; }},
    {"max_i32", "smax", "max", "i32", 1,
     [](uint32_t o, uint32_t d, uint32_t) { return static_cast<int32_t>(d) > static_cast<int32_t>(o) ? d : o; }},
    {"xor_b32", "xor", "xor", "b32", 1, [](uint32_t o, uint32_t d, uint32_t) { return o ^ d; }},
    {"inc_u32", "inc", "inc", "u32", 1, [](uint32_t o, uint32_t d, uint32_t) { return o >= d ? 0 : o + 1; }},
    {"cmpswap_b32", "cmpswap", "", "b32", 2, [](uint32_t o, uint32_t d, uint32_t s) { return o == s ? d : o; }},
    {"add_f32", "add_f32", "add", "f32", 1,
     [](uint32_t o, uint32_t d, uint32_t) { return std::bit_cast<uint32_t>(as_float(o) + as_float(d)); }},
};

class AtomicLanes : public ::testing::TestWithParam<WaveShape> {
  protected:
    Arch arch = GetParam().arch;
    int lanes = GetParam().lanes;
    MemoryWave wave() const { return MemoryWave(arch, 4096, lanes); }
    std::string returning() const {
        if (arch == Arch::gfx1201) return " th:TH_ATOMIC_RETURN";
        return arch == Arch::gfx942 ? " sc0" : " glc";
    }
    struct Setting {
        int cells;
        uint64_t exec;
        bool returns;
    };
    std::vector<Setting> settings() const {
        const uint64_t all = lanes == 32 ? 0xffffffffull : ~0ull;
        std::vector<Setting> out;
        for (const int cells : {1, 3, 64})
            for (const uint64_t exec : std::vector<uint64_t>{all, all & 0xf0f0'1234'8001'fffeull})
                for (const bool returns : {false, true}) out.push_back({cells, exec, returns});
        for (const uint64_t exec : std::vector<uint64_t>{1, 1ull << (lanes - 1), 0}) out.push_back({3, exec, true});
        return out;
    }
    /// Without the buffer forms of two operands, which return into their data registers.
    static bool has(const Operation& op, std::string_view space) {
        return !(op.local.empty() && space == "ds") && !(op.operands == 2 && space == "buffer");
    }
    std::string text(const Operation& op, std::string_view space, bool returns) const {
        MemoryWave m(arch);
        const std::string data = op.operands == 2 ? "v[4:5]" : "v4", out = returns ? "v8, " : "";
        if (space == "ds") return "ds_" + op.local + (returns ? "_rtn_" : "_") + op.type + " " + out + "v2, v4";
        const std::string name = "_atomic_" + (m.gfx9() ? op.cdna : op.rdna) + " ", end = returns ? returning() : "";
        if (space == "global") return "global" + name + out + "v2, " + data + ", s[2:3]" + end;
        if (space == "buffer")
            return "buffer" + name + (returns ? "v4" : data) + ", v2, s[8:11], " +
                   (arch == Arch::gfx1201 ? "null" : "0") + " offen" + end;
        return "flat" + name + out + "v[0:1], " + data + end;
    }

    void expect_sequence(const Operation& op, std::string_view space, const Setting& setting) const {
        MemoryWave m = wave();
        m.wave.lds.assign(256, 0);
        m.wave.exec = setting.exec;
        m.wave.sgpr[2] = kBase;
        m.resource(0, 4096, m.gfx9() ? 4u << 15 : 3u << 28 | 20u << 12);
        const bool local = space == "ds" || space == "flat in LDS";
        const uint64_t base = local ? 1ull << 48 : kBase;
        auto cell = [&](int lane) { return static_cast<size_t>(lane * 5 % setting.cells); };
        auto value = [&](int i) {
            return op.type == "f32" ? std::bit_cast<uint32_t>(static_cast<float>(i) * 0.1f)
                                    : static_cast<uint32_t>(i) * 0x01234567;
        };
        m.set64(0, [&](int lane) { return base + 4 * cell(lane); });
        m.set(2, [&](int lane) { return 4 * cell(lane); });
        m.set(4, [&](int lane) { return value(lane + 1); });
        m.set(5, [&](int lane) { return lane % 2 ? value(lane) : value(100 + lane % setting.cells); });
        std::vector<uint32_t> want(64), old(64);
        const int out = space == "buffer" ? 4 : 8;  // the buffer form returns into its data register
        for (size_t i = 0; i < 64; ++i) {
            want[i] = value(100 + static_cast<int>(i));
            m.put(4 * i, want[i]);
            m.put_local(4 * i, want[i]);
        }
        for (int lane = 0; lane < lanes; ++lane) {
            uint32_t& place = want[cell(lane)];
            const bool gives = setting.returns && m.active(lane);
            old[static_cast<size_t>(lane)] = gives ? place : m.v(out, lane);
            if (m.active(lane)) place = op.result(place, m.v(4, lane), m.v(5, lane));
        }
        const std::string code = text(op, space, setting.returns), what = code + " cells " +
                                                                          std::to_string(setting.cells) + " exec " +
                                                                          std::to_string(setting.exec);
        m.run(code);
        for (size_t i = 0; i < 64; ++i)
            ASSERT_EQ(local ? m.local<uint32_t>(4 * i) : m.at<uint32_t>(4 * i), want[i]) << what << " cell " << i;
        for (int lane = 0; lane < lanes; ++lane)
            ASSERT_EQ(m.v(out, lane), old[static_cast<size_t>(lane)]) << what << " lane " << lane;
    }
};

TEST_P(AtomicLanes, AreServedInAscendingOrderWhereverTheyMeet) {
    for (const Operation& op : kOperations)
        for (const std::string_view space : {"global", "ds", "flat", "flat in LDS", "buffer"}) {
            if (!has(op, space)) continue;
            if (&op != kOperations && op.type != "f32" && space.starts_with("flat")) continue;
            for (const Setting& setting : settings()) expect_sequence(op, space, setting);
        }
}

/// Lanes take turns in two mappings; each of them starts off a multiple of 8.
TEST_P(AtomicLanes, MayLieInSeveralAllocations) {
    MemoryWave m = wave();
    std::vector<uint8_t> other(4096);
    constexpr uint64_t kOther = 0x900004;
    m.wave.memory.push_back({kOther, other});
    std::fill(m.memory.begin(), m.memory.end(), uint8_t{0});
    m.set64(0, [](int lane) { return lane % 3 ? kBase + 8 * (lane % 4) : kOther + 4 + 8 * (lane % 4); });
    m.set64(4, [](int lane) { return 0x1'0000'0001ull << lane % 4; });
    const std::string data = "v[4:5]", gfx9 = m.gfx9() ? "add_x2" : "add_u64";
    for (int i = 0; i < 2; ++i) m.run("global_atomic_" + gfx9 + " v[0:1], v[4:5], off");
    std::vector<uint64_t> want(8);
    for (int lane = 0; lane < lanes; ++lane)
        want[static_cast<size_t>(lane % 4 + (lane % 3 ? 0 : 4))] += 2 * (0x1'0000'0001ull << lane % 4);
    for (size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(m.at<uint64_t>(8 * i), want[i]);
        uint64_t got;
        memcpy(&got, other.data() + 4 + 8 * i, 8);
        EXPECT_EQ(got, want[4 + i]);
    }
}

TEST_P(AtomicLanes, FaultAtTheFirstLaneThatIsOutsideOrMisaligned) {
    for (const uint64_t bad : {kBase + 4094, kBase + 4096, kBase - 4, kBase + 18}) {
        MemoryWave m = wave();
        std::fill(m.memory.begin(), m.memory.end(), uint8_t{0});
        m.set64(0, [&](int lane) { return lane == 21 ? bad : kBase + 4092; });
        m.set(4, [](int) { return 1; });
        const std::string add = m.gfx9() ? "add" : "add_u32";
        const auto result = m.attempt("global_atomic_" + add + " v[0:1], v4, off");
        ASSERT_FALSE(result);
        EXPECT_NE(result.error().message.find("lane 21 updates 4 bytes"), std::string::npos) << result.error().message;
        EXPECT_EQ(result.error().message.find("not aligned to 4") != std::string::npos, bad % 4 != 0);
        EXPECT_EQ(m.at<uint32_t>(4092), 21u);
    }
}

TEST_P(AtomicLanes, BeyondLocalMemoryGive0AndChangeNothing) {
    for (const uint32_t size : {0u, 3u, 4u, 66u, 67u, 68u, 252u, 256u}) {
        MemoryWave m = wave();
        m.wave.lds.assign(size, 0);
        m.set(2, [](int lane) { return 4 * lane; });
        m.set(4, [](int lane) { return lane + 1; });
        m.set(8, [](int) { return 0xdead; });
        m.run("ds_add_rtn_u32 v8, v2, v4\nds_add_rtn_u32 v9, v2, v4");
        for (uint32_t lane = 0; lane < static_cast<uint32_t>(lanes); ++lane) {
            const bool inside = 4 * lane + 4 <= size;
            EXPECT_EQ(m.v(8, static_cast<int>(lane)), 0u);
            EXPECT_EQ(m.v(9, static_cast<int>(lane)), inside ? lane + 1 : 0) << "of " << size << " bytes";
            if (inside) {
                EXPECT_EQ(m.local<uint32_t>(4 * lane), 2 * (lane + 1));
            }
        }
        for (uint32_t at = size / 4 * 4; at < size; ++at) EXPECT_EQ(m.wave.lds[at], 0);
    }
}

INSTANTIATE_TEST_SUITE_P(Shapes, AtomicLanes, ::testing::ValuesIn(wave_shapes()), wave_shape_name);

const char* kKernels = R"(
#define ADD(p, x) __hip_atomic_fetch_add(p, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
KERNEL void count(uint* counters, float* sum, uint n) {
    for (uint i = 0; i < n; ++i) {
        ADD(counters, 1u);
        ADD(counters + 1 + (TX + i) % 16, TX);
        __hip_atomic_fetch_max(counters + 20, BX * 64 + TX, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        ADD(sum, 1.0f);
        if (TX != 7) ADD(sum + 1 + TX, (float)TX);
    }
}
)";

class AtomicThreads : public ::testing::TestWithParam<Arch> {
  protected:
    Gpu gpu{GetParam()};
    std::shared_ptr<Module> module =
        gpu.load(compile_hip(kKernels, "-O2 -munsafe-fp-atomics -mllvm -amdgpu-atomic-optimizer-strategy=None",
                             isa::info(GetParam()).name))
            .value();
};

TEST_P(AtomicThreads, LoseNoUpdateOfACounterThatAllHammer) {
    const uint32_t groups = 64, n = 50, block = 64;
    for (const int threads : {1, 2, 4}) {
        Buffer<uint32_t> counters(gpu, std::vector<uint32_t>(32));
        Buffer<float> sum(gpu, std::vector<float>(1 + block));
        LaunchConfig c = config({groups, 1, 1}, {block, 1, 1});
        c.threads = threads;
        auto stats = gpu.launch(*module, "count", c, (Arguments() << counters << sum << n).bytes());
        ASSERT_TRUE(stats) << stats.error().message;
        std::vector<uint32_t> want(32);
        want[0] = groups * n * block;
        for (uint32_t lane = 0; lane < block; ++lane)
            for (uint32_t i = 0; i < n; ++i) want[1 + (lane + i) % 16] += lane * groups;
        want[20] = (groups - 1) * 64 + block - 1;
        EXPECT_EQ(counters.values(), want) << threads << " threads";
        std::vector<float> sums = {static_cast<float>(groups * n * block)};
        for (uint32_t lane = 0; lane < block; ++lane)
            sums.push_back(lane == 7 ? 0 : static_cast<float>(groups * n * lane));
        EXPECT_EQ(sum.values(), sums) << threads << " threads";
    }
}

TEST_P(AtomicThreads, OfFreedMemoryAreFaults) {
    Buffer<float> sum(gpu, std::vector<float>(65));
    const uint64_t counters = gpu.allocate(128, "counters").value();
    LaunchConfig c = config({1, 1, 1}, {64, 1, 1});
    auto launch = [&] { return gpu.launch(*module, "count", c, (Arguments() << counters << sum << 2u).bytes()); };
    ASSERT_TRUE(launch());
    ASSERT_TRUE(gpu.free(counters));
    const auto after = launch();
    ASSERT_FALSE(after);
    EXPECT_NE(after.error().message.find("of freed allocation 'counters'"), std::string::npos) << after.error().message;
}

std::string arch_name(const ::testing::TestParamInfo<Arch>& info) { return std::string(isa::info(info.param).name); }
INSTANTIATE_TEST_SUITE_P(Archs, AtomicThreads, ::testing::Values(Arch::gfx1100, Arch::gfx942), arch_name);

}  // namespace
}  // namespace strata::emu::harness
