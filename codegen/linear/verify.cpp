// verify_kernel: the rules of kernel.h, before anything is lowered. verify_linear: what linear.h promises.
#include <algorithm>
#include <unordered_set>

#include "strata/codegen/linear/passes_p.h"

namespace strata::codegen {
namespace {

template <class... Args>
Error broken(ErrorKind kind, UOp u, fmt::format_string<Args...> text, Args&&... args) {
    Error error{kind, fmt::format("kernel: {}: {}", to_string(u), fmt::format(text, std::forward<Args>(args)...))};
    if (kind == ErrorKind::Internal) error.message += "\n" + tree(u);
    return error;
}

/// Users write memory and order by hand; Strata's own kernels before this stage never do.
bool is_users(std::span<const UOp> nodes) {
    return std::any_of(nodes.begin(), nodes.end(), [](UOp u) {
        bool own_memory = u.is(Op::param) && u.as<ParamArg>().space != Space::global;
        bool named = u.is(Op::sink) && !u.as<SinkArg>().name.empty();
        return own_memory || named || u.is(Op::after) || u.is(Op::barrier) || u.is(Op::special) || u.is(Op::atomic_add);
    });
}

bool is_effect(UOp u) { return u.dtype().scalar == Scalar::none; }

class KernelCheck {
  public:
    KernelCheck(const Scopes& scopes, ErrorKind kind) : scopes_(scopes), kind_(kind) {}

    Result<void> run() {
        for (UOp u : scopes_.order()) {
            STRATA_TRY_VOID(check(u));
        }
        UOp sink = scopes_.order().back();
        if (RangeSet open = scopes_.free(sink)) {
            UOp range = scopes_.list(open)[0];
            return broken(kind_, range, "no end closes this range");
        }
        return {};
    }

  private:
    Result<void> check(UOp u) {
        switch (u.op()) {
            case Op::range: return check_range(u);
            case Op::index: return check_index(u);
            case Op::load: return check_load(u);
            case Op::store:
            case Op::atomic_add: return check_store(u);
            case Op::reduce:
            case Op::end: return check_closer(u);
            case Op::sink:
            case Op::group: return check_effects(u);
            default: break;
        }
        bool known = info(u.op()).elementwise() || info(u.op()).is(kKernel) || u.is(Op::constant);
        if (!known || !u.shape().empty())
            return broken(kind_, u, "{} is a tensor operation, not one of a kernel", info(u.op()).name);
        return {};
    }

    Result<void> check_range(UOp u) {
        const RangeArg& arg = range_arg(u);
        if (arg.size < 1) return broken(kind_, u, "a range needs at least one step");
        if (!ids_.insert(arg.id).second) return broken(kind_, u, "another range has the id {} too", arg.id);
        return {};
    }

    Result<void> check_index(UOp u) {
        if (u.src().size() < 2 || u.src().size() > 3)
            return broken(kind_, u, "takes a pointer, an offset and perhaps a gate");
        UOp memory = skip_after(u.src(0));
        if (!memory.is(Op::param)) return broken(kind_, u, "points into {}, which is no param", to_string(memory));
        if (u.dtype() != memory.dtype()) return broken(kind_, u, "elements of the param are {}", memory.dtype().name());
        if (!u.src(1).dtype().is_integer())
            return broken(kind_, u, "the offset is {}, not an integer", to_string(u.src(1)));
        if (u.src().size() == 3 && !u.src(2).dtype().is_bool())
            return broken(kind_, u, "the gate is {}, not a bool", to_string(u.src(2)));
        return {};
    }

    Result<void> check_load(UOp u) {
        if (u.src().empty() || !u.src(0).is(Op::index))
            return broken(kind_, u, "loads from an index, and from nothing else");
        bool gated = u.src(0).src().size() == 3;
        if (gated != (u.src().size() == 2))
            return broken(kind_, u, "a gated index needs a value for where the gate is false, and only such an index");
        if (gated && u.src(1).dtype() != u.dtype())
            return broken(kind_, u, "the other value is {}", to_string(u.src(1)));
        return {};
    }

