// vectorize: vectorization. Accesses to neighbouring elements become one access, as wide as the target has.
//
// Before  load(x[4*i]), load(x[4*i + 1]), ...;  group(store(y[4*i], a), store(y[4*i + 1], b), ...)
// After   lane 0, lane 1, ... of load float4(x[4*i]);  store(y[4*i], vec(a, b, ...))
// The first element must be provably aligned to the vector; a predicate must be the same for all. Memory is aligned to
// 16 bytes at least.
#include <algorithm>
#include <map>

#include "strata/codegen/linear/passes_p.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

struct Place {
    UOp pointer, predicate, base;  ///< base: the offset without its constant; empty for none
    int64_t offset = 0;
    std::optional<CachePolicy> cache = {};
};

Place place_of(UOp index) {
    Place p{index.src(0), index.src().size() > 2 ? index.src(2) : UOp(), index.src(1), 0, uop::cache_of(index)};
    UOp at = index.src(1);
    if (at.is_const()) {
        p.offset = const_int(at);
        p.base = UOp();
    } else if (at.is(Op::add) && at.src(1).is_const()) {
        p.offset = const_int(at.src(1));
        p.base = at.src(0);
    }
    return p;
}

/// Accesses of one vector have equal keys.
using Key = std::pair<std::array<const Node*, 4>, std::optional<CachePolicy>>;
Key key_of(const Place& p, UOp otherwise) {
    return {{p.pointer.node(), p.predicate.node(), p.base.node(), otherwise.node()}, p.cache};
}

/// HIP has no vectors of 8-bit floats.
bool can_be_vector(UOp index, const Target& target) {
    DType t = index.dtype();
    if (t.lanes > 1 || t.is_bool() || (t.is_float() && t.bits() == 8 && target.route == Route::hip)) return false;
    return memory_of(index).as<ParamArg>().space != Space::reg && index.src(1).dtype().scalar == Scalar::index;
}

/// Elements by their constant offsets.
using Run = std::map<int64_t, UOp>;

/// The widest vector that starts at `first`, 1 for none.
int lanes_at(const Run& run, Run::const_iterator first, UOp base, DType type, int max_bytes) {
    for (int n = max_bytes / type.bytes(); n > 1; n /= 2) {
        if (first->first % n != 0 || (base && !proves_divisible(base, n))) continue;
        int64_t expected = first->first;
        auto it = first;
        while (it != run.end() && it->first == expected && expected < first->first + n) ++it, ++expected;
        if (expected == first->first + n) return n;
    }
    return 1;
}

class Vectorizer {
  public:
    Vectorizer(UOp sink, const Target& target) : order_(toposort(sink)), target_(target) {}

    UOp run() {
        find_loads();
        find_bound_stores();
        return rebuild(order_, rebuilt_, [&](UOp u, std::span<const UOp> sources) {
            auto found = lanes_.find(u);
            UOp next = found != lanes_.end() ? lane_of(found->second, sources[0])
                       : u.is(Op::group)     ? joined(u, sources)
                       : u.is(Op::barrier)   ? waiting(joined(u, sources))
                       : is_list(u)          ? joined(u, sources)
                                             : u.with_src(sources);
            depth_[u] = depth(u);
            if (u.is(Op::store)) level_[next] = depth_.at(u);
            if (bound_.contains(u)) bound_[next] = true;
            return next;
        });
    }

  private:
    struct Vector {
        Place first;
        DType type;
        UOp otherwise, load;
    };
    struct Lane {
        size_t vector;
        int lane;
    };

    /// Nodes that list effects, in whose lists stores become one.
    static bool is_list(UOp u) {
        return u.is(Op::group) || u.is(Op::barrier) || u.is(Op::fence) || u.is(Op::wave_barrier) ||
               u.is(Op::async_commit) || u.is(Op::async_wait) || u.is(Op::schedule) || u.is(Op::priority);
    }
    /// Stores that another node comes after stay as they are: it would come after them and not after the vector.
    void find_bound_stores() {
        for (UOp u : order_)
            for (UOp s : u.src())
                if (s.is(Op::store) && !is_list(u)) bound_[s] = true;
    }

    void find_loads() {
        std::map<Key, std::pair<Place, Run>> groups;
        std::vector<Key> keys;  // in order of appearance, so that the result does not depend on addresses
        for (UOp u : order_) {
            if (!u.is(Op::load) || u.dtype().lanes > 1 || !can_be_vector(u.src(0), target_)) continue;
            UOp otherwise = u.src().size() > 1 ? u.src(1) : UOp();
            if (otherwise && !otherwise.is_const()) continue;
            Place p = place_of(u.src(0));
            auto [entry, is_new] = groups.try_emplace(key_of(p, otherwise), p, Run());
            if (is_new) keys.push_back(entry->first);
            entry->second.second.emplace(p.offset, u);
        }
        for (const Key& key : keys) {
            auto& [place, run] = groups.at(key);
            for (auto it = run.begin(); it != run.end();) {
                int n = lanes_at(run, it, place.base, it->second.dtype(), target_.vector_bytes);
                if (n > 1) add_vector(place, it, n);
                std::advance(it, n);
            }
        }
    }

