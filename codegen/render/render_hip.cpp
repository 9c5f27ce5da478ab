// render_hip: a linear program as HIP text that a person can read.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "strata/asm/isa/arch.h"
#include "strata/codegen/linear/async_copies.h"
#include "strata/codegen/linear/async_products.h"
#include "strata/codegen/linear/scalar_threads.h"
#include "strata/codegen/render/buffer_text_p.h"
#include "strata/codegen/render/expression_p.h"
#include "strata/codegen/render/foreign_p.h"
#include "strata/codegen/render/inline_plan_p.h"
#include "strata/codegen/render/launch_p.h"
#include "strata/codegen/render/loops_p.h"
#include "strata/codegen/render/order_text_p.h"
#include "strata/codegen/render/render.h"
#include "strata/codegen/render/text_lines_p.h"
#include "strata/codegen/render/wave_functions.h"
#include "strata/codegen/target/async_copy.h"
#include "strata/codegen/target/ldmatrix.h"
#include "strata/codegen/target/warpgroup_products.h"
#include "strata/core/uop/kernel.h"
#include "strata/core/uop/scopes.h"

namespace strata::codegen {
namespace {

constexpr size_t kLongExpression = 100;  // characters; longer ones get a name though used once
constexpr int kUnrolled = 8;             // steps of a loop over local memory that NVRTC writes out,
constexpr int kAllUnrolled = 16;         // all of them, where there are no more

class Renderer {
  public:
    Renderer(const LinearProgram& program, const Target& target)
        : program_(program), target_(target), plan_(plan_inlining(program, target)), entry_(program.name) {}

    const std::string& entry() const { return entry_; }  ///< the symbol, once it ran

    /// The text, or the operation that HIP cannot write.
    std::variant<std::string, UOp> run() {
        for (size_t i = 0; i < program_.ops.size(); ++i) {
            UOp u = program_.ops[i];
            if (writes_memory(u)) written_[memory_of(u)] = true;
            if (u.is(Op::fetched)) asked_for_[u.src(0)] = true;
            if (plan_.declares[i]) declared_later_[memory_of(u)] = true;
            if (u.is(Op::load) && plan_.form[i] == InlinePlan::Form::inlined) inlined_loads_[u] = true;
            if (is_ldmatrix(u)) read_as_matrices_[u.src(0)] = true;
            if (const auto product = warpgroup_product(u)) {
                by_warpgroups_ = read_as_matrices_[u.src(1)] = true;
                if (!product->holds_a()) read_as_matrices_[u.src(0)] = true;
            }
        }
        if (program_.copies_ahead) async_copies_ = AsyncCopies(program_.ops);
        if (target_.arch.is_amd())
            last_fetches_ = last_fetches(program_.ops);
        else
            unrolled_ = loops_of_short_steps(program_.ops);
        head();
        for (at_ = 0; at_ < program_.ops.size(); ++at_) {
            const UOp u = program_.ops[at_];
            if (!products_.empty()) look_for_end_of_products(u);
            if (!emit_statement(u) && !emit_value(u)) return u;
            lines_.note(text_, program_.line_of(u));
        }
        return std::move(text_) + "}\n";
    }
    std::vector<uint32_t> take_lines() { return program_.places ? std::move(lines_.lines) : std::vector<uint32_t>(); }

  private:
    template <class... Args>
    void line(fmt::format_string<Args...> format, Args&&... args) {
        text_.append(4 * depth_, ' ');
        fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
        text_ += '\n';
    }

    void head() {
        for (UOp p : program_.params) values_[p] = {parameter_name(p, written_.contains(p))};
        KernelHead made = kernel_head(program_, target_, written_);
        text_ = std::move(made.text), entry_ = std::move(made.entry);
        depth_ = 1;
        if (asks_for_memory())
            line("extern __shared__ __attribute__((aligned({}))) unsigned char strata_lds[];", local_alignment());
    }

