// schedule: instruction scheduling. Instructions of long latency come early in their block, as far as registers last.
// While a matrix core of CDNA computes, other instructions stand between its products.
// Before and after: instructions over virtual registers, each block with the same ones. A block whose new order would
// need more registers than its old one and than its share keeps the old.
#include <algorithm>
#include <compare>
#include <ranges>

#include "strata/codegen/lower/opt/schedule_groups_p.h"
#include "strata/codegen/machine/dependencies.h"
#include "strata/codegen/machine/operands.h"
#include "strata/codegen/machine/passes.h"
#include "strata/codegen/machine/pressure.h"
#include "strata/codegen/machine/workarounds.h"

namespace strata::codegen {
namespace {

constexpr uint32_t kNoLink = UINT32_MAX;
/// Candidates of each kind: loads and others with the longest chain of readers, and those that wait least.
constexpr size_t kWindow = 16;
/// Candidates with the shortest chain of readers: where registers are short they may give some back.
constexpr size_t kEnds = 8;
/// Dwords that one instruction may write.
constexpr int kRoom = 34;
/// Clocks in which a wave of CDNA issues an instruction, and of a pass of a matrix core (CDNA3 ISA, 2).
constexpr uint32_t kSlot = 4;
/// Clocks to set EXEC for a predicate.
constexpr uint32_t kPredicateClocks = 8;

struct Node {
    uint32_t first = kNoLink;  // of its successors' links
    uint32_t waiting = 0;      // dependencies that have not been placed
    uint32_t height = 0;       // clocks from its issue to the end of the block
    uint32_t ready_at = 0;     // clock from which its operands are there
    uint32_t issue = 1;
    uint32_t core = 0;  // clocks that it keeps the matrix core busy, beside the vector unit
    uint32_t uses = 0, uses_end = 0;
    bool predicated = false;  // EXEC matters to it
    bool memory = false;      // loads
    bool held = false;        // stands right in front of its first user
    Place predicate{};
};
/// Dwords that an instruction reads or writes.
struct Use {
    uint32_t unit;
    uint8_t dwords, bank;
    bool write;
};
struct Link {
    uint32_t to, latency, next;
};
struct Constant {
    uint32_t instruction, next;
};

class Scheduler {
  public:
    explicit Scheduler(MachineFunction& function)
        : function_(function),
          live_(function),
          map_(function, live_),
          dependencies_(function, live_),
          reads_(live_.units()),
          alive_(live_.units()) {
        limits_ = pressure_limits(function, map_.most({0, 2 * live_.instructions()}));
    }

    void run() {
        for (uint32_t i = 0; i < function_.blocks.size(); ++i) schedule(i);
        for (Block& block : function_.blocks)
            std::erase_if(block.code, [](const Instruction& one) { return one.passes >= 0; });
    }

    /// Instructions in front of the branch or the end, which stays, as does the comparison right before it.
    static uint32_t movable(const MachineFunction& function, const Block& block) {
        uint32_t count = 0;
        const auto size = static_cast<uint32_t>(block.code.size());
        auto ends = [](const Instruction& instruction) {
            return instruction.pseudo == Pseudo::none &&
                   (instruction.inst.row->flags & isa::kBranch || instruction.inst.row->mnemonic == "s_endpgm");
        };
        while (count < size && !ends(block.code[count])) ++count;
        if (count == 0 || count == size) return count;
        const bool tests = implicit_reads(function, block.code[count]) & isa::implicit::scc &&
                           implicit_writes(function, block.code[count - 1]) & isa::implicit::scc;
        return tests ? count - 1 : count;
    }

  private:
    bool fits(const Pressure& old) const {
        for (size_t bank = 0; bank < 3; ++bank)
            if (peak_[bank] > std::max(old[bank], limits_[bank])) return false;
        return true;
    }

    void schedule(uint32_t number) {
        Block& block = function_.blocks[number];
        const uint32_t count = movable(function_, block);
        if (count < 3) return;
        build(block, count, live_.block(number).begin + 2 * count);
        begin_pressure(number, count);
        for (const Node& node : nodes_) place(node);
        const Pressure old = peak_;
        const std::vector<Node> fresh = nodes_;
        std::vector<uint32_t> order;
        for (int share_of_loads : {8, 7, 6}) {
            nodes_ = fresh;
            begin_pressure(number, count);
            for (size_t bank = 0; bank < 3; ++bank) load_limits_[bank] = limits_[bank] * share_of_loads / 8;
            order = choose(count, old);
            if (fits(old)) break;
        }
        if (!fits(old)) return;
        std::vector<Instruction> code;
        code.reserve(block.code.size());
        for (uint32_t i : order) code.push_back(std::move(block.code[i]));
        for (size_t i = count; i < block.code.size(); ++i) code.push_back(std::move(block.code[i]));
        block.code = std::move(code);
    }