    void add_vector(Place place, Run::const_iterator it, int n) {
        UOp load = it->second;
        place.offset = it->first;
        DType type = load.dtype().vector(n);
        UOp otherwise = load.src().size() > 1 ? make(Op::constant, type, {}, load.src(1).arg()) : UOp();
        vectors_.push_back({place, type, otherwise, UOp()});
        for (int i = 0; i < n; i++, ++it) lanes_[it->second] = {vectors_.size() - 1, i};
    }

    UOp rebuilt(UOp u) const { return u ? rebuilt_.at(u) : u; }

    static UOp index(const Place& p, UOp pointer, UOp predicate, UOp base) {
        return uop::at(pointer, !base ? index_const(p.offset) : p.offset ? base + p.offset : base, predicate, p.cache);
    }

    UOp lane_of(const Lane& lane, UOp element) {
        Vector& v = vectors_[lane.vector];
        if (!v.load) {
            std::vector<UOp> sources{index(v.first, element.src(0), rebuilt(v.first.predicate), rebuilt(v.first.base))};
            if (v.otherwise) sources.push_back(v.otherwise);
            v.load = make(Op::load, v.type, sources);
        }
        return make(Op::lane, v.type.element(), {v.load}, IndexArg{lane.lane});
    }

    /// A barrier after whole vectors, not after each of their elements.
    static UOp waiting(UOp barrier) {
        std::vector<UOp> whole;
        for (UOp s : barrier.src()) {
            const UOp vector = s.is(Op::lane) ? s.src(0) : s;
            if (std::ranges::find(whole, vector) == whole.end()) whole.push_back(vector);
        }
        return barrier.with_src(whole);
    }

    /// How many stores deep a node stands on others: stores of one depth do not depend on each other.
    int depth(UOp u) const {
        int deepest = 0;
        for (UOp s : u.src()) deepest = std::max(deepest, depth_.at(s));
        return deepest + u.is(Op::store);
    }

    /// The effects of a group, and of the groups in it, as where each element is stored to several memories.
    static void flatten(std::span<const UOp> effects, std::vector<UOp>& flat) {
        for (UOp e : effects) e.is(Op::group) ? flatten(e.src(), flat) : flat.push_back(e);
    }

    /// A list of effects with neighbouring stores as one, in later lists too.
    UOp joined(UOp group, std::span<const UOp> nested) {
        std::vector<UOp> effects;
        flatten(nested, effects);
        std::map<std::pair<Key, int>, std::pair<Place, Run>> runs;
        for (UOp e : effects) {
            if (!e.is(Op::store) || !can_be_vector(e.src(0), target_) || e.src(1).dtype().lanes > 1) continue;
            if (bound_.contains(e) || vector_of_.contains(e)) continue;
            Place p = place_of(e.src(0));
            auto& [place, run] = runs.try_emplace({key_of(p, UOp()), level_.at(e)}, p, Run()).first->second;
            run.emplace(p.offset, e);
        }
        for (auto& [_, entry] : runs)
            for (auto it = entry.second.begin(); it != entry.second.end();) {
                int n = lanes_at(entry.second, it, entry.first.base, it->second.src(0).dtype(), target_.vector_bytes);
                if (n > 1) join(entry.first, it, n);
                std::advance(it, n);
            }
        std::vector<UOp> out;
        for (UOp e : effects) {
            auto found = vector_of_.find(e);
            UOp next = found == vector_of_.end() ? e : found->second;
            if (std::find(out.begin(), out.end(), next) == out.end()) out.push_back(next);
        }
        return group.is(Op::group) && out.size() == 1 ? out[0] : group.with_src(out);
    }

    void join(Place place, Run::const_iterator it, int n) {
        place.offset = it->first;
        std::vector<UOp> values, members;
        for (int i = 0; i < n; i++, ++it) {
            values.push_back(it->second.src(1));
            members.push_back(it->second);
        }
        DType type = values[0].dtype().vector(n);
        UOp store = uop::store(index(place, place.pointer, place.predicate, place.base), vector(type, values));
        level_[store] = level_.at(members[0]);
        for (UOp m : members) vector_of_[m] = store;
    }

    static UOp vector(DType type, std::span<const UOp> values) {
        bool whole = true;
        for (size_t i = 0; i < values.size() && whole; ++i)
            whole = values[i].is(Op::lane) && values[i].src(0) == values[0].src(0) &&
                    values[i].src(0).dtype() == type && values[i].as<IndexArg>().index == static_cast<int>(i);
        return whole ? values[0].src(0) : make(Op::vec, type, values);
    }

    std::vector<UOp> order_;
    const Target& target_;
    UOpMap<UOp> rebuilt_;
    UOpMap<Lane> lanes_;
    UOpMap<int> depth_, level_;  // of nodes; of the stores they became
    UOpMap<bool> bound_;         // stores, and those they became
    UOpMap<UOp> vector_of_;      // stores that became one
    std::vector<Vector> vectors_;
};

}  // namespace

Result<UOp> vectorize(UOp sink, Context& context) { return Vectorizer(sink, context.target).run(); }

}  // namespace strata::codegen