    bool emit_statement(UOp u) {
        switch (u.op()) {
            case Op::param: declare(u); return true;
            case Op::special: name_value(u, special(u)); return true;
            case Op::range: open_loop(u); return true;
            case Op::end: close_loop(); return true;
            case Op::break_if:
                if (!plan_.conditions.contains(u.src(1))) line("if ({}) break;", value(u.src(0)).text);
                return true;
            case Op::store: store(u); return true;
            case Op::atomic_add:
                guarded(u, fmt::format("atomicAdd(&{}, {})", element(u.src(0)).text, value(u.src(1)).text));
                return true;
            case Op::atomic: atomic(u); return true;
            case Op::fetched: values_[u] = values_.at(u.src(0)); return true;
            case Op::async_copy: return copy_async(u);
            case Op::fence:
            case Op::wave_barrier:
            case Op::async_commit:
            case Op::async_wait:
            case Op::schedule:
            case Op::priority:
                if (const std::string text = order_text(u, program_, target_); !text.empty()) line("{}", text);
                return true;
            case Op::foreign: foreign(u); return true;
            case Op::trap: line("if ({}) __builtin_trap();", value(u.src(0)).text); return true;
            case Op::barrier:
                start_copies();
                if (program_.copies_ahead) line("strata_copies_done<{}>();", async_copies_.steps_ahead());
                if (by_warpgroups_) line("strata_fence_of_products();");
                line("__syncthreads();");
                return true;
            case Op::first_wave:
                line("if ({} >= {}) return;", first_lane(value(u.src(0)).text, target_), u.as<IndexArg>().index);
                return true;
            case Op::last_block: {
                const std::string word = u.src(1).is(Op::index) ? fmt::format("&{}, ", element(u.src(1)).text) : "";
                line("if (!strata_comes_last(&{}, {}{}, {})) return;", element(u.src(0)).text, word,
                     u.src(0).src().size() == 3 ? value(u.src(0).src(2)).text : "true", u.as<IndexArg>().index);
                return true;
            }
            case Op::define_var:
            case Op::index: return true;
            default: return false;
        }
    }

    /// False where there is no spelling.
    bool emit_value(UOp u) {
        if (read_as_matrices_.contains(u)) return inlined_loads_.contains(u);
        if (warpgroup_product(u)) products_.begin(u);
        Expression e = u.is_const() ? literal(u) : u.is(Op::load) ? load(u) : compute(u);
        if (e.text.empty()) return false;
        bool inlined = plan_.form[at_] == InlinePlan::Form::inlined;
        if (inlined && (e.text.size() <= kLongExpression || e.assumes_predicate || u.is_const()))
            values_[u] = std::move(e);
        else
            name_value(u, e);
        return true;
    }

    void declare(UOp u) {
        const ParamArg& arg = u.as<ParamArg>();
        if (arg.space == Space::global || declared_later_.contains(u)) return;
        bool shared = arg.space == Space::local;
        std::string name = shared ? fmt::format("lds{}", next_lds_++) : fmt::format("acc{}", next_acc_++);
        // Clang reads whole dwords of what is aligned to them.
        const int64_t bytes = u.dtype().bytes(), size = shared ? (arg.size * bytes + 3) / 4 * 4 / bytes : arg.size;
        std::string count = shared || size > 1 ? fmt::format("[{}]", size) : "";
        if (shared && asks_for_memory()) {
            line("{0}* const {1} = ({0}*)(strata_lds + {2});", hip_type(u.dtype()), name, asked_);
            asked_ += (arg.size * bytes + local_alignment() - 1) / local_alignment() * local_alignment();
            values_[u] = {name};
            return;
        }
        line("{}{} {}{};", shared ? fmt::format("__shared__ __attribute__((aligned({}))) ", local_alignment()) : "",
             hip_type(u.dtype()), name, count);
        values_[u] = {name};
    }

    int64_t local_alignment() const { return by_warpgroups_ ? kSwizzledBytes : 16; }
    bool asks_for_memory() const { return dynamic_lds(program_, target_) > 0; }

    Expression special(UOp u) const {
        const SpecialArg& arg = u.as<SpecialArg>();
        if (arg.thread && scalar_threads_[static_cast<size_t>(arg.dim)])
            return {first_lane(fmt::format("threadIdx.{}", "xyz"[arg.dim]), target_)};
        return {fmt::format("{}.{}", arg.thread ? "threadIdx" : "blockIdx", "xyz"[arg.dim])};
    }

