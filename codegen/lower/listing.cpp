// A linear program as text, one operation a line: what line tables and the comments of assembly refer to.
#include <fmt/format.h>

#include "strata/codegen/lower/emit_p.h"
#include "strata/core/uop/walk.h"

namespace strata::codegen {
namespace {

class Listing {
  public:
    explicit Listing(const LinearProgram& program) : program_(program) {
        for (UOp u : program.ops)
            if (writes_memory(u)) written_[memory_of(u)] = true;
    }

    std::vector<std::string> run() {
        std::vector<std::string> lines;
        lines.reserve(program_.ops.size());
        names_.reserve(program_.ops.size());
        for (UOp u : program_.ops) lines.push_back(line(u));
        return lines;
    }

    std::string parameter(UOp u) const {
        if (u.is(Op::define_var)) return fmt::format("n{}", u.as<VariableArg>().slot);
        return fmt::format("{}{}", written_.contains(u) ? "out" : "in", u.as<ParamArg>().slot);
    }

  private:
    std::string line(UOp u) {
        switch (u.op()) {
            case Op::param: return define(u, memory(u), to_string(u));
            case Op::define_var: return define(u, parameter(u), to_string(u));
            case Op::special: return define(u, special(u), to_string(u));
            case Op::constant: names_[u] = to_string(u.arg(), u.dtype()); return to_string(u);
            case Op::range:
                names_[u] = fmt::format("r{}", range_arg(u).id);
                if (!u.src().empty()) return fmt::format("for {} below {}", names_[u], name(u.src(0)));
                return fmt::format("for {} below {}", names_[u], range_arg(u).size);
            case Op::end: return fmt::format("end {}", name(u.src(1)));
            case Op::break_if: return fmt::format("leave {} where {}", name(u.src(1)), name(u.src(0)));
            case Op::index: names_[u] = place(u); return "place " + names_[u];
            case Op::load: return define(u, numbered("val", next_val_++), with_sources(u));
            case Op::store: return fmt::format("{} = {}", name(u.src(0)), name(u.src(1)));
            case Op::barrier: return "barrier";
            case Op::first_wave: return fmt::format("end unless {} < {}", name(u.src(0)), u.as<IndexArg>().index);
            case Op::last_block:
                return fmt::format("end unless last of {} by {}", u.as<IndexArg>().index, name(u.src(0)));
            default:
                if (u.dtype().scalar == Scalar::none) return with_sources(u);
                return define(u, numbered("alu", next_alu_++), with_sources(u));
        }
    }

    static std::string numbered(std::string name, int number) { return std::move(name += std::to_string(number)); }
    std::string define(UOp u, std::string name, const std::string& text) {
        std::string line = name + " = " + text;
        names_[u] = std::move(name);
        return line;
    }
    std::string_view name(UOp u) const {
        const auto at = names_.find(skip_after(u));
        return at == names_.end() ? info(u.op()).name : std::string_view(at->second);
    }
    std::string with_sources(UOp u) const {
        std::string text = to_string(u);
        for (size_t i = 0; i < u.src().size(); ++i) (text += i ? ", " : " ") += name(u.src(i));
        return text;
    }
    std::string place(UOp u) const {
        std::string text = fmt::format("{}[{}]", name(u.src(0)), name(u.src(1)));
        return u.src().size() == 3 ? fmt::format("{} if {}", text, name(u.src(2))) : text;
    }
    std::string memory(UOp u) {
        switch (u.as<ParamArg>().space) {
            case Space::local: return fmt::format("lds{}", next_lds_++);
            case Space::reg: return fmt::format("acc{}", next_acc_++);
            default: return parameter(u);
        }
    }
    static std::string special(UOp u) {
        const SpecialArg& arg = u.as<SpecialArg>();
        return fmt::format("{}{}", arg.thread ? 't' : 'b', "xyz"[arg.dim]);
    }

    const LinearProgram& program_;
    UOpMap<std::string> names_;
    UOpMap<bool> written_;
    int next_lds_ = 0, next_acc_ = 0, next_val_ = 0, next_alu_ = 0;
};

}  // namespace

std::vector<std::string> listing(const LinearProgram& program) { return Listing(program).run(); }

std::vector<std::string> parameter_names(const LinearProgram& program) {
    const Listing listing(program);
    std::vector<std::string> names;
    for (UOp u : program.params) names.push_back(listing.parameter(u));
    return names;
}

}  // namespace strata::codegen
