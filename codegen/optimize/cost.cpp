// static_cost: the demand of a schedule on each part of a card, from its graph. It counts how often a thread does each
// operation, and which lines and banks the lanes of a wave touch. It also counts hits in caches, and how many
// workgroups a unit holds.
#include "strata/codegen/optimize/cost.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <unordered_set>

#include "strata/codegen/kernel/last_block.h"
#include "strata/codegen/optimize/accesses_p.h"
#include "strata/codegen/target/ldmatrix.h"
#include "strata/codegen/target/rates.h"
#include "strata/codegen/target/read_ahead.h"
#include "strata/codegen/target/warpgroup_products.h"

namespace strata::codegen {
namespace {

constexpr int64_t kLineBytes = 128, kBanks = 32, kDwordBytes = 4;
constexpr double kLocalClocks = 64;     // until a load from local memory is there
constexpr double kLoopClocks = 8;       // counting, comparing, branching
constexpr double kOwnRegisters = 16;    // addresses, indices and what else a thread has besides its values
constexpr double kMostRegisters = 256;  // of a thread, beyond which values go to memory
constexpr double kSpillAccesses = 2;    // that such a value takes, each time

constexpr std::initializer_list<Axis> kSerial = {Axis::loop, Axis::reduce},
                                      kCopies = {Axis::upcast, Axis::unroll, Axis::vector},
                                      kThreads = {Axis::local, Axis::lane, Axis::group};

class Estimator {
  public:
    Estimator(const Kernel& kernel, const Target& target)
        : target_(target),
          rates_(rates_of(target.arch)),
          scopes_(kernel.sink),
          serial_(scopes_.with_axis(kSerial)),
          copies_(scopes_.with_axis(kCopies)),
          threads_(scopes_.with_axis(kThreads)),
          groups_(scopes_.steps(scopes_.with_axis({Axis::global}))),
          waves_(std::ceil(scopes_.steps(threads_) / target.wave_size)) {}

    StaticCost run() {
        for (UOp u : scopes_.order()) {
            add_work(u);
            add_room(u);
        }
        for (const Access& access : accesses_of(scopes_, target_.wave_size)) {
            if (access.memory.as<ParamArg>().space == Space::global) add_global(access);
            if (access.memory.as<ParamArg>().space == Space::local) add_local(access);
        }
        if (target_.ahead == Ahead::scheduled && local_bytes_ > 0 && is_read_ahead()) hide_waits();
        return spread();
    }

  private:
    double times(RangeSet open) const { return scopes_.steps(open & (serial_ | copies_)); }

    /// Adds the work of a wave. Numbers of copies are known when the code is made, so that offsets are computed once a
    /// step of loops.
    void add_work(UOp u) {
        const RangeSet open = scopes_.free(u);
        if (is_ldmatrix(u)) return;
        if (u.is(Op::wmma)) {
            const MatrixShape* shape = find_shape(target_.matrix, u.as<MatrixArg>().name);
            const auto group = warpgroup_product(u);
            const double steps = group ? static_cast<double>(group->steps) : 1;
            matrix_ += times(open) * steps * clocks_of(*shape, target_);
        } else if (u.is(Op::reduce)) {
            add_reduction(u);
        } else if (info(u.op()).elementwise()) {
            const bool is_offset = u.dtype().element() == dtypes::index;
            const bool by_shift = u.src().size() == 2 && u.src(1).is_const();
            const double cost = by_shift ? std::min(info(u.op()).cost, 1) : info(u.op()).cost;
            vector_ += cost * (is_offset ? scopes_.steps(open & serial_) : times(open));
        }
        if ((open & serial_) && loops_.insert(open & serial_).second)
            latency_ += scopes_.steps(open & serial_) * kLoopClocks;
    }