    void name_value(UOp u, const Expression& e) {
        std::string name, note;
        if (u.is(Op::special)) {
            const SpecialArg& arg = u.as<SpecialArg>();
            name = fmt::format("{}{}", arg.thread ? 't' : 'b', "xyz"[arg.dim]);
            note = fmt::format("  // below {}", arg.size);
        } else if (u.is(Op::load)) {
            name = fmt::format("val{}", next_val_++);
        } else if (plan_.addresses[at_]) {
            name = fmt::format("idx{}", next_idx_++);
        } else {
            name = fmt::format("alu{}", next_alu_++);
        }
        line("const {} {} = {};{}", hip_type(u.dtype()), name, e.text, note);
        values_[u] = {name};
    }

    void open_condition(UOp range, UOp left) {
        if (left.is(Op::logical_not) && value(left).text.starts_with('!'))
            line("if ({}) {{", value(left.src(0)).text);
        else
            line("if (!{}) {{", value(left).within(kPrefix));
        values_[range] = {"0"};
        depth_++;
    }

    void open_loop(UOp u) {
        if (const auto found = plan_.conditions.find(u); found != plan_.conditions.end())
            return open_condition(u, found->second);
        std::string name = fmt::format("r{}", range_arg(u).id);
        const std::string steps = u.src().empty() ? fmt::to_string(range_arg(u).size) : value(u.src(0)).text;
        if (unrolled_.contains(u))
            line("#pragma unroll {}", range_arg(u).size <= kAllUnrolled ? range_arg(u).size : kUnrolled);
        line("for ({0} {1} = 0; {1} < {2}; {1}++) {{", hip_type(u.dtype()), name, steps);
        values_[u] = {name};
        depth_++;
        if (!program_.async_products) products_.begin_loop(u);
    }
    void close_loop() {
        start_copies();
        depth_--;
        line("}}");
        if (!sums_.empty()) line("strata_products_end<0>({});", std::exchange(sums_, ""));
    }

    void foreign(UOp u) {
        const std::string name = fmt::format("alu{}", next_alu_++);
        for (const std::string& statement : spell_foreign(u, name, values_, target_)) line("{}", statement);
        values_[u] = {name};
    }

    const Expression& value(UOp u) const { return values_.at(skip_after(u)); }

    /// The old value of the place has a name where something uses it.
    void atomic(UOp u) {
        const AtomicArg& arg = u.as<AtomicArg>();
        std::string call =
            fmt::format("strata_atomic_{}<{}>(&{}, {}", atomic_names()[static_cast<size_t>(arg.operation)],
                        scope_name(arg.scope), place(u.src(0), u.src(1).dtype()).text, value(u.src(1)).text);
        if (u.src().size() > 2) call += ", " + value(u.src(2)).text;
        call += ")";
        if (!asked_for_.contains(u)) return guarded(u, call);
        const std::string name = fmt::format("old{}", next_old_++), type(hip_type(u.src(1).dtype()));
        if (u.src(0).src().size() == 3) {
            line("{} {} = {};", type, name, literal(constant(u.src(1).dtype(), 0)).text);
            guarded(u, fmt::format("{} = {}", name, call));
        } else {
            line("const {} {} = {};", type, name, call);
        }
        values_[u] = {name};
    }

    /// The memory that an index names, as an lvalue.
    Expression element(UOp index) const {
        UOp memory = memory_of(index);
        const std::string& name = value(memory).text;
        const ParamArg& arg = memory.as<ParamArg>();
        if (arg.space == Space::reg && arg.size == 1) return {name};
        return {fmt::format("{}[{}]", name, value(index.src(1)).text)};
    }

    /// The same, or a vector that starts there.
    Expression place(UOp index, DType type) const {
        if (type.lanes == 1 || memory_of(index).as<ParamArg>().space == Space::reg) return element(index);
        const std::string& name = value(index.src(0)).text;
        const Expression& offset = value(index.src(1));
        std::string pointer = offset.text == "0" ? name : fmt::format("({} + {})", name, offset.within(kAdd));
        bool constant = memory_of(index).as<ParamArg>().space == Space::global && !written_.contains(memory_of(index));
        return {fmt::format("*({}{}*){}", constant ? "const " : "", hip_type(type), pointer), kPrefix};
    }