    /// True if EXEC matters to it.
    bool is_predicated(const Instruction& instruction) const {
        if (instruction.pseudo == Pseudo::copy) return function_.bank(instruction.dst[0]) != Bank::scalar;
        return implicit_reads(function_, instruction) & isa::implicit::exec;
    }

    /// `end`: of what is ordered. Loads for code after the block, such as a loop's next round, are complete there.
    void build(const Block& block, uint32_t count, uint32_t end) {
        const std::vector<Dependency>& found = dependencies_.of(block, count);
        nodes_.assign(count, {});
        uses_.clear();
        for (uint32_t i = 0; i < count; ++i) list_uses(block.code[i], nodes_[i]);
        links_.clear();
        links_.reserve(found.size());
        for (const Dependency& dependency : std::views::reverse(found)) link(dependency);
        hold_prefetches(block, count, end, found);
        for (uint32_t i = count; i-- > 0;) {
            Node& node = nodes_[i];
            const Instruction& instruction = block.code[i];
            if (instruction.pseudo == Pseudo::none) {
                const isa::Facts& facts = isa::facts(function_.family, *instruction.inst.row);
                const int passes = isa::matrix_passes(function_.family, facts);
                node.core = static_cast<uint32_t>(passes) * kSlot;
                node.issue =
                    passes ? kSlot
                           : static_cast<uint32_t>(isa::issue_cycles(function_.family, facts, function_.wave_size()));
            }
            node.predicated = is_predicated(instruction);
            node.predicate = instruction.predicate;
            node.memory = is_load(instruction);
            const bool stays = node.memory && live_.live_at(live_.unit(instruction.dst[0]), end);
            node.height = std::max(node.issue, stays ? result_latency(function_, instruction) : node.core);
            for (uint32_t at = node.first; at != kNoLink; at = links_[at].next)
                node.height = std::max(node.height, nodes_[links_[at].to].height + links_[at].latency);
        }
        hold_constants(block, count);
    }

    static bool is_load(const Instruction& instruction) {
        return instruction.pseudo == Pseudo::none && instruction.inst.row->flags & isa::kMemory && instruction.dst[0];
    }
    void link(const Dependency& dependency) {
        links_.push_back({dependency.to, dependency.latency, nodes_[dependency.from].first});
        nodes_[dependency.from].first = static_cast<uint32_t>(links_.size() - 1);
        ++nodes_[dependency.to].waiting;
    }

    /// Some barriers wait for all memory. A load that is read after the next barrier, or after the block, stays after
    /// the barrier before it. That one would wait for it before anything is computed.
    void hold_prefetches(const Block& block, uint32_t count, uint32_t end, const std::vector<Dependency>& found) {
        if (!value_of(Workaround::barriers_wait_for_all, function_.target)) return;
        std::vector<uint32_t> barriers, first_reader(count, kNoLink);
        for (const Dependency& dependency : found)
            if (dependency.latency > 1)
                first_reader[dependency.from] = std::min(first_reader[dependency.from], dependency.to);
        for (uint32_t i = 0; i < count; ++i)
            if (block.code[i].pseudo == Pseudo::none && block.code[i].inst.row->mnemonic == "s_barrier")
                barriers.push_back(i);
        for (uint32_t i = 0; i < count; ++i) {
            const auto next = std::ranges::upper_bound(barriers, i);
            if (next == barriers.begin() || !is_load(block.code[i])) continue;
            const bool stays = live_.live_at(live_.unit(block.code[i].dst[0]), end);
            const uint32_t until = next == barriers.end() ? kNoLink : *next;
            const bool is_ahead = first_reader[i] == kNoLink ? stays : first_reader[i] > until;
            if (is_ahead) link({*(next - 1), i, 0});
        }
    }

    /// Constants that nothing delays would all come first. Those that predicated instructions change do: EXEC is set
    /// once for several of these.
    void hold_constants(const Block& block, uint32_t count) {
        constants_.clear();
        constants_of_.assign(count, kNoLink);
        for (uint32_t i = count; i-- > 0;) {
            Node& node = nodes_[i];
            node.held = is_copy(block.code[i]) && !block.code[i].src[0] && node.waiting == 0 && node.first != kNoLink;
            for (uint32_t at = node.first; at != kNoLink && node.held; at = links_[at].next)
                node.held = !block.code[links_[at].to].predicate;
        }
        for (uint32_t i = count; i-- > 0;)
            for (uint32_t at = nodes_[i].held ? nodes_[i].first : kNoLink; at != kNoLink; at = links_[at].next) {
                --nodes_[links_[at].to].waiting;
                constants_.push_back({i, constants_of_[links_[at].to]});
                constants_of_[links_[at].to] = static_cast<uint32_t>(constants_.size() - 1);
            }
    }