    /// Sums of a thread, then of the threads that share them.
    void add_reduction(UOp u) {
        RangeSet all = 0;
        for (UOp s : u.src()) all |= scopes_.free(s);
        if (!u.src(0).is(Op::wmma)) vector_ += times(all);
        const RangeSet shared = all & ~scopes_.free(u) & scopes_.with_axis({Axis::group});
        if (!shared) return;
        const double steps = std::log2(scopes_.steps(shared));
        vector_ += times(scopes_.free(u)) * steps;
        latency_ += scopes_.steps(scopes_.free(u) & serial_) * steps * kLocalClocks;
    }

    /// Adds the registers of a thread and the local memory of its block.
    void add_room(UOp u) {
        const double registers = static_cast<double>(u.dtype().bytes()) / kDwordBytes;
        if (u.is(Op::reduce)) registers_ += scopes_.steps(scopes_.free(u) & copies_) * registers;
        if (u.is(Op::load) && memory_of(u).as<ParamArg>().space == Space::global)
            registers_ += scopes_.steps(scopes_.free(u) & copies_) * registers;
        if (u.is(Op::param) && u.as<ParamArg>().space == Space::local)
            local_bytes_ += static_cast<double>(u.as<ParamArg>().size * u.dtype().bytes());
    }

    /// The same of global memory, where all other steps keep an access aligned.
    double aligned(const Access& access) const {
        auto elements = static_cast<int64_t>(wide(access));
        for (size_t r = 0; r < access.by.size(); ++r)
            if (access.by[r] % elements != 0 && !((copies_ >> r & 1) && std::abs(access.by[r]) < elements))
                elements = std::gcd(elements, access.by[r]);
        return static_cast<double>(elements);
    }

    /// Neighbouring elements that a thread accesses at once.
    double wide(const Access& access) const {
        std::vector<std::pair<int64_t, int64_t>> moves;  // how far, how often
        for (size_t r = 0; r < access.by.size(); ++r)
            if ((access.open & copies_) >> r & 1) moves.emplace_back(access.by[r], range_arg(scopes_.ranges()[r]).size);
        std::ranges::sort(moves);
        int64_t elements = 1;
        for (const auto& [by, size] : moves)
            if (by == elements) elements *= size;
        return static_cast<double>(std::gcd(elements, target_.vector_bytes / access.bytes));
    }

    /// Elements of what the ranges go over, neighbours among them by steps of one, and the bytes of lines over those of
    /// the elements.
    struct Extent {
        double elements = 1, neighbours = 1, waste = 1;
    };
    Extent extent(const Access& access, RangeSet set) const {
        std::vector<std::pair<int64_t, int64_t>> moves;  // how far, how often
        int64_t start = kLineBytes;                      // runs start at a multiple of it
        const auto starts_at = [&](int64_t by) { start = std::gcd(start, by * access.bytes); };
        for (size_t r = 0; r < access.by.size(); ++r)
            if (((access.open & set) >> r & 1) && access.by[r])
                moves.emplace_back(std::abs(access.by[r]), range_arg(scopes_.ranges()[r]).size);
            else
                starts_at(access.by[r]);
        std::ranges::sort(moves);
        Extent out;
        double span = 1;
        for (const auto& [by, size] : moves) {
            out.elements *= static_cast<double>(size);
            span += static_cast<double>(by) * static_cast<double>(size - 1);
            if (static_cast<double>(by) <= out.neighbours)
                out.neighbours = span;
            else
                starts_at(by);
        }
        out.elements = std::min({out.elements, span, static_cast<double>(access.memory.as<ParamArg>().size)});
        const double run = out.neighbours * access.bytes, from = static_cast<double>(start);
        out.waste = std::max<double>(kLineBytes, std::ceil(run / from) * from + kLineBytes - from) / run;
        return out;
    }