    Expression load(UOp u) const {
        UOp index = u.src(0);
        Expression plain = place(index, u.dtype());
        if (const std::string policy = cache_function(index, target_); !policy.empty())
            plain = {fmt::format("strata_load_{}(&{})", policy, plain.text)};
        if (index.src().size() < 3) return plain;
        if (loads_through_descriptor(u, target_)) return {buffer_load(u, [&](UOp x) { return value(x); }, target_)};
        if (under_predicate(index.src(2))) {
            plain.assumes_predicate = true;
            return plain;
        }
        return {fmt::format("{} ? {} : {}", value(index.src(2)).within(kOr), plain.text,
                            value(u.src(1)).within(kConditional)),
                kConditional};
    }

    /// Is what is written now part of a store that runs only where `predicate` holds?
    bool under_predicate(UOp predicate) const {
        if (plan_.form[at_] != InlinePlan::Form::inlined) return false;
        UOp statement = program_.ops[plan_.statement[at_]];
        if (!writes_memory(statement)) return false;
        UOp index = statement.src(0);
        if (stores_through_descriptor(statement, target_)) return false;
        return index.src().size() == 3 && index.src(2) == predicate;
    }

    Expression compute(UOp u) const {
        if (u.is(Op::lane)) return lane(u);
        if (is_ldmatrix(u)) return matrix_read(u);
        if (const auto product = warpgroup_product(u)) {
            const auto tile = [&](UOp read) { return "&" + place(read.src(0), read.dtype()).text; };
            return {fmt::format("{}({}, {}, {})", u.as<MatrixArg>().name,
                                product->holds_a() ? value(u.src(0)).text : tile(u.src(0)), tile(u.src(1)),
                                value(u.src(2)).text)};
        }
        std::vector<Expression> sources;
        bool assumes_predicate = false;
        for (UOp s : u.src()) {
            sources.push_back(value(s));
            assumes_predicate |= sources.back().assumes_predicate;
        }
        Expression e;
        if (u.is(Op::vec)) {
            for (const Expression& s : sources) e.text += (e.text.empty() ? "" : ", ") + s.text;
            e.text = fmt::format("make_{}({})", hip_type(u.dtype()), e.text);
        } else if (u.is(Op::shuffle_xor)) {
            e.text = fmt::format("lane_xor<{}>({})", u.as<IndexArg>().index, sources[0].text);
        } else if (u.is(Op::shuffle)) {
            e.text = fmt::format("strata_shuffle({}, (int){})", sources[0].text, sources[1].within(kPrefix));
        } else if (u.is(Op::ballot)) {
            e.text = fmt::format("({})strata_ballot({})", hip_type(u.dtype()), sources[0].text);
        } else if (u.is(Op::wmma)) {
            const MatrixArg& arg = u.as<MatrixArg>();
            const std::string variant = variant_of(u.src(0).dtype().element(), u.src(1).dtype().element(), arg.clamp);
            e.text =
                fmt::format("{}{}({}, {}, {})", arg.name, variant, sources[0].text, sources[1].text, sources[2].text);
        } else if (info(u.op()).computes() && u.dtype().lanes == 1) {
            e = spell(u, sources);
        }
        e.assumes_predicate = assumes_predicate;
        return e;
    }

    /// A constant is part of the instruction: compilers would hold each sum with one in a register.
    Expression matrix_read(UOp u) const {
        UOp index = u.src(0).src(0), offset = index.src(1);
        int64_t bytes = 0;
        if (offset.is(Op::add) && offset.src(1).is_const()) {
            bytes = const_int(offset.src(1)) * index.dtype().bytes();
            index = uop::at(index.src(0), offset.src(0));
        }
        return {fmt::format("strata_read_matrices<{}, {}>(&{})", u.as<MatrixArg>().name == kReadColumns, bytes,
                            place(index, u.dtype()).text)};
    }

    Expression lane(UOp u) const {
        const Expression& vector = value(u.src(0));
        int i = u.as<IndexArg>().index;
        if (skip_after(u.src(0)).is(Op::foreign)) return {result_name(vector.text, i)};
        std::string text = vector.within(kPrimary);
        text += u.src(0).dtype().lanes <= 4 ? fmt::format(".{}", "xyzw"[i]) : fmt::format("[{}]", i);
        return {std::move(text), kPrimary, vector.assumes_predicate};
    }