    Result<void> check_store(UOp u) {
        if (!u.src(0).is(Op::index)) return broken(kind_, u, "writes to an index, not to {}", to_string(u.src(0)));
        if (u.src(1).dtype() != u.src(0).dtype())
            return broken(kind_, u, "the value is {}, the memory holds {}", to_string(u.src(1)),
                          u.src(0).dtype().name());
        return {};
    }

    Result<void> check_closer(UOp u) {
        if (u.src().empty()) return broken(kind_, u, "needs something to close ranges around");
        if (u.is(Op::end) && !is_effect(u.src(0)))
            return broken(kind_, u, "closes ranges around an effect, not {}", to_string(u.src(0)));
        for (UOp r : u.src().subspan(1)) {
            if (!r.is(Op::range)) return broken(kind_, u, "closes ranges, not {}", to_string(r));
            UOp& closer = closers_[r];
            if (closer && (u.is(Op::end) || closer.is(Op::end)))
                return broken(kind_, u, "{} is closed by {} already", to_string(r), to_string(closer));
            closer = u;
        }
        if (!u.is(Op::reduce)) return {};
        Op op = u.as<ReduceArg>().op;
        if (op != Op::add && op != Op::mul && op != Op::max && op != Op::min)
            return broken(kind_, u, "reduces with add, mul, max or min");
        return {};
    }

    Result<void> check_effects(UOp u) {
        for (UOp s : u.src())
            if (!is_effect(s)) return broken(kind_, u, "lists effects, not {}", to_string(s));
        return {};
    }

    const Scopes& scopes_;
    ErrorKind kind_;
    std::unordered_set<int> ids_;
    UOpMap<UOp> closers_;
};

/// Walks a list as the machine would and knows what is computed.
class ListCheck {
  public:
    Result<void> run(std::span<const UOp> ops) {
        for (UOp u : ops) {
            if (u.dtype().scalar == Scalar::index)
                return broken(ErrorKind::Internal, u, "an index without a machine type");
            if (u.is(Op::end)) {
                if (open_.empty() || open_.back().range != u.src(1))
                    return broken(ErrorKind::Internal, u, "closes a loop that is not the innermost");
                close();
            }
            for (UOp s : u.src())
                if (!u.is(Op::end) && !available(s))
                    return broken(ErrorKind::Internal, u, "its source {} is not computed yet", to_string(s));
            if (u.is(Op::range)) open_.push_back({u, {}});
            add(u);
        }
        if (!open_.empty()) return broken(ErrorKind::Internal, open_.back().range, "a loop without end");
        return {};
    }

  private:
    struct Loop {
        UOp range;
        std::vector<UOp> computed;
    };

    bool available(UOp s) const {
        if (s.is(Op::after)) return available(s.src(0));
        return is_effect(s) || known_.contains(s);
    }
    void add(UOp u) {
        known_.insert(u);
        if (!open_.empty()) open_.back().computed.push_back(u);
    }
    void close() {
        for (UOp u : open_.back().computed) known_.erase(u);
        open_.pop_back();
    }

    std::vector<Loop> open_;
    std::unordered_set<UOp, UOpHash> known_;
};

}  // namespace

Result<void> verify_kernel(UOp sink) {
    if (!sink || !sink.is(Op::sink)) return make_error(ErrorKind::Usage, "kernel: {} is no sink", to_string(sink));
    std::vector<UOp> nodes = toposort(sink);
    ErrorKind kind = is_users(nodes) ? ErrorKind::Usage : ErrorKind::Internal;
    auto is_range = [](UOp u) { return u.is(Op::range); };
    if (static_cast<size_t>(std::count_if(nodes.begin(), nodes.end(), is_range)) > kMaxRanges)
        return broken(kind, sink, "more than {} ranges", kMaxRanges);
    for (UOp u : nodes)
        for (UOp r : closes_ranges(u) && !u.src().empty() ? u.src().subspan(1) : std::span<const UOp>())
            if (!is_range(r)) return broken(kind, u, "closes ranges, not {}", to_string(r));
    Scopes scopes(sink);
    return KernelCheck(scopes, kind).run();
}

Result<void> verify_linear(const LinearProgram& program) { return ListCheck().run(program.ops); }

}  // namespace strata::codegen
