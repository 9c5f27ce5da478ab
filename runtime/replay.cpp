#include "strata/runtime/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "strata/core/support/hash.h"
#include "strata/runtime/context_p.h"
#include "strata/runtime/run_program_p.h"

namespace strata::runtime {
namespace {

thread_local Recorder* recording = nullptr;

}  // namespace

Recorder::Recorder() : first_(Buffer::next_id()), settings_(settings()) {}

Recorder* Recorder::active() { return recording; }

Recorder::Scope::Scope(Recorder& recorder) : previous_(recording) { recording = &recorder; }
Recorder::Scope::~Scope() { recording = previous_; }

uint32_t Recorder::place(const std::shared_ptr<Buffer>& buffer) {
    const auto [at, first] = places_.try_emplace(buffer->id(), static_cast<uint32_t>(memory_.size()));
    if (first) memory_.push_back({buffer});
    return at->second;
}

void Recorder::launched(std::shared_ptr<Program> program, std::span<const std::shared_ptr<Buffer>> memory,
                        std::span<const uint64_t> numbers, std::span<const executable::InPlace> in_place) {
    Action& action = actions_.emplace_back();
    action.program = std::move(program);
    for (const std::shared_ptr<Buffer>& buffer : memory) action.memory.push_back(place(buffer));
    action.numbers.assign(numbers.begin(), numbers.end());
    action.in_place.assign(in_place.begin(), in_place.end());
}

void Recorder::called(const KernelCall& call, std::span<const std::shared_ptr<Buffer>> used) {
    Action action;
    action.program = call.program();
    action.call = call;
    for (size_t i = 0; i < used.size(); ++i) {
        const std::shared_ptr<Buffer>& buffer = used[i];
        action.memory.push_back(place(buffer));
        if (!call.writes(i).value_or(i == 0)) continue;
        if (!made(*buffer))
            user_error(
                ErrorKind::Unsupported,
                "[jit] kernel '{}' writes memory from outside of the captured function: use Tensor.custom_kernel, "
                "which leaves its arguments as they are",
                call.program()->code.entry);
        Memory& memory = memory_[action.memory.back()];
        if (memory.content.empty() || memory.feed) continue;
        std::vector<uint8_t> bytes(buffer->bytes());  // as it starts each time
        buffer->copy_out(bytes.data(), bytes.size());
        memory.feed = [bytes] { return bytes; };
        fed_.push_back(action.memory.back());
    }
    actions_.push_back(std::move(action));
}

void Recorder::interpreted(std::shared_ptr<const InterpretedGraphs> graphs,
                           std::span<const std::shared_ptr<Buffer>> memory) {
    Action& action = actions_.emplace_back();
    action.graphs = std::move(graphs);
    for (const std::shared_ptr<Buffer>& buffer : memory) action.memory.push_back(place(buffer));
}

void Recorder::copied(Buffer& from, Buffer& to) {
    Action& action = actions_.emplace_back();
    action.memory = {place(to.shared_from_this()), place(from.shared_from_this())};
}

void Recorder::uploaded(Buffer& buffer, const void* data, size_t bytes, Feed feed) {
    const uint32_t at = place(buffer.shared_from_this());
    memory_[at].content = feed ? "fed" : content_hash({static_cast<const char*>(data), bytes});
    if (feed) fed_.push_back(at);
    memory_[at].feed = std::move(feed);
}

void refuse_in_recording(std::string_view what) {
    if (recording)
        user_error(
            ErrorKind::Usage,
            "[jit] {} in a captured function: later calls would not do it again. Give the tensor back and look at "
            "it outside; choose by data with strata.where",
            what);
}

Replay::Replay(Recorder recorded, std::span<const UOp> inputs, std::span<const UOp> results)
    : recorded_(std::move(recorded)) {
    sort_places(inputs, results);
    plan_own_memory();
    find_donors();
    for (Recorder::Memory& memory : recorded_.memory_) memory.buffer = nullptr;
    recorded_.places_.clear();
}

void Replay::sort_places(std::span<const UOp> inputs, std::span<const UOp> results) {
    for (UOp result : results) results_.push_back(recorded_.place(find_buffer(result)));
    std::unordered_map<uint64_t, uint32_t> input_of;
    for (uint32_t i = 0; i < inputs.size(); ++i) {
        const auto [at, first] = input_of.try_emplace(find_buffer(inputs[i])->id(), i);
        first_with_.push_back(at->second);
    }
    for (const Recorder::Memory& memory : recorded_.memory_) {
        const Buffer& buffer = *memory.buffer;
        Place place{Kind::own, 0, buffer.device().index(), buffer.dtype(), buffer.size()};
        if (const auto input = input_of.find(buffer.id()); input != input_of.end())
            place.kind = Kind::input, place.index = input->second;
        else if (!recorded_.made(buffer))
            user_error(ErrorKind::Usage,
                       "[jit] a tensor with {} elements of {} is used that neither arguments nor variables of the "
                       "captured function lead to: pass it as an argument",
                       buffer.size(), buffer.dtype().name());
        else if (!memory.content.empty() && !memory.feed)
            place.kind = Kind::constant;
        places_.push_back(place);
    }
    constants_.resize(results.size());
    for (uint32_t i = 0; i < results_.size(); ++i) {
        Place& place = places_[results_[i]];
        if (place.kind == Kind::own) place.kind = Kind::result, place.index = i;
        if (place.kind != Kind::constant) continue;
        constants_[i] = Root(results[i]);
        recorded_.memory_[results_[i]].buffer->hold_constant();
    }
}

/// Memory that is used no more serves for a later value of as many bytes.
void Replay::plan_own_memory() {
    const std::vector<Recorder::Action>& actions = recorded_.actions_;
    std::vector<size_t> last_use(places_.size());
    for (size_t a = 0; a < actions.size(); ++a)
        for (uint32_t at : actions[a].memory) last_use[at] = a;
    std::map<std::pair<uint16_t, size_t>, std::vector<uint32_t>> vacant;  // by device and bytes
    std::vector<bool> placed(places_.size());
    const auto fill = [&](uint32_t at) {
        Place& place = places_[at];
        std::vector<uint32_t>& fits = vacant[{place.device, place.bytes()}];
        const bool from_start = bool(recorded_.memory_[at].feed);
        placed[at] = true;
        if (!from_start && !fits.empty()) {
            place.index = fits.back();
            fits.pop_back();
            return;
        }
        place.index = static_cast<uint32_t>(own_.size());
        own_.push_back(place.kind == Kind::constant
                           ? recorded_.memory_[at].buffer
                           : std::make_shared<Buffer>(device(place.device), place.dtype, place.size));
    };
    for (uint32_t at = 0; at < places_.size(); ++at)
        if (places_[at].kind == Kind::constant) fill(at);
    for (uint32_t at : recorded_.fed_)
        if (places_[at].kind == Kind::own) fill(at);
    for (size_t a = 0; a < actions.size(); ++a) {
        for (uint32_t at : actions[a].memory)
            if (places_[at].kind == Kind::own && !placed[at]) fill(at);
        for (uint32_t at : actions[a].memory) {
            if (places_[at].kind != Kind::own || last_use[at] != a) continue;
            last_use[at] = ~size_t{0};  // it may stand in several slots
            vacant[{places_[at].device, places_[at].bytes()}].push_back(places_[at].index);
        }
    }
    now_.resize(places_.size());
    addresses_.resize(places_.size());
    for (uint32_t at = 0; at < places_.size(); ++at)
        if ((places_[at].kind == Kind::own && placed[at]) || places_[at].kind == Kind::constant) {
            now_[at] = own_[places_[at].index].get();
            addresses_[at] = now_[at]->address();
        }
}

/// A launch that reads the input last may fill the result over it, where it is the first that fills the result's
/// memory.
void Replay::find_donors() {
    donors_.resize(results_.size());
    if (recorded_.settings_.check != "off" || recorded_.settings_.check_races) return;  // each value in its own memory
    std::vector<bool> taken(places_.size());
    for (uint32_t at : results_) taken[at] = places_[at].kind == Kind::input;  // given back as it is
    const std::vector<Recorder::Action>& actions = recorded_.actions_;
    std::vector<size_t> first(places_.size(), actions.size()), last(places_.size());
    for (size_t a = 0; a < actions.size(); ++a)
        for (uint32_t at : actions[a].memory) first[at] = std::min(first[at], a), last[at] = a;
    for (size_t a = 0; a < actions.size(); ++a)
        for (const executable::InPlace& pair : actions[a].in_place) {
            const uint32_t from = actions[a].memory[static_cast<size_t>(pair.input)],
                           to = actions[a].memory[static_cast<size_t>(pair.output)];
            const Place &donor = places_[from], &result = places_[to];
            if (donor.kind != Kind::input || result.kind != Kind::result || taken[from] || taken[to]) continue;
            if (last[from] != a || first[to] != a) continue;
            if (donor.dtype != result.dtype || donor.size != result.size || donor.device != result.device) continue;
            donors_[result.index] = donor.index;
            taken[from] = taken[to] = true;
        }
}

size_t Replay::own_bytes() const {
    size_t bytes = 0;
    for (const std::shared_ptr<Buffer>& buffer : own_) bytes += buffer->bytes();
    return bytes;
}

std::optional<std::string> Replay::difference(const Replay& other) const {
    const std::vector<Recorder::Action>&a = recorded_.actions_, &b = other.recorded_.actions_;
    if (a.size() != b.size()) return fmt::format("{} launches, then {}", a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
        const auto name_of = [](const Recorder::Action& action) {
            return action.program ? action.program->code.entry : action.graphs ? "graphs" : "a copy";
        };
        const std::string name = name_of(a[i]);
        const bool same_graphs = a[i].graphs && b[i].graphs && a[i].graphs->same(*b[i].graphs);
        const bool same = (a[i].program == b[i].program && (same_graphs || (!a[i].graphs && !b[i].graphs))) ||
                          (a[i].program && b[i].program && a[i].program->computes_as(*b[i].program));
        if (!same)
            return fmt::format("launch {} was {}, then {}: its kernel has another number, shape or choice in it", i,
                               name, name_of(b[i]));
        if (a[i].numbers != b[i].numbers) return fmt::format("launch {}, {}, was given other numbers", i, name);
        if (a[i].memory.size() != b[i].memory.size()) return fmt::format("launch {}, {}, has other arguments", i, name);
        if (a[i].call && !a[i].call->same_arguments(*b[i].call))
            return fmt::format("the kernel '{}' was given other arguments", name);
        for (size_t slot = 0; slot < a[i].memory.size(); ++slot)
            if (a[i].memory[slot] != b[i].memory[slot] ||
                places_[a[i].memory[slot]].kind != other.places_[b[i].memory[slot]].kind ||
                (places_[a[i].memory[slot]].kind == Kind::input &&
                 places_[a[i].memory[slot]].index != other.places_[b[i].memory[slot]].index))
                return fmt::format("launch {}, {}, used other memory", i, name);
    }
    if (recorded_.fed_ != other.recorded_.fed_) return "other numbers of the host were asked for";
    for (size_t at = 0; at < places_.size() && at < other.places_.size(); ++at)
        if (recorded_.memory_[at].content != other.recorded_.memory_[at].content)
            return fmt::format("{} elements of {} that the host puts in were others", places_[at].size,
                               places_[at].dtype.name());
    return {};
}

std::vector<std::vector<uint8_t>> Replay::feed() const {
    std::vector<std::vector<uint8_t>> fed;
    for (uint32_t at : recorded_.fed_) fed.push_back(recorded_.memory_[at].feed());
    return fed;
}

void Replay::perform(Recorder::Action& action) {
    if (action.graphs) {
        std::vector<Buffer*> memory;
        for (uint32_t at : action.memory) memory.push_back(now_[at]);
        return action.graphs->run(memory);
    }
    if (!action.program) return copy_memory(*now_[action.memory[1]], *now_[action.memory[0]]);
    uint64_t bytes = 0;
    for (uint32_t at : action.memory) bytes += places_[at].bytes();
    take_slots(action);
    const executable::Code& code = action.program->code;
    if (action.call) {
        run_program(*action.program, action.call->shape(), bytes, [&] { return action.call->launch_at(slots_); });
        return;
    }
    run_program(*action.program, {code.grid, code.block}, bytes,
                [&] { return action.program->launch(slots_, wait_for(action.program->device())); });
}

void Replay::take_slots(const Recorder::Action& action) {
    slots_.clear();
    for (uint32_t at : action.memory) slots_.push_back(addresses_[at]);
    slots_.insert(slots_.end(), action.numbers.begin(), action.numbers.end());
}

bool Replay::is_one_launch() const {
    const std::vector<Recorder::Action>& actions = recorded_.actions_;
    if (graph_refused_ || actions.size() < 2 || !actions[0].program) return false;
    const Device& device = actions[0].program->device();
    if (wait_for(device) == Wait::yes) return false;
    return graph_ || std::ranges::all_of(actions, [&](const Recorder::Action& action) {
               return action.program && !action.call && &action.program->device() == &device;
           });
}

void Replay::make_graph() {
    auto graph = std::make_unique<LaunchGraph>(device(places_[recorded_.actions_[0].memory[0]].device));
    for (const Recorder::Action& action : recorded_.actions_) {
        take_slots(action);
        const strata::Result<void> added = graph->add(*action.program, slots_);
        if (added) continue;
        if (added.error().kind != ErrorKind::Unsupported) added.value();
        graph_refused_ = true;
        return;
    }
    graph_ = std::move(graph);
    graph_addresses_ = addresses_;
}

void Replay::launch_graph() {
    const std::vector<Recorder::Action>& actions = recorded_.actions_;
    uint64_t bytes = 0, flops = 0;
    for (size_t kernel = 0; kernel < actions.size(); ++kernel) {
        bool changed = false;
        for (uint32_t at : actions[kernel].memory) {
            changed |= addresses_[at] != graph_addresses_[at];
            bytes += places_[at].bytes();
        }
        flops += actions[kernel].program->code.flops;
        if (!changed) continue;
        take_slots(actions[kernel]);
        graph_->set(kernel, *actions[kernel].program, slots_);
    }
    graph_addresses_ = addresses_;
    std::unique_ptr<PendingTime> time = graph_->launch(wait_for(actions[0].program->device()));
    context().counters.add_unlisted(actions.size(), bytes, flops, std::move(time));
}

Replay::Result Replay::result(size_t i) const {
    const Place& place = places_[results_[i]];
    if (place.kind == Kind::input) return {Result::Kind::input, place.index};
    if (place.kind == Kind::constant) return {Result::Kind::constant, i, constants_[i]};
    return {Result::Kind::made, place.index};
}

UOp Replay::new_memory(size_t result) const {
    const Place& place = places_[results_[result]];
    return new_buffer(device(place.device), place.dtype, place.size);
}

void Replay::run(std::span<Buffer* const> inputs, std::span<Buffer* const> results,
                 std::span<const std::vector<uint8_t>> fed) {
    for (size_t at = 0; at < places_.size(); ++at) {
        const Place& place = places_[at];
        if (place.kind != Kind::input && place.kind != Kind::result) continue;
        now_[at] = place.kind == Kind::input ? inputs[place.index] : results[place.index];
        addresses_[at] = now_[at]->address();
    }
    for (size_t i = 0; i < fed.size(); ++i) now_[recorded_.fed_[i]]->copy_in(fed[i].data(), fed[i].size());
    for (size_t at = 0; at < places_.size(); ++at)
        if (now_[at]) now_[at]->order(places_[at].kind == Kind::own || places_[at].kind == Kind::result);
    if (is_one_launch() && !graph_) make_graph();
    if (is_one_launch()) {
        for (const Recorder::Action& action : recorded_.actions_) action.program->order();
        return launch_graph();
    }
    for (Recorder::Action& action : recorded_.actions_) perform(action);
}

}  // namespace strata::runtime
