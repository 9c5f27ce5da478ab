// Rows in order: in local memory where a row has room there, else runs that are merged; of few elements a selection.
#include <algorithm>
#include <bit>

#include "strata/ops/build_p.h"
#include "strata/ops/custom.h"
#include "strata/ops/order/order_items_p.h"
#include "strata/runtime/device.h"

namespace strata::ops {
namespace {

constexpr int64_t kLocalBytes = 32 << 10;  ///< of a block: every chip has them, most have them twice
constexpr int64_t kLeastRun = 8;           ///< items that a sort in local memory orders at least
constexpr int64_t kMostRun = 4096;
constexpr int64_t kRunOfFew = 1024;  ///< where units would idle: half a run takes less than half of its time
constexpr int64_t kItems = 1024;     ///< of a block, where rows are shorter
constexpr int64_t kPerThread = 4;    ///< items that a thread looks at together
constexpr int64_t kMostThreads = 512;

int64_t power_above(int64_t n) { return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n))); }
int64_t power_below(int64_t n) { return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(n))); }
int64_t blocks_of(int64_t n, int64_t size) { return (n + size - 1) / size; }
int64_t most_run(const Packing& packing) { return std::min(kMostRun, power_below(kLocalBytes / packing.bytes())); }

runtime::Device& device_of(const Tensor& x) {
    return x.placement() ? runtime::device(x.placement()->index()) : runtime::device();
}

ItemRows items_of(const ItemRows& from, std::vector<Tensor> memory) {
    return {from.packing, true, from.descending, std::move(memory)};
}

/// The form of a sort in local memory: rows in runs, several runs a block where they are short.
struct RunShape {
    int64_t rows, n, k;    ///< k: of each run, what is stored
    int64_t run, per_row;  ///< items of a run, runs of a row
    int64_t items() const { return std::max(run, std::min(kItems, power_above(runs()) * run)); }  ///< of a block
    int64_t runs() const { return rows * per_row; }
    int64_t blocks() const { return blocks_of(runs(), items() / run); }
};

std::vector<Tensor> sorted_runs(const ItemRows& rows, const RunShape& shape, DType positions) {
    const Packing& packing = rows.packing;
    const ItemResult result(packing, positions, shape.runs() * shape.k);
    const ItemSource source = rows.source(static_cast<int>(result.buffers.size()));
    const int64_t size = shape.items();
    Block block(shape.blocks(), threads_of(size));
    Items items = block.local(size, packing.words());
    const auto place = [&](UOp step) { return step * block.threads + block.thread; };
    const auto run_of = [&](UOp at) { return block.block * (size / shape.run) + at / shape.run; };

    const UOp filling = block.loop(size / block.threads);
    const UOp at = place(filling), run_number = run_of(at), row = run_number / shape.per_row;
    const UOp column = (run_number % shape.per_row) * shape.run + at % shape.run;
    const UOp exists = uop::both(row < shape.rows, column < shape.n);
    const Words words = source.at(row * shape.n + column, column, exists);
    items = items.after({uop::barrier(uop::end(items.put(at, words), {filling}))});
    items = items.after({order_runs(block, items, {size, shape.run})});

    const UOp storing = block.loop(size / block.threads);
    const UOp from = place(storing), number = run_of(from), rank = from % shape.run;
    const UOp wanted = uop::both(number < shape.runs(), shape.k < shape.run ? rank < shape.k : UOp());
    const UOp stored = result.put(number * shape.k + rank, items.at(from), wanted);
    return launched(block.sink(uop::end(stored, {storing}), "order_runs"), result.types(), shape.rows,
                    shape.per_row * shape.k, rows);
}

/// Parts that rows are cut into so that all units of the device have a block or two.
int64_t parts_for(const runtime::Device& device, int64_t rows, int64_t most) {
    return std::clamp<int64_t>(2 * device.properties().units / rows, 1, most);
}

/// Items that a block orders: as many as it has room for, fewer where that leaves units of the device without any.
int64_t run_for(const runtime::Device& device, const ItemRows& rows) {
    int64_t run = std::min(most_run(rows.packing), std::max(kLeastRun, power_above(rows.n())));
    while (run > kRunOfFew && rows.rows() * blocks_of(rows.n(), run) < device.properties().units) run /= 2;
    return run;
}

Tensor first_of(const runtime::Device& device, const ItemRows& rows, int64_t k, DType positions) {
    const int64_t n = rows.n(), most = run_for(device, rows);
    if (const std::optional<int64_t> parts = most_parts(n, k)) {
        const int64_t count = parts_for(device, rows.rows(), *parts);
        if (count == 1) return selected(rows, k, 1, positions)[0];
        return first_of(device, items_of(rows, selected(rows, k, count, dtypes::none)), k, positions);
    }
    if (n <= most) return sorted_runs(rows, {rows.rows(), n, k, most, 1}, positions)[0];
    ItemRows runs = items_of(rows, sorted_runs(rows, {rows.rows(), n, most, most, blocks_of(n, most)}, dtypes::none));
    return merged_runs(std::move(runs), most, k, positions);
}

}  // namespace

ItemSource ItemRows::source(int slot) const {
    ItemSource out{packing, packed, descending, memory[0].dtype(), {}};
    for (const Tensor& part : memory) out.buffers.push_back(uop::buffer(slot++, part.dtype(), part.numel()));
    return out;
}

ItemResult::ItemResult(const Packing& items, DType type, int64_t size) : packing(items), positions(type) {
    for (DType word : types()) buffers.push_back(uop::buffer(static_cast<int>(buffers.size()), word, size));
}

std::vector<DType> ItemResult::types() const {
    return positions == dtypes::none ? packing.words() : std::vector{positions};
}

UOp ItemResult::put(UOp place, const Words& words, UOp predicate) const {
    if (positions == dtypes::none) return Items{buffers}.put(place, words, predicate);
    return uop::store(uop::at(buffers[0], place, predicate), cast(packing.position(words), positions));
}

int64_t threads_of(int64_t items) { return std::clamp<int64_t>(items / kPerThread, 2, kMostThreads); }

std::vector<Tensor> launched(UOp sink, const std::vector<DType>& results, int64_t rows, int64_t columns,
                             const ItemRows& from) {
    std::vector<KernelArgument> arguments;
    Outputs outputs;
    for (DType type : results) {
        outputs.emplace_back(static_cast<int64_t>(arguments.size()));
        arguments.emplace_back(Tensor::empty({rows, columns}, type, device_of(from.memory[0]).name()));
    }
    for (const Tensor& memory : from.memory) arguments.emplace_back(memory);
    return custom_kernel(arguments, uop_kernel(sink), {}, outputs);
}

Tensor order_of_rows(const Tensor& x, bool descending, int64_t k, DType wanted) {
    GraphScope scope;
    const int64_t n = x.size(1);
    const DType least = n <= int_max(dtypes::int32) ? dtypes::int32 : dtypes::int64;
    const DType positions = wanted == dtypes::none ? least : wanted;
    return first_of(device_of(x), {Packing::of(x.dtype(), n), false, descending, {x}}, k, positions);
}

}  // namespace strata::ops
