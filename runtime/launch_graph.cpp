#include "strata/runtime/launch_graph.h"

namespace strata::runtime {

Result<void> LaunchGraph::add(const Program& program, std::span<const uint64_t> slots) {
    const executable::Code& code = program.code;
    return program.with_arguments(slots, [&](std::span<const uint8_t> arguments) {
        return device_.api().graph_add_kernel(handle_, program.function(), code.grid, code.block, code.dynamic_lds,
                                              arguments);
    });
}

void LaunchGraph::set(size_t kernel, const Program& program, std::span<const uint64_t> slots) {
    program
        .with_arguments(slots,
                        [&](std::span<const uint8_t> arguments) {
                            return device_.api().graph_set_arguments(handle_, kernel, arguments);
                        })
        .value();
}

std::unique_ptr<PendingTime> LaunchGraph::launch(Wait wait) {
    const auto enqueue = [&](providers::StreamHandle* stream) { return device_.api().graph_launch(handle_, stream); };
    if (wait == Wait::timed) return device_.started_timed(enqueue).value();
    device_.started(enqueue).value();
    return nullptr;
}

}  // namespace strata::runtime