    void add_global(const Access& access) {
        const double done = times(access.open), at_once = aligned(access), bytes = access.bytes;
        const bool scalar = is_scalar(access, target_);
        std::vector<int64_t> lines;
        for (const int64_t lane : access.lanes)
            for (int64_t byte = lane * access.bytes, end = byte + static_cast<int64_t>(at_once * bytes); byte < end;
                 byte = (byte / kLineBytes + 1) * kLineBytes)
                lines.push_back(byte / kLineBytes);
        std::ranges::sort(lines);
        const auto distinct = std::ranges::unique(lines).begin() - lines.begin();
        if (!scalar) {
            lines_ += done / at_once * static_cast<double>(distinct) * kLineBytes / rates_.l0_bytes;
            vector_ += done / at_once;
        }
        const Extent block = extent(access, serial_ | copies_ | threads_), all = extent(access, ~RangeSet{0}),
                     step = extent(access, copies_ | threads_);
        if (!scalar) {
            touched_ += groups_ * waves_ * done / at_once * static_cast<double>(distinct) * kLineBytes;
            of_step_ += step.elements * bytes * std::max(1.0, kLineBytes / (step.neighbours * bytes));
        }
        const double of_blocks = groups_ * block.elements * bytes * block.waste;
        wanted_ += of_blocks;
        first_ += std::min(all.elements * bytes * all.waste, of_blocks);
        if (!access.store) wait(access, rates_.memory_clocks);
    }

    /// Accesses of local memory in one instruction: AMD's of a dword or two are merged by two (codegen/lower/opt).
    double merged(const Access& access, double at_once) const {
        const double bytes = at_once * access.bytes;
        if (!target_.arch.is_amd() || (bytes != kDwordBytes && bytes != 2 * kDwordBytes)) return 1;
        double elements = 1;  // of a step of the outermost loop
        for (size_t r = 0; r < access.by.size(); ++r)
            if ((access.open & (access.store ? copies_ : copies_ | serial_)) >> r & 1 && access.by[r] != 0)
                elements *= static_cast<double>(range_arg(scopes_.ranges()[r]).size);
        return elements >= 2 * at_once ? 2 : 1;
    }

    void add_local(const Access& access) {
        const double at_once = wide(access), by_two = merged(access, at_once),
                     done = times(access.open) / at_once / by_two;
        const auto dwords = std::max<int64_t>(static_cast<int64_t>(at_once * by_two) * access.bytes / kDwordBytes, 1);
        const auto together =
            static_cast<size_t>(kBanks / std::bit_ceil(static_cast<uint64_t>(std::min<int64_t>(dwords, 4))));
        double clocks = 0;
        for (size_t first = 0; first < access.lanes.size(); first += together) {
            std::vector<int64_t> words;
            for (size_t lane = first; lane < std::min(first + together, access.lanes.size()); ++lane)
                for (int64_t i = 0; i < dwords; ++i)
                    words.push_back(access.lanes[lane] * access.bytes / kDwordBytes + i);
            std::ranges::sort(words);
            words.erase(std::ranges::unique(words).begin(), words.end());
            std::array<int, kBanks> busy{};
            int most = 1;
            for (const int64_t word : words) most = std::max(most, ++busy[static_cast<size_t>(word % kBanks)]);
            clocks += most;
        }
        local_ += done * clocks;
        vector_ += done;
        if (!access.store) wait(access, kLocalClocks);
    }

    /// True if a step's loads are a step ahead (codegen/linear/prefetch). Threads do not wait for each other before
    /// they fill local memory again, or registers hold what they read.
    bool is_read_ahead() const {
        int64_t bytes = 0;
        for (UOp u : scopes_.order())
            if (u.is(Op::barrier))
                for (UOp s : u.src()) bytes += s.dtype().bytes();
        return bytes == 0 || (matrix_ > 0 && bytes <= kMostBytesAhead && reads_matrices_ahead(target_));
    }
    /// A copy that comes a step ahead is waited for as long as the step before does not take.
    void hide_waits() {
        for (auto& [loop, clocks] : waits_)
            if (clocks == rates_.memory_clocks) clocks = std::max(0.0, clocks - own_clocks() / scopes_.steps(loop));
    }
    /// Clocks in which a workgroup does its work alone on its unit: those of a wave one after the other. Where barriers
    /// keep waves together, they are at least those for which all its waves keep a part of the unit busy.
    double own_clocks() const {
        const double vector = vector_ * rates_.issue;
        if (local_bytes_ == 0) return vector + matrix_;
        return std::max({vector + matrix_ + local_, waves_ / simds_of(waves_) * std::max(vector, matrix_),
                         waves_ / cus_of(waves_) * local_});
    }
    static double simds_of(double waves) { return std::min<double>(Rates::kSimds, waves); }
    double cus_of(double waves) const { return std::min<double>(rates_.cus, waves); }