    void start_copies() {
        for (const std::string& copy : copies_) {
            line("{}", copy);
            if (++copies_started_ % async_copies_.of_step() == 0) line("strata_copies_of_step_end();");
        }
        copies_.clear();
    }
    std::string name_of(const AsyncProducts::Product& p) const { return p.sums ? value(p.sums).text : ""; }
    /// Where a loop does nothing but add to them, products go on up to the next step's.
    void look_for_end_of_products(UOp u) {
        if (AsyncProducts::Product* const p = products_.placed_by(u)) {
            if (u.is(Op::store)) p->sums = memory_of(u);
        } else if (program_.async_products && depth_ > 1) {
            start_copies();
            line("strata_products_of_steps_before_end();");
            sums_ = name_of(products_.take(products_.size()).back());
        } else if (const size_t count = products_.ending_before(u)) {
            start_copies();
            const std::vector<AsyncProducts::Product> ended = products_.take(count);
            for (const auto& p : ended) line("strata_products_end<{}>({});", products_.size(), name_of(p));
        }
    }

    void store(UOp u) {
        if (async_copies_.is_async(u)) {
            copies_.push_back(fmt::format("strata_copy_async<{}>(&{}, &{});", u.src(1).dtype().bytes(),
                                          place(u.src(0), u.src(1).dtype()).text,
                                          place(u.src(1).src(0), u.src(1).dtype()).text));
            if (!by_warpgroups_ || depth_ == 1) start_copies();
            return;
        }
        std::string type;
        if (plan_.declares[at_]) {
            type = hip_type(u.src(1).dtype()) + " ";
            values_[memory_of(u)] = {fmt::format("acc{}", next_acc_++)};
        }
        if (stores_through_descriptor(u, target_))
            return line("{};", buffer_store(u, [&](UOp x) { return value(x); }, target_));
        const std::string to = place(u.src(0), u.src(1).dtype()).text;
        if (const std::string policy = cache_function(u.src(0), target_); !policy.empty())
            guarded(u, fmt::format("strata_store_{}(&{}, ({}){})", policy, to, hip_type(u.src(1).dtype()),
                                   value(u.src(1)).within(kPrefix)));
        else
            guarded(u, type + fmt::format("{} = {}", to, value(u.src(1)).text));
        if (last_fetches_.contains(u)) line("strata_fetch_here();");
    }

    bool copy_async(UOp u) {
        const int bytes = u.as<IndexArg>().index * u.src(0).dtype().bytes();
        if (!has_async_copy(target_, 8 * bytes)) return false;
        guarded(u,
                fmt::format("strata_copy_async<{}>(&{}, &{})", bytes, element(u.src(0)).text, element(u.src(1)).text));
        return true;
    }

    void guarded(UOp u, std::string_view statement) {
        if (u.src(0).src().size() == 3)
            line("if ({}) {};", value(u.src(0).src(2)).text, statement);
        else
            line("{};", statement);
    }

    const LinearProgram& program_;
    const Target& target_;
    InlinePlan plan_;
    std::string entry_;
    std::string text_;
    TextLines lines_;
    size_t at_ = 0, depth_ = 0;
    const std::array<bool, 3> scalar_threads_ = scalar_threads(program_, target_);
    UOpMap<Expression> values_;
    UOpMap<bool> written_, asked_for_, declared_later_, inlined_loads_, read_as_matrices_, last_fetches_, unrolled_;
    bool by_warpgroups_ = false;  // waves multiply together what is in local memory
    AsyncProducts products_{program_.ops};
    std::string sums_;                 // of products that are under way up to the end of a loop
    std::vector<std::string> copies_;  // of a loop's step that start after its products
    AsyncCopies async_copies_;
    int copies_started_ = 0;
    int64_t asked_ = 0;  // bytes of memory of the block, where the launch gives it
    int next_lds_ = 0, next_acc_ = 0, next_val_ = 0, next_idx_ = 0, next_alu_ = 0, next_old_ = 0;
};

}  // namespace

Result<HipSource> render_hip(const LinearProgram& program, const Target& target) {
    GraphScope scope;
    Renderer renderer(program, target);
    std::variant<std::string, UOp> text = renderer.run();
    if (const UOp* missing = std::get_if<UOp>(&text))
        return program.about(*missing, make_error(ErrorKind::Unsupported, "{}: HIP for {} has no {}", program.name,
                                                  target.arch.name(), to_string(*missing)));
    return HipSource{
        .text = std::get<std::string>(std::move(text)), .kernel = renderer.entry(), .lines = renderer.take_lines()};
}

}  // namespace strata::codegen