    void list_uses(const Instruction& instruction, Node& node) {
        auto add = [&](Place place, bool write) {
            uses_.push_back({live_.unit(place), place.dwords, static_cast<uint8_t>(function_.bank(place)), write});
        };
        node.uses = static_cast<uint32_t>(uses_.size());
        each_read(function_, instruction, [&](Place place) { add(place, false); });
        each_write(instruction, [&](Place place) { add(place, true); });
        node.uses_end = static_cast<uint32_t>(uses_.size());
    }
    template <class Visit>
    void each_use(const Node& node, Visit visit) const {
        for (uint32_t i = node.uses; i < node.uses_end; ++i)
            for (uint32_t unit = uses_[i].unit, end = unit + uses_[i].dwords; unit < end; ++unit) visit(unit, uses_[i]);
    }

    void begin_pressure(uint32_t number, uint32_t count) {
        const Segment span = live_.block(number);
        const uint32_t end = span.begin + 2 * count;
        for (const Use& use : uses_)
            for (uint32_t unit = use.unit; unit < use.unit + use.dwords; ++unit) reads_[unit] = kNoLink;
        for (const Use& use : uses_)
            for (uint32_t unit = use.unit; unit < use.unit + use.dwords; ++unit) {
                if (reads_[unit] == kNoLink) {
                    alive_[unit] = live_.live_at(unit, span.begin);
                    reads_[unit] = live_.live_at(unit, end);  // by who needs it after what is ordered here
                }
                reads_[unit] += !use.write;
            }
        now_ = peak_ = map_.at(span.begin);
    }

    void place(const Node& node) {
        Pressure dead{};
        each_use(node, [&](uint32_t unit, const Use& use) {
            if (!use.write) {
                if (--reads_[unit] || !alive_[unit]) return;
                alive_[unit] = false;
                --now_[use.bank];
            } else if (!alive_[unit]) {
                alive_[unit] = reads_[unit] > 0;
                ++(alive_[unit] ? now_ : dead)[use.bank];
            }
        });
        for (size_t i = 0; i < 3; ++i) peak_[i] = std::max(peak_[i], now_[i] + dead[i]);
    }

    /// Gives up once it does not fit.
    std::vector<uint32_t> choose(uint32_t count, const Pressure& old) {
        std::vector<uint32_t> order;
        order.reserve(count);
        loads_.clear();
        there_.clear();
        products_.clear();
        near_.clear();
        clock_ = core_free_ = 0;
        predicate_ = {};
        for (uint32_t i = 0; i < count; ++i)
            if (nodes_[i].waiting == 0 && !nodes_[i].held) insert(i);
        while (fits(old) && (!loads_.empty() || !there_.empty() || !products_.empty() || !near_.empty())) {
            for (; !near_.empty() && nodes_[index(near_.back())].ready_at <= clock_; near_.pop_back())
                add(of(index(near_.back())), index(near_.back()));
            const uint32_t i = take_best();
            for (uint32_t constant = constants_of_[i]; constant != kNoLink; constant = constants_[constant].next) {
                const uint32_t first = constants_[constant].instruction;
                if (!nodes_[first].held) continue;
                nodes_[first].held = false;
                take(first, order);
            }
            take(i, order);
            for (uint32_t link = nodes_[i].first; link != kNoLink; link = links_[link].next) {
                Node& next = nodes_[links_[link].to];
                next.ready_at = std::max(next.ready_at, clock_ - nodes_[i].issue + links_[link].latency);
                if (--next.waiting == 0) insert(links_[link].to);
            }
        }
        return order;
    }

    void take(uint32_t i, std::vector<uint32_t>& order) {
        const Node& node = nodes_[i];
        const uint32_t start = std::max({clock_, node.ready_at, node.core ? core_free_ : 0});
        clock_ = start + node.issue;
        if (node.core) core_free_ = start + node.core;
        place(node);
        if (node.predicated) predicate_ = node.predicate;
        order.push_back(i);
    }

    /// Ready instructions, the best last: what is compared first above the complement of the index.
    using Queue = std::vector<uint64_t>;
    static uint32_t index(uint64_t entry) { return ~static_cast<uint32_t>(entry); }