    /// Loads of one loop are under way together.
    void wait(const Access& access, double clocks) {
        double& longest = waits_[access.open & serial_];
        longest = std::max(longest, clocks);
    }

    double memory() const {
        // Lines that a step touches in part are there for the next one where L0 holds all of them.
        const double of_l2 = of_step_ > rates_.l0_bytes_held / 2 ? std::max(wanted_, touched_) : wanted_;
        return memory_clocks(rates_, wanted_, std::min(wanted_, first_), of_l2);
    }

    /// Workgroups that a unit holds at once.
    double resident(double share) const {
        const double registers = std::min(registers_ + kOwnRegisters, kMostRegisters) * target_.wave_size / 32;
        const double waves = std::min<double>(rates_.waves, std::floor(rates_.registers / registers)) * Rates::kSimds;
        double held = std::floor(waves / waves_);
        if (local_bytes_ > 0)
            held = std::min(held, std::floor(rates_.cus * static_cast<double>(target_.lds_bytes) / local_bytes_));
        return std::clamp(held, 1.0, share);
    }

    /// From one wave to the card.
    StaticCost spread() {
        const double spilled = std::max(0.0, registers_ + kOwnRegisters - kMostRegisters) * kSpillAccesses;
        double loop_steps = 1;
        for (const auto& [loop, clocks] : waits_) {
            // Waves read from local memory what a step brings there, before they use it.
            const bool is_staged = loop && local_bytes_ > 0 && clocks != kLocalClocks;
            latency_ += scopes_.steps(loop) * (clocks + (is_staged ? kLocalClocks : 0));
            loop_steps = std::max(loop_steps, scopes_.steps(loop));
        }
        lines_ += spilled * loop_steps;
        const double share = std::ceil(groups_ / rates_.units), held = resident(share);
        const double simds = simds_of(held * waves_), cus = cus_of(held * waves_), vector = vector_ * rates_.issue;
        return {.vector = share * waves_ * vector / simds,
                .matrix = share * waves_ * matrix_ / simds,
                .local = share * waves_ * local_ / cus,
                .lines = share * waves_ * lines_ / cus,
                .memory = memory(),
                .latency = std::ceil(share / held) * (latency_ + own_clocks()),
                .dispatch = groups_ * waves_ / rates_.waves_started};
    }

    const Target& target_;
    const Rates& rates_;
    const Scopes scopes_;
    const RangeSet serial_, copies_, threads_;
    const double groups_, waves_;  ///< workgroups; waves of one
    // The costs of a wave.
    double vector_ = 0, matrix_ = 0, local_ = 0, lines_ = 0, latency_ = 0;
    double registers_ = 0, local_bytes_ = 0;
    double wanted_ = 0, first_ = 0;  ///< bytes that all workgroups ask of L2, that are asked for the first time
    double touched_ = 0;             ///< bytes of the lines that accesses of all waves touch
    double of_step_ = 0;             ///< those of a workgroup in one step of its loops, each line once
    std::unordered_set<RangeSet> loops_;
    std::map<RangeSet, double> waits_;
};

}  // namespace

double StaticCost::clocks() const {
    const std::array parts{vector, matrix, local, lines, memory, latency, dispatch};
    const double most = *std::ranges::max_element(parts);
    if (most == 0) return 0;
    double sum = 0;
    for (const double part : parts) {
        const double x = part / most;
        sum += x * x * x * x;
    }
    return most * std::sqrt(std::sqrt(sum));
}

StaticCost static_cost(const Kernel& kernel, const Target& target) {
    return Estimator(without_finish(kernel), target).run();
}

}  // namespace strata::codegen
