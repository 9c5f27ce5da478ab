#include "strata/ops/custom.h"

#include "strata/ops/build_p.h"
#include "strata/runtime/custom.h"

namespace strata::ops {

std::vector<Tensor> custom_kernel(const Tensor& out, const std::vector<Tensor>& inputs,
                                  std::shared_ptr<const runtime::CustomKernel> kernel) {
    if (!kernel) user_error(ErrorKind::Usage, "[custom_kernel] no kernel was given");
    std::vector<Tensor> buffers{out};
    buffers.insert(buffers.end(), inputs.begin(), inputs.end());
    GraphScope scope;
    std::vector<UOp> sources;
    const runtime::Device* device = nullptr;
    for (const Tensor& t : buffers) {
        if (t.numel() == 0)
            user_error(ErrorKind::Shape, "[custom_kernel] buffer {} has shape {}: it has no memory", sources.size(),
                       to_string(t.shape()));
        for (const Tensor& other : buffers) common_device("custom_kernel", other, t);
        if (!device) device = t.placement();
        sources.push_back(t.uop());
    }
    uint64_t id = runtime::register_custom(std::move(kernel));
    UOp launch = make(Op::custom, dtypes::none, sources, CustomArg{id});
    runtime::own_custom(launch);
    std::vector<Tensor> results;
    for (size_t i = 0; i < buffers.size(); i++)
        results.emplace_back(make(Op::pick, buffers[i].dtype(), {launch}, IndexArg{static_cast<int>(i)}), device);
    return results;
}

}  // namespace strata::ops
