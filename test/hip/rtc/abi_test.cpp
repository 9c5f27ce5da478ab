// The signatures of hiprtc.def, and its codes, against the header of HIP 5.2.
#define __HIP_PLATFORM_AMD__
#if __has_include(<hip/hiprtc.h>)
#include <hip/hiprtc.h>

#include "../../providers/amd/same_call.h"
#include "strata/hip/rtc/program_p.h"

#define RTC(result, name, parameters, arguments) \
    static_assert(strata::providers::abi::kSameCall<result(*) parameters, decltype(&::name)>, #name);
#include "strata/hip/api/hiprtc.def"
#undef RTC
static_assert(HIPRTC_ERROR_COMPILATION == int{compilation_error} && HIPRTC_ERROR_INTERNAL_ERROR == int{internal_error});
static_assert(HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID == int{expression_not_valid});
#endif