    Queue& of(uint32_t i) { return nodes_[i].memory ? loads_ : nodes_[i].core ? products_ : there_; }
    void insert(uint32_t i) { add(nodes_[i].ready_at > clock_ ? near_ : of(i), i); }
    void add(Queue& queue, uint32_t i) const {
        const Node& node = nodes_[i];
        const uint32_t first = &queue == &near_ ? ~node.ready_at : node.height;
        const uint64_t entry = uint64_t{first} << 32 | ~i;
        queue.insert(std::ranges::upper_bound(queue, entry), entry);
    }

    /// The best of what is ready: first that registers last, then that nothing waits, then what the most depends on.
    uint32_t take_best() {
        struct Score {
            int over;
            uint32_t wait, behind, index;
            auto operator<=>(const Score&) const = default;
        };
        bool tight = false, may_be_over = false;
        for (size_t bank = 0; bank < 3; ++bank) {
            tight |= now_[bank] + kRoom > limits_[bank] * 3 / 4;
            may_be_over |= now_[bank] + kRoom > load_limits_[bank];
        }
        Queue* from = nullptr;
        size_t best = 0;
        Score least{INT32_MAX, 0, 0, 0};
        auto look = [&](Queue& queue, size_t first, size_t end) {
            const bool is_near = &queue == &near_;
            for (size_t at = end; at-- > first;) {
                const uint32_t i = index(queue[at]);
                const Node& node = nodes_[i];
                const uint32_t until = node.ready_at > clock_ ? node.ready_at - clock_ : 0,
                               busy = node.core && core_free_ > clock_ ? core_free_ - clock_ : 0;
                const Score at_best{0, until, is_near ? 0 : ~node.height, is_near ? 0 : i};  // of it and of all before
                if (from && at_best >= least) break;
                const bool turns = node.predicated && node.predicate != predicate_;
                const uint32_t wait = std::max(until, busy) + (turns ? kPredicateClocks : 0);
                Score score{0, wait, ~node.height, i};
                if (from && score >= least) continue;
                if (may_be_over) score.over = over(node);
                if (from && score >= least) continue;
                least = score;
                best = at;
                from = &queue;
            }
        };
        const auto last = [](const Queue& queue) { return queue.size() - std::min(queue.size(), kWindow); };
        look(loads_, last(loads_), loads_.size());
        look(there_, last(there_), there_.size());
        look(products_, last(products_), products_.size());
        if (tight || !from || least.wait > 0) look(near_, last(near_), near_.size());
        if (tight) look(there_, 0, std::min(kEnds, last(there_)));
        const uint32_t i = index((*from)[best]);
        from->erase(from->begin() + static_cast<ptrdiff_t>(best));
        return i;
    }

    /// Registers beyond the limits with the instruction. Where the first try failed loads leave some to what works with
    /// their results.
    int over(const Node& node) const {
        int by[3] = {};  // more registers that are live
        for (uint32_t i = node.uses; i < node.uses_end; ++i) {
            const Use& use = uses_[i];
            int more = 0;
            for (uint32_t unit = use.unit, end = unit + use.dwords; unit < end; ++unit)
                more += use.write ? !alive_[unit] && reads_[unit] > 0 : -(reads_[unit] == 1);
            by[use.bank] += more;
        }
        int over = 0;
        for (size_t bank = 0; bank < 3; ++bank)
            if (by[bank] > 0 || now_[bank] > limits_[bank])
                over += std::max(now_[bank] + by[bank] - (node.memory ? load_limits_ : limits_)[bank], 0);
        return over;
    }

    MachineFunction& function_;
    Liveness live_;
    PressureMap map_;
    Dependencies dependencies_;
    Pressure limits_{}, load_limits_{}, now_{}, peak_{};
    std::vector<Node> nodes_;
    std::vector<Link> links_;
    std::vector<Constant> constants_;
    std::vector<uint32_t> constants_of_;
    Queue loads_, there_;          // whose operands are there, by height
    Queue products_;               // the same, of a matrix core
    Queue near_;                   // whose operands will be, by when
    std::vector<Use> uses_;        // of all nodes
    std::vector<uint32_t> reads_;  // of a unit: those that are to come
    std::vector<uint8_t> alive_;
    uint32_t clock_ = 0, core_free_ = 0;  // core_free_: when the matrix core has done what it was given
    Place predicate_{};
};

}  // namespace

Result<void> schedule(MachineFunction& function) {
    form_schedule_groups(function, [&](const Block& block) { return Scheduler::movable(function, block); });
    Scheduler(function).run();
    return {};
}

}  // namespace strata::codegen
